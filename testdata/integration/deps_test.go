//go:build depsonly

package integration

import (
	_ "github.com/aws/aws-sdk-go-v2/config"
	_ "github.com/aws/aws-sdk-go-v2/service/s3"
	_ "github.com/chromedp/chromedp"
	_ "github.com/duckdb/duckdb-go/v2"
	_ "go.uber.org/goleak"
)
