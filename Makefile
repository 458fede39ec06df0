# Two commands do everything on a machine with Python, Rust, C++ and Node: `make demo` and `make test`.
# Which versions of them: docs/install.md.

# The newest CPython that can make environments; `make PYTHON=python3.12` takes another.
SUITS := import ensurepip, sys; sys.exit(sys.version_info < (3, 11) or sys.implementation.name != "cpython")
NEWEST_PYTHON = $(shell for name in $$(seq -f python3.%g 40 -1 11) python3 python; do \
  command -v $$name >/dev/null && $$name -c '$(SUITS)' 2>/dev/null && echo $$name && break; done)
NO_PYTHON := CPython 3.11 or newer with the module ensurepip (on Debian: python3-venv) is not there; install it, \
  or name it: make PYTHON=/path/to/python3
PYTHON ?= $(or $(NEWEST_PYTHON),$(error $(NO_PYTHON)))
VENV := .venv
BIN := $(VENV)/bin
PAGE := python/anabranch/page/template.html
MODULES := ui/node_modules/.package-lock.json
UI := $(shell git ls-files -co --exclude-standard ui 2>/dev/null)
RUST := $(shell git ls-files -co --exclude-standard 'crates/*' Cargo.toml Cargo.lock 2>/dev/null)

# With LIVE=0 the module has no live part, and half as many crates are compiled: no perf, share, send, fetch and live.
LIVE ?= 1
PARTS := $(if $(filter 0,$(LIVE)),--no-default-features)
WITHOUT := $(if $(filter 0,$(LIVE)),-without-live)

.PHONY: demo demonstrated test check install develop wheel sdist rust node compiled fuzz miri audit constraints notices bench docs
.PHONY: lint lint-rust lint-python lint-ui format clean

# Build, solve a network of 12 nodes, simulate a small one under two protocols, set a table of a paper beside ours, and make a
# page to look at. What the build and the commands print is in the log.
demo:
	@mkdir -p runs
	@echo "building, solving and simulating takes some minutes; the output goes to runs/demo.log"
	@$(MAKE) --no-print-directory demonstrated > runs/demo.log 2>&1 || { tail -n 30 runs/demo.log; echo "failed; all output is in runs/demo.log"; exit 1; }
	@sed -n 's/^carried /solved:     &/p; s/^certified: /proved:     /p; s/^[0-9]* claims: /reproduced: &/p' runs/demo.log
	@sed -n 's/^.* simulated, seed/simulated:  &/p' runs/demo.log | head -n 1
	@echo "open file://$(CURDIR)/runs/report.html"

JOIN := scenarios/join-and-leave.toml
GRID := runs/grid.graphml

demonstrated: install
	$(BIN)/anabranch topology generate grid $(GRID) --rows 3 --columns 4 --force
	$(BIN)/anabranch solve $(GRID) --demands gravity:100Gbit/s --out runs/grid --figure runs/grid.svg --force
	$(BIN)/anabranch run $(JOIN) --out runs/d-slen --figures --force
	$(BIN)/anabranch run $(JOIN) --out runs/vo-le-tran --set defaults.connection.protocol=vo-le-tran --force
	$(BIN)/anabranch reproduce upward-max-min table-7 --brief
	$(BIN)/anabranch report runs/d-slen runs/vo-le-tran runs/grid --out runs/report.html --force

# What tells within minutes whether a change works: formats, lints, types, and the tests that take little time.
check: lint
	cargo test --workspace --lib --quiet
	cd ui && npm run --silent test
	$(BIN)/pytest --numprocesses=2 --dist=worksteal -m "not alone and not slow"

# Everything that a change must pass. Labs measure real time, so they have the machine for themselves. The slowest tests are
# printed: they show where the minutes go.
test:
	$(MAKE) --jobs=3 --output-sync=target $(PAGE) $(BIN)/maturin compiled
	$(MAKE) --jobs=2 --output-sync=target lint
	cargo test --workspace --quiet
	$(BIN)/python benches/instructions.py
	cd ui && npm run --silent test
	$(BIN)/pytest --numprocesses=2 --dist=loadscope --durations=30 -m "not alone"
	cargo test --package anabranch-enforce --test kernel --quiet
	$(BIN)/pytest --durations=30 -m alone
	$(BIN)/python fuzz/run.py 50

# All tests of the crates, compiled while the environment and the page are made.
compiled: rust
	cargo test --workspace --quiet --no-run

install: rust $(PAGE) $(VENV)/.built-release$(WITHOUT)

# The module without link-time optimisation and with all checks: soon compiled anew after a change.
develop: rust $(PAGE) $(VENV)/.built-dev$(WITHOUT)

# One wheel for CPython from 3.11 on, with the page in it: to install it takes neither Rust nor Node. It runs on Linux
# with the glibc of this machine or newer; `make wheel GLIBC=2.17` makes it run with that one, by the linker of zig.
ZIG := $(if $(GLIBC),target/zig/bin/python-zig)
wheel: rust $(PAGE) $(BIN)/maturin $(ZIG)
	rm -f dist/*.whl
	PATH="$(CURDIR)/target/zig/bin:$$PATH" $(BIN)/maturin build --release --strip --locked --quiet --out dist \
	  --interpreter $(BIN)/python $(if $(GLIBC),--zig --compatibility manylinux_$(subst .,_,$(GLIBC))) $(PARTS)
	@ls -l dist/*.whl

target/zig/bin/python-zig: constraints-zig.txt
	$(PYTHON) -m venv target/zig
	target/zig/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement constraints-zig.txt
	touch $@

# The sources with the built page in them: to build a wheel of them takes Rust, but not Node.
sdist: rust $(PAGE) $(BIN)/maturin
	rm -f dist/*.tar.gz
	$(BIN)/maturin sdist --out dist
	@ls -l dist/*.tar.gz

# The oldest Node that the tools of ui/package.json take.
NODE := 20.19

# Rust of the version that Cargo.toml asks for, or newer; an older one would stop at a manifest that it cannot read.
rust:
	@wanted=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	found=$$(cargo --version 2>/dev/null | cut -d ' ' -f 2); \
	remedy="anabranch is compiled by Rust $$wanted or newer: https://rustup.rs"; \
	if [ -z "$$found" ]; then echo "cargo is not there; $$remedy" >&2; exit 1; fi; \
	if ! printf '%s\n' "$$wanted" "$$found" | sort -V -C; then \
	  echo "cargo $$found is too old; $$remedy (or \`rustup update\`)" >&2; exit 1; fi

node:
	@found=$$(node --version 2>/dev/null); remedy="Node $(NODE) or newer with npm builds the page: https://nodejs.org"; \
	if ! command -v npm >/dev/null; then echo "npm is not there; $$remedy" >&2; exit 1; fi; \
	if ! printf '%s\n' v$(NODE) "$$found" | sort -V -C; then echo "Node $$found is too old; $$remedy" >&2; exit 1; fi

# The page, as one HTML file that the package carries.
$(PAGE): $(MODULES) $(UI)
	cd ui && npm run --silent build
	touch $@

$(MODULES): ui/package.json ui/package-lock.json | node
	cd ui && npm ci --silent
	touch $@

# The environment, with the versions that are known to work together; a package with another hash is refused.
$(BIN)/maturin: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement constraints.txt
	touch $@

# The module, compiled by one of two profiles. All that it depends on is there by now, so nothing is asked of an index.
$(VENV)/.built-%$(WITHOUT): $(BIN)/maturin $(RUST) pyproject.toml | $(PAGE)
	PIP_QUIET=1 PIP_NO_INDEX=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile $* --quiet $(PARTS)
	rm -f $(VENV)/.built-*
	touch $@

# Fuzz every reader for so many seconds together; see fuzz/README.md.
SECONDS ?= 600
fuzz: install
	$(BIN)/python fuzz/run.py $(SECONDS) --live

# Watch memory as tests use it; needs a nightly toolchain with the components miri and rust-src. Hashes of files are left
# out: they take hours there.
miri:
	PROPTEST_CASES=2 MIRIFLAGS="-Zmiri-disable-isolation" cargo +nightly miri test \
	  -p anabranch-arrow -p anabranch-filling -p anabranch-transfer --lib -- --skip digests

# Licences, sources and known faults of all crates; needs `cargo install --locked cargo-deny`.
audit:
	cargo deny check

# What a wheel carries of others, after a change of crates or of the page's modules.
notices: $(MODULES)
	$(PYTHON) licences/notices.py

# Lock what pyproject.toml asks for, for all platforms, with hashes.
LOCK := --quiet --universal --python-version 3.11.5 --generate-hashes --no-annotate --no-header --no-emit-index-url
constraints:
	$(PYTHON) -m venv target/uv
	target/uv/bin/pip install --quiet --disable-pip-version-check uv
	target/uv/bin/uv pip compile pyproject.toml --group dev $(LOCK) --output-file constraints.txt
	target/uv/bin/uv pip compile --group zig $(LOCK) --output-file constraints-zig.txt

# Time the simulator and the solvers; see benches/README.md.
bench: install
	cargo run --quiet --release -p anabranch-sim --example workload -- wan
	cargo run --quiet --release -p anabranch-sim --example workload -- large
	cargo run --quiet --release -p anabranch-sim --example transport -- dumbbell
	cargo run --quiet --release -p anabranch-sim --example transport -- fat-tree 16 8
	cargo run --quiet --release -p anabranch-filling --example million
	$(BIN)/python benches/instructions.py --release
	$(BIN)/python benches/upward_max_min.py
	$(BIN)/python benches/max_min.py
	$(BIN)/python benches/update.py
	$(BIN)/python benches/solvers.py --quick
	$(BIN)/python benches/starts.py
	$(BIN)/python benches/batch.py
	$(BIN)/python benches/zoo.py
	$(BIN)/python benches/sweep.py 500 0
	$(BIN)/python benches/live.py

docs: install
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# Formats, lints, types, and the stub beside the compiled module.
lint: lint-rust lint-python lint-ui

lint-rust: rust
	cargo fmt --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --workspace --all-targets --quiet -- -D warnings

lint-python: develop
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest anabranch._core --concise --ignore-disjoint-bases --allowlist tests/stubtest.allow

lint-ui: $(MODULES)
	cd ui && npm run --silent lint

format: develop
	cargo fmt
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	cd ui && npm run --silent format

clean:
	rm -rf target $(VENV) ui/node_modules $(PAGE) runs dist docs/_build docs/reference
