# Every target works in a fresh clone with nothing but python3 (3.10 or newer) and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INPUTS := pyproject.toml constraints.txt
# What the checks need: linting and testing an adapter takes its framework.
EXTRAS := dev,torch,agents,langchain,llamaindex,service,eval,batch,ray

.PHONY: help demo test test-slow test-lowest coverage lint format bench clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Stamps: installed again only when the dependencies change.
$(VENV)/.base: $(INPUTS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(INPUTS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@ $(VENV)/.base

demo: $(VENV)/.base ## install the base package and check three answers
	@$(BIN)/caco demo

test: $(VENV)/.dev ## the unit suite
	$(BIN)/python -m pytest

test-slow: $(VENV)/.dev ## the tests marked slow
	$(BIN)/python -m pytest -m "slow and not network and not gpu"

# The adapters with the oldest frameworks they support, in an environment of its own.
$(VENV)-lowest/.ready: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet -c constraints-lowest.txt \
		-e ".[langchain,agents,llamaindex]" "pytest>=8.2" "hypothesis>=6.100"
	@touch $@

test-lowest: $(VENV)-lowest/.ready ## the adapters' tests with their oldest frameworks
	$(VENV)-lowest/bin/python -m pytest tests/langchain tests/llamaindex

coverage: $(VENV)/.dev ## the unit suite with branch coverage
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(VENV)/.dev ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## apply ruff's fixes and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev ## speed, on this machine
	$(BIN)/python benchmarks/latency.py

clean: ## remove what the other targets made
	rm -rf $(VENV) $(VENV)-lowest build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
