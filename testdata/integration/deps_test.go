//go:build depsonly

package integration

import _ "github.com/chromedp/chromedp"
