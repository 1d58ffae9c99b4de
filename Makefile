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

# Whatever the tools keep, they keep under .noisegate; but compiled kernels, which all checkouts share (privacy/kernel.py).
# What tests write and forget lies in memory where that has room (tests/conftest.py).
export PYTHONPYCACHEPREFIX := $(CURDIR)/.noisegate/cache/python
export PYTEST_DEBUG_TEMPROOT := $(CURDIR)/.noisegate/tmp
# What mypy knows of a file it knows by its content: a fresh checkout is checked in seconds.
export MYPY_CACHE_DIR := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/noisegate/mypy
# Compiled modules are kept whatever the environment says: each process of a proxy starts in a third of the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo check unit few test test-profile test-all test-clients test-browser test-spark coverage chromium clients superset spark audit soak benchmark lint format lock sbom dist docs readme clean
.DEFAULT_GOAL := help

help: ## show these lines
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

PYTHON_IS_NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "Noisegate needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

# uv as the lock names it, by its hashes; without a lock, the newest.
UV_FROM = $(if $(LOCK),--require-hashes --requirement .noisegate/tmp/uv.txt,uv)

# uv asks the index that pip is set to, unless told another; no file of ours names one. It links packages from its cache
# of this user, where a second checkout finds them: two seconds in place of two minutes.
UV_INDEX = index=$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(PYTHON) -m pip config get global.index-url 2>/dev/null)}}; \
	if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi
UV_INSTALL = $(UV_INDEX); $(BIN)/uv pip install --quiet --python $(BIN)/python

# From the lock come wheels only: what a source distribution builds with, no hash of ours covers. The file that is made
# says which lock the environment is of.
define NEW_ENVIRONMENT
@$(PYTHON_IS_NEW_ENOUGH)
@mkdir -p .noisegate/tmp
@test -x $(BIN)/python || $(PYTHON) -m venv .venv
@echo "installing into .venv (the first time on a machine takes $(1))"
@sed -n '/^uv==/,/^    # via/p' $(or $(LOCK),/dev/null) > .noisegate/tmp/uv.txt
@test -x $(BIN)/uv || $(BIN)/python $(PIP_INSTALL) $(UV_FROM)
endef

.venv/installed: pyproject.toml $(LOCK)
	$(call NEW_ENVIRONMENT,a minute or two)
ifneq ($(LOCK),)
	@$(UV_INSTALL) --only-binary :all: --require-hashes --requirement $(LOCK) \
		|| { echo "$(LOCK) could not be installed; uv says above why. A hash that does not match means that a file is not"; \
		echo "the one that was tested: find out why. If there is no wheel for this platform or this Python, take versions"; \
		echo "that are not locked, and so are not those that were tested: make LOCK= .venv/installed"; exit 1; }
	@$(UV_INSTALL) --no-deps --no-build-isolation --editable .
else
	@$(UV_INSTALL) --editable '.[test,benchmark,docs]'
endif
	@rm -rf noisegate.egg-info  # of the build; the installation does not need it
	@echo '$(LOCK)' > $@

# Half of it, by the same versions and hashes: what the demonstration needs, where nothing else is installed.
.venv/demo: pyproject.toml $(LOCK)
	$(call NEW_ENVIRONMENT,half a minute)
	@$(UV_INSTALL) --only-binary :all: $(if $(LOCK),--constraint $(LOCK)) --requirement pyproject.toml --extra embedded setuptools
	@$(UV_INSTALL) --no-deps --no-build-isolation --editable .
	@rm -rf noisegate.egg-info
	@touch $@

.noisegate/tmp:
	@mkdir -p $@

demo: $(or $(wildcard .venv/installed),.venv/demo) ## TPC-H behind a proxy, asked and compared with the truth; DEMO_EXIT=1 does not stay up
	@$(BIN)/python -W error::ResourceWarning -m server.cli.main demo $(if $(DEMO_EXIT),--exit)

# One seed, one order, one choice of examples: what fails here fails again. `make test-all` takes a seed of the moment.
SEED ?= 1
LAYER ?=
TESTS ?=
SEEDED = NOISEGATE_TEST_SEED=$(SEED) PYTHONHASHSEED=$(SEED)
PYTEST = $(SEEDED) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --randomly-seed=$(SEED) --durations 20
FEW = $(PYTEST) $(if $(LAYER),--layer $(LAYER)) $(TESTS)
EVERYTHING = NOISEGATE_TESTS=all NOISEGATE_NO_SKIPS=1 $(PYTEST)

# Both side by side: unit tests that wait for a disk leave mypy the processor. Either's failure fails it.
check: .venv/installed ## what to run at every change: ruff, mypy, import-linter, unit tests
	@$(MAKE) --no-print-directory --jobs 2 lint unit

unit: .venv/installed .noisegate/tmp ## the unit tests, which start no database and no proxy
	@$(PYTEST) tests/unit tests/test_structure.py

test: .venv/installed .noisegate/tmp ## what `.ci/run` runs, in eight to nine minutes on two cores; LAYER=privacy|planner|server, SEED=7, TESTS=path
	@$(BIN)/python -m server.workers.kernel_compiler
	@$(MAKE) --no-print-directory --jobs 2 lint few

# Compiled once for all of pytest's processes, which would each do so at the same time.
few: .noisegate/tmp
	@$(BIN)/python -m compileall -q -j 2 privacy planner server
	@$(FEW)

test-profile: .venv/installed .noisegate/tmp ## `make test` without lint, and where its time went, by phase, folder, file and fixture
	@$(FEW) -p tests.support.profile
	@$(BIN)/python -m tests.support.profile

test-all: SEED := $(shell date +%s)
test-all: lint clients superset chromium spark .noisegate/tmp ## every test, with all cases, a seed of the moment and no skip: hours
	@$(EVERYTHING) --suite all

test-clients: clients superset .noisegate/tmp ## real clients of PostgreSQL, which it installs
	@$(EVERYTHING) --suite clients

test-browser: chromium .noisegate/tmp ## the pages in Chromium, which it installs
	@$(EVERYTHING) --suite browser

chromium: .venv/installed
	@command -v chromium >/dev/null || if [ "$$(id -u)" = 0 ]; then \
		apt-get install --quiet --quiet --yes --no-install-recommends chromium; \
		else echo "not installed, as only root may: apt-get install chromium"; fi

test-spark: spark .noisegate/tmp ## the engine Spark, which it installs
	@$(EVERYTHING) --suite spark

# Floors are of what `make test` runs; tests that are skipped here cover nothing, so a record wants `make clients`.
coverage: .venv/installed .noisegate/tmp ## branch coverage of each folder; fails below the floors, which RECORD=1 renews
	@rm -rf .noisegate/coverage && mkdir -p .noisegate/coverage
	@$(SEEDED) $(BIN)/coverage run -m pytest -n $(WORKERS) --dist loadgroup --randomly-seed=$(SEED) \
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
spark: .venv/installed .noisegate/tmp ## pyspark for the extra noisegate[spark]
	@command -v java >/dev/null || if [ "$$(id -u)" = 0 ]; then \
		apt-get install --quiet --quiet --yes --no-install-recommends openjdk-17-jre-headless; \
		else echo "not installed, as only root may: apt-get install openjdk-17-jre-headless"; fi
	@sed -n 's/^\([^ ]*==[^ ]*\).*/\1/p' $(or $(LOCK),/dev/null) > .noisegate/tmp/locked.txt  # which it may not move
	@$(BIN)/python $(PIP_INSTALL) --constraint .noisegate/tmp/locked.txt 'pyspark[connect]>=4.1'

audit: .venv/installed .noisegate/tmp ## the privacy audits at length: ten times the runs, and those that need millions
	@NOISEGATE_AUDIT_LENGTH=10 $(EVERYTHING) tests/audit

soak: .venv/installed ## clients and faults for MINUTES=60, from SEED=1; then ledger, answers and log are compared
	@$(BIN)/python -m tests.security.soak $(MINUTES) $(SEED)

benchmark: .venv/installed ## NAME=x runs tests/benchmarks/x.py (without NAME all that are not of this commit); QUICK=1 ends within a minute
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
	@$(BIN)/python -m tests.release.maps
	@$(BIN)/python -m tests.release.readme
	@$(BIN)/python -m tests.release.sql_reference
	@$(BIN)/python -m tests.release.policy_reference
	@$(BIN)/python -m tests.release.settings_reference
	@$(BIN)/python -m tests.benchmarks.engines.cost_table
	@$(BIN)/python -m tests.benchmarks.engines.scale_table
	@$(BIN)/python -m tests.benchmarks.published.errors_table
	@$(BIN)/python -m tests.benchmarks.comparison.tables
	@$(BIN)/python -m tests.benchmarks.case_studies.pages
	@$(BIN)/python -m tests.benchmarks.everyday.table
	@$(BIN)/python -m tests.benchmarks.bars

clean: ## remove .venv, .noisegate and dist
	rm -rf .venv .noisegate dist
