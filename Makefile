# Three commands matter: `make paper`, `make check` and `make test`. Each makes its own environment first.
# What else contributors do is listed by `.venv/bin/python -m tools`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: help paper explore check test docs bench clean
.DEFAULT_GOAL := help

help:
	@echo "make paper    run the paper's experiments and write their figures to build/paper"
	@echo "make explore  open the model in the browser"
	@echo "make check    lint, types and the fast tests, in about a minute after the first time"
	@echo "make test     lint, types, tests and doctests, in JOBS=3 processes"
	@echo "make docs     build the documentation into build/docs"
	@echo "make bench    measure speed against the alternatives and the hardware's bound"
	@echo "make clean    remove the environment and everything built"

paper: $(VENV)/.ready-base
	$(BIN)/peerpressure paper --out build/paper

explore: $(VENV)/.ready-base
	$(BIN)/peerpressure explore

# Which steps these are, and which run side by side, is said in tools/__main__.py.
check test: $(VENV)/.ready-test
	@$(BIN)/python -m tools $@

# All pages are written, because the search forgets index entries of those that are not. What their cells computed is kept.
# Every page is then opened in a browser, if there is one: wide, narrow and dark, under two families of fonts.
docs: $(VENV)/.ready-docs
	$(BIN)/python -m tools browser
	$(BIN)/sphinx-build -a -W -b html docs build/docs
	$(BIN)/python -m docs.check build/docs

bench: $(VENV)/.ready-bench
	$(BIN)/python -m benchmarks

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version) if sys.version_info < (3, 11) else None'
	@echo "Making a Python environment in $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv 2>/dev/null || echo "Without uv, pip installs; that takes longer."
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

clean:
	rm -rf $(VENV) node_modules tools/js/node_modules build .mypy_cache .ruff_cache .pytest_cache .hypothesis
