# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

MINUTES ?= 10

.PHONY: demo test docs bench fuzz check clean

demo: $(VENV)/.core
	$(BIN)/widemargin demo --out demo

test: $(VENV)/.test check
	$(BIN)/python -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -m interpreted tests

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs   # into docs/_build/html; links between pages are checked, and a warning is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --nitpicky --quiet docs docs/_build/html

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/chain.py
	$(BIN)/python benchmarks/defaults.py
	$(BIN)/python benchmarks/likelihood.py
	$(BIN)/python benchmarks/small.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/first_run.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/objectives.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/development.py

fuzz: $(VENV)/.test
	$(BIN)/python benchmarks/robustness --minutes $(MINUTES)

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) demo bench docs/_build docs/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
