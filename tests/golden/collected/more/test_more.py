"""The statements of two more worlds: what becomes of them, helpful refusals, and what drivers are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from planner.errors import InvalidSetting
from planner.sql.sql_types import ResultType
from server.answers.work import Compose, ListGroups, Measure, Work
from server.backends.duckdb import DuckdbBackend
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.workers.pool import WorkerLimits, WorkerPool
from tests.golden.collected.more.worlds import WORLDS, known, outcomes, rows, statements, tables
from tests.golden.collected.more.write_table import TABLE, table
from tests.golden.collected.outcomes import NAMESPACE, found
from tests.golden.databases import in_file
from tests.golden.refusal_lines import assert_plain_words
from tests.support.memory_ledger import MemoryLedger
from tests.support.seeds import sampled


def test_the_table_is_the_written_one() -> None:
    assert table() == TABLE.read_text()


@pytest.mark.parametrize("world", WORLDS)
def test_a_refusal_says_where_and_what_to_do(world: str) -> None:
    for name, one in outcomes(world).items():
        if one.refusal is not None and not isinstance(one.refusal, InvalidSetting):
            assert one.refusal.hint or one.refusal.position is not None, name
            assert_plain_words(statements(world)[name].sql, one.refusal)


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerPool]:
    pool = WorkerPool(WorkerLimits(workers=1, call_s=120.0), "server.pipeline")
    yield pool
    pool.close()


@pytest.mark.parametrize("world", WORLDS)
def test_a_driver_is_told_the_columns_that_it_gets(world: str, workers: WorkerPool, tmp_path: Path) -> None:
    """What Describe says before anything is charged is what the answer has, and the database takes what is around."""
    file = DuckdbBackend(in_file(tmp_path / "tables.duckdb", [*tables(world), *rows(world)]), NAMESPACE)
    ledger = cast("Ledger", MemoryLedger({"ada": 1e6}))
    pipeline = Pipeline(known(world)[0], file.schema(), file, ledger, workers)
    for name, one in sampled(list(statements(world).items()), 15):
        work = found(one.sql, pipeline).found
        if work is not None:
            told = pipeline.describe(one.sql, None, "ada").columns
            assert _columns(work, file) in (None, [(column.name, column.type) for column in told]), name


def _columns(work: Work, file: DuckdbBackend) -> list[tuple[str, ResultType]] | None:
    """Return the columns of an answer; None for what is free, which is described by being asked."""
    match work:
        case Measure(question) | ListGroups(question):
            return [(output.name, output.type) for output in question.plan.display.outputs]
        case Compose(composition):
            computed = file.compute(composition.statement, rows=False).columns
            return list(computed[: len(computed) - 2 * len(composition.shown.places)])
    return None
