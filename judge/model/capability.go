package model

import (
	"fmt"
	"strings"
)

// The modes in which a model is made to answer with JSON, the strictest first.
const (
	ModeNativeSchema = "native_schema" // the service constrains the output to the schema
	ModeForcedTool   = "forced_tool"   // the model must call a tool whose input is the schema
	ModeAutoTool     = "auto_tool"     // the model is offered the tool and told to use it; text is read too
	ModeText         = "text"          // the schema stands in the prompt only
)

// Capability says what models whose id has a prefix can do. The first match counts.
type Capability struct {
	Prefix      string // of the model id without region prefix or ARN
	Mode        string
	Temperature bool // takes a temperature
	Cache       bool // takes cache points
}

// builtinTable lists what is known of models on Bedrock in November 2026. What it does not know is asked in
// the strictest mode first.
var builtinTable = []Capability{
	{"anthropic.claude-haiku-4-5", ModeNativeSchema, true, true},
	{"anthropic.claude-sonnet-4-5", ModeNativeSchema, true, true},
	{"anthropic.claude-sonnet-4-6", ModeNativeSchema, true, true},
	{"anthropic.claude-opus-4-5", ModeNativeSchema, true, true},
	{"anthropic.claude-opus-4-6", ModeNativeSchema, true, true},
	{"anthropic.claude-opus-4-1", ModeForcedTool, true, true},
	{"anthropic.claude-sonnet-4-2", ModeForcedTool, true, true},
	{"anthropic.claude-opus-4-2", ModeForcedTool, true, true},
	{"anthropic.claude-3", ModeForcedTool, true, true},
	{"anthropic.claude", ModeNativeSchema, false, true}, // newer ones refuse sampling parameters and forced tools
	{"amazon.nova", ModeForcedTool, true, true},
	{"", ModeNativeSchema, true, false}, // where its service refuses, see Fallback
}

// capabilityOf finds a model's row.
func capabilityOf(id string, table []Capability) Capability {
	base := baseModel(id)
	for _, t := range [][]Capability{table, builtinTable} {
		for _, c := range t {
			if strings.HasPrefix(base, c.Prefix) {
				return c
			}
		}
	}
	return Capability{Mode: ModeAutoTool}
}

var regionPrefixes = []string{"eu.", "us.", "global.", "apac.", "jp.", "au.", "us-gov.", "ca."}

// baseModel is a model id without ARN and region prefix.
func baseModel(id string) string {
	if strings.HasPrefix(id, "arn:") {
		id = id[strings.LastIndexByte(id, '/')+1:]
	}
	for _, p := range regionPrefixes {
		if rest, ok := strings.CutPrefix(id, p); ok {
			return rest
		}
	}
	return id
}

// insideEU says whether a model id can only be served inside of the EU: an EU profile, or a plain id or ARN in an EU region.
func insideEU(id, region string) error {
	name := id
	if strings.HasPrefix(id, "arn:") {
		if parts := strings.SplitN(id, ":", 6); len(parts) > 3 && parts[3] != "" {
			region = parts[3]
		}
		name = id[strings.LastIndexByte(id, '/')+1:]
	}
	for _, p := range regionPrefixes {
		if strings.HasPrefix(name, p) && p != "eu." {
			return fmt.Errorf("model %s routes outside of the EU (%s): only eu. profiles are allowed here", id, strings.TrimSuffix(p, "."))
		}
	}
	if !strings.HasPrefix(region, "eu-") {
		return fmt.Errorf("region %s is outside of the EU", region)
	}
	return nil
}
