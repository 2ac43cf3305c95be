package stats

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// Every function refuses what no data could have produced, and names itself and the argument.
func TestArgumentErrorsNameTheirPlace(t *testing.T) {
	ctx := t.Context()
	first := func(_ any, err error) error { return err }
	for want, err := range map[string]error{
		"ClopperPearsonLower: argument k":      first(ClopperPearsonLower(3, 2, 0.95)),
		"ClopperPearsonUpper: argument level":  first(ClopperPearsonUpper(1, 2, 1)),
		"BCaProportion: argument n":            first(BCaProportion(0, -1, 0.95)),
		"FiniteProportion: argument N":         first(FiniteProportion(0, 0, -1, 0.95)),
		"WilsonFinite: argument n":             first(WilsonFinite(0, 9, 3, 0.95)),
		"Tango: argument Lost":                 first(Tango(Pairs{Lost: -1}, 0.95)),
		"Newcombe10: argument level":           first(Newcombe10(Pairs{Lost: 1}, math.NaN())),
		"BootstrapPaired: argument Both":       first(BootstrapPaired(Pairs{Both: maxCount}, 0.95)),
		"BCaPaired: argument level":            first(BCaPaired(Pairs{Both: 1}, 0)),
		"NewcombeDifference: argument k":       first(NewcombeDifference(1, 2, 3, 2, 0.95)),
		"McNemarExact: argument gained":        first(McNemarExact(-1, 0)),
		"McNemarMidP: argument lost":           first(McNemarMidP(0, -1)),
		"FisherExact: argument k":              first(FisherExact(1, 0, 0, 0)),
		"FisherExact: argument k1+k2":          first(FisherExact(maxFisher*2, maxFisher*4, maxFisher*2, maxFisher*4)),
		"StudentMean: argument level":          first(StudentMean([]float64{1, 2}, 2)),
		"MeanInterval: argument values":        first(MeanInterval(ctx, []float64{1, math.NaN()}, 0.95, Resampling{})),
		"ClusterInterval: argument cluster":    first(ClusterInterval([]float64{1}, nil, 0.95)),
		"ClusterBootstrap: argument level":     first(ClusterBootstrap(ctx, nil, nil, BCa, 0, Resampling{})),
		"ClusterBootstrap: argument kind":      first(ClusterBootstrap(ctx, []float64{1, 0}, []string{"a", "b"}, 7, 0.9, Resampling{})),
		"BootstrapStatistic: argument n":       first(BootstrapStatistic(ctx, -1, nil, BCa, 0.9, Resampling{})),
		"SignFlip: argument differences":       first(SignFlip(ctx, []float64{math.Inf(-1)}, Resampling{})),
		"SignFlip: argument Replicates":        first(SignFlip(ctx, []float64{1}, Resampling{Replicates: -5})),
		"BenjaminiHochberg: argument p":        first(BenjaminiHochberg([]float64{2})),
		"CohenKappa: argument w":               first(CohenKappa([][]int{{1}}, -1)),
		"KrippendorffAlpha: argument metric":   first(KrippendorffAlpha(nil, 9)),
		"Table: argument categories":           first(Table(nil, nil, 0)),
		"FlipRate: argument second":            first(FlipRate([]int{1}, nil)),
		"RoganGladen: argument Sensitivity":    first(RoganGladen(0.5, 9, Accuracy{0.9, 9, 1.1, 9}, 0.95)),
		"RoganGladen: argument Positives":      first(RoganGladen(0.5, 9, Accuracy{0.9, 9, 0.9, -9}, 0.95)),
		"PPI: argument predictions":            first(PPI([]float64{1}, nil, nil, 0.95)),
		"Stratified: argument Sampled":         first(Stratified([]Stratum{{Size: 1, Sampled: 2}}, 0.95)),
		"Stratified: argument Passed":          first(Stratified([]Stratum{{Size: 3, Sampled: 2, Passed: 3}}, 0.95)),
		"AllocateCapped: argument n":           first(Allocate([]int{1}, -1)),
		"RequiredPairs: argument power":        first(RequiredPairs(0.1, 0.2, 0.95, 0.2)),
		"RequiredAllPass: argument level":      first(RequiredAllPass(0.9, 1)),
		"DetectableChange: argument n1":        first(DetectableChange(0.9, 0, 5, 0.95, 0.8)),
		"DetectableDifference: argument level": first(DetectableDifference(5, 0.1, 1, 0.8)),
	} {
		bad, ok := errors.AsType[*ArgumentError](err)
		if !ok || !strings.Contains(bad.Error(), want+":") {
			t.Errorf("got %v, want an ArgumentError of %s", err, want)
		}
	}
	for _, prior := range [][2]float64{{0, 1}, {1, math.NaN()}} {
		if _, _, err := BetaBinomial(1, 2, prior[0], prior[1], 0.95); err == nil {
			t.Errorf("prior %v is accepted", prior)
		}
	}
	_, _, err := MeanSE([]float64{1})
	if undefined, ok := errors.AsType[*UndefinedError](err); !ok || undefined.Error() != "stats.MeanSE: undefined: 1 observation" {
		t.Errorf("got %v", err)
	}
	if iv, err := BCaProportion(5, 5, 0.95); err != nil || iv.FallbackFrom != MethodBCaExact {
		t.Errorf("BCa of equal data: got %+v, %v", iv, err)
	}
}
