"""Start the proxy's parts from a policy file, and refuse what is unsafe before anything listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fastapi import FastAPI

from planner.policy import Policy
from planner.policy_check import validate
from planner.schema import Schema
from server.accepted_policy import Change, PolicyFile, accept
from server.backends.catalog import read_schema
from server.backends.postgres import PostgresBackend, connected
from server.backends.role import refuse_unsafe_role
from server.compiler import Compiler
from server.errors import ConfigurationInvalid
from server.http.app import create_app
from server.ledger.analyst import Act
from server.ledger.charge import Reservation
from server.ledger.ledger import Ledger
from server.live_pipeline import LivePipeline
from server.measuring import measure
from server.pipeline import Pipeline
from server.policy_ledger import open_policy_ledger
from server.secrets import resolve
from server.workers import WorkerLimits, WorkerPool

_STARTUP_STATEMENT_MS = 10_000


@dataclass(frozen=True)
class Services:
    """The running parts.

    Attributes:
      pipeline: under the policy in force, which it can reload.
      crashed: reservations that an earlier run left open; their charges stand.
    """

    ledger: Ledger
    pipeline: LivePipeline
    app: FastAPI
    crashed: tuple[Reservation, ...]


@dataclass(frozen=True)
class Prepared:
    """A policy that fits its database."""

    file: PolicyFile
    schema: Schema
    backend: PostgresBackend


def read_policy(path: Path) -> Policy:
    """The policy of a file.

    Raises: ConfigurationInvalid when there is no such file, PolicyInvalid when it contradicts itself.
    """
    return PolicyFile.read(path).policy


@contextmanager
def open_services(
    policy_path: Path, limits: WorkerLimits = WorkerLimits(), announce: Callable[[str], None] = lambda _: None
) -> Iterator[Services]:
    """Check everything, then start the workers.

    Raises: ConfigurationInvalid, PolicyInvalid, PolicyWeakened, BackendUnavailable, UnsafeRole, LedgerMissing,
      LedgerInvalid.
    """
    prepared = prepare(policy_path)
    ledger = open_policy_ledger(prepared.file.policy, policy_path)
    workers = WorkerPool(limits, preload=measure.__module__)
    compiler = Compiler(limits.memory_bytes)
    try:
        accept(Change.to(prepared.file, prepared.schema, ledger), ledger, Act("proxy", "start"))
        workers.warm()
        crashed = ledger.recover()
        if crashed:
            announce(f"{len(crashed)} queries were cut off by a crash; their charges stand")
        first = Pipeline(prepared.file.policy, prepared.schema, prepared.backend, ledger, workers)
        pipeline = LivePipeline(first, partial(_renew, policy_path))
        yield Services(ledger, pipeline, create_app(pipeline, ledger), crashed)
    finally:
        compiler.stop()
        workers.close()
        ledger.close()


def prepare(policy_path: Path) -> Prepared:
    """Read a policy and compare it with the catalog and the role that it names.

    Raises: ConfigurationInvalid, PolicyInvalid, BackendUnavailable, UnsafeRole.
    """
    file = PolicyFile.read(policy_path)
    url = resolve(file.policy.database_url, policy_path.parent)
    with connected(url, _STARTUP_STATEMENT_MS) as connection:
        refuse_unsafe_role(connection)
        schema = read_schema(connection)
    validate(file.policy, schema)
    return Prepared(file, schema, PostgresBackend(url))


def _renew(policy_path: Path, before: Pipeline, act: Act, confirmed: str | None) -> tuple[Pipeline, tuple[str, ...]]:
    """The pipeline under the policy as it is now, once everything is checked that is checked at the start."""
    prepared = prepare(policy_path)
    if prepared.file.policy.ledger_path != before.policy.ledger_path:
        raise ConfigurationInvalid("ledger.path changes with a restart only", hint="the policy before stays in force")
    weaker = accept(Change.to(prepared.file, prepared.schema, before.ledger), before.ledger, act, confirmed)
    renewed = replace(before, policy=prepared.file.policy, schema=prepared.schema, backend=prepared.backend)
    return renewed, weaker
