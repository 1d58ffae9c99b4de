"""to_date and to_timestamp of literals are the literals."""

from __future__ import annotations

import pytest

from planner.errors import PlannerError, UnreadableMoment, UnsupportedSQL
from tests.support.planning import planned

ASKED = "SELECT count(*) FROM orders WHERE o_orderdate >= {}"


def test_are_the_moment() -> None:
    for written, meant in [
        ("TO_DATE('1994-01-31', 'YYYY-MM-DD')", "DATE '1994-01-31'"),
        ("to_timestamp('1994-01-31 12:30:00', 'YYYY-MM-DD HH24:MI:SS')", "TIMESTAMP '1994-01-31 12:30:00'"),
        ("TO_TIMESTAMP('1994-01-31 12:30:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')",
         "TIMESTAMP '1994-01-31 12:30:00'"),
        ("to_date('1994-01-31', 'YYYY-MM-DD') + INTERVAL '1' MONTH", "DATE '1994-01-31' + INTERVAL '1' MONTH"),
        ("to_timestamp(759974400)", "TIMESTAMP '1994-01-31 00:00:00'"),
        ("to_timestamp(-86400.5)", "TIMESTAMP '1969-12-30 23:59:59.5'"),
        ("DATE '1999-01-01' - '3 days'::interval", "DATE '1999-01-01' - INTERVAL '3' DAY"),
        ("DATE '1999-01-01' - CAST('1 week 2 days' AS interval)", "DATE '1999-01-01' - INTERVAL '9' DAY"),
        ("DATE '1999-01-01' - '1 year 2 mons'::interval", "DATE '1999-01-01' - INTERVAL '14' MONTH"),
        ("DATE '1999-01-01' - '1:30:00'::interval", "DATE '1999-01-01' - INTERVAL '5400' SECOND"),
        ("DATE '1999-01-01' - '0 months 7 days 0 microseconds'::interval", "DATE '1999-01-01' - INTERVAL '7' DAY"),
        ("DATE '1999-01-01' - 3 * INTERVAL '1 day'", "DATE '1999-01-01' - INTERVAL '3' DAY"),
        ("DATE '1999-01-01' - INTERVAL '2 days' * 3", "DATE '1999-01-01' - INTERVAL '6' DAY"),
    ]:  # fmt: skip
        assert planned(ASKED.format(written)) == planned(ASKED.format(meant))


def test_what_could_be_read_otherwise_is_refused() -> None:
    cases = [
        "to_date('31', 'DD')",
        "to_date('94-01-31', 'YYYY-MM-DD')",
        "to_date('1994-01-31', '%Y-%m-DD')",  # the parser library takes it for the same
        "to_timestamp('1994-01-31 12:30:00.5', 'YYYY-MM-DD HH24:MI:SS.US')",  # five microseconds
        "to_timestamp(759974400.1234567)",
    ]
    for written in cases:
        with pytest.raises(PlannerError, match=r"to_|format|cannot be read|whole number"):
            planned(ASKED.format(written))


def test_an_interval_with_a_fraction_or_another_form_is_refused() -> None:
    for text in ("1 month 0.3 days", "0.5 seconds", "P7D", "soon", ""):
        with pytest.raises(UnsupportedSQL, match="interval"):
            planned(ASKED.format(f"DATE '1999-01-01' - '{text}'::interval"))


def test_a_day_that_is_not_there() -> None:
    with pytest.raises(UnreadableMoment) as refused:
        planned(ASKED.format("to_date('1994-02-30', 'YYYY-MM-DD')"))
    assert refused.value.position == ASKED.index("{") + len("to_date(") + 1
