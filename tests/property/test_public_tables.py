"""However a private table is spelled, no statement over public tables reaches it."""

from __future__ import annotations

import random

from sqlglot import exp, parse

from planner.errors import PlannerError
from planner.rewriting.rewrite import write_public
from tests.property.test_planner_fuzz import Speaker
from tests.support.planning import demo_policy
from tests.support.public import public
from tests.support.seeds import examples
from tests.support.tpch_schema import tpch_schema

PUBLIC = {name for name in tpch_schema().tables if demo_policy().is_public(name)}
PRIVATE = sorted(set(tpch_schema().tables) - PUBLIC)
OTHERS = ["pg_class", "pg_catalog.pg_authid", "information_schema.tables", "pg_stats", "nowhere", "sqlite_master"]


class Spelling:
    """Statements whose every FROM is a draw of names: public, private, shadowed, quoted, qualified."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._public = seed % 3 == 0  # so that some statements get through

    def statement(self) -> str:
        """A whole statement, up to three subqueries deep."""
        return self._query(3, [])

    def _query(self, depth: int, ctes: list[str]) -> str:
        known = list(ctes)
        clause = []
        for _ in range(self._draw.choice([0, 0, 1, 2]) if depth else 0):
            name = self._draw.choice([*PRIVATE, *sorted(PUBLIC), "w"])
            clause.append(f"{self._quoted(name)} AS ({self._query(depth - 1, known)})")
            known.append(name)
        text = f"WITH {', '.join(clause)} " if clause else ""
        text += self._select(depth, known)
        if depth and self._draw.random() < 0.15:
            operator = self._draw.choice(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"])
            text += f" {operator} {self._select(depth - 1, known)}"
        return text

    def _select(self, depth: int, ctes: list[str]) -> str:
        items = ", ".join(self._item(depth, ctes, place) for place in range(self._draw.choice([1, 1, 2])))
        where = ""
        if depth and self._draw.random() < 0.4:
            where = " WHERE " + self._draw.choice(["EXISTS ({})", "1 IN ({})", "({}) = 1", "NOT EXISTS ({})"]).format(
                self._query(depth - 1, ctes)
            )
        output = f"({self._query(depth - 1, ctes)})" if depth and self._draw.random() < 0.15 else "1"
        order = f" ORDER BY ({self._query(0, ctes)})" if depth and self._draw.random() < 0.1 else ""
        return f"SELECT {output} AS n FROM {items}{where}{order}"

    def _item(self, depth: int, ctes: list[str], place: int) -> str:
        kind = self._draw.random()
        if depth and kind < 0.3:
            return f"({self._query(depth - 1, ctes)}) AS {self._quoted(self._draw.choice([*PRIVATE, 'q']))}{place}"
        if depth and kind < 0.4:
            first, second = self._table(ctes), self._table(ctes)
            return (
                f"({first} AS a{place} {self._draw.choice(['', 'LEFT', 'FULL'])} JOIN {second} AS b{place} ON TRUE)"
            )
        alias = self._draw.choice(["t", "customer", "nation", "region"])
        return f"{self._table(ctes)} AS {alias}{place}"

    def _table(self, ctes: list[str]) -> str:
        pool = [*sorted(PUBLIC), *ctes] if self._public else [*PRIVATE, *sorted(PUBLIC), *ctes, *OTHERS]
        name = self._draw.choice(pool)
        if "." in name:
            return name
        qualifier = self._draw.choice(["", "", "", "public.", '"public".', "PUBLIC.", "pg_catalog.", "tpch.public."])
        return (qualifier if not self._public or (name in PUBLIC and "public" in qualifier[:8].lower()) else "") + (
            self._quoted(name)
        )

    def _quoted(self, name: str) -> str:
        return self._draw.choice([name, name.upper(), f'"{name}"', name.title()])


_COMPUTE = {
    "age", "epoch_us", "initcap", "make_date", "split_part", "to_char", "to_microseconds", "try_strptime",
    "width_bucket",
}  # fmt: skip
"""Functions without a class in the parser library that the writers write; none of them reads anything."""


def reached(text: str) -> bool:
    """Bind a statement and see which tables both databases would be asked for; False where it is refused."""
    try:
        query = public(text)
        statements = [(write_public(query).sql, "postgres"), (write_public(query, dialect="duckdb").sql, "duckdb")]
    except PlannerError as error:
        assert error.message
        assert error.position is None or 1 <= error.position <= len(text) + 1
        return False
    for written, dialect in statements:
        (tree,) = parse(written, dialect=dialect)
        assert isinstance(tree, exp.Select)
        assert tree.find(exp.With, exp.Command) is None
        called = {str(node.this).lower() for node in tree.find_all(exp.Anonymous)}
        assert called <= _COMPUTE, (called - _COMPUTE, written)
        for table in tree.find_all(exp.Table):
            assert (table.db, table.catalog) == ("public", ""), written
            assert table.name in PUBLIC, written
        assert {table.name for table in tree.find_all(exp.Table)} == set(query.reads)
    return True


def test_no_spelling_reaches_a_private_table() -> None:
    answered, cases = 0, examples(150, 30_000)
    for seed in range(cases):
        text = Spelling(seed).statement()
        try:
            answered += reached(text)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text!r}") from error
    assert cases / 20 < answered < cases


def test_only_planner_errors_leave_this_way() -> None:
    """Statements of the planner's own fuzzer with its tables replaced by public ones."""
    answered, cases = 0, examples(400, 20_000)
    for seed in range(cases):
        text = Speaker(seed).statement()
        for private, other in _REPLACED.items():
            text = text.replace(private, other)
        try:
            answered += reached(text)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text!r}") from error
    assert answered > cases / 20


_REPLACED = {
    "lineitem": "part", "orders": "nation", "customer": "region", "l_orderkey": "p_partkey",
    "o_orderkey": "n_nationkey",
    "l_quantity": "p_retailprice", "l_extendedprice": "p_retailprice", "l_discount": "p_retailprice",
    "l_tax": "p_retailprice", "l_shipdate": "DATE '1995-01-01'", "o_orderdate": "DATE '1996-01-01'",
    "l_comment": "p_name", "o_comment": "n_comment", "l_returnflag": "p_brand", "l_shipmode": "p_container",
    "l_shipinstruct": "p_mfgr", "o_custkey": "n_regionkey", "c_custkey": "r_regionkey", "c_nationkey": "r_regionkey",
}  # fmt: skip
