# Noisegate: `make demo`, `make test`. Everything is installed into .venv; data lies in .noisegate.

PYTHON ?= python3
NAME ?=
LOCK ?= requirements.lock
UPGRADE ?=
RECORD ?=
BIN := .venv/bin
WORKERS ?= 2
MINUTES ?= 60
SEED ?= 1

# Whatever the tools keep, they keep under .noisegate.
export PYTHONPYCACHEPREFIX := $(CURDIR)/.noisegate/cache/python
export NUMBA_CACHE_DIR := $(CURDIR)/.noisegate/cache/numba
export PYTEST_DEBUG_TEMPROOT := $(CURDIR)/.noisegate/tmp
# Compiled modules are kept whatever the environment says: each process of a proxy starts in a third of the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo check unit test test-all coverage clients superset spark audit soak benchmark lint format lock sbom dist docs readme clean
.DEFAULT_GOAL := help

help: ## show these lines
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

PYTHON_IS_NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "Noisegate needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

# From the lock come wheels only: what a source distribution builds with, no hash of ours covers. The file that is made
# says which lock the environment is of.
.venv/installed: pyproject.toml $(LOCK)
	@$(PYTHON_IS_NEW_ENOUGH)
	@mkdir -p .noisegate/tmp
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv (the first time takes a few minutes)"
ifneq ($(LOCK),)
	@$(BIN)/python $(PIP_INSTALL) --only-binary :all: --require-hashes --requirement $(LOCK) \
		|| { echo "$(LOCK) could not be installed; pip says above why. A hash that does not match means that a file is not"; \
		echo "the one that was tested: find out why. If there is no wheel for this platform or this Python, take versions"; \
		echo "that are not locked, and so are not those that were tested: make LOCK= .venv/installed"; exit 1; }
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
else
	@$(BIN)/python $(PIP_INSTALL) --editable '.[test,benchmark,docs]'
endif
	@rm -rf noisegate.egg-info  # of the build; the installation does not need it
	@echo '$(LOCK)' > $@

.noisegate/tmp:
	@mkdir -p $@

demo: .venv/installed ## TPC-H behind a proxy, asked and compared with the truth; DEMO_EXIT=1 does not stay up
	@$(BIN)/python -W error::ResourceWarning -m server.cli.main demo $(if $(DEMO_EXIT),--exit)

PYTEST = -m pytest -n $(WORKERS) --dist loadgroup
QUICK_TESTS = $(PYTEST) -m 'not slow' --durations 20

# The two run side by side: tests that wait for a disk or a clock leave mypy the processor. Either's failure fails it.
check: .venv/installed ## what to run at every change, within 90 seconds: ruff, mypy, import-linter, unit tests
	@$(MAKE) --no-print-directory --jobs 2 lint unit

# More than a small machine has cores: ledgers wait for their disk.
unit: WORKERS = 4
unit: .venv/installed .noisegate/tmp ## the unit tests, which start no database and no proxy
	@$(BIN)/python $(QUICK_TESTS) tests/unit tests/test_structure.py

test: .venv/installed lint .noisegate/tmp ## every check of `.ci/run`, within ten minutes; names the 20 slowest tests
	@$(BIN)/python $(QUICK_TESTS)

test-all: .venv/installed lint .noisegate/tmp ## also the slow tests; fails on any skip
	@NOISEGATE_NO_SKIPS=1 $(BIN)/python $(PYTEST)

# Floors are of what `make test` runs; tests that are skipped here cover nothing, so a record wants `make clients`.
coverage: .venv/installed .noisegate/tmp ## branch coverage of each folder; fails below the floors, which RECORD=1 renews
	@rm -rf .noisegate/coverage && mkdir -p .noisegate/coverage
	@$(BIN)/coverage run $(QUICK_TESTS) \
		|| echo "tests failed; traced, some that wait for moments do: make test says which count. The floors all the same:"
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage json --quiet -o .noisegate/coverage/report.json
	@$(BIN)/python -m tests.coverage_floors .noisegate/coverage/report.json $(if $(RECORD),--record)

# Clients of PostgreSQL for tests/e2e/clients, under licences of their own (psycopg2: LGPL; DBD::Pg: GPL or Artistic):
# the product needs none of them. What wants other versions of what the proxy uses, or much beside itself, has an
# environment of its own: pgcli, dbt, and the others in Python together. dbt 1.11 and later want a parser from GitHub.
DEBIAN_CLIENTS := postgresql-client nodejs default-jdk-headless libpostgresql-jdbc-java unixodbc odbc-postgresql \
	php-cli php-pgsql ruby ruby-pg ruby-activerecord ruby-sequel libdbd-pg-perl pgbouncer \
	golang-go golang-github-jackc-pgx-v4-dev golang-github-lib-pq-dev
PYTHON_CLIENTS := adbc-driver-postgresql connectorx django 'ibis-framework[postgres]' ipython jupysql pandas polars \
	'psycopg[binary]' pyarrow sqlalchemy streamlit

clients: .venv/installed .noisegate/tmp ## real clients of PostgreSQL, from PyPI, npm and Debian, for the end-to-end tests
	@missing=; for package in $(DEBIAN_CLIENTS); do case $$package in \
		postgresql-client) command -v psql ;; nodejs) command -v node ;; default-jdk-headless) command -v javac ;; \
		*) dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -o 'ok installed' ;; \
		esac >/dev/null || missing="$$missing $$package"; done; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ]; then apt-get install --quiet --quiet --yes --no-install-recommends $$missing; \
	else echo "not installed, as only root may: apt-get install$$missing"; fi
	@sed -n 's/^\([^ ]*==[^ ]*\).*/\1/p' $(or $(LOCK),/dev/null) > .noisegate/tmp/locked.txt  # which they may not move
	@$(BIN)/python $(PIP_INSTALL) --constraint .noisegate/tmp/locked.txt asyncpg pandas psycopg2-binary pyodbc sqlalchemy
	@mkdir -p .noisegate/clients
	@test -x .noisegate/clients/pgcli/bin/python || $(BIN)/python -m venv .noisegate/clients/pgcli
	@.noisegate/clients/pgcli/bin/python $(PIP_INSTALL) pgcli
	@test -x .noisegate/clients/dbt/bin/python || $(BIN)/python -m venv .noisegate/clients/dbt
	@.noisegate/clients/dbt/bin/python $(PIP_INSTALL) 'dbt-core<1.11' dbt-postgres
	@test -x .noisegate/clients/python/bin/python || $(BIN)/python -m venv .noisegate/clients/python
	@.noisegate/clients/python/bin/python $(PIP_INSTALL) $(PYTHON_CLIENTS)
	@if ! command -v npm >/dev/null; then echo "not installed, as it needs npm: clients of node"; else \
		npm install --silent --no-audit --no-fund --prefix .noisegate/clients/node pg postgres \
		&& npm install --silent --no-audit --no-fund --prefix .noisegate/clients/cube @cubejs-backend/postgres-driver \
		&& npm install --silent --no-audit --no-fund --prefix .noisegate/clients/evidence @evidence-dev/postgres; fi

# Apache-2.0; 0.8 GB. flask-caching 2.4 and later do not fit Superset 6.1, which forgets to ask for cachetools and rich.
superset: .venv/installed ## Apache Superset, for its end-to-end test; needs Python 3.11 or 3.12
	@mkdir -p .noisegate/clients
	@test -x .noisegate/clients/superset/bin/python || $(BIN)/python -m venv .noisegate/clients/superset
	@.noisegate/clients/superset/bin/python $(PIP_INSTALL) apache-superset==6.1.0 \
		cachetools 'flask-caching<2.4' psycopg2-binary rich

# Half a gigabyte, of which PyPI has no wheel, so that it is not in the lock; 80 seconds on a quick line. Spark runs on
# Java 17 or newer, from Debian.
spark: .venv/installed .noisegate/tmp ## pyspark for the extra noisegate[spark]; without it tests of Spark are skipped
	@command -v java >/dev/null || if [ "$$(id -u)" = 0 ]; then \
		apt-get install --quiet --quiet --yes --no-install-recommends openjdk-17-jre-headless; \
		else echo "not installed, as only root may: apt-get install openjdk-17-jre-headless"; fi
	@sed -n 's/^\([^ ]*==[^ ]*\).*/\1/p' $(or $(LOCK),/dev/null) > .noisegate/tmp/locked.txt  # which it may not move
	@$(BIN)/python $(PIP_INSTALL) --constraint .noisegate/tmp/locked.txt 'pyspark[connect]>=4.1'

audit: .venv/installed .noisegate/tmp ## the privacy audits at length: ten times the runs, and those that need millions
	@NOISEGATE_AUDIT_LENGTH=10 $(BIN)/python -m pytest -n $(WORKERS) tests/audit

soak: .venv/installed ## clients and faults for MINUTES=60, from SEED=1; then ledger, answers and log are compared
	@$(BIN)/python -m tests.security.soak $(MINUTES) $(SEED)

benchmark: .venv/installed ## NAME=x runs tests/benchmarks/x.py (all without NAME); QUICK=1 ends within a minute
	@$(BIN)/python -m tests.benchmarks $(NAME)

lint: .venv/installed ## ruff, mypy, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --cache-dir .noisegate/cache/import-linter

format: .venv/installed ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# uv asks the index that pip is set to, unless told another; the file names none. What it writes is one version of each
# package, for every platform and Python that pyproject.toml admits. Versions already in the file stay where they can.
lock: ## requirements.lock, with hashes, from pyproject.toml; UPGRADE=1 takes the newest versions
	@$(PYTHON_IS_NEW_ENOUGH)
	@test -x .noisegate/lock/bin/python || $(PYTHON) -m venv .noisegate/lock
	@.noisegate/lock/bin/python $(PIP_INSTALL) uv==0.13.9
	@.noisegate/lock/bin/python -c 'import tomllib; \
		print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > .noisegate/lock/build-system.in
	@index=$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$(.noisegate/lock/bin/python -m pip config get global.index-url 2>/dev/null)}}; \
	if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi; \
	.noisegate/lock/bin/uv pip compile pyproject.toml .noisegate/lock/build-system.in --extra test --extra benchmark --extra docs \
		--universal --python-version 3.11 --fork-strategy fewest --only-binary :all: $(if $(UPGRADE),--upgrade) \
		--python .noisegate/lock/bin/python --no-python-downloads --cache-dir .noisegate/cache/uv --quiet \
		--generate-hashes --no-emit-index-url --custom-compile-command 'make lock' --output-file requirements.lock

# In an environment of its own: what makes the bill is no part of what is delivered. `make sbom` needs no network but pip's.
sbom: ## a software bill of materials (CycloneDX) of requirements.lock: .noisegate/sbom/noisegate.cdx.json
	@$(PYTHON_IS_NEW_ENOUGH)
	@mkdir -p .noisegate/sbom
	@test -x .noisegate/sbom/venv/bin/python || $(PYTHON) -m venv .noisegate/sbom/venv
	@.noisegate/sbom/venv/bin/python $(PIP_INSTALL) 'cyclonedx-bom>=7,<8'
	@.noisegate/sbom/venv/bin/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application \
		--output-reproducible --of JSON -o .noisegate/sbom/noisegate.cdx.json requirements.lock
	@echo "written: .noisegate/sbom/noisegate.cdx.json"

dist: .venv/installed ## the wheel and the source distribution, in dist/
	@$(BIN)/python -m tests.release.distribution dist

# Sphinx, from requirements.lock: no network, and none when the pages are read.
docs: .venv/installed ## the documentation as pages: .noisegate/docs/html/index.html
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --fresh-env -b html -d .noisegate/docs/doctrees docs .noisegate/docs/html
	@echo "written: .noisegate/docs/html/index.html"

readme: .venv/installed ## write the demonstration's output and measured figures into README.md, docs/ and other READMEs
	@$(BIN)/python -m tests.release.readme
	@$(BIN)/python -m tests.release.sql_reference
	@$(BIN)/python -m tests.release.policy_reference
	@$(BIN)/python -m tests.benchmarks.engines.cost_table
	@$(BIN)/python -m tests.benchmarks.published.errors_table
	@$(BIN)/python -m tests.benchmarks.comparison.tables
	@$(BIN)/python -m tests.benchmarks.case_studies.pages

clean: ## remove .venv, .noisegate and dist
	rm -rf .venv .noisegate dist
