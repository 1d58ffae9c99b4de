"""Start the proxy's parts from a policy file, and refuse what is unsafe before anything listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI

from planner.policy import Policy, parse_policy
from planner.policy_check import validate
from planner.schema import Schema
from server.backends.catalog import read_schema
from server.backends.postgres import PostgresBackend, connected
from server.backends.role import refuse_unsafe_role
from server.compiler import Compiler
from server.errors import ConfigurationInvalid
from server.http.app import create_app
from server.ledger.charge import Reservation
from server.ledger.ledger import Ledger
from server.ledger.open_ledger import open_ledger
from server.pipeline import Pipeline, measure
from server.secrets import resolve
from server.workers import WorkerLimits, WorkerPool

_STARTUP_STATEMENT_MS = 10_000


@dataclass(frozen=True)
class Services:
    """The running parts.

    Attributes:
      crashed: reservations that an earlier run left open; their charges stand.
    """

    policy: Policy
    schema: Schema
    ledger: Ledger
    pipeline: Pipeline
    app: FastAPI
    crashed: tuple[Reservation, ...]


def read_policy(path: Path) -> Policy:
    """The policy of a file.

    Raises: ConfigurationInvalid when there is no such file, PolicyInvalid when it contradicts itself.
    """
    if not path.is_file():
        raise ConfigurationInvalid(f"there is no policy at {path}", hint="noisegate policy init writes a first one")
    return parse_policy(path.read_text(encoding="utf-8"))


def ledger_paths(policy: Policy, policy_path: Path) -> tuple[Path, Path]:
    """Where the ledger of a policy lies, and the marker beside the policy that says it exists."""
    return policy_path.parent / policy.ledger_path, policy_path.with_suffix(".ledger.json")


@contextmanager
def open_services(
    policy_path: Path, limits: WorkerLimits = WorkerLimits(), announce: Callable[[str], None] = lambda _: None
) -> Iterator[Services]:
    """Check everything, then start the workers.

    Raises: ConfigurationInvalid, PolicyInvalid, BackendUnavailable, UnsafeRole, LedgerMissing, LedgerInvalid.
    """
    policy = read_policy(policy_path)
    url = resolve(policy.database_url, policy_path.parent)
    with connected(url, _STARTUP_STATEMENT_MS) as connection:
        refuse_unsafe_role(connection)
        schema = read_schema(connection)
    validate(policy, schema)
    ledger = open_ledger(*ledger_paths(policy, policy_path))
    workers = WorkerPool(limits, preload=measure.__module__)
    compiler = Compiler(limits.memory_bytes)
    try:
        workers.warm()
        crashed = ledger.recover()
        if crashed:
            announce(f"{len(crashed)} queries were cut off by a crash; their charges stand")
        pipeline = Pipeline(policy, schema, PostgresBackend(url), ledger, workers)
        yield Services(policy, schema, ledger, pipeline, create_app(pipeline, ledger), crashed)
    finally:
        compiler.stop()
        workers.close()
        ledger.close()
