"""The index of a contribution among thresholds: looked up by step, it is that of bisection."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from random import Random

import duckdb
import pytest
from sqlglot import exp

from planner.rewriting import contributions
from planner.rewriting.contributions import CONTRIBUTIONS, count_contributions
from planner.rewriting.dialects.postgres import postgres_sql
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import histogram_thresholds
from tests.support.seeds import SEED, examples

_LARGEST = 1 << 62


def _places(thresholds: Sequence[int], values: Sequence[int]) -> dict[int, int]:
    """The index of each value, as DuckDB finds it."""
    statement = count_contributions(1, 1, thresholds, looked_up=True)
    assert statement.find(exp.Join) is not None and statement.find(exp.Case) is None
    rows = ", ".join(f"(1, {place}, {value})" for place, value in enumerate(values))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {CONTRIBUTIONS} AS SELECT * FROM (VALUES {rows}) v(o0, k0, w0)")
        connection.execute(f"ALTER TABLE {CONTRIBUTIONS} ALTER w0 TYPE BIGINT")
        found = connection.execute(postgres_sql(statement)).fetchall()
    assert [row[3] for row in found] == [1] * len(values), "each value once, none lost"
    return {values[row[0]]: row[2] for row in found}


def _ladders(random: Random) -> list[tuple[int, ...]]:
    """Those of plans, and random ones of up to four in an octave."""
    sets = [Thresholds(0, 0), Thresholds(parts=4), Thresholds(0, 32, parts=4, whole=True)]
    ladders = [histogram_thresholds(sets), histogram_thresholds(sets, random.randrange(1, 1 << 30))]
    for _ in range(4):
        octaves = [1 << bit for bit in range(2, 62)]
        ladders.append(tuple(sorted({low + random.randrange(low) for low in octaves for _ in range(4)})))
    return ladders


@pytest.mark.parametrize("case", range(examples(3, 60)))
def test_it_is_found_by_step(case: int) -> None:
    random = Random(f"{SEED} {case}")
    for ladder in _ladders(random):
        powers = [1 << bit for bit in range(63)]
        near = {value + step for value in (*ladder, *powers) for step in (-1, 0, 1)}
        values = sorted(
            value for value in near | {random.randrange(1, _LARGEST) for _ in range(50)} if 0 < value <= _LARGEST
        )
        assert _places(ladder, values) == {value: bisect_left(ladder, value) for value in values}


def test_a_window_that_is_a_step_too_narrow_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    found = contributions._near

    def narrow(thresholds: Sequence[int]) -> list[list[int]] | None:
        near = found(thresholds)
        assert near is not None
        return near[:-1]

    monkeypatch.setattr(contributions, "_near", narrow)
    with pytest.raises(AssertionError):
        test_it_is_found_by_step(0)


def test_few_thresholds_and_crowded_ones_are_compared() -> None:
    for ladder in ([5], list(range(1, 16)), list(range(1000, 1100))):
        assert count_contributions(0, 1, ladder, looked_up=True).find(exp.Join) is None
