"""The way of a query over one file of these data sets, as `noisegate serve` would build it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from planner.policy.declared_keys import with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from server.backends.duckdb import DuckdbBackend
from server.ledger.store_ledger import StoreLedger
from server.pipeline import Pipeline
from server.workers.pool import WorkerPool
from tests.support.tpch_duckdb import NAMESPACE


def pipeline_over(
    file: Path,
    policy_text: str,
    ledger: StoreLedger,
    workers: WorkerPool,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Pipeline:
    """The pipeline over a DuckDB file.

    Args:
      file: the rows.
      policy_text: the contract, which is compared with the file's catalog.
      ledger: pays.
      workers: where rows are read.
      clock: what now() is.
    """
    policy = parse_policy(policy_text)
    backend = DuckdbBackend(file, NAMESPACE)
    schema = backend.schema()
    validate(policy, schema)
    return Pipeline(policy, with_declared_keys(schema, policy), backend, ledger, workers, clock=clock)
