# kopshook: `make demo` and `make test` need Go, git and make only, and no root. `make e2e` boots nodes and installs
# what that takes (apt, as root).
GO ?= go
VERSION ?=
LDFLAGS := -s -w $(if $(VERSION),-X kopshook.dev/kopshook/internal/cli.version=$(VERSION))

TOOL := $(GO) tool -modfile=$(CURDIR)/tools/go.mod

.PHONY: build install release image demo test lint race mutate fuzz capi bench golden golden-unchanged keep-golden vet vet-os clean e2e e2e-pipelines e2e-suites e2e-vm e2e-mutations e2e-apiserver e2e-kops e2e-kops-mutations e2e-kops-cgroup2 e2e-cloudinit fuzz-cloudinit other-cloudinit bench-boot FORCE

build:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o kopshook .

# the program, its manual page and what shells complete: make install PREFIX=$HOME/.local, or DESTDIR for packages
PREFIX ?= /usr/local
install: build
	mkdir -p '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/man/man1' '$(DESTDIR)$(PREFIX)/share/bash-completion/completions' \
	  '$(DESTDIR)$(PREFIX)/share/zsh/site-functions' '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	install -m 755 kopshook '$(DESTDIR)$(PREFIX)/bin/kopshook'
	install -m 644 docs/man/kopshook.1 '$(DESTDIR)$(PREFIX)/share/man/man1/kopshook.1'
	./kopshook completion bash > '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/kopshook'
	./kopshook completion zsh > '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_kopshook'
	./kopshook completion fish > '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/kopshook.fish'

# What a release consists of, in dist/release: archives, what is in them, checksums. The commit has the release's tag, and no
# file differs from it.
release:
	$(GO) run ./internal/release

# The container image of the same commit, as an OCI layout in dist/image, and what is in it, in dist/image-sbom. It is
# pushed nowhere. KO_DEFAULTBASEIMAGE names another base than ko's own, of a registry.
KO := $(GO) run github.com/google/ko@v0.19.1
image:
	rm -rf dist/image dist/image-sbom
	mkdir -p dist/image-sbom
	KO_DOCKER_REPO=kopshook $(KO) build --bare --push=false --oci-layout-path=dist/image --sbom-dir=dist/image-sbom .

# the GPU example, merged into an instance group of a real cluster file
demo: build
	./kopshook merge examples/gpu/hooks.yaml examples/mixed/cluster.yaml

test: vet
	$(GO) test -timeout 20m ./...

vet:
	@test -z "$$(gofmt -l .)" || { gofmt -l . ; echo 'gofmt would change these files: run gofmt -w .' >&2; exit 1; }
	$(GO) vet ./...

# The program compiles for each system and processor that a release is for, and its tests for macOS and Windows. Nothing of it
# is kept, so it is compiled without optimizations, in three quarters of the time. Left out are tests that take kops' clouds
# along, as much code as all the rest: they ask kops' packages, which no system changes.
UNOPTIMIZED := -gcflags='all=-N -l'
vet-os: VETTED = $$($(GO) list ./... | grep -v -e /internal/kopscheck$$ -e /internal/cloudinit$$ -e /internal/addon$$)
vet-os:
	GOOS=linux GOARCH=arm64 $(GO) build $(UNOPTIMIZED) -o /dev/null .
	GOOS=darwin GOARCH=amd64 $(GO) build $(UNOPTIMIZED) -o /dev/null .
	export GOOS=darwin GOARCH=arm64; $(GO) vet $(UNOPTIMIZED) $(VETTED)
	export GOOS=windows GOARCH=amd64; $(GO) vet $(UNOPTIMIZED) $(VETTED)

# every command that reads input, on inputs broken at random: FUZZ seconds each, within 8 GB. Another FUZZ_SEED, other inputs.
FUZZ ?= 3
FUZZ_SEED ?= 14
fuzz:
	ulimit -v 8000000; KOPSHOOK_FUZZ=$(FUZZ)s KOPSHOOK_FUZZ_SEED=$(FUZZ_SEED) $(GO) test -count 1 -timeout 10m -run TestCommandsOnBrokenInput ./internal/cli

# staticcheck, of the version that tools/go.mod says, over all that has tests, boots included
lint:
	$(TOOL) staticcheck -tags e2e ./...

# the race detector, over the packages in which things run at the same time and which are quick. It takes a C compiler. Without
# GORACE each of the programs that tests start sleeps a second at its end.
RACE := ./hooks ./internal/plan ./internal/source ./internal/clusterhooks ./internal/kube ./internal/machines ./internal/file ./internal/lint
race:
	GORACE=atexit_sleep_ms=50 $(GO) test -race -timeout 30m $(RACE)

# Changes one operator at a time and lists the changes that no test of the package sees: each is a missing test, or code that
# makes no difference. Hours in all; make mutate PACKAGES=generator takes one.
PACKAGES ?= generator instancegroups internal/source internal/clusterhooks
mutate:
	for package in $(PACKAGES); do \
		$(TOOL) gremlins unleash --workers 1 --timeout-coefficient 5 --output-statuses lt ./$$package || exit 1; done

# Go benchmarks, then whole processes
bench: build
	KOPSHOOK=$(CURDIR)/kopshook $(GO) test -run '^$$' -bench . -benchmem ./...

# writes golden/ and all other files that tests make anew; read each diff.
GOLDEN = $$(grep -rl --include='*_test.go' 'kopshook/internal/golden"' . | xargs -n1 dirname | sort -u)
golden:
	KOPSHOOK_UPDATE_GOLDEN=1 $(GO) test -count 1 $(GOLDEN)

# make golden must change no file: the tree is as it was committed, or as it was when this began
golden-unchanged:
	@before=$$(git status --porcelain; git diff | git hash-object --stdin); \
	$(MAKE) --no-print-directory golden && \
	if [ "$$before" != "$$(git status --porcelain; git diff | git hash-object --stdin)" ]; then \
		git --no-pager diff --stat; echo 'make golden changes files: run it, read the diff, commit it' >&2; exit 1; fi

# keeps what this release makes of the examples and of all parts, for the upgrade test of later ones: make keep-golden
# VERSION=v1.2.3
keep-golden:
	@test -n "$(VERSION)" || { echo 'say VERSION=v1.2.3' >&2; exit 2; }
	mkdir -p golden/releases/$(VERSION)/golden
	cp -R examples golden/releases/$(VERSION)/ && rm golden/releases/$(VERSION)/examples/*.go
	for made in golden/*/cluster.yaml; do name=$$(basename $$(dirname $$made)); \
		mkdir -p golden/releases/$(VERSION)/golden/$$name && cp $$made golden/releases/$(VERSION)/golden/$$name/ || exit 1; done
	cp -R internal/cli/testdata/parts golden/releases/$(VERSION)/

# Boots: the tests are built as whoever runs make and run as root. GOFLAGS and KOPSHOOK_* reach them.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo -E)
E2E := $(SUDO) ./e2e.test -test.timeout 60m

e2e/e2e.test: FORCE
	$(GO) test -tags e2e -c -o $@ ./e2e

# nodes in containers, on every suite
e2e: e2e/e2e.test
	$(SUDO) e2e/install.sh
	cd e2e && $(E2E) -test.parallel 6

# every boot on the oldest and the newest system, before a release; make e2e runs the short ones there. What is skipped are
# the other suites, wherever a test has them.
e2e-suites: e2e/e2e.test
	$(SUDO) e2e/install.sh
	cd e2e && KOPSHOOK_E2E_ALL=1 $(E2E) -test.skip '/^(trixie|bookworm)$$|//^(trixie|bookworm)$$' -test.parallel 6

# the same promise on virtual machines, with kernels and disks of their own
e2e-vm: e2e/e2e.test
	$(SUDO) e2e/install.sh vm
	cd e2e && KOPSHOOK_E2E_VM=1 $(E2E) -test.run 'TestVM' -test.parallel 2 -test.v

# kopshook where people have it: kustomize, kpt, Terraform, releases. Programs that it builds are kept in the user's
# cache; each job's time is printed. Root only installs what is missing.
e2e-pipelines:
	$(SUDO) e2e/install.sh browser
	$(GO) test -tags e2e -timeout 60m -v ./e2e/pipelines

# breaks the gate and the runner in several ways; each must make a test fail. ALL=1: also those that take longer to be seen
e2e-mutations: e2e/e2e.test
	$(SUDO) e2e/install.sh
	cd e2e && KOPSHOOK_E2E_MUTATIONS=$(if $(ALL),all,1) $(E2E) -test.run 'TestMutations' -test.v

# cloud-init's own code: what it makes of the parts that we generate, and the model of it, with cases and a fixed set of
# random messages
e2e-cloudinit: e2e/generator.test e2e/cloudinit.test
	$(SUDO) e2e/install.sh
	cd generator && $(SUDO) ../e2e/generator.test -test.timeout 30m -test.run 'CloudInit|OnTheNode|ShellIsClean'
	cd internal/cloudinit && $(SUDO) ../../e2e/cloudinit.test -test.timeout 30m

# N more random messages, of another SEED, from the FIRST on
N ?= 100000
FIRST ?= 0
SEED ?= $(shell date +%s)
fuzz-cloudinit: e2e/cloudinit.test
	$(SUDO) e2e/install.sh
	cd internal/cloudinit && KOPSHOOK_N=$(N) KOPSHOOK_FIRST=$(FIRST) KOPSHOOK_SEED=$(SEED) $(SUDO) ../../e2e/cloudinit.test -test.run Random -test.timeout 0 -test.v

# cases and the fixed set against another version, with the Python of a suite:
# make other-cloudinit CLOUDINIT=FOLDER-WITH-A-SOURCE-TREE [SUITE=bookworm]
other-cloudinit: e2e/cloudinit.test
	@test -e "$(CLOUDINIT)/cloudinit/handlers" || { echo 'say CLOUDINIT=, the folder of a source tree of cloud-init' >&2; exit 2; }
	$(SUDO) e2e/install.sh
	cd internal/cloudinit && KOPSHOOK_CLOUDINIT="$(abspath $(CLOUDINIT))" KOPSHOOK_SUITE=$(SUITE) $(SUDO) ../../e2e/cloudinit.test -test.run SeenAlike -test.timeout 60m -test.v

e2e/cloudinit.test: FORCE
	$(GO) test -tags e2e -c -o $@ ./internal/cloudinit

e2e/generator.test: FORCE
	$(GO) test -tags e2e -c -o $@ ./generator

# the client of Runtime Extensions against Cluster API's own server, a module of its own
capi:
	cd internal/clusterhooks/capitest && $(GO) vet ./... && $(GO) test -timeout 30m ./...

# how long hooks hold the kubelet up, as ratios
bench-boot: e2e/e2e.test
	$(SUDO) e2e/install.sh
	cd e2e && $(E2E) -test.run '^$$' -test.bench Boot -test.benchtime 1x

# The programs of a real kops cluster: the first run builds them, which takes minutes, and keeps them in the cache.
PROGRAMS = cd e2e/programs && GOGC=400 $(GO) run .

# Addons in a real control plane. KOPSHOOK_NODE_READINESS=FOLDER with the source of the node readiness controller, where it cannot be
# had as a module
e2e-apiserver:
	$(SUDO) e2e/install.sh apiserver
	programs=$$($(PROGRAMS)) && KOPSHOOK_PROGRAMS=$$programs $(GO) test -tags e2e -count 1 -timeout 20m -parallel 12 ./e2e/apiserver

# real nodes: kops' own user data, nodeup and kops-controller, with containerd, the kubelet and the API server
e2e-kops: e2e/kops.test
	$(SUDO) e2e/install.sh kops
	programs=$$($(PROGRAMS)) && cd e2e/kops && $(SUDO) env KOPSHOOK_PROGRAMS=$$programs ../kops.test -test.timeout 30m -test.parallel 2 -test.v

# the addon's pod and its limits on a node with cgroup v2 alone, where this machine has not that: in Linux as a process, slowly.
# Before a release.
e2e-kops-cgroup2: e2e/kops.test
	$(SUDO) e2e/install.sh cgroup2
	programs=$$($(PROGRAMS)) && cd e2e/kops && $(SUDO) env KOPSHOOK_PROGRAMS=$$programs KOPSHOOK_E2E_CGROUP2=1 ../kops.test -test.timeout 60m -test.run '^TestOnCgroupV2Alone$$' -test.v

# takes out what those tests guard; each must fail then. Before a release.
e2e-kops-mutations: e2e/kops.test
	$(SUDO) e2e/install.sh kops
	programs=$$($(PROGRAMS)) && cd e2e/kops && $(SUDO) env KOPSHOOK_PROGRAMS=$$programs KOPSHOOK_E2E_MUTATIONS=1 ../kops.test -test.timeout 30m -test.run TestMutations -test.v

e2e/kops.test: FORCE
	$(GO) test -tags e2e -c -o $@ ./e2e/kops

FORCE:

clean:
	rm -f kopshook
