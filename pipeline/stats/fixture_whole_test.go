package stats

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// notOurs are the values of the fixtures that no function of this package gives, and why that is right.
var notOurs = map[string]string{
	"versions": "of the software that made the file", "note": "words", "b_total": "how it was made", "seed_sd": "how it was made",
	"agresti_coull": "a method that is not offered: Wilson is", "wilson_cc": "a method that is not offered: Clopper-Pearson covers",
	"jeffreys_raw": "without the modification at the ends", "agresti_min": "a method that is not offered: Tango is",
	"bonett_price": "a method that is not offered: Tango is", "agresti_caffo95": "a method that is not offered: Newcombe's is",
	"mcnemar_chi2": "the asymptotic test, which needs more discordant pairs than there are", "mcnemar_chi2_cc": "likewise",
	"odds_ratio_discordant": "differences are told in points", "pabak": "AC1 is told beside kappa", "exact_k": "exact_p times N",
	"one_cluster": "words; TestClusterEdges", "two_clusters": "words; TestClusterEdges", "classical": "the mean of the labels alone",
	"naive_judge_mean": "the mean of what the judge said", "paired_inputs": "the cases hold their differences",
	"edge": "words and cases of TestClusterEdges", "sd": "of the bootstrap distribution, which no interval needs", "fpc": "the factor within n_eff",
	"n_eff": "of WilsonFinite, whose intervals are held",
}

// Every value of the reference files is read by a test of this package, or is left out for a reason: none is forgotten.
func TestNoFixtureIsForgotten(t *testing.T) {
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f == "fixture_whole_test.go" {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	words := map[string]bool{}
	for _, w := range regexp.MustCompile(`[A-Za-z0-9_]+`).FindAllString(tests.String(), -1) {
		words[strings.ToLower(strings.ReplaceAll(w, "_", ""))] = true
	}
	here := map[string]bool{"proballpass": true, "chi2sf": true, "sf": true, "tcritgminus1": true, "sebernoulli": true, "pooledunweighted": true}
	for _, name := range fixtureNames(t) {
		var f any
		mustFixture(t, name, &f)
		eachKey(f, func(key string) {
			folded := strings.ToLower(strings.ReplaceAll(key, "_", ""))
			if _, left := notOurs[strings.ToLower(key)]; !left && !words[folded] && !here[folded] {
				t.Errorf("%s: no test reads %q", name, key)
			}
		})
	}
}

// fixtureNames are the reference files there are; new ones are found.
func fixtureNames(t *testing.T) []string {
	t.Helper()
	var any struct{}
	mustFixture(t, "sampling.json", &any) // skips where there are none
	paths, err := filepath.Glob(filepath.Join(os.Getenv("TRACEJURY_SHARED"), "fixtures", "statistics", "*.json"))
	if err != nil || len(paths) < 11 {
		t.Fatalf("%d reference files, %v", len(paths), err)
	}
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths
}

var isNumber = regexp.MustCompile(`^[0-9.]+$`)

func eachKey(v any, do func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if !isNumber.MatchString(k) { // a level
				do(k)
			}
			eachKey(x, do)
		}
	case []any:
		for _, x := range v {
			eachKey(x, do)
		}
	}
}

// The values that follow from functions whose own fixtures hold other things.
func TestFixtureRemainders(t *testing.T) {
	var special struct {
		Chi2 []struct {
			X, SF float64
			DF    int
		} `json:"chi2_sf"`
	}
	mustFixture(t, "special_functions.json", &special)
	one := 0
	for _, c := range special.Chi2 {
		if c.DF != 1 {
			continue
		}
		one++
		near(t, fmt.Sprintf("chi-square beyond %g", c.X), 2*normalCDF(-math.Sqrt(c.X)), c.SF, 1e-9)
	}
	if one == 0 {
		t.Error("no case with one degree of freedom, the only one that a test here has")
	}
	var cluster struct {
		N, Clusters int
		Mean        float64
		SE          float64 `json:"se_bernoulli"`
		TCrit       float64 `json:"t_crit_G_minus_1"`
	}
	mustFixture(t, "cluster.json", &cluster)
	near(t, "t quantile", studentQuantile(0.025, float64(cluster.Clusters-1)), cluster.TCrit, 1e-9)
	est, err := RateEstimate(int(math.Round(cluster.Mean*float64(cluster.N))), cluster.N, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "SE of a rate", est.SE, cluster.SE, 1e-9)
	var evidence struct {
		Single []struct {
			N   int
			P   float64
			All float64 `json:"prob_all_pass"`
		}
	}
	mustFixture(t, "coverage_evidence.json", &evidence)
	for _, c := range evidence.Single {
		near(t, fmt.Sprintf("all of %d pass at %g", c.N, c.P), binomialPMF(c.N, c.N, c.P), c.All, 1e-9)
	}
	var sampling struct {
		Stratified []map[string]any
	}
	mustFixture(t, "sampling.json", &sampling)
	for _, c := range sampling.Stratified {
		var k, n float64
		for _, s := range c["strata"].([]any) {
			k, n = k+s.(map[string]any)["k"].(float64), n+s.(map[string]any)["n"].(float64)
		}
		est, err := RateEstimate(int(k), int(n), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprint(c["name"], " without weights"), est.Value, c["pooled_unweighted"].(float64), 1e-9)
	}
}
