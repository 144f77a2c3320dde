# kopshook: `make demo` and `make test` need Go, git and make only, and no root. `make e2e` boots nodes and installs
# what that takes (apt, as root).
GO ?= go
VERSION ?=
LDFLAGS := -s -w $(if $(VERSION),-X kopshook.dev/kopshook/internal/cli.version=$(VERSION))

.PHONY: build demo test bench golden vet clean

build:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o kopshook .

# the GPU example, merged into an instance group of a real cluster file
demo: build
	./kopshook merge examples/gpu/hooks.yaml examples/mixed/cluster.yaml

test: vet
	$(GO) test ./...

vet:
	@test -z "$$(gofmt -l .)" || { gofmt -l . ; echo 'gofmt would change these files: run gofmt -w .' >&2; exit 1; }
	$(GO) vet ./...

# Go benchmarks, then whole processes
bench: build
	KOPSHOOK=$(CURDIR)/kopshook $(GO) test -run '^$$' -bench . -benchmem ./...

# writes golden/ and all other golden files anew; read each diff
golden:
	$(GO) test ./... -update

clean:
	rm -f kopshook
