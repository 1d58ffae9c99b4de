"""One question is charged once, however its values are spelled and by whichever way they come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.placeholders import Value, substitute
from planner.parsing.parse import parse
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.rewriting.rewrite import rewrite
from server.question import answer_key, plan_hash
from tests.support.planning import demo_policy
from tests.support.seeds import sampled
from tests.support.tpch_schema import tpch_schema


def _plan(select: exp.Select) -> Plan:
    query = bind(select, tpch_schema(), demo_policy())
    return make_plan(query, tpch_schema(), demo_policy(), epsilon=None, delta=None, mechanism=None)


def _names(condition: str, values: Sequence[Value] = ()) -> tuple[str, str]:
    """The plan's hash and the answer's key."""
    select = substitute(parse(f"SELECT count(*) FROM orders WHERE {condition}"), values)
    plan = _plan(select)
    query = rewrite(plan)
    return plan_hash(query), answer_key(plan, query, "day", 1)


HUNDREDS: list[tuple[str, tuple[Value, ...]]] = [
    *((spelling, ()) for spelling in ("100", "100.0", "100.00", "1e2", "0100", "+100", "-(-100)", "100.", "'100'",
                                      "' +100.0 '", "'1e2'", "(100)", "100::numeric", "1E+2")),
    *(("$1", (value,)) for value in (100, 100.0, Decimal("100.00"), Decimal("1E+2"), "100", "100.0", " 1e2")),
]  # fmt: skip
DAYS: list[tuple[str, tuple[Value, ...]]] = [
    *((spelling, ()) for spelling in (
        "'1995-06-01'", "'1995-6-1'", "DATE '1995-06-01'", "'1995-06-01 00:00:00'", "'1995-06-01T00:00:00Z'",
        "TIMESTAMP '1995-06-01'", "TIMESTAMP '1995-06-01 00:00:00+00'", "DATE '1995-05-01' + INTERVAL '1 month'",
        "'1995-06-01 12:00'", "TIMESTAMPTZ '1995-06-01 02:00+02'", "'1995-06-01'::timestamp::date", "'19950601'",
    )),
    *(("$1", (value,)) for value in ("1995-06-01", "1995-6-1", date(1995, 6, 1), datetime(1995, 6, 1))),
]  # fmt: skip


def test_a_number_in_a_comparison_is_its_value() -> None:
    """Every spelling in the first; in the others some, as they read numbers by the same way."""
    for number, condition in enumerate(
        [
            "o_totalprice > {}",
            "o_orderkey = {}",
            "{} < o_orderkey",
            "o_orderkey IN ({}, 7)",
            "o_totalprice BETWEEN {} AND 500",
            "o_totalprice IS DISTINCT FROM {}",
            "NOT (o_totalprice * 2 <= {} OR o_orderkey = 1)",
        ]
    ):
        spellings = HUNDREDS if number == 0 else sampled(HUNDREDS, 5)
        found = {_names(condition.format(spelling), values) for spelling, values in spellings}
        assert len(found) == 1, condition
        assert _names(condition.format("100.01")) not in found, condition


def test_a_day_in_a_comparison_is_its_moment() -> None:
    for number, condition in enumerate(
        ["o_orderdate >= {}", "{} > o_orderdate", "o_orderdate BETWEEN {} AND '1996-01-01'"]
    ):
        spellings = DAYS if number == 0 else sampled(DAYS, 5)
        found = {_names(condition.format(spelling), values) for spelling, values in spellings}
        assert len(found) == 1, condition
        assert _names(condition.format("'1995-06-02'")) not in found, condition


def test_an_integer_division_is_no_other() -> None:
    assert _names("o_orderkey / 2 > 5") != _names("o_orderkey / 2.0 > 5")
    assert _names("o_orderkey / $1 > 5", [2]) != _names("o_orderkey / $1 > 5", [2.0])


def test_a_truth_is_its_value() -> None:
    for spelling in ["TRUE", "true", "'t'", "'TRUE'", "' yes '", "'on'", "'1'", "'y'"]:
        assert _names(f"(o_orderkey > 5) = {spelling}") == _names("(o_orderkey > 5) = $1", [True]), spelling


def test_no_digit_is_lost() -> None:
    """Decimal's own arithmetic keeps 28 of them."""
    digits = "1234567890123456789012345678901234567"
    for sign in ("", "-"):
        join = rewrite(_plan(parse(f"SELECT count(*) FROM orders WHERE o_totalprice < {sign}{digits}.50"))).join
        assert join is not None
        assert f"{sign}{digits}.5" in join
