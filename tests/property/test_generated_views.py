"""Random views over the demonstration's tables: what is planned for them is PostgreSQL's own aggregate over them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import psycopg
import pytest

from planner.binding.bind import bind
from planner.parsing.parse import private_select, read
from planner.planning.make_plan import make_plan
from planner.schema import Schema
from planner.views.examine import ShownView, examined_views
from planner.views.expand import expanded
from server.backends.catalog import read_schema
from tests.golden.untruncated import Rows, assert_same, untruncated
from tests.support.planning import demo_policy

_ALWAYS, _ALL = 24, 300
_JOINS = {
    "lineitem": [("orders", "l_orderkey = o_orderkey"), ("part", "l_partkey = p_partkey")],
    "orders": [("customer", "o_custkey = c_custkey")],
    "customer": [("nation", "c_nationkey = n_nationkey")],
    "nation": [("region", "n_regionkey = r_regionkey")],
    "partsupp": [("supplier", "ps_suppkey = s_suppkey"), ("part", "ps_partkey = p_partkey")],
    "supplier": [("nation", "s_nationkey = n_nationkey")],
}
_FILTERS = {
    "lineitem": [
        "l_shipmode IN ('AIR', 'MAIL', 'TRUCK')", "l_quantity BETWEEN 5 AND 30.5", "l_returnflag <> 'N'",
        "l_shipdate >= '1994-01-01' AND l_shipdate < date '1994-01-01' + INTERVAL '1' YEAR",
        "extract(year FROM l_shipdate) IN (1993, 1995)", "l_discount * 100 > l_tax * 50 - 1",
        "l_commitdate < l_receiptdate", "(l_linenumber NOT IN (1, 3) OR l_tax = 0.02)",
    ],
    "orders": [
        "o_orderpriority LIKE '_-%'", "o_orderstatus = ANY (ARRAY['F', 'O'])", "o_orderkey % 3 <> -1",
        "o_orderdate > timestamp '1993-05-01 12:00:00'", "NOT (o_shippriority > 0)", "left(o_clerk, 5) = 'Clerk'",
    ],
    "customer": [
        "c_mktsegment NOT IN ('BUILDING')", "c_acctbal > -500.5", "upper(c_mktsegment) NOT ILIKE '%x%'",
        "CASE WHEN c_acctbal < 0 THEN c_custkey > 10 ELSE true END", "coalesce(c_phone, '') <> ''",
    ],
    "nation": ["n_name <> 'CHINA'", "n_nationkey IN (1, 2, 3, 5, 8, 13, 21)"],
    "region": ["r_name IN ('ASIA', 'EUROPE')", "substring(r_name FROM 1 FOR 1) = 'A'"],
    "part": ["p_size < 40", "p_type LIKE '%BRASS'", "p_container IS NOT NULL", "length(p_name) > 20"],
    "partsupp": ["ps_availqty > 100", "ps_supplycost <= 900.00"],
    "supplier": ["s_acctbal IS DISTINCT FROM 0", "s_name ~~ 'Supplier%'"],
}  # fmt: skip
_COMPUTED = {
    "lineitem": ["l_quantity * (1 - l_discount)", "l_tax::float8", "round(l_quantity / 3, 1)", "l_quantity::int"],
    "orders": ["date_trunc('month', o_orderdate)", "o_orderpriority || '/' || o_orderstatus"],
    "customer": ["coalesce(nullif(c_mktsegment, 'BUILDING'), 'none')", "trim(c_name)"],
    "part": ["greatest(p_size, 10)", "lower(p_brand)"],
    "supplier": ["-s_acctbal", "position('#' IN s_name)"],
}
_SUMMED = ("l_quantity", "l_extendedprice", "l_discount", "l_tax")


class _Maker:
    """Random views, each over tables or over the ones before it."""

    def __init__(self, schema: Schema, seed: int) -> None:
        self._schema = schema
        self._draw = random.Random(seed)

    def views(self, name: str) -> tuple[list[str], str]:
        """Statements that make a view, the last one of that name; and a question over it."""
        columns, first = self._over_tables(f"{name}_inner")
        if self._draw.random() < 0.5:
            return [first.replace(f"{name}_inner", name)], self._question(name, columns)
        kept = self._draw.sample(sorted(columns), self._draw.randint(1, len(columns)))
        renamed = {f"again_{place}": columns[column] for place, column in enumerate(kept)}
        shown = ", ".join(f"i.{column} AS again_{place}" for place, column in enumerate(kept))
        second = f"CREATE VIEW {name} AS SELECT {shown} FROM {name}_inner i"
        return [first, second], self._question(name, renamed)

    def _over_tables(self, name: str) -> tuple[dict[str, str], str]:
        draw = self._draw
        tables = [draw.choice(["lineitem", "lineitem", "orders", "customer", "partsupp", "supplier"])]
        joins = []
        while (more := [j for t in tables for j in _JOINS.get(t, []) if j[0] not in tables]) and draw.random() < 0.6:
            tables.append(draw.choice(more)[0])
            joins.append(next(condition for other, condition in more if other == tables[-1]))
        filters = [text for table in tables for text in _FILTERS.get(table, []) if draw.random() < 0.25]
        plain = [column.name for table in tables for column in self._schema.tables[table].columns]
        chosen = draw.sample(plain, draw.randint(1, min(6, len(plain)))) + [
            c for c in _SUMMED if c in plain and draw.random() < 0.5
        ]
        chosen += [text for table in tables for text in _COMPUTED.get(table, []) if draw.random() < 0.3]
        chosen = list(dict.fromkeys(chosen))
        columns = {f"c{place}": text for place, text in enumerate(chosen)}
        shown = ", ".join(f"{text} AS {column}" for column, text in columns.items())
        if draw.random() < 0.5:
            joined = " JOIN ".join(tables[:1] + [f"{t} ON {on}" for t, on in zip(tables[1:], joins, strict=True)])
        else:
            joined, filters = ", ".join(tables), [*joins, *filters]
        where = f" WHERE {' AND '.join(filters)}" if filters else ""
        listed = f"({', '.join(columns)})" if draw.random() < 0.3 else ""
        return columns, f"CREATE VIEW {name} {listed} AS SELECT {shown} FROM {joined}{where}"

    def _question(self, name: str, columns: dict[str, str]) -> str:
        draw = self._draw
        alias = draw.choice(["v", name, '"V w"'])
        source = f"{name} AS {alias}" if alias != name else draw.choice([name, f"public.{name}"])
        asked = ["count(*)", f"count({alias}.{draw.choice(sorted(columns))})"]
        asked += [f"sum({alias}.{column})" for column, text in columns.items() if text in _SUMMED]
        condition = draw.choice(["", f" WHERE {alias}.{draw.choice(sorted(columns))} IS NOT NULL"])
        return f"SELECT {', '.join(asked)} FROM {source}{condition}"


@pytest.fixture(scope="module")
def connection(tpch_owner_url: str) -> Iterator[psycopg.Connection]:
    """A transaction whose views nobody else sees, over a tenth of the orders and their lines."""
    with psycopg.connect(tpch_owner_url) as connection:
        connection.execute("DELETE FROM lineitem WHERE l_orderkey % 10 <> 0")
        connection.execute("DELETE FROM orders WHERE o_orderkey % 10 <> 0")
        yield connection
        connection.rollback()


def _compared(connection: psycopg.Connection, seeds: range) -> int:
    """Makes a view per seed and compares; returns how many of the answers were not empty."""

    def run(statement: str) -> Rows:
        return connection.execute(statement.encode()).fetchall()

    tables = read_schema(connection)
    questions = {}
    with connection.transaction(force_rollback=True):
        for seed in seeds:
            statements, questions[f"view_{seed}"] = _Maker(tables, seed).views(f"view_{seed}")
            for statement in statements:
                connection.execute(statement.encode())
        connection.execute("SET LOCAL search_path = pg_catalog")
        schema = read_schema(connection)
        connection.execute("SET LOCAL search_path = public")
        shown = {view.name for view in examined_views(schema, demo_policy()) if isinstance(view, ShownView)}
        assert shown == schema.views.keys() >= questions.keys()
        filled = 0
        for question in questions.values():
            select = private_select(expanded(read(question), schema, demo_policy()))
            query = bind(select, schema, demo_policy())
            plan = make_plan(query, schema, demo_policy(), epsilon=None, delta=None, mechanism=None)
            expected = run(question)
            assert_same(untruncated(plan, run), plan, expected)
            filled += expected[0][0] > 0
    return filled


def test_some_generated_views(connection: psycopg.Connection) -> None:
    assert _compared(connection, range(_ALWAYS)) > _ALWAYS / 2


@pytest.mark.slow
def test_many_generated_views(connection: psycopg.Connection) -> None:
    assert _compared(connection, range(_ALWAYS, _ALL)) > (_ALL - _ALWAYS) / 2
