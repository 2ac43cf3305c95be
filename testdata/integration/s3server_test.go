package integration

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	versitygwModule = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
	serverTimeout   = 30 * time.Second
	s3AccessKey     = "tracejury-access"
	s3SecretKey     = "tracejury-secret"
)

// startS3 runs a versitygw over a temporary directory until the test ends. The server answers in region us-east-1 with
// buckets in the path; it has none yet.
func startS3(t testing.TB) (endpoint, accessKey, secretKey string) {
	t.Helper()
	addr := runVersitygw(t)
	return "http://" + addr, s3AccessKey, s3SecretKey
}

// startS3TLS is startS3 over TLS, where the SDK sends checksums as trailers. client trusts the server's certificate,
// which also lies at caFile, for AWS_CA_BUNDLE.
func startS3TLS(t testing.TB) (endpoint, accessKey, secretKey, caFile string) {
	t.Helper()
	caFile, keyFile := selfSigned(t)
	addr := runVersitygw(t, "--cert", caFile, "--key", keyFile)
	return "https://" + addr, s3AccessKey, s3SecretKey, caFile
}

// runVersitygw returns the address at which the server accepts connections.
func runVersitygw(t testing.TB, args ...string) string {
	t.Helper()
	binary := versitygw(t)
	for try := 0; ; try++ {
		addr, err := tryVersitygw(t, binary, args)
		if err == nil {
			return addr
		}
		// Between finding a free port and the server's taking it, another process may have taken it.
		if try == 2 {
			t.Fatalf("start versitygw: %v", err)
		}
	}
}

func tryVersitygw(t testing.TB, binary string, args []string) (addr string, err error) {
	t.Helper()
	addr = freeAddr(t)
	ctx, kill := context.WithCancel(context.Background()) // longer than t.Context: cleanups of the test still need it
	data := filepath.Join(t.TempDir(), "buckets")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	var out syncBuffer
	cmd := exec.CommandContext(ctx, binary, append(append([]string{
		"--port", addr, "--access", s3AccessKey, "--secret", s3SecretKey, "--region", "us-east-1", "--keep-alive", "--quiet",
	}, args...), "posix", data)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		kill()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	stop := func() {
		kill()
		<-ended
	}
	deadline := time.Now().Add(serverTimeout)
	for {
		conn, dialErr := net.DialTimeout("tcp", addr, time.Second)
		if dialErr == nil {
			_ = conn.Close()
			t.Cleanup(func() {
				stop()
				if t.Failed() {
					t.Logf("versitygw at %s said:\n%s", addr, out.String())
				}
			})
			return addr, nil
		}
		select {
		case <-ended:
			stop()
			return "", fmt.Errorf("it ended: %s", out.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			stop()
			return "", fmt.Errorf("no answer for %v: %w; it said: %s", serverTimeout, dialErr, out.String())
		}
	}
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // only asked for a port
	return l.Addr().String()
}

var findVersitygw = sync.OnceValues(func() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	out, err := exec.Command("go", "env", "GOBIN", "GOPATH").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	dirs := []string{lines[0]}
	for _, p := range filepath.SplitList(lines[len(lines)-1]) {
		dirs = append(dirs, filepath.Join(p, "bin"))
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, "versitygw"); dir != "" && isFile(path) {
			return path, nil
		}
	}
	return "", fs.ErrNotExist
})

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// versitygw finds the server's binary, or installs it into a temporary directory.
func versitygw(t testing.TB) string {
	t.Helper()
	path, err := findVersitygw()
	if err == nil {
		return path
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if testing.Short() {
		t.Skip("no versitygw: go install " + versitygwModule)
	}
	path, err = installVersitygw()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// installVersitygw takes about a minute, once per machine.
var installVersitygw = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "install", versitygwModule)
	cmd.Dir = os.TempDir() // outside of this module, whose requirements are not its own
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s: %w: %s", versitygwModule, err, out)
	}
	out, err := exec.Command("go", "env", "GOBIN").Output()
	dir := strings.TrimSpace(string(out))
	if err == nil && dir == "" {
		out, err = exec.Command("go", "env", "GOPATH").Output()
		dir = filepath.Join(filepath.SplitList(strings.TrimSpace(string(out)))[0], "bin")
	}
	return filepath.Join(dir, "versitygw"), err
})

// syncBuffer collects what a process says while the test may read it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// selfSigned writes a certificate for 127.0.0.1 and its key.
func selfSigned(t testing.TB) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tracejury test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// s3Env makes the AWS SDK, in this process and in those that it starts, talk to a local server and to nothing else.
func s3Env(t testing.TB, endpoint, accessKey, secretKey string) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": endpoint, "AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey,
		"AWS_SESSION_TOKEN": "", "AWS_REGION": "us-east-1", "AWS_PROFILE": "", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CA_BUNDLE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
}

// closeIdle ends the connections of http.DefaultTransport-like clients when the test ends.
func closeIdle(t testing.TB) *http.Client {
	t.Helper()
	tr := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
