package foundry

import (
	"net/http"
	"strings"
)

// dryProject answers as a project does in which nothing is yet.
type dryProject struct{ base string }

func (d *dryProject) answer(r *http.Request, _ []byte) (int, string) {
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet && strings.Contains(path, "/openai/v1/evals/") && !strings.HasSuffix(path, "/runs"):
		return http.StatusOK, `{"id":"DRY_RUN"}`
	case r.Method == http.MethodGet && strings.Contains(path, "/openai/v1/"):
		return http.StatusOK, `{"data":[],"has_more":false}`
	case r.Method == http.MethodGet:
		return http.StatusOK, `{"value":[]}`
	case strings.HasSuffix(path, "/startPendingUpload"):
		return http.StatusOK, `{"blobReference":{"credential":{"sasUri":"https://STORAGE_REPLACE.blob.core.windows.net/container?sig=DRY_RUN"}}}`
	case r.Method == http.MethodPatch:
		return http.StatusOK, `{"id":"azureai://accounts/ACCOUNT_REPLACE/projects/PROJECT_REPLACE/data/DRY_RUN"}`
	case strings.Contains(path, "/evaluators/"):
		return http.StatusCreated, `{"version":"1"}`
	}
	return http.StatusCreated, `{"id":"DRY_RUN"}`
}
