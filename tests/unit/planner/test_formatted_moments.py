"""to_date and to_timestamp of literals are the literals."""

from __future__ import annotations

import pytest

from planner.errors import UnreadableMoment, UnsupportedSQL
from tests.support.planning import planned

ASKED = "SELECT count(*) FROM orders WHERE o_orderdate >= {}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("TO_DATE('1994-01-31', 'YYYY-MM-DD')", "DATE '1994-01-31'"),
        ("to_timestamp('1994-01-31 12:30:00', 'YYYY-MM-DD HH24:MI:SS')", "TIMESTAMP '1994-01-31 12:30:00'"),
        (
            "TO_TIMESTAMP('1994-01-31 12:30:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')",
            "TIMESTAMP '1994-01-31 12:30:00'",
        ),
        ("to_date('1994-01-31', 'YYYY-MM-DD') + INTERVAL '1' MONTH", "DATE '1994-01-31' + INTERVAL '1' MONTH"),
    ],
)
def test_are_the_moment(written: str, meant: str) -> None:
    assert planned(ASKED.format(written)) == planned(ASKED.format(meant))


@pytest.mark.parametrize(
    "written",
    [
        "to_date('31', 'DD')",
        "to_date('94-01-31', 'YYYY-MM-DD')",
        "to_date('1994-1-31', 'YYYY-MM-DD')",
        "to_date('1994-01-31', '%Y-%m-DD')",  # the parser library takes it for the same
        "to_date('1994-01-31 12:00:00', 'YYYY-MM-DD')",
        "to_timestamp('1994-01-31 12:30:00.5', 'YYYY-MM-DD HH24:MI:SS.US')",  # five microseconds
        "to_timestamp(759974400)",
        "to_date(o_comment, 'YYYY-MM-DD')",
    ],
)
def test_what_could_be_read_otherwise_is_refused(written: str) -> None:
    with pytest.raises(UnsupportedSQL, match="function to_"):
        planned(ASKED.format(written))


def test_a_day_that_is_not_there() -> None:
    with pytest.raises(UnreadableMoment) as refused:
        planned(ASKED.format("to_date('1994-02-30', 'YYYY-MM-DD')"))
    assert refused.value.position == ASKED.index("{") + len("to_date(") + 1
