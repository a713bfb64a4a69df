# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

MINUTES ?= 10

# Else each of the hundreds of processes that tests start, and each worker, compiles all of the Python code anew.
unexport PYTHONDONTWRITEBYTECODE

# Tests of a file share a worker: what they train, start or compile for all of them is made once.
WORKERS := -n 2 --dist loadfile

# Where there are tests that also run without compiling: to import all others would take half as long as to run these.
INTERPRETED = $(shell grep -rl --include='test_*.py' pytest.mark.interpreted tests)

# Formats, the demo, an estimator of scikit-learn, and the commands on tags, trees, classes and integer programmes.
SMOKE := tests/files/test_formats.py tests/files/test_span_files.py tests/files/test_tree_files.py \
	tests/cli/test_demo.py tests/tasks/classify/test_estimator.py \
	$(foreach task,tag parse classify summarise,'tests/cli/test_every_task.py::test_from_training_to_prediction[$(task)]')

# Kernels that call each other, are kept and are trained with: what must also hold when plain njit compiles them.
KERNELS := tests/test_compiler.py tests/test_kernel_cache.py tests/decoders/test_viterbi.py \
	-k 'not training or dcd'

.PHONY: demo test compiled interpreted plain quick docs package lowest newest bench papers fuzz check clean

demo: $(VENV)/.core
	$(BIN)/widemargin demo --out demo

# What takes one process runs beside the tests, which sometimes wait.
test: $(VENV)/.test
	$(MAKE) --jobs 2 compiled check plain
	$(MAKE) interpreted

compiled: $(VENV)/.test
	$(BIN)/python -m pytest $(WORKERS)

interpreted: $(VENV)/.test
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(WORKERS) -m interpreted $(INTERPRETED)

plain: $(VENV)/.test
	WIDEMARGIN_COMPILER=plain $(BIN)/python -m pytest -q $(KERNELS)

quick: $(VENV)/.test   # what one runs while working
	$(BIN)/python -m pytest $(WORKERS) --quick tests

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

package: $(VENV)/.release
	rm -rf dist build
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	mkdir build
	git ls-files | sort > build/tracked
	tar --list --file dist/*.tar.gz | cut -d / -f 2- | grep -v '^PKG-INFO$$' | sort > build/packed
	@! comm -13 build/tracked build/packed | grep . || { echo 'these files should not be in the sdist' >&2; exit 1; }
	$(PYTHON) -m venv build/clean
	build/clean/bin/pip install --quiet dist/*.whl
	cd build && clean/bin/python -W error -c 'import widemargin' && clean/bin/widemargin demo --out demo   # no plots
	build/clean/bin/pip install --quiet "$$(echo dist/*.whl)[plots]"
	cd build && clean/bin/widemargin demo --out demo && test -s demo/curves.png
	build/clean/bin/pip install --quiet --no-deps --force-reinstall dist/*.tar.gz
	cd build && clean/bin/widemargin inspect demo/addresses.wm --card > card.md

# A newer pyparsing warns about Matplotlib's own calls, and warnings are errors in tests.
lowest: INSTALL := --resolution lowest-direct 'pyparsing==3.2.*'
newest: INSTALL := --upgrade
lowest newest: $(VENV)/.release
	rm -rf build/$@
	$(PYTHON) -m venv build/$@
	$(BIN)/uv pip install --quiet --python build/$@/bin/python $(INSTALL) \
		-r pyproject.toml --extra plots 'pytest>=8' 'hypothesis>=6.100'
	build/$@/bin/pip install --quiet --no-deps --editable .
	build/$@/bin/python -m pytest $(SMOKE)
	build/$@/bin/python -m pytest $(KERNELS)

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
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/development.py

papers: $(VENV)/.bench   # goes on where it was stopped; QUICK=1 for small sizes
	$(BIN)/python benchmarks/papers $(if $(QUICK),--quick,--report docs/papers)

fuzz: $(VENV)/.test
	$(BIN)/python benchmarks/robustness --minutes $(MINUTES)

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

$(VENV)/.release: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) demo bench build dist docs/_build docs/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
