"""What libraries said is kept with its date, and only beside the rows that they were asked of."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.comparison.kept import CASE, Changed, Kept
from tests.benchmarks.comparison.tables import RESULTS, measured_table
from tests.benchmarks.rows import Row

ROWS = [
    Row("a count", "Noisegate: relative error, median of 41", 4.0, "%"),
    Row("a count", "Noisegate's error, of the best library's", 2.0, "1", most=1.2),
    Row("a count", "OpenDP, rows 200: relative error, median of 7", 2.0, "%"),
    Row("a count", "Qrlew, rows 5: relative error, median of 7", 1.0, "%"),
    Row("a count", "Qrlew silently wrong: off; times", 3.0, "1"),
    Row("a count", "Tumult fails: no answer", 1.0, "failed"),
]


def document(*more: Row) -> dict[str, object]:
    return {"commit": "HEAD", "date": "2026-11-26", "rows": [row.as_json() for row in (*ROWS, *more)]}


def test_the_libraries_rows_are_kept_and_none_of_ours() -> None:
    kept = Kept.of(document())
    assert [row.metric for row in kept.rows["a count"]] == [row.metric for row in ROWS[2:]]
    assert kept.errors("a count") == [0.02]
    assert kept.errors("another") == []


def test_what_was_kept_before_keeps_its_date() -> None:
    first = Kept.of(document())
    again = Kept.of(document(first.said) | {"commit": "later", "date": "2027-01-01"})
    assert (again.commit, again.date) == (first.commit, first.date)
    assert again.rows == first.rows
    assert CASE not in again.rows


def test_rows_that_changed_are_not_kept() -> None:
    with pytest.raises(Changed):
        Kept("no such commit", "2026-11-26", {}).check()


def test_the_table_says_when_libraries_were_asked() -> None:
    stored = json.loads(RESULTS.read_text())
    kept = Kept.of(stored)
    stored["rows"] = [row for row in stored["rows"] if row["case"] != CASE] + [kept.said.as_json()]
    assert f"asked at {kept.commit} on {kept.date}" in "\n".join(measured_table(stored))


def test_our_own_rows_may_stay_and_say_of_when_they_are() -> None:
    kept = Kept.of(document())
    assert kept.whole["a count"] == tuple(ROWS)
    assert "HEAD on 2026-11-26" in kept.said_of_ours(["a count"]).metric
