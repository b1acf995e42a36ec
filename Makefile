# Two commands matter: `make demo` and `make test`. Both set up .venv once and need no network afterwards.

.DEFAULT_GOAL := help
.PHONY: help setup setup-gams setup-peers demo test soak wheel check-wheel docs published-report format clean

# Any interpreter can be forced: make PYTHON=/path/to/python3.12 test
PYTHON ?=
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
USABLE := $(VENV)/.usable
# Where published-report finds the files of others, and an interpreter that has the peers.
DATA   ?= ../shared/data
BENCH_PYTHON ?= $(BIN)/python
BENCH   := PYTHONPATH=src $(BENCH_PYTHON) -m perp.cli bench
PUBLISH := --peers --time-limit 1 --largest 2000 --out build/published

# Without this pyright asks the network whether a newer release exists.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Test workers share the cores already: threads of BLAS beside them made small factorisations 20 times slower.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
# Where this is set, as in many containers, every process compiles the sources of numba and SciPy anew, for a
# second and more; the tests start hundreds.
export PYTHONDONTWRITEBYTECODE :=
# The theme announces its successor in every build otherwise.
export NO_MKDOCS_2_WARNING := 1

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup: $(READY) ## create .venv and install perp with everything the tests need

setup-gams: $(READY) ## add GAMS with its demo licence and the solvers of the published table
	$(BIN)/python -m pip install -qq "gamspy>=1.10"
	$(BIN)/gamspy install solver conopt3 gurobi ipopt knitro minos pathnlp miles snopt reshop

setup-peers: $(READY) ## add the peers of `perp bench` that can be installed; Siconos comes from apt
	$(BIN)/python -m pip install -qq quantecon drake "pin>=4.1"

demo: $(USABLE) ## solve a few contact problems and show what the answers are worth
	@$(BIN)/python examples/demo.py

test: $(READY) ## lint, check types and run the whole test suite
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# Kernels are compiled meanwhile, each once: test workers would compile them side by side.
	@$(BIN)/python -m perp.cli warm-up & warm=$$!; $(BIN)/pyright; found=$$?; wait $$warm || found=1; exit $$found
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal $(TESTS)

RUNS ?= 10
BUSY ?= 4
SEED ?= 1
WORKERS ?= auto
soak: $(READY) ## the tests RUNS times in random orders by WORKERS beside BUSY busy processes; stops at the first failure
	@$(BIN)/python packaging/soak.py --runs $(RUNS) --busy $(BUSY) --seed $(SEED) --workers $(WORKERS) $(TESTS)

wheel: $(READY) ## build a wheel into dist/ that carries its compiled kernels, and check it; some minutes
	rm -rf dist
	$(BIN)/python packaging/wheel.py --out dist
	$(BIN)/python packaging/check.py dist/perp-*.whl

check-wheel: $(READY) ## build a wheel with what the README needs, install it elsewhere, count what is compiled there
	rm -rf build/wheel
	$(BIN)/python packaging/wheel.py --quick --out build/wheel
	$(BIN)/python packaging/check.py --quick build/wheel/perp-*.whl

docs: $(READY) ## build the documentation into site/, a folder of pages that need no network
	$(BIN)/python docs/scripts/capabilities.py
	$(BIN)/python docs/scripts/sentences.py
	$(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html in a browser."

# Solves take two seconds at most, so that the whole takes less than half an hour on a quiet machine. Rows are
# gathered in build/, so that an interrupted run goes on; the published folder is replaced when all are there.
published-report: $(if $(filter $(BIN)/%,$(BENCH_PYTHON)),$(READY)) ## make docs/benchmarks and the README's table anew; shared/data beside the checkout
	$(BENCH) run $(PUBLISH) --set fclib --path $(DATA)/fclib
	$(BENCH) run $(PUBLISH) --path $(DATA)/problems \
		--set fc3d --set fc2d --set rolling --set global --set lcp-files
	$(BENCH) run $(PUBLISH) --set lcp-literature --set lcp-generated --set boxed --set friction-index \
		--set frames --set frames-warm
	$(BENCH) report build/published
	rm -rf docs/benchmarks
	mv build/published docs/benchmarks
	gzip -9n docs/benchmarks/rows.csv
	PYTHONPATH=src $(BENCH_PYTHON) docs/scripts/results_table.py

format: $(READY) ## put every file in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv and every generated file
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

# The build backend is installed first and used without isolation, so that a set-up which has become stale
# (pyproject.toml touched) is renewed without a download.
$(USABLE): pyproject.toml
	@$(FIND_PYTHON); \
	if ! $(BIN)/python -c "import pip" 2>/dev/null; then \
		echo "Creating $(VENV) with $$("$$python" --version)"; \
		"$$python" -m venv --clear $(VENV); \
	fi
	@echo "Installing perp into $(VENV) (once)"
	@$(BIN)/python -m pip install -qq --no-compile "hatchling>=1.26" "editables>=0.5"
	@$(BIN)/python -m pip install -qq --no-compile --no-build-isolation --editable .
	@touch $@

$(READY): $(USABLE)
	@echo "Installing what the tests need into $(VENV) (once; a few minutes on a slow line)"
	@$(BIN)/python -m pip install -qq --no-build-isolation --editable ".[dev]"
	@touch $@

# A name on the PATH is no proof: it may be a shim without an interpreter, or lack venv (Debian's python3-venv).
define FIND_PYTHON
set -eu; python=; \
for candidate in $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python3.14); do \
	if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		python=$$candidate; break; \
	fi; \
done; \
if [ -z "$$python" ]; then \
	echo "perp needs Python 3.11 or newer with its venv module; none of $(or $(PYTHON),python3.13 python3.12 python3.11 python3) is one. Install it (Debian, Ubuntu: apt install python3 python3-venv) or pass PYTHON=/path/to/python3." >&2; \
	exit 1; \
fi
endef
