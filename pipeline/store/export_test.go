package store

import "testing"

// OpenFake opens a store on an S3 in memory, with parts of 5 MiB.
func OpenFake(t testing.TB) Store { return newFakeS3(t).open(t, Options{PartBytes: minPartBytes}) }
