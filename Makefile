# Every way to run something here. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed
WAREHOUSE := $(VENV)/.installed-warehouse
# The machine's own certificates, as pip uses them: behind a proxy uv's built-in ones do not do.
export UV_SYSTEM_CERTS ?= 1
export UV_NATIVE_TLS ?= 1
# Else each of the many processes of a test compiles anew what it imports.
unexport PYTHONDONTWRITEBYTECODE
# Where `make demo` keeps its record.
DATA ?= .rayscope
PORT ?= 8700
# Whichever process is free takes the next group of tests: see tests/conftest.py. Three for two cores, since
# tests that need Ray or a browser wait half of their time.
IN_GROUPS := -n 3 --dist loadgroup --no-loadscope-reorder

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(SETUP) ## Install the locked dependencies and Rayscope into .venv, and build the UI

$(SETUP): pyproject.toml src/pyproject.toml uv.lock hatch_build.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/python -m uv sync --frozen --quiet
	@touch $@

.PHONY: setup-warehouse
setup-warehouse: $(WAREHOUSE) ## Install the engine of ClickHouse too (0.5 GB), which the tests of the warehouse need

$(WAREHOUSE): $(SETUP)
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/python -m uv sync --frozen --inexact --quiet --group warehouse
	@touch $@

.PHONY: ui
ui: $(SETUP) ## Build the UI again if its sources changed
	@$(BIN)/python hatch_build.py

.PHONY: demo
demo: $(SETUP) ui ## Start a local Ray, run a real workload under Rayscope, print the URL
	$(BIN)/rayscope run --data-dir $(DATA) --port $(PORT) examples/quickstart.py

.PHONY: test
test: $(SETUP) ## Install what is missing and run every check and test
	$(MAKE) -j2 lint test-web
	$(MAKE) test-py

.PHONY: lint
lint: $(SETUP) ## Formatting, lint, types, the one-way rooms, the language
	$(BIN)/ruff format --check src tests tools benchmarks examples hatch_build.py
	$(BIN)/ruff check src tests tools benchmarks examples hatch_build.py
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/generate_types.py --check
	$(BIN)/python tools/language.py --check

.PHONY: lint-counts
lint-counts: $(SETUP) ## Lower the bounds of odd names and sentences to what is left of them
	$(BIN)/python tools/language.py --lower

.PHONY: types
types: $(SETUP) ## Write the types of the client and of the UI anew, after a change of the server's schemas
	$(BIN)/python tools/generate_types.py
	$(BIN)/python tools/sql_reference.py

.PHONY: test-web
test-web: $(SETUP) ## Types, lint and unit tests of the UI
	$(BIN)/python hatch_build.py npm run check
	$(BIN)/python hatch_build.py npm test

.PHONY: test-py
test-py: ui system setup-warehouse ## Unit, property, integration and end-to-end tests
	$(BIN)/python -m pytest $(IN_GROUPS) -m "not long" tests/e2e tests/integration tests/unit tests/test_architecture.py

.PHONY: test-unit
test-unit: setup-warehouse ## The tests that need neither Ray nor a browser, on two cores
	$(BIN)/python -m pytest $(IN_GROUPS) -m "not long" tests/unit tests/test_architecture.py

.PHONY: test-long
test-long: setup-warehouse ## The tests that `make test` leaves out, and property tests with twenty times the examples
	$(BIN)/python -m pytest $(IN_GROUPS) -m "long and not quiet" tests/e2e tests/integration
	$(BIN)/python -m pytest -m quiet tests/integration
	RAYSCOPE_TEST_REQUESTS=2000 $(BIN)/python -m pytest tests/integration/test_libraries_serve.py tests/e2e/test_page_serve.py
	$(BIN)/python -m pytest $(IN_GROUPS) --hypothesis-profile=thorough tests/unit

.PHONY: test-versions
test-versions: $(SETUP) ## Ray 2.50 to 2.60, the newest, and what of it is unknown; PyTorch and RLlib (LIBRARIES=: not); lowest and newest packages (INSTALLS=: not)
	RAYSCOPE_TEST_RAYS=$${RAYS-2.50.0,2.53.0,2.56.0,2.58.0,2.60.0,newest} RAYSCOPE_TEST_LIBRARIES=$${LIBRARIES-1} \
	RAYSCOPE_TEST_INSTALLS=$${INSTALLS-1} \
	  $(BIN)/python -m pytest -s tests/versions

.PHONY: test-faults
test-faults: $(SETUP) ## Break what can break and count what is lost (an hour or more; FAULTS=--short: some minutes)
	$(BIN)/python tests/faults/run.py $(FAULTS)

.PHONY: test-mutants
test-mutants: $(SETUP) ## Change MODULE=src/rayscope/... at N places, and count what its tests notice (SEED=, TESTS=)
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/python -m uv sync --frozen --inexact --quiet --group mutants
	$(BIN)/python tools/mutants.py $(MODULE) --number $${N-25} --seed $${SEED-1} $${TESTS:+--tests $$TESTS}

.PHONY: test-flaky
test-flaky: ui system setup-warehouse ## Repeat all tests where the machine is slow (PARTS="ui unit ray", SURROUNDINGS="alone busy one-core quarter")
	$(BIN)/python tools/flaky.py $(if $(PARTS),--parts $(PARTS)) $(if $(SURROUNDINGS),--surroundings $(SURROUNDINGS))

.PHONY: test-all
test-all: test test-long test-versions test-faults ## Everything: the long tests, all Ray versions, the fault campaign

.PHONY: format
format: $(SETUP) ## Format and mend what can be mended
	$(BIN)/ruff format src tests tools benchmarks examples hatch_build.py
	$(BIN)/ruff check --fix src tests tools benchmarks examples hatch_build.py

.PHONY: system
system: ## Install with apt what the tests need and the machine lacks (Chromium, a Chinese font, Prometheus, nginx, gdb)
	@wanted=""; bare=""; \
	command -v chromium-headless-shell >/dev/null 2>&1 || wanted="$$wanted chromium-headless-shell fontconfig"; \
	fc-list 2>/dev/null | grep -qi cjk || wanted="$$wanted fonts-noto-cjk fontconfig"; \
	{ command -v prometheus && command -v promtool; } >/dev/null 2>&1 || bare="$$bare prometheus"; \
	command -v prometheus-alertmanager >/dev/null 2>&1 || bare="$$bare prometheus-alertmanager"; \
	{ command -v nginx || test -x /usr/sbin/nginx; } >/dev/null 2>&1 || bare="$$bare nginx"; \
	command -v gdb >/dev/null 2>&1 || bare="$$bare gdb"; \
	if [ -n "$$wanted$$bare" ]; then \
	  echo "Installing$$wanted$$bare with apt"; \
	  INSTALL="$$(test "$$(id -u)" = 0 || echo sudo) env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get"; \
	  $$INSTALL update -qq; \
	  test -z "$$wanted" || $$INSTALL install -y -qq $$wanted >/dev/null || exit 1; \
	  test -z "$$bare" || $$INSTALL install -y -qq --no-install-recommends $$bare >/dev/null || exit 1; \
	fi

.PHONY: bench
bench: $(SETUP) ## Run the benchmarks (about an hour); docs/benchmarks.md quotes them
	$(BIN)/python benchmarks/ingest.py --rate 32000
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/decode.py
	$(BIN)/python benchmarks/whatif.py
	$(BIN)/python benchmarks/insights.py
	$(BIN)/python benchmarks/sustained.py
	$(BIN)/python benchmarks/scale.py --nodes 200 --workers 2000 --actors 20000 --rounds 8 --no-pages

.PHONY: docs
docs: $(SETUP) ## Build the documentation, with search, into site/; a broken link fails, an old translation is listed
	$(BIN)/python tools/cli_reference.py
	$(BIN)/python tools/detectors_reference.py
	$(BIN)/python tools/api_examples.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python tools/translations.py

.PHONY: pictures
pictures: ui system ## Take the pictures of docs/images anew, from programs recorded now (some minutes; NAMES=: all)
	$(BIN)/python tools/pictures.py $(NAMES)

.PHONY: build
build: $(SETUP) ## Wheels and sdists of rayscope and rayscope-agent into dist/
	$(BIN)/python -m build
	$(BIN)/python -m build --outdir dist src

.PHONY: clean
clean: ## Remove what was installed and built
	rm -rf $(VENV) dist build site web/node_modules src/rayscope/server/static .mypy_cache .ruff_cache .pytest_cache .hypothesis
