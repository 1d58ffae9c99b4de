"""Statements that nearly make sense, and such that make none: only the planner's own errors leave the planner."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.placeholders import substitute
from planner.describe import describe
from planner.errors import PlannerError
from planner.expressions.bind_scalar import bind_scalar
from planner.parsing.parse import parse, read
from planner.planning.make_plan import make_plan
from planner.rewriting.rewrite import rewrite
from planner.sql.sql_types import Family
from tests.support.function_examples import EXAMPLES
from tests.support.hostile import HostileNames
from tests.support.planning import unbounded
from tests.support.seeds import examples, sampled
from tests.support.tpch_schema import tpch_schema

_NOW = datetime(2024, 5, 17, 13, 30, tzinfo=UTC)
_HOLES = {
    "i": ["length(l_comment)", "l_quantity::int", "l_shipdate - o_orderdate", "$1", "7", "o_orderkey"],
    "n": ["l_quantity", "l.l_extendedprice", "l_discount", "l_tax", "$2"],
    "f": ["l_tax", "l_quantity::float8", "0.5"],
    "t": ["l_comment", "l_comment", "'a'"],
    "c": ["l_returnflag", "l_shipmode", "l_shipinstruct"],
    "d": ["o_orderdate", "l_shipdate", "current_date", "DATE '1996-02-29'"],
    "s": ["o_orderdate::timestamp", "now()"],
    "z": ["l_shipdate", "TIMESTAMP '1994-01-01'"],
    "b": ["o_orderkey = 1", "TRUE", "NULL"],
}
_FAMILIES = {
    "i": Family.INTEGER, "n": Family.NUMERIC, "f": Family.FLOAT, "t": Family.TEXT, "c": Family.CHAR,
    "d": Family.DATE, "s": Family.TIMESTAMP, "z": Family.TIMESTAMPTZ, "b": Family.BOOL,
}  # fmt: skip


def _family(example: str) -> Family | None:
    text = re.sub(r"\{(\w)\}", r"\1", example)
    select = read(f"SELECT {text}").tree
    assert isinstance(select, exp.Select)
    kind = bind_scalar(select.expressions[0], HostileNames(1.0, 10.0)).type
    return None if kind is None else kind.family


_OF_FAMILY = {example: _family(example) for example in EXAMPLES}
BY_TYPE = {hole: [e for e in EXAMPLES if _OF_FAMILY[e] is family] for hole, family in _FAMILIES.items()}
_JUNK = r"""
( ) , . * + - / % ^ = <> < > :: || [ ] { } ; ' " -- /* */ $1 $0 $$ @x ? : \ ~ !~ & | # @> E'\'' U&'\0000' B'1' X'f'
select from where group by having order limit offset distinct on using natural left join lateral union all except
case when then else end in is not null between symmetric like ilike escape similar any exists interval cast as
over partition filter within with recursive tablesample bernoulli repeatable values array row nulls first last asc
count(*) sum(1) avg( min( now() random() pg_sleep(9) current_user ctid xmin 1e999 .5 0x1F 1_000 99999999999999999999
'1994-13-01' 'infinity' 'NaN' date time timestamp with zone at é 💥 ﬀ İ  　 \x00 for update nowait into
"""
_WORDS = [*_JUNK.split(), "\0", "\ud800", "\u2028", "\ufeff", "\t", "\r\n", "a" * 100, "(" * 30, "-" * 70, "1," * 40]
_AGGREGATES = ["count(*)", "sum({})", "sum({})", "avg({})", "count({})", "count(DISTINCT {})", "{}"]
_FROM = [
    "FROM orders o, lineitem l",
    "FROM orders o JOIN lineitem l ON l_orderkey = o_orderkey",
    "FROM customer JOIN orders o ON o_custkey = c_custkey LEFT JOIN nation ON n_nationkey = c_nationkey, lineitem l",
    "FROM (SELECT o_orderkey, o_orderdate, o_comment AS l_comment FROM orders) o NATURAL JOIN lineitem l",
]


class Speaker:
    """Writes statements from a seed, so that a failure can be repeated."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def statement(self) -> str:
        """Valid as far as it goes, then mutated more or less, or nonsense from the start."""
        kind = self._draw.random()
        if kind < 0.1:
            return " ".join(self._draw.choices(_WORDS, k=self._draw.randrange(30)))
        text = self._select()
        for _ in range(0 if kind < 0.5 else self._draw.choice([1, 1, 2, 5, 20])):
            text = self._mutated(text)
        return text

    def _select(self) -> str:
        parts = ["WITH x AS (SELECT 1 AS y)" if self._draw.random() < 0.03 else "", "SELECT"]
        parts.append(", ".join(self._output() for _ in range(self._draw.choice([1, 1, 2, 3]))))
        parts.append(self._draw.choice(_FROM))
        clauses: list[tuple[str, Callable[[], str]]] = [
            ("WHERE", lambda: self._expression("b")), ("GROUP BY", self._expression), ("HAVING", self._having),
            ("ORDER BY", self._output), ("LIMIT", lambda: self._draw.choice(["1", "$1", "ALL", "-1", "1.5"])),
        ]  # fmt: skip
        parts += [f"{clause} {make()}" for clause, make in clauses if self._draw.random() < 0.2]
        return " ".join(parts)

    def _having(self) -> str:
        return self._draw.choice(
            ["count(*) > $2", f"{self._output()} > 1", self._output(), "sum(l_tax) / count(*) < 0"]
        )

    def _output(self) -> str:
        aggregate = self._draw.choice(_AGGREGATES)
        filtered = " FILTER (WHERE {})" if self._draw.random() < 0.1 and aggregate != "{}" else ""
        argument = self._expression(self._draw.choice("infi") if aggregate[0] in "sa" else None)
        return aggregate.format(argument) + filtered.format(self._expression("b"))

    def _expression(self, hole: str | None = None) -> str:
        text = self._inner(hole or self._draw.choice("bidst"))
        for _ in range(self._draw.choice([0, 0, 0, 1, 2, 5])):
            text = re.sub(r"\{(\w)\}", lambda hole: f"({self._inner(hole.group(1))})", text, count=1)
        return re.sub(r"\{(\w)\}", lambda hole: self._draw.choice(_HOLES[hole.group(1)]), text)

    def _inner(self, hole: str) -> str:
        """Mostly an example that fits the hole."""
        fitting = BY_TYPE[hole] if self._draw.random() < 0.95 else EXAMPLES
        return self._draw.choice(fitting or EXAMPLES)

    def _mutated(self, text: str) -> str:
        start, end = sorted(self._draw.randrange(len(text) + 1) for _ in range(2))
        end = min(end, start + 12)
        piece = self._draw.choice(
            ["", self._draw.choice(_WORDS), f" {self._draw.choice(_WORDS)} ", text[start:end] * 2]
        )
        return text[:start] + piece + text[end:]


def answered(text: str) -> bool:
    """Take a statement all the way to SQL, with and without values for its placeholders."""
    try:
        select = parse(text)
        describe(select, tpch_schema(), unbounded())
    except PlannerError as error:
        assert error.message
        assert error.position is None or 1 <= error.position <= len(text) + 1
    for values in ((), (3,), ("1994-01-01", 2.5)):
        try:
            query = bind(substitute(parse(text), values), tpch_schema(), unbounded(), _NOW)
            plan = make_plan(query, tpch_schema(), unbounded(), epsilon=None, delta=None, mechanism=None)
        except PlannerError as error:
            assert error.message
            assert error.position is None or 1 <= error.position <= len(text) + 1
        else:
            assert (rewrite(plan).join or "SELECT ").startswith("SELECT ")
            return True
    return False


def test_only_planner_errors_leave_the_planner() -> None:
    plans, cases = 0, examples(300, 50_000)
    for seed in range(cases):
        text = Speaker(seed).statement()
        try:
            plans += answered(text)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text!r}") from error
    assert plans > cases / 20


def _deep(piece: str, times: int, core: str = "1") -> str:
    return f"select count(*) from orders where {piece * times}{core}"


def test_so_it_is_with_statements_of_any_depth_and_length() -> None:
    texts = (
        _deep("(", 10_000),
        _deep("not ", 10_000),
        _deep("- ", 10_000),
        _deep("case when ", 5_000),
        _deep("1 + ", 10_000),
        _deep("o_orderkey = 1 and ", 3_000, "o_orderkey = 2"),
        _deep("o_orderkey = 1 or ", 3_000, "o_orderkey = 2"),
        _deep("o_orderkey = 1 and (o_orderkey = 2 or ", 24),
        _deep("a.", 10_000),
        _deep("1::int", 1) + "::int" * 8_000,
        "select count(*) from orders" + ", orders" * 5_000,
        "select count(*) from orders" + " union select 1" * 3_000,
        "select count(*) from orders where o_orderkey in (" + "1, " * 20_000 + "1)",
        "select count(*) from orders o where o" + "[1]" * 10_000,
        "select " + "count(*), " * 6_000 + "count(*) from orders",
        "/*" * 20_000,
        "select 1 " * 50_000,
    )
    for text in sampled(texts, 3):
        try:
            answered(text)
        except Exception as error:
            raise AssertionError(text[:100]) from error


@given(st.text(max_size=200))
def test_so_it_is_with_any_text(text: str) -> None:
    answered(text)
