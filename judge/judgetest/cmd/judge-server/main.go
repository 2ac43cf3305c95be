// Command judge-server serves the local judge: Bedrock's Converse and chat completions with default answers and, where
// asked, faults. It is for trying the jobs without a cloud; its verdicts mean nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "judge-server:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:8089", "address to listen on")
	seed := flag.String("seed", "1", "decides which calls fail")
	latency := flag.Duration("latency", 0, "of each answer")
	perSecond := flag.Float64("rate", 0, "calls a second above which calls are throttled")
	var f judgetest.Faults
	flag.Float64Var(&f.Throttle, "throttle", 0, "share of calls that are throttled")
	flag.Float64Var(&f.Unavailable, "unavailable", 0, "share of calls that meet 503")
	flag.Float64Var(&f.Malformed, "malformed", 0, "share of answers that are prose")
	flag.Float64Var(&f.Refused, "refused", 0, "share of answers that a guardrail holds back")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := judgetest.NewHandler(judgetest.Options{Plain: true, Seed: *seed, Faults: f, Latency: *latency, RatePerSecond: *perSecond})
	server := &http.Server{Addr: *addr, Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	fmt.Printf("AWS_ENDPOINT_URL_BEDROCK_RUNTIME=http://%s\n", *addr)
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(ctx)
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
