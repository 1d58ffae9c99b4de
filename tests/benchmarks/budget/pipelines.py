"""The way of a query over one file of these data sets, as `noisegate serve` would build it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from server.backends.open_custody import open_policy_custody
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.workers.pool import WorkerPool

_NO_TIMEOUT_MS = 0


def pipeline_over(
    file: Path,
    policy_text: str,
    ledger: Ledger,
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
    with open_policy_custody(policy, f"duckdb:///{file.absolute()}", _NO_TIMEOUT_MS) as custody:
        schema = with_declared_keys(custody.schema(policy.namespaces).declaring(policy.tables), policy)
        validate(policy, schema)
        return Pipeline(policy, schema, custody.backend, ledger, workers, clock=clock)
