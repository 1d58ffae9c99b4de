# Noisegate: `make demo`, `make test`. Everything is installed into .venv; data lies in .noisegate.

PYTHON ?= python3
NAME ?=
BIN := .venv/bin
WORKERS ?= 2

# Whatever the tools keep, they keep under .noisegate.
export PYTHONPYCACHEPREFIX := $(CURDIR)/.noisegate/cache/python
export NUMBA_CACHE_DIR := $(CURDIR)/.noisegate/cache/numba
export PYTEST_DEBUG_TEMPROOT := $(CURDIR)/.noisegate/tmp

.PHONY: help demo test test-all clients superset audit benchmark lint format readme clean
.DEFAULT_GOAL := help

help: ## show these lines
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Noisegate needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@mkdir -p .noisegate/tmp
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv (the first time takes a few minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@rm -rf noisegate.egg-info  # of the build; the installation does not need it
	@touch $@

.noisegate/tmp:
	@mkdir -p $@

demo: .venv/installed ## TPC-H behind a proxy, asked and compared with the truth; DEMO_EXIT=1 does not stay up
	@$(BIN)/python -W error::ResourceWarning -m tests.demo

test: .venv/installed lint .noisegate/tmp ## every check of `.ci/run`
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow"

test-all: .venv/installed lint .noisegate/tmp ## also the slow tests; fails on any skip
	@NOISEGATE_NO_SKIPS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

# Clients of PostgreSQL for tests/e2e/clients, under licences of their own (psycopg2: LGPL): the product needs none of
# them. pgcli has an environment of its own, as it wants other versions of what the proxy uses.
DEBIAN_CLIENTS := postgresql-client nodejs default-jdk-headless libpostgresql-jdbc-java unixodbc odbc-postgresql

clients: .venv/installed ## real clients of PostgreSQL, from PyPI, npm and Debian, for the end-to-end tests
	@missing=; for package in $(DEBIAN_CLIENTS); do case $$package in \
		postgresql-client) command -v psql ;; nodejs) command -v node ;; default-jdk-headless) command -v javac ;; \
		*) dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -o 'ok installed' ;; \
		esac >/dev/null || missing="$$missing $$package"; done; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ]; then apt-get install --quiet --quiet --yes --no-install-recommends $$missing; \
	else echo "not installed, as only root may: apt-get install$$missing"; fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check asyncpg pandas psycopg2-binary pyodbc sqlalchemy
	@mkdir -p .noisegate/clients
	@test -x .noisegate/clients/pgcli/bin/python || $(BIN)/python -m venv .noisegate/clients/pgcli
	@.noisegate/clients/pgcli/bin/python -m pip install --quiet --disable-pip-version-check pgcli
	@if command -v npm >/dev/null; then npm install --silent --no-audit --no-fund --prefix .noisegate/clients/node pg; \
	else echo "not installed, as it needs npm: pg of node"; fi

# Apache-2.0; 0.8 GB. flask-caching 2.4 and later do not fit Superset 6.1, which forgets to ask for cachetools and rich.
superset: .venv/installed ## Apache Superset, for its end-to-end test; needs Python 3.11 or 3.12
	@mkdir -p .noisegate/clients
	@test -x .noisegate/clients/superset/bin/python || $(BIN)/python -m venv .noisegate/clients/superset
	@.noisegate/clients/superset/bin/python -m pip install --quiet --disable-pip-version-check apache-superset==6.1.0 \
		cachetools 'flask-caching<2.4' psycopg2-binary rich

audit: .venv/installed .noisegate/tmp ## the privacy audits at length: ten times the runs, and those that need millions
	@NOISEGATE_AUDIT_LENGTH=10 $(BIN)/python -m pytest -n $(WORKERS) tests/audit

.venv/drawing: .venv/installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,benchmark]'
	@rm -rf noisegate.egg-info
	@touch $@

benchmark: .venv/drawing ## NAME=x runs tests/benchmarks/x.py (all without NAME); QUICK=1 ends within a minute
	@$(BIN)/python -m tests.benchmarks $(NAME)

lint: .venv/installed ## ruff, mypy, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --cache-dir .noisegate/cache/import-linter

format: .venv/installed ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

readme: .venv/installed ## write the demonstration's output into README.md
	@$(BIN)/python -m tests.demo.readme

clean: ## remove .venv and .noisegate
	rm -rf .venv .noisegate
