# tracejury: grade what agents did, from the OpenTelemetry that is already in your bucket.
#
# make nightly runs the four jobs in order; with nothing set it grades testdata/archive offline.

FROM   ?= testdata/archive
DATA   ?= out/lake
REPORT ?= out/report.html
EXPORTS ?= out/exports
TO     ?= jsonl,agentcore,foundry,outcomes
JUDGE  ?= rules
EVALUATORS ?= session,skill-selection,skill-following
DAYS   ?= 7
SAMPLE ?= 50
# The demo archive has fixed dates; your own archive wants no AS_OF.
AS_OF  ?= $(if $(filter testdata/archive,$(FROM)),2026-11-30T06:00:00Z)
ARGS   ?=
TESTFLAGS ?=

GO ?= go
export TRACEJURY_AS_OF = $(AS_OF)

.PHONY: help build nightly test test-all bench lint judge-server archive clean

help: ## what there is to make
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the four commands, in bin/
	@mkdir -p bin
	$(GO) build -trimpath -o bin/ ./cmd/...

# evaluate names the run, so that an ad hoc run of the same day is not taken for it; the rates are printed last.
nightly: build ## ingest, evaluate, aggregate, export; ends with the rates and a report to open
	@worst=0; dir=$$(dirname $(REPORT)); mkdir -p $$dir; rm -f $$dir/evaluate.json; \
	go_on() { rc=$$?; case $$rc in 0) ;; 3|4) [ $$worst -ge $$rc ] || worst=$$rc ;; *) exit $$rc ;; esac; }; \
	bin/ingest --from $(FROM) --data $(DATA) --summary $$dir/ingest.json $(ARGS) || go_on; \
	bin/evaluate --data $(DATA) --judge $(JUDGE) --evaluators $(EVALUATORS) --days $(DAYS) --sample $(SAMPLE) --summary $$dir/evaluate.json $(ARGS) || go_on; \
	run=$$(sed -n 's/^  "run_id": "\(.*\)",$$/\1/p' $$dir/evaluate.json 2>/dev/null || true); \
	bin/aggregate --data $(DATA) --run "$${run:-latest}" --report $(REPORT) --summary $$dir/aggregate.json $(ARGS) >$$dir/rates.txt || go_on; \
	bin/export --data $(DATA) --run "$${run:-latest}" --to $(TO) --out $(EXPORTS) --summary $$dir/export.json $(ARGS) >$$dir/export.txt || go_on; \
	echo; cat $$dir/rates.txt; \
	[ ! -d $(EXPORTS)/$$run ] || echo "exports   $(EXPORTS)/$$run (manifest.json names what each target cannot hold)"; \
	exit $$worst

test: ## unit, golden, properties, README commands, end to end: pure Go, no network
	$(GO) test $(TESTFLAGS) ./...

# The race detector sees nothing in what one goroutine does: it runs where anything is concurrent, in the code or in its tests.
CONCURRENT = $$(grep -rlE 'errgroup|sync\.|atomic\.|[^a-z]go func|\.Go\(|<-|t\.Parallel' --include='*.go' cmd exports judge pipeline schema | xargs -n1 dirname | sort -u | sed 's|^|./|')

test-all: ## test with the race detector, then S3, DuckDB and browser tests and the shared captures
	@echo "captures: $${TRACEJURY_SHARED:-skipped, TRACEJURY_SHARED is not set}"
	$(GO) test -race -short -timeout 20m $(TESTFLAGS) $(CONCURRENT)
	cd testdata/integration && $(GO) test $(TESTFLAGS) ./...

bench: ## benchmarks, as ratios against a peer in the same run
	$(GO) test -run '^$$' -bench . -benchtime 1s ./pipeline/otlp/ ./pipeline/mask/ ./pipeline/stats/
	$(GO) test -run '^$$' -bench 'Night|SmallObjects' -benchtime 1x ./pipeline/
	@if command -v $${CC:-cc} >/dev/null; then cd testdata/integration && $(GO) test -run '^$$' -bench Ingest -benchtime 1x .; \
	else echo "no C compiler: the benchmark against DuckDB is skipped"; fi

lint: ## gofmt, go vet, staticcheck if installed
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	cd testdata/integration && $(GO) vet ./...
	@if command -v staticcheck >/dev/null; then staticcheck ./...; else echo "staticcheck is not installed: skipped"; fi

judge-server: ## a local judge that speaks Converse, for trying things
	$(GO) run ./judge/judgetest/cmd/judge-server

archive: ## write testdata/archive again
	$(GO) run ./pipeline/otlp/otlpgen/cmd/otlpgen --demo testdata/archive

clean: ## remove what was built and written
	rm -rf bin out .tracejury
