# A fresh machine needs Python 3.11 or later, git and make; everything else is put into .venv.
# Each target can be the first one: it installs what it needs, once.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# More than a small machine has processors, as tests of live clusters wait much; `make test JOBS=12` on a larger one.
JOBS ?= 3
# Tests of one file stay together: many share a cluster, or what has taken seconds to make. tests/conftest.py has the order.
PARALLEL := -n $(JOBS) --dist loadfile --no-loadscope-reorder
# Only what the requirement files name, in the versions and with the hashes they name, and nothing built on the spot.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PINNED := --require-hashes --only-binary :all: -r

# Where this is set, each process of a test would compile rota anew, which takes longer than to run it.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: .venv/run.stamp ## replay a real machine's log under three policies, compare them, run jobs on a live cluster, and see who loads its Lustre
	$(BIN)/rota replay KTH-SP2 --filter sc15 --scheduler sched/backfill --out rota-run/backfill
	$(BIN)/rota replay KTH-SP2 --filter sc15 --scheduler sched/easy --out rota-run/easy
	$(BIN)/rota replay KTH-SP2 --filter sc15 --scheduler sched/easy --set easy_order=sjf --out rota-run/shortest
	$(BIN)/rota compare rota-run/backfill rota-run/easy rota-run/shortest --out rota-run/compare.html
	$(BIN)/rota up --state rota-run/live
	eval "$$($(BIN)/rota env --state rota-run/live)" && cd rota-run && \
	  sbatch --wait -a 1-4 -J squares --wrap 'echo $$((SLURM_ARRAY_TASK_ID * SLURM_ARRAY_TASK_ID)); sleep 1' && \
	  sacct -X -o JobID,JobName,State,ExitCode,Elapsed,NodeList && sinfo && cat slurm-*_4.out
	@echo "Who loads the file system: jobs of that cluster, and a Lustre that is simulated, for half a minute"
	@eval "$$($(BIN)/rota env --state rota-run/live)" && cd rota-run && \
	  sbatch -a 1-4 -J checkpoints --wrap 'sleep 60' && \
	  { ../$(BIN)/rota lustre-sim lustre --live --speed 60 --interval 2 & sim=$$!; \
	    ../$(BIN)/rota jobstats serve --source dir:lustre --store jobstats --interval 2 --variable SLURM_JOB_ID & serve=$$!; \
	    trap 'kill $$sim $$serve' EXIT; sleep 30; ../$(BIN)/rota iostat --store jobstats --once; }
	$(BIN)/rota down --state rota-run/live --jobs cancel
	@echo "The comparison: $(CURDIR)/rota-run/compare.html"
	@if [ -t 1 ] && [ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" -o "$$(uname)" = Darwin ]; then \
	  $(BIN)/python -m webbrowser "file://$(CURDIR)/rota-run/compare.html"; \
	fi

.PHONY: picture
picture: ## draw the README's picture from what make run has compared; needs Chromium
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,1370 \
	  --screenshot=$(CURDIR)/docs/_static/compare.png file://$(CURDIR)/rota-run/compare.html

.PHONY: test
test: .venv/dev.stamp ## the tests, without the slow ones
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

CLIENTS := $(patsubst requirements/clients/%.txt,.venv/clients/%.stamp,$(wildcard requirements/clients/*.txt))
.PHONY: clients
clients: $(CLIENTS) ## programs of PyPI that call Slurm, for the slow tests, each in an environment of its own

.PHONY: test-slow
test-slow: .venv/dev.stamp clients ## the slow tests, and properties with many examples
	$(BIN)/python -m pytest $(PARALLEL) -m "(slow or hypothesis) and not longest" --hypothesis-profile slow

.PHONY: test-longest
test-longest: .venv/dev.stamp ## slow tests of what others show on smaller workloads; takes an hour
	$(BIN)/python -m pytest $(PARALLEL) -m longest

DAMAGES ?= 300
.PHONY: damages
damages: .venv/dev.stamp ## random damages to what a live cluster keeps: DAMAGES=300 with SEED=1; each is mended or told
	PYTHONPATH=tests $(BIN)/python -m recovery --damages $(DAMAGES) --seed $(SEED)

PROFILE ?= fast
.PHONY: test-again
test-again: .venv/dev.stamp ## the tests that failed when they last ran, alone; PROFILE=slow after test-slow
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none --hypothesis-profile $(PROFILE)

SECONDS ?= 600
SEED ?= 1
.PHONY: compare-slurm
compare-slurm: .venv/dev.stamp ## random scenarios beside a real Slurm, for SECONDS=600 with SEED=1; needs root and Debian's Slurm
	PYTHONPATH=tests $(BIN)/python -m slurm --seconds $(SECONDS) --seed $(SEED)

MIRROR ?= http://deb.debian.org/debian
.PHONY: mpi
mpi: .venv/dev.stamp ## the table of docs/mpi.md, measured anew with MPI libraries of PyPI and, as root, of three Debians; takes minutes
	PYTHONPATH=tests $(BIN)/python -m mpi --mirror $(MIRROR)

KILLS ?= 1000
.PHONY: kills
kills: .venv/dev.stamp ## kill -9 a live cluster's daemons under all that users do, KILLS=1000 times, with SEED=1
	PYTHONPATH=tests $(BIN)/python -m kills --kills $(KILLS) --seed $(SEED)

.PHONY: record-month
record-month: .venv/dev.stamp ## play a month through a real Slurm whose clock is moved; takes half an hour; needs root and Debian's Slurm
	PYTHONPATH=tests $(BIN)/python -m month

.PHONY: check
check: lint types docs ## the gate: style, types, layers, documentation

.PHONY: lint
lint: .venv/dev.stamp ## style, layers, changelog fragments
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/towncrier build --draft --version next >/dev/null

.PHONY: types
types: .venv/dev.stamp ## mypy
# Plugins replace stubs that they import with *; pyproject.toml says the same for those in src.
	$(BIN)/mypy
	$(BIN)/mypy --disable-error-code no-redef examples

.PHONY: docs
docs: .venv/dev.stamp ## the documentation, into docs/_build/html
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b html docs docs/_build/html

.PHONY: calls
calls: .venv/run.stamp ## count Python calls a job by package, and record them for the tests
	$(BIN)/python benchmarks/calls.py --write

.PHONY: bench
bench: .venv/run.stamp ## time and memory per job; a live cluster beside Slurm and task-spooler where they are
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/bench_live.py
	$(BIN)/python benchmarks/bench_start.py
	$(BIN)/python benchmarks/bench_accounting.py
	$(BIN)/python benchmarks/bench_http.py
	$(BIN)/python benchmarks/bench_jobstats.py
	$(BIN)/python benchmarks/bench_jobmeta.py
	$(BIN)/python benchmarks/bench_lustre_store.py

.PHONY: format
format: .venv/dev.stamp ## write the code in the one format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Add UPGRADE=--upgrade to take newer versions.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements" $(UPGRADE)
.PHONY: requirements
requirements: .venv/dev.stamp ## pin the requirement files anew
	$(COMPILE) pyproject.toml requirements/run.in -o requirements/run.txt
	$(COMPILE) -c requirements/run.txt pyproject.toml requirements/run.in requirements/dev.in -o requirements/dev.txt
	for client in requirements/clients/*.in; do $(COMPILE) $$client -o $${client%.in}.txt || exit; done

.PHONY: clean
clean: ## remove what make made, .venv included
	rm -rf .venv docs/_build dist rota-run .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# hatchling comes from the requirement file, so that building the editable package fetches nothing unpinned.
.venv/run.stamp: requirements/run.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rota needs Python 3.11 or later: make PYTHON=…")'
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) $(PINNED) requirements/run.txt
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/run.stamp
	$(PIP_INSTALL) $(PINNED) requirements/dev.txt
	@# Compiled here once: else all processes of the first tests would do that, each for itself.
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest --collect-only -qqq >/dev/null
	@touch $@

.venv/clients/%.stamp: requirements/clients/%.txt .venv/dev.stamp
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv/clients/$*
	$(BIN)/uv pip install --quiet --python .venv/clients/$* --require-hashes -r $<
	@touch $@
