package stats

import (
	"context"
	"fmt"
	"math"
)

// ClusterMean describes the mean of observations that come in groups whose members resemble each other: trials of a
// task, sessions of a user.
type ClusterMean struct {
	N, Clusters int
	Mean        float64
	// SE is the cluster-robust standard error of Miller 2024: √Σ_c(Σ_{i∈c}(y_i − mean))² / n (CR0).
	SE float64
	// SECR1 is SE·√(G/(G−1)), which is less optimistic with few clusters.
	SECR1 float64
	// ICC is the intraclass correlation of a one-way analysis of variance, at most 1; 0 where it does not exist, which
	// is when no cluster has two members or nothing varies.
	ICC float64
	// DesignEffect is SE² over the variance of a mean of independent observations; 0 where nothing varies.
	DesignEffect float64
}

// clusterSums holds one cluster's Σy and size, in order of first appearance.
type clusterSums struct{ sum, sumSquares, n float64 }

func groupClusters(fn string, y []float64, cluster []string) ([]clusterSums, error) {
	if len(y) != len(cluster) {
		return nil, &ArgumentError{Func: fn, Arg: "cluster", Value: len(cluster)}
	}
	if err := checkFinite(fn, "y", y); err != nil {
		return nil, err
	}
	at := make(map[string]int)
	var out []clusterSums
	for i, v := range y {
		j, ok := at[cluster[i]]
		if !ok {
			j = len(out)
			at[cluster[i]] = j
			out = append(out, clusterSums{})
		}
		out[j].sum += v
		out[j].sumSquares += v * v
		out[j].n++
	}
	if len(out) < 2 {
		return nil, &UndefinedError{Func: fn, Reason: fmt.Sprintf("%d clusters", len(out))}
	}
	return out, nil
}

// DescribeClusters computes a ClusterMean; cluster[i] names the cluster of y[i]. It needs two clusters.
func DescribeClusters(y []float64, cluster []string) (ClusterMean, error) {
	groups, err := groupClusters("DescribeClusters", y, cluster)
	if err != nil {
		return ClusterMean{}, err
	}
	return describe(y, groups), nil
}

func describe(y []float64, groups []clusterSums) ClusterMean {
	n, g := float64(len(y)), float64(len(groups))
	m := ClusterMean{N: len(y), Clusters: len(groups), Mean: meanOf(y)}
	var total, residual, between, within, sizes float64
	for _, v := range y {
		total += (v - m.Mean) * (v - m.Mean)
	}
	for _, c := range groups {
		r := c.sum - c.n*m.Mean
		residual += r * r
		between += r * r / c.n
		sizes += c.n * c.n
	}
	within = math.Max(0, total-between)
	m.SE = math.Sqrt(residual) / n
	m.SECR1 = m.SE * math.Sqrt(g/(g-1))
	if total > 0 {
		m.DesignEffect = residual / total // SE² / (total/n/n)
		if n > g {
			msb, msw := between/(g-1), within/(n-g)
			n0 := (n - sizes/n) / (g - 1)
			if den := msb + (n0-1)*msw; den > 0 {
				m.ICC = (msb - msw) / den
			}
		}
	}
	return m
}

// fewClusters is where cluster-robust intervals begin to be too short.
const fewClusters = 10

func clusterWarning(g int) string {
	if g < fewClusters {
		return fmt.Sprintf("only %d clusters, fewer than %d: probably too short", g, fewClusters)
	}
	return ""
}

// ClusterInterval is mean ± t(G−1)·SECR1. Reason warns below ten clusters.
func ClusterInterval(y []float64, cluster []string, level float64) (Interval, error) {
	const fn = "ClusterInterval"
	if err := checkLevel(fn, level); err != nil {
		return Interval{}, err
	}
	groups, err := groupClusters(fn, y, cluster)
	if err != nil {
		return Interval{}, err
	}
	m := describe(y, groups)
	if m.SECR1 <= tieSlack*math.Abs(m.Mean) {
		return Interval{}, &UndefinedError{Func: fn, Reason: "all clusters agree"}
	}
	half := m.SECR1 * studentQuantile((1-level)/2, float64(m.Clusters-1))
	return Interval{
		Low: m.Mean - half, High: m.Mean + half, Level: level, Method: MethodCR1, Reason: clusterWarning(m.Clusters),
	}, nil
}

// ClusterBootstrap resamples whole clusters with replacement; the statistic is the ratio Σy/Σn, since the size of a
// resample varies. Reason warns below ten clusters; two have only three different resamples.
func ClusterBootstrap(
	ctx context.Context, y []float64, cluster []string, kind Kind, level float64, r Resampling,
) (Interval, error) {
	const fn = "ClusterBootstrap"
	if err := checkLevel(fn, level); err != nil {
		return Interval{}, err
	}
	groups, err := groupClusters(fn, y, cluster)
	if err != nil {
		return Interval{}, err
	}
	ratio := func(index []int) (float64, bool) { return clusterRatio(groups, index), true }
	jackknife := func([]int) []float64 { return clusterJackknife(groups) }
	iv, err := bootstrap(ctx, fn, len(groups), ratio, jackknife, kind, level, r)
	if err != nil {
		return Interval{}, err
	}
	switch iv.Method {
	case MethodPercentile:
		iv.Method = MethodClusterBootstrap
	case MethodBCa:
		iv.Method = MethodClusterBCa
	}
	if iv.FallbackFrom == MethodBCa {
		iv.FallbackFrom = MethodClusterBCa
	}
	if iv.Reason == "" {
		iv.Reason = clusterWarning(len(groups))
	}
	return iv, nil
}

func clusterRatio(groups []clusterSums, index []int) float64 {
	var sum, n float64
	for _, i := range index {
		sum += groups[i].sum
		n += groups[i].n
	}
	return sum / n
}

// clusterJackknife leaves out one cluster at a time.
func clusterJackknife(groups []clusterSums) []float64 {
	var sum, n float64
	for _, c := range groups {
		sum += c.sum
		n += c.n
	}
	out := make([]float64, len(groups))
	for i, c := range groups {
		out[i] = (sum - c.sum) / (n - c.n)
	}
	return out
}
