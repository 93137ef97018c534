# Needs python3 and make; everything else is installed into virtual environments in this folder.
# A stamp inside each environment remembers what was installed, so that installation happens
# again only when pyproject.toml has changed.

PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
BOTORCH_VENV := .venv-botorch
INSTALL := -m pip install --quiet --disable-pip-version-check

# What archives are built of.
SOURCES := pyproject.toml hatch_build.py README.md CHANGELOG.md LICENSE \
	$(shell find src/innerloop -type f -not -path '*/__pycache__/*')

.PHONY: help run test lint docs paper bench clean test-botorch wheel matrix

help:
	@echo "make run    minimize a function with 4 workers; writes innerloop.db, report.html"
	@echo "make test   run the tests"
	@echo "make lint   check style and types"
	@echo "make docs   build the documentation into site/"
	@echo "make paper  the paper's figures, at a small scale; writes paper-results/"
	@echo "make bench  compare the core with BoTorch; installs torch"
	@echo "make clean  remove the environments and everything that was built"
	@echo "make test-botorch  run the tests that need BoTorch; installs torch"
	@echo "make wheel         build sdist and wheel in dist/, and use the wheel where nothing else is"
	@echo "make matrix        test the wheel on several versions of Python, and on old packages"

run: $(VENV)/installed-run
	$(VENV)/bin/innerloop demo

# Many tests wait for processes of their own: a third worker uses the cores meanwhile. Threads of
# BLAS would only get into each other's way.
test: export OMP_NUM_THREADS = 1
test: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/installed-dev $(VENV)/installed-paper
	$(VENV)/bin/python -m pytest -n 3 --dist worksteal

lint: $(VENV)/installed-dev $(VENV)/installed-paper
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

paper: $(VENV)/installed-paper
	$(VENV)/bin/innerloop-paper run all --scale small
	$(VENV)/bin/innerloop-paper page --scale small --output paper-results/results.md

bench: $(BENCH_VENV)/installed-bench
	$(BENCH_VENV)/bin/python benchmarks/core.py

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(BOTORCH_VENV) .venv-matrix dist site convergence.png demonstration.png innerloop.db report.html
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache

# Where BoTorch is missing these tests fail, and are not skipped as they are by `make test`.
test-botorch: export NEEDS_BOTORCH = 1
test-botorch: $(BOTORCH_VENV)/installed-botorch
	$(BOTORCH_VENV)/bin/python -m pytest tests/test_against_botorch.py tests/test_models_of_botorch.py

wheel: dist/checked

matrix: dist/checked
	$(VENV)/bin/python tools/matrix.py dist/*.whl

dist/checked: .ci/wheel $(SOURCES) | $(VENV)/installed-dev
	$(VENV)/bin/python .ci/wheel
	@touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(BENCH_VENV)/bin/python:
	$(PYTHON) -m venv $(BENCH_VENV)

$(VENV)/installed-run: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(INSTALL) --editable '.[study]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(INSTALL) --editable '.[dev,study]'
	@touch $@ $(VENV)/installed-run

$(VENV)/installed-paper: pyproject.toml paper/pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(INSTALL) --editable . --editable ./paper
	@touch $@

# torch comes first and on its own, so that botorch takes this version and not another.
$(BENCH_VENV)/installed-bench: pyproject.toml paper/pyproject.toml | $(BENCH_VENV)/bin/python
	$(BENCH_VENV)/bin/python $(INSTALL) torch==2.13.0
	$(BENCH_VENV)/bin/python $(INSTALL) --editable '.[bench,study]' --editable ./paper
	@touch $@

$(BOTORCH_VENV)/bin/python:
	$(PYTHON) -m venv $(BOTORCH_VENV)

$(BOTORCH_VENV)/installed-botorch: pyproject.toml | $(BOTORCH_VENV)/bin/python
	$(BOTORCH_VENV)/bin/python $(INSTALL) torch==2.13.0
	$(BOTORCH_VENV)/bin/python $(INSTALL) --editable '.[bench]' pytest hypothesis
	@touch $@
