package pipeline

// AggregateConfig tunes aggregate.
type AggregateConfig struct {
	Run          string   `yaml:"run"`
	Level        float64  `yaml:"level"`
	Report       string   `yaml:"report"`
	WithContent  bool     `yaml:"with_content"`  // steps' text and judges' reasons on the report's session pages
	GroupBy      []string `yaml:"group_by"`      // further pairs, such as agent+model or criterion+skill
	Width        float64  `yaml:"width"`         // the width of an interval that one would like
	Baseline     string   `yaml:"baseline"`      // previous, a run id, or a window such as 7d
	ForceCompare bool     `yaml:"force_compare"` // compare also what was not asked alike
	Trend        int      `yaml:"trend"`         // runs in the trend
	Gates        []string `yaml:"gates"`
	JUnit        string   `yaml:"junit"`
	SummaryMD    string   `yaml:"summary_md"`
	Labels       string   `yaml:"labels"` // file of human labels
}

const (
	defaultWidth = 0.2
	defaultTrend = 14
	maxTrend     = 400
)

func (c *Config) completeAggregate() error {
	a := &c.Aggregate
	def(&a.Run, "latest")
	def(&a.Level, 0.95)
	def(&a.Width, defaultWidth)
	def(&a.Trend, defaultTrend)
	switch {
	case a.Level <= 0 || a.Level >= 1:
		return usagef("level %g: want between 0 and 1", a.Level)
	case a.Width < 0.01 || a.Width > 1:
		return usagef("width %g: want 0.01 to 1", a.Width)
	case a.Trend < 1 || a.Trend > maxTrend:
		return usagef("trend %d: want 1 to %d runs", a.Trend, maxTrend)
	}
	if _, err := chosenGroupings(a.GroupBy); err != nil {
		return err
	}
	_, err := parseGates(a.Gates)
	return err
}
