from __future__ import annotations

import math

import pytest

from tests.benchmarks.rows import Row


@pytest.mark.parametrize(
    ("value", "least", "most", "held"),
    [
        (5.0, None, None, None),
        (5.0, None, 5.0, True),
        (5.1, None, 5.0, False),
        (5.0, 5.0, None, True),
        (4.9, 5.0, None, False),
        (5.0, 4.0, 6.0, True),
        (0.0, None, 0, True),
        (math.nan, None, 5.0, False),
        (math.nan, 5.0, None, False),
    ],
)
def test_a_bar_holds_or_does_not(value: float, least: float | None, most: float | None, held: bool | None) -> None:
    assert Row("case", "metric", value, "ms", least, most).held is held


def test_bars_are_said_and_stored_where_there_are_some() -> None:
    barred, bare = Row("case", "metric", 1.0, "ms", most=3.0), Row("case", "metric", 1.0, "ms")
    assert (barred.bar, bare.bar) == ("at most 3", None)
    assert Row("case", "metric", 1.0, "ms", 2.0, 3.0).bar == "at least 2, at most 3"
    stored = {"case": "case", "metric": "metric", "value": 1.0, "unit": "ms"}
    assert bare.as_json() == stored
    assert barred.as_json() == {**stored, "most": 3.0, "held": True}
