"""What is proved of an expression's values holds of every row: a wrong bound is noise too small, or a failing row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import islice

import psycopg

from planner.binding.bound_query import BoundAggregate
from planner.errors import PlannerError
from planner.rewriting.rewrite import to_sql
from tests.support.planning import bound
from tests.support.seeds import SEED, examples

_ROWS = 12
_EXPRESSIONS = (
    "extract(year FROM age({d}, {d}))",
    "extract(month FROM age({d}, {t}))",
    "extract(day FROM age({t}, {t}))",
    "extract(year FROM age({t}, {t}))",
    "extract(epoch FROM {t} - {t})",
    "extract(day FROM {t} - {t})",
    "{d} - {d}",
    "extract({field} FROM {t})",
    "date_part('{field}', {d})",
    "extract(epoch FROM {t})",
    "width_bucket({n}, -3, {p}, {k})",
    "width_bucket({n}, -3.5::numeric, {p}.25::double precision, {k})",
    "floor({n} / {k})",
    "{n} / {k}",
    "{n} % {k}",
    "mod({w}, {k})",
    "{w} / {k}",
    "{k} / ({w} * {w} + 1)",
    "1 / extract(year FROM age({d}, {d}))",
    "1 / (extract(month FROM {d}))",
    "round({n}, 1)",
    "trunc({n})",
    "ceil({n}) - floor({n})",
    "abs({n} * {w})",
    "greatest({n}, {w}, {k})",
    "least({n}, -{k})",
    "coalesce(nullif({w}, {k}), {p})",
    "sign({n}) * {k}",
    "power({w}, 2)",
    "sqrt(abs({n}))",
    "length({s})",
    "strpos({s}, 'a')",
    "position('b' IN {s})",
    "length(lpad({s}, {k}, 'x'))",
    "length({s} || {s})",
    "length(replace({s}, 'a', 'bcd'))",
    "length(split_part({s}, 'a', 1))",
    "CASE WHEN {w} > {k} THEN {n} ELSE {w} END",
    "-({n}) + {w} * 2 - {p}",
    "CAST({n} AS integer)",
    "CAST({n} AS numeric(6, 0))",
    "extract(year FROM date_trunc('month', {t}))",
    "extract(year FROM {d} + interval '{k} months')",
)
_FIELDS = ("year", "month", "day", "quarter", "dow", "isodow", "doy", "week", "hour", "minute", "decade", "century")
_DAY, _SECONDS = date(1990, 1, 1), 40 * 365 * 86_400


def _chosen(rng: random.Random, literals: list[str]) -> str:
    """One of several literals, by the row."""
    cases = " ".join(f"WHEN {rng.randrange(_ROWS)} THEN {literal}" for literal in literals[1:])
    return f"CASE o_custkey {cases} ELSE {literals[0]} END"


def _argument(rng: random.Random, kind: str) -> str:
    count = rng.choice((1, 2, 3))
    if kind == "d":
        # Some at the end of a year, where its number and the time since another day part.
        days = (
            _DAY + timedelta(rng.choice((rng.randrange(14_000), 365 * rng.randrange(9) + 364))) for _ in range(count)
        )
        return _chosen(rng, [f"DATE '{day}'" for day in days])
    if kind == "t":
        start = datetime(1990, 1, 1)
        moments = (start + timedelta(seconds=rng.randrange(_SECONDS)) for _ in range(count))
        return _chosen(rng, [f"TIMESTAMP '{moment}'" for moment in moments])
    if kind == "n":
        return _chosen(rng, [f"{rng.uniform(-9, 9):.2f}" for _ in range(count)])
    if kind == "w":
        return _chosen(rng, [str(rng.randint(-20, 20)) for _ in range(count)])
    if kind == "s":
        return _chosen(rng, [f"'{''.join(rng.choices('abc', k=rng.randrange(7)))}'" for _ in range(count)])
    return {"field": rng.choice(_FIELDS), "k": str(rng.randint(1, 6)), "p": str(rng.randint(1, 9))}[kind]


def _filled(rng: random.Random, pattern: str) -> str:
    """The expression with other arguments in every place."""
    parts = pattern.replace("{", "\0{").split("\0")
    filled = ""
    for part in parts:
        kind, found, rest = part.removeprefix("{").partition("}")
        filled += f"{_argument(rng, kind)}{rest}" if found else part
    return filled


def _measures(pattern: str) -> Iterator[tuple[str, BoundAggregate]]:
    """Sums of the expression with other arguments each time, where the planner proves bounds for it."""
    rng = random.Random(f"{pattern}{SEED}")
    for _ in range(40):
        expression = _filled(rng, pattern)
        with suppress(PlannerError):
            query = bound(f"SELECT sum({expression}) FROM orders")
            yield expression, next(one for one in query.aggregates if one.function == "sum")


def test_every_value_lies_within_the_proved_bounds(tpch_url: str) -> None:
    rows = f"(SELECT generate_series(0, {_ROWS - 1})) AS orders_0(o_custkey)"
    with psycopg.connect(tpch_url, autocommit=True) as connection:
        for pattern in _EXPRESSIONS:
            checked = 0
            for expression, total in islice(_measures(pattern), examples(6, 40)):
                assert total.argument is not None and total.bounds is not None
                sql = f"SELECT min(value), max(value) FROM (SELECT {to_sql(total.argument)} AS value FROM {rows}) t"
                low, high = connection.execute(sql.encode()).fetchone() or (None, None)
                if low is not None:
                    checked += 1
                    assert total.bounds.lo <= low <= high <= total.bounds.hi, (expression, low, high, total.bounds)
            assert checked > 1, pattern
