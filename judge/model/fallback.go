package model

import (
	"slices"
	"strings"
)

// What a service may refuse of how it is asked. Values of judge.CallError.Refuses.
const (
	RefusesMode        = "mode"        // the mode of structured output
	RefusesTemperature = "temperature" // a temperature
)

// CapabilityOf is how the model that spec names is asked: as the first matching row of table says, else the built-in table. listed says
// that it was a row of table. It is empty for judges that are no model.
func CapabilityOf(spec string, table []Capability) (c Capability, listed bool) {
	kind, id := kindAndModel(spec)
	switch kind {
	case "bedrock", "bedrock-batch", "anthropic":
		if c, ok := lookup(kind, id, table); ok {
			return c, true
		}
		return capabilityOf(tableID(kind, id), nil), false
	case "openai":
		if c, ok := lookup(kind, id, table); ok {
			return c, true
		}
		return Capability{Mode: ModeNativeSchema, Temperature: true}, false
	}
	return Capability{}, false
}

// Fallback is how a model is asked next whose service refused something of how it was asked; false when nothing is left.
func Fallback(spec string, c Capability, refuses string) (Capability, bool) {
	kind, _ := kindAndModel(spec)
	switch {
	case refuses == RefusesTemperature && c.Temperature:
		c.Temperature = false
		return c, true
	case refuses != RefusesMode:
		return c, false
	}
	modes := modesOf(kind)
	i := slices.Index(modes, c.Mode)
	if i < 0 || i+1 >= len(modes) {
		return c, false
	}
	c.Mode = modes[i+1]
	return c, true
}

// modesOf lists the modes of a kind of judge, in the order in which they are tried.
func modesOf(kind string) []string {
	switch kind {
	case "bedrock", "anthropic":
		return []string{ModeNativeSchema, ModeForcedTool, ModeAutoTool}
	case "bedrock-batch":
		return []string{ModeNativeSchema} // jobs take no tools
	case "openai":
		return []string{ModeNativeSchema, ModeForcedTool, ModeText} // few servers take tools that need not be called
	}
	return nil
}

// Modes are all modes, for messages.
var Modes = []string{ModeNativeSchema, ModeForcedTool, ModeAutoTool, ModeText}

func kindAndModel(spec string) (kind, id string) {
	kind, id, _ = strings.Cut(spec, ":")
	if kind == "openai" {
		_, id, _ = strings.Cut(id, "#")
	}
	return kind, id
}

// tableID is a model's id as the built-in table has it.
func tableID(kind, id string) string {
	if kind == "anthropic" {
		return "anthropic." + id
	}
	return id
}

// lookup finds a model in a table of a user, who may name it with or without vendor and region.
func lookup(kind, id string, table []Capability) (Capability, bool) {
	base := baseModel(tableID(kind, id))
	names := []string{id, base, strings.TrimPrefix(base, "anthropic.")}
	for _, c := range table {
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, c.Prefix) }) {
			return c, true
		}
	}
	return Capability{}, false
}
