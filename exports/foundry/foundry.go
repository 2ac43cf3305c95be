// Package foundry writes the files that Microsoft Foundry evaluations import.
package foundry

import (
	"context"

	"github.com/tracejury/tracejury/exports"
)

// Target implements exports.Target.
type Target struct{}

// Name implements exports.Target.
func (Target) Name() string { return "foundry" }

// Check implements exports.Target.
func (Target) Check(ctx context.Context, in *exports.Input) error { return ctx.Err() }

// Files implements exports.Target.
func (Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error { return ctx.Err() }

// Loss implements exports.Target.
func (Target) Loss(in *exports.Input) []exports.Loss { return nil }

var _ exports.Target = Target{}
