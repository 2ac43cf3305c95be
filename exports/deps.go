//go:build depsonly

package exports

import (
	_ "github.com/anthropics/anthropic-sdk-go/v2"
	_ "github.com/apache/arrow-go/v18/parquet/pqarrow"
	_ "github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol"
	_ "golang.org/x/tools/txtar"
)
