# leaseproof: `make` alone lists what there is. ARGS goes to the command, as in: make matrix ARGS=--article

PYTHON ?= python3
BIN := .venv/bin
SCENARIOS := $(patsubst scenarios/%.py,%,$(filter-out %/__init__.py,$(wildcard scenarios/*.py)))

.DEFAULT_GOAL := help
.PHONY: help matrix cross matrix-subjects artifacts artifacts-check bench list test lint format doctor clean

help: ## this list
	@echo "leaseproof, a proof bench for job queues"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make subject-NAME     the own environment of a queue in subjects/, if its files have changed"
	@echo "  make scenario-NAME    one scenario with its timelines; NAME is one of"
	@for name in $(subst _,-,$(SCENARIOS)); do echo "                          $$name"; done

matrix: $(BIN)/.run ## run all scenarios in all arms, and show the matrix
	@$(BIN)/leaseproof matrix $(ARGS)

cross: $(BIN)/.run ## try each guard's twin in every guard's scenario: it must fail in its own, and in no other
	@$(BIN)/leaseproof cross $(ARGS)

matrix-subjects: $(BIN)/.run ## every queue in subjects/, in both profiles, in all scenarios that apply to it
	@$(BIN)/leaseproof validate all $(ARGS)

artifacts: $(BIN)/.run ## run the article's demonstrations, and write docs/artifacts
	@$(BIN)/leaseproof artifacts $(ARGS)

artifacts-check: $(BIN)/.run ## run them, and say whether a fact has changed
	@$(BIN)/leaseproof artifacts --check $(ARGS)

bench: $(BIN)/.run ## measure how fast it is, side by side with pgbench and with other queues
	@$(BIN)/leaseproof bench $(ARGS)

subject-%: $(BIN)/.run
	@$(BIN)/leaseproof make $* $(ARGS)

scenario-%: $(BIN)/.run
	@$(BIN)/leaseproof run $* $(ARGS)

# What README and docs show: timelines, and a cell of the matrix's page as a browser has it.
ARMS := sound-fault ReclaimFindsNothing-fault NoRenewal-fault CompleteByAnyone-fault
CHROMIUM ?= chromium
SHOT := $(CHROMIUM) --headless --disable-gpu --hide-scrollbars --virtual-time-budget=5000 $(if $(filter 0,$(shell id -u)),--no-sandbox)

pictures: $(BIN)/.run ## the pictures of README and docs, made anew; one of them needs chromium
	@$(BIN)/leaseproof run worker-death heartbeat late-finish $(ARMS:%=--arms %) --svg docs/pictures
	@$(BIN)/leaseproof matrix --out leaseproof-runs/pictures --html
	@$(SHOT) --window-size=1200,1100 --screenshot=docs/pictures/evidence.png "file://$(CURDIR)/leaseproof-runs/pictures/report.html#late-finish"

list: $(BIN)/.run ## the scenarios, what each claims, and its twins
	@$(BIN)/leaseproof list $(ARGS)

test: $(BIN)/.dev ## test the queue and the bench themselves
	@$(BIN)/pytest $(ARGS)

lint: $(BIN)/.dev ## check style and types, as CI does
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy conftest.py

format: $(BIN)/.dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

doctor: $(BIN)/.run ## what this machine has, what is missing, and how to get it
	@$(BIN)/leaseproof doctor $(ARGS)

clean: ## remove the environment, the caches and the results of all runs
	rm -rf .venv leaseproof-runs .pytest_cache .mypy_cache .ruff_cache *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

# pip fills the environment from outside, so that Debian's Python, which has no ensurepip, will do.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "leaseproof needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.12" >&2; exit 2; }
	@echo "making the environment in .venv (once)"
	@$(PYTHON) -m venv --without-pip .venv

$(BIN)/.run: pyproject.toml | $(BIN)/python
	@$(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check install --quiet --editable '.[clock]'
	@touch $@

$(BIN)/.dev: pyproject.toml | $(BIN)/python
	@$(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check install --quiet --editable '.[dev]'
	@touch $@ $(BIN)/.run
