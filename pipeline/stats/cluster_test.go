package stats

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

type clusterFixture struct {
	Y         []float64
	G         []int
	Mean      float64
	SEMiller  float64   `json:"se_miller"`
	SECR1     float64   `json:"se_cr1"`
	CI        []float64 `json:"ci95_cr1_t"`
	ICC       float64   `json:"icc_anova"`
	DesignEff float64   `json:"design_effect"`
	SECLT     float64   `json:"se_clt"`
	MC        struct {
		CI90, CI95 []float64
		Tol        float64 `json:"tol_B10000"`
	}
	Frozen struct {
		Index      [][]int   `json:"index_matrix"`
		Values     []float64 `json:"replicates"`
		Percentile []float64 `json:"percentile95_type7"`
		Jackknife  []float64
		A, Z0      float64
		BCa        []float64 `json:"bca95_type7"`
	}
	Paired struct {
		D           []float64
		Mean        float64
		SE          float64 `json:"se_paired"`
		SEClustered float64 `json:"se_paired_clustered"`
	}
}

func (f clusterFixture) names() []string {
	out := make([]string, len(f.G))
	for i, g := range f.G {
		out[i] = fmt.Sprint(g)
	}
	return out
}

func TestClusterFixture(t *testing.T) {
	var f clusterFixture
	mustFixture(t, "cluster.json", &f)
	m, err := DescribeClusters(f.Y, f.names())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", m.Mean, f.Mean, 1e-12)
	near(t, "SE", m.SE, f.SEMiller, 1e-9)
	near(t, "SE CR1", m.SECR1, f.SECR1, 1e-9)
	near(t, "ICC", m.ICC, f.ICC, 1e-9)
	near(t, "design effect", m.DesignEffect, f.DesignEff, 1e-9)
	_, se, err := MeanSE(f.Y)
	near(t, "independent SE", se, f.SECLT, 1e-9)
	if err != nil {
		t.Error(err)
	}
	iv, err := ClusterInterval(f.Y, f.names(), 0.95)
	nearInterval(t, "CR1", iv, err, f.CI, 1e-9)
	r := Resampling{Seed: "2026-11-30"}
	iv, err = ClusterBootstrap(t.Context(), f.Y, f.names(), Percentile, 0.95, r)
	nearInterval(t, "bootstrap 95", iv, err, f.MC.CI95, f.MC.Tol)
	iv, err = ClusterBootstrap(t.Context(), f.Y, f.names(), Percentile, 0.9, r)
	nearInterval(t, "bootstrap 90", iv, err, f.MC.CI90, f.MC.Tol)

	groups, err := groupClusters("test", f.Y, f.names())
	if err != nil {
		t.Fatal(err)
	}
	jackknife := clusterJackknife(groups)
	for i := range jackknife {
		near(t, "jackknife", jackknife[i], f.Frozen.Jackknife[i], 1e-12)
	}
	a, _ := acceleration(jackknife)
	near(t, "acceleration", a, f.Frozen.A, 1e-9)
	for kind, want := range map[Kind][]float64{Percentile: f.Frozen.Percentile, BCa: f.Frozen.BCa} {
		replicates := make([]float64, len(f.Frozen.Index))
		for i, index := range f.Frozen.Index {
			replicates[i] = clusterRatio(groups, index)
			near(t, "replicate", replicates[i], f.Frozen.Values[i], 1e-12)
		}
		iv, err := fromReplicates("test", replicates, f.Mean, jackknife, kind, 0.95)
		nearInterval(t, fmt.Sprintf("frozen kind %d", kind), iv, err, want, 1e-9)
	}

	mean, se, err := MeanSE(f.Paired.D)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "paired mean", mean, f.Paired.Mean, 1e-12)
	near(t, "paired SE", se, f.Paired.SE, 1e-9)
	m, err = DescribeClusters(f.Paired.D, f.names())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "paired clustered SE", m.SE, f.Paired.SEClustered, 1e-9)
}

func TestClusterEdges(t *testing.T) {
	undefined := func(what string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*UndefinedError](err); !ok {
			t.Errorf("%s: got %v, want an UndefinedError", what, err)
		}
	}
	r := Resampling{Replicates: 500}
	_, err := ClusterInterval([]float64{0, 1, 1}, []string{"a", "a", "a"}, 0.95)
	undefined("one cluster", err)
	_, err = ClusterBootstrap(t.Context(), nil, nil, BCa, 0.95, r)
	undefined("no cluster", err)
	_, err = ClusterInterval([]float64{1, 1, 1}, []string{"a", "b", "c"}, 0.95)
	undefined("all equal", err)
	_, err = ClusterBootstrap(t.Context(), []float64{1, 0, 1, 0}, []string{"a", "a", "b", "b"}, Percentile, 0.95, r)
	undefined("equal cluster means", err)
	iv, err := ClusterBootstrap(t.Context(), []float64{1, 1, 0, 1}, []string{"a", "a", "b", "b"}, Percentile, 0.95, r)
	if err != nil || !strings.Contains(iv.Reason, "2 clusters") {
		t.Errorf("two clusters: got %+v, %v; want a warning", iv, err)
	}
	// Clusters of one are independent observations.
	y := []float64{0, 1, 1, 0, 1, 1, 1, 0.5}
	m, err := DescribeClusters(y, strings.Split("abcdefgh", ""))
	if err != nil {
		t.Fatal(err)
	}
	_, se, err := MeanSE(y)
	if err != nil {
		t.Fatal(err)
	}
	want, err := StudentMean(y, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	iv, err = ClusterInterval(y, strings.Split("abcdefgh", ""), 0.9)
	nearInterval(t, "CR1 interval of singletons", iv, err, []float64{want.Low, want.High}, 1e-12)
	near(t, "CR1 of singletons", m.SECR1, se, 1e-12)
	near(t, "design effect of singletons", m.DesignEffect, 1, 1e-12)
	if _, err := DescribeClusters(y, nil); err == nil {
		t.Error("observations without a cluster are accepted")
	}
	if _, err := DescribeClusters([]float64{math.NaN(), 1}, []string{"a", "b"}); err == nil {
		t.Error("NaN is accepted")
	}
}
