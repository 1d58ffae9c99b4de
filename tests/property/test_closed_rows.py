"""Fingerprints of closed rows differ exactly where the rows do, whatever the order, the values and the open rows."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.policy.policy import parse_policy
from server.backends.open_custody import open_custody
from server.ledger.analyst import Act
from server.policy.calendar import days_of
from server.policy.data_versions import VersionPrints, compared, noted_version, read_prints
from tests.support.growing_clinic import POLICY, TABLES
from tests.support.seeds import examples

KEY = bytes(range(32))
ACT = Act("grace", "a load")
FIRST, SECOND = datetime(2026, 4, 10, tzinfo=UTC), datetime(2026, 4, 20, tzinfo=UTC)
CLOSED = date(2026, 4, 3)
"""The first day that is not closed at the first load: seven days before it."""

Row = tuple[int | None, str | None, date | None, int | None]

days = st.dates(date(2025, 12, 1), date(2026, 4, 9))
rows = st.lists(
    st.tuples(
        st.integers(0, 3) | st.none(),
        st.sampled_from(["A", "B", "1:A", "-", "", "A'B", "Ä"]) | st.none(),
        days | st.none(),
        st.integers(-2, 2) | st.none(),
    ),
    max_size=12,
)


def prints(visits: list[Row], at: datetime) -> VersionPrints:
    """Of a clinic with these visits."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "clinic.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(TABLES.format(moment="date").replace("bigint REFERENCES patient", "bigint"))
            connection.execute("INSERT INTO patient VALUES (0, 'Aalen'), (1, 'Berne'), (2, NULL)")
            for visit in visits:
                connection.execute("INSERT INTO visit VALUES (7, ?, ?, ?, ?)", visit)
        with open_custody(f"duckdb:///{path}", (), 0) as custody:
            policy = parse_policy(POLICY.format(url="env:UNUSED", privacy=""))
            return read_prints(custody, custody.schema(()), policy, at)


def changed(before: list[Row], after: list[Row]) -> set[str]:
    """The periods that have changed, as the comparison says."""
    first = prints(before, FIRST)
    entry = noted_version(first, None, compared(first, None, KEY), 1, KEY, None, ACT)
    found = compared(prints(after, SECOND), entry, KEY)
    assert not found.incomparable
    return {period for table, way, period in found.changed if (table, way) == ("visit", "")}


def truly(before: list[Row], after: list[Row]) -> set[date]:
    """The closed days whose rows are others, by their multisets."""
    then, now = Counter(before), Counter(after)
    return {
        row[2] for row in then.keys() | now.keys() if row[2] is not None and row[2] < CLOSED and then[row] != now[row]
    }


@settings(max_examples=examples(6, 40))
@given(rows, rows, st.sampled_from([None, 0, 1, 2, 3, 4]), st.randoms(use_true_random=False))
def test_a_period_has_changed_where_the_rows_of_a_day_of_it_have(
    before: list[Row], more: list[Row], other: int | None, order: random.Random
) -> None:
    """Rows come in another order, and others with them; or one row goes, or differs in one column."""
    after = [*before, *more] if other is None or not before else [*before[1:], *_changed(before[0], other)]
    order.shuffle(after)
    found, days_changed = changed(before, after), truly(before, after)
    assert {period for period in found if any(_within(day, period) for day in days_changed)} == found
    assert all(any(_within(day, period) for period in found) for day in days_changed)


def _changed(row: Row, column: int) -> list[Row]:
    patient, ward, day, cost = row
    later = None if day is None else day + timedelta(days=1)
    others: list[Row] = [(patient, "changed", day, cost), (9, ward, day, cost), (patient, ward, day, 77)]
    return [*others, (patient, ward, later, cost)][column : column + 1]


def _within(day: date, period: str) -> bool:
    first, last = days_of(period)
    return first <= day <= last
