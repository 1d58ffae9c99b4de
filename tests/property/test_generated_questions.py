"""Questions over columns of every type: whatever is planned runs on both engines, and means what plain SQL says.

Before truncation and noise, with values within their declared ranges, an answer is that of the analyst's own text.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import cast

import psycopg
import pytest

from planner.errors import PlannerError
from planner.plan import Plan
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from privacy.units import ONE
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.released_arithmetic import plain
from tests.golden.untruncated import Answer, Rows, untruncated
from tests.support.planning import planned
from tests.support.seeds import SEED, examples

PEOPLE, ROWS = 40, 400
TABLES = (
    "CREATE TYPE mood AS ENUM ('bad', 'ok', 'good')",
    "CREATE TABLE person (id bigint PRIMARY KEY, joined date)",
    "CREATE TABLE event (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, i integer, s smallint,"
    " k bigint NOT NULL, n numeric(10, 2), x double precision, r real, t text, v varchar(12), c char(4),"
    " d date, ts timestamp, z timestamptz NOT NULL, b boolean, u uuid, e mood)",
    "INSERT INTO person SELECT i, DATE '2023-05-01' + CAST(i % 90 AS integer)"
    f" FROM generate_series(1, {PEOPLE}) AS t(i)",
    f"INSERT INTO event SELECT i, 1 + i % {PEOPLE},"
    " CASE WHEN i % 11 > 0 THEN CAST(i % 101 - 50 AS integer) END,"
    " CASE WHEN i % 13 > 0 THEN CAST(i % 7 AS smallint) END,"
    " i * 7919 % 1000,"
    " CASE WHEN i % 7 > 0 THEN CAST(i * 37 % 20000 AS numeric(10, 2)) / 100 END,"
    " CASE WHEN i % 9 > 0 THEN (i % 41 - 20) * 0.25 END,"
    " CASE WHEN i % 10 > 0 THEN CAST((i % 19) * 0.5 AS real) END,"
    " CASE WHEN i % 8 > 0 THEN"
    " substr('Alpha beta GAMMA delta  ', CAST(1 + i % 9 AS integer), CAST(i % 12 AS integer)) END,"
    " CASE WHEN i % 6 > 0 THEN 'v' || CAST(i % 5 AS text) END,"
    " CASE WHEN i % 5 > 0 THEN 'c' || CAST(i % 3 AS text) END,"
    " CASE WHEN i % 12 > 0 THEN DATE '2024-01-01' + CAST(i * 3 % 366 AS integer) END,"
    " CASE WHEN i % 14 > 0 THEN TIMESTAMP '2024-01-01' + i * 977 % 527040 * INTERVAL '1 minute' END,"
    " TIMESTAMPTZ '2024-01-01 00:00+00' + i * 577 % 527040 * INTERVAL '1 minute',"
    " CASE WHEN i % 4 > 0 THEN i % 3 = 0 END,"
    " CASE WHEN i % 15 > 0 THEN CAST(md5(CAST(i % 20 AS text)) AS uuid) END,"
    " CASE WHEN i % 16 > 0 THEN"
    " CAST(CASE i % 3 WHEN 0 THEN 'bad' WHEN 1 THEN 'ok' ELSE 'good' END AS mood) END"
    f" FROM generate_series(1, {ROWS}) AS t(i)",
)
POLICY = parse_policy("""
    name = "events"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 10.0
    delta = 0.0
    [privacy_units]
    person = "id"
    [tables.person.columns]
    joined = { range = [2023-01-01, 2023-12-31] }
    [tables.event.columns]
    i = { range = [-50, 50] }
    s = { range = [0, 6], null_group = true }
    k = { range = [0, 999] }
    n = { range = [0, 200] }
    x = { range = [-5, 5] }
    r = { range = [0, 9] }
    v = { domain = ["v0", "v1", "v2", "v3", "v4"], null_group = true }
    c = { domain = ["c0", "c1", "c2"], null_group = true }
    d = { range = [2024-01-01, 2024-12-31] }
    ts = { range = [2024-01-01, 2024-12-31] }
    z = { range = [2024-01-01, 2024-12-31] }
    b = { null_group = true }
    e = { null_group = true }
""")

NUMBERS = ["i", "s", "k", "n", "x", "r", "3", "2.5", "-7"]
TEXTS = ["t", "v", "c", "'v1'", "'Alpha'", "''"]
MOMENTS = ["d", "ts", "z", "DATE '2024-06-15'", "TIMESTAMP '2024-03-31 12:00'"]
FORMS = {
    "n": (
        "({n} + {n});({n} - {n});({n} * {column});abs({n});-{column};coalesce({column}, 5);round(n, 1);"
        "round(n, 0);floor(n);floor(x);ceil(n);ceil(x);length({t});extract(year FROM ts);"
        "extract(month FROM z);extract(dow FROM ts);extract(hour FROM z);extract(quarter FROM ts);"
        "extract(day FROM ts);CASE WHEN {b} THEN {n} ELSE {column} END;greatest({n}, {column});"
        "least({n}, 10);mod(i, 7);k % 10;nullif({column}, 3);n::integer;k / 7;n / 2;x / 2.5;k / 10;b::int;"
        "sign(x);(d - DATE '2024-01-01');sqrt(k);x::numeric(8, 2);position('a' IN t);r::numeric;power(x, 2);"
        "trunc(n)"
    ),
    "t": (
        "upper({t});lower({t});left({t}, 2);right({t}, 3);({t} || v);coalesce(c, 'none');trim({t});"
        "replace({t}, 'a', 'b');substring({t} FROM 2 FOR 3);CASE WHEN {b} THEN 'one' ELSE {t} END;k::text;"
        "e::text;concat({t}, '-', v);nullif(v, 'v1');to_char(ts, 'YYYY-MM');u::text;d::text;initcap(v);"
        "lpad(v, 5, '*');split_part(t, ' ', 1)"
    ),
    "m": (
        "date_trunc('day', ts);date_trunc('week', d);date_trunc('month', ts);date_trunc('quarter', d);"
        "date_trunc('hour', z);(d + 30);(d - 366);ts::date;d::timestamp;(ts + INTERVAL '1 day');"
        "(d - INTERVAL '2 months');(ts - INTERVAL '90 minutes');coalesce(d, DATE '2024-02-29');"
        "greatest(d, DATE '2024-05-05');CASE WHEN {b} THEN d ELSE ts::date END;(z AT TIME ZONE 'UTC')"
    ),
    "b": (
        "{n} {is} {n};{t} = {t};{t} <> {t};{m} {is} {m};{n} BETWEEN -3 AND 40;{n} IN (1, 2, 3.5);"
        "{n} IN (1, NULL);{t} IN ('v1', 'c2', 'beta');{t} LIKE '%a%';{t} LIKE 'v_';{t} LIKE '';"
        "{t} ILIKE '%A%';{n} IS NULL;{t} IS NOT NULL;{m} IS NULL;b;b IS NOT TRUE;d {is} '2024-02-29';"
        "ts {is} '2024-07-01';z {is} '2024-07-01';r {is} 0.5::real;d BETWEEN '2024-02-01' AND '2024-05-15';"
        "e = 'ok';e <> 'ok';e IN ('bad', 'good');e {is} 'ok';u = 'c4ca4238-a0b9-2382-0dcc-509a6f75849b';"
        "i = ANY(ARRAY[1, 2, 3]);i = ANY(NULL);v NOT IN ('v1', NULL);v NOT IN ('v1', 'v2');({b} AND {b});"
        "({b} OR {b});NOT ({b});NULL;"
        "EXISTS (SELECT 1 FROM person p WHERE p.id = event.person AND p.joined < '2023-06-15')"
    ),
}
"""By kind of value, expressions with holes of kinds; `is` is a comparison."""

COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
LEAVES = {"n": NUMBERS, "t": TEXTS, "m": MOMENTS, "b": ["b", "i > 3", "v = 'v1'", "d < '2024-05-01'", "x <> 0"]}
KEYS = [
    "s", "v", "c", "b", "e", "date_trunc('month', d)", "extract(month FROM ts)", "d > '2024-06-01'", "floor(n / 50)",
    "k / 100", "CASE WHEN i > 0 THEN 'up' WHEN i < 0 THEN 'down' END", "extract(dow FROM z)", "i % 5",
    "ts::date < '2024-03-01'", "date_trunc('quarter', ts)", "coalesce(v, 'none')", "upper(v)", "s + 1",
    "width_bucket(x, -5, 5, 4)", "round(n, -2)",
]  # fmt: skip
AGGREGATES = [
    "count(*)", "count({n})", "count({t})", "count({m})", "sum({n})", "avg({n})", "count(DISTINCT k)",
    "count(DISTINCT v)", "count(DISTINCT d)", "count(DISTINCT person)", "count(DISTINCT i % 5)",
    "sum({n}) FILTER (WHERE {b})",
    "count(*) FILTER (WHERE {b})",
    "sum(DISTINCT k)", "avg(DISTINCT i)", "sum(DISTINCT i % 5) FILTER (WHERE {b})",
]  # fmt: skip


class Text:
    """Writes one statement; nothing promises that it can be planned, nor that PostgreSQL computes it."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw

    def question(self) -> str:
        """An aggregate or two, by up to two keys."""
        shown = [self._filled(self._draw.choice(AGGREGATES), 2) for _ in range(self._draw.choice([1, 1, 2]))]
        keys = self._draw.sample(KEYS, self._draw.choice([0, 0, 1, 1, 2]))
        where = f" WHERE {self._value('b', self._draw.choice([1, 2, 3]))}" if self._draw.random() < 0.7 else ""
        source = "event" if self._draw.random() < 0.8 else "event JOIN person q ON q.id = event.person"
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join([*keys, *shown])} FROM {source}{where}{by}"

    def _value(self, kind: str, depth: int) -> str:
        if depth <= 0:
            return self._draw.choice(LEAVES[kind])
        return self._filled(self._draw.choice(FORMS[kind].split(";")), depth - 1)

    def _filled(self, form: str, depth: int) -> str:
        while "{" in form:
            before, _, rest = form.partition("{")
            hole, _, after = rest.partition("}")
            if hole == "is":
                form = f"{before}{self._draw.choice(COMPARISONS)}{after}"
            elif hole == "column":
                form = f"{before}{self._draw.choice(NUMBERS[:6])}{after}"
            else:
                form = f"{before}{self._value(hole, depth)}{after}"
        return form


Both = tuple[Engine, Engine]


@pytest.fixture(scope="module")
def both(embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    path = in_file(tmp_path_factory.mktemp("questions") / "tables.duckdb", TABLES)
    with on_server(embedded_postgres, "questions", TABLES) as url:
        found = engines(url, path)
        validate(POLICY, found[0].schema)
        yield found


def test_what_is_planned_runs_on_both_engines_and_means_what_plain_sql_says(both: Both) -> None:
    text = Text(random.Random(SEED))
    compared, runs = 0, examples(60, 20_000)
    for _ in range(runs):
        sql = text.question()
        try:
            expected = both[0].run(sql)
        except psycopg.Error:
            expected = None  # PostgreSQL fails for some row, or has no such operator: ours may not fail all the same
        for schema, run, dialect in both:
            try:
                plan = planned(sql, schema, POLICY)
                query = rewrite(plan, dialect=dialect, schema=schema)
            except PlannerError:
                continue
            answer = untruncated(plan, run, query)
            if expected is not None:
                differences = list(_differences(answer, plan, expected))
                assert not differences, (dialect, sql, differences[0])
                compared += 1
    assert compared > runs / 2


def _differences(answer: Answer, plan: Plan, expected: Rows) -> Iterator[object]:
    """What the answer says otherwise, but for rounding, and for groups of NULL that its notes say are left out."""
    n_keys = len(plan.group_keys)
    unit = max(release.weight_bound for release in plan.releases) / ONE if plan.releases else 0.0
    rows = [row for group, row in answer.rows.items() if group not in answer.empty or not n_keys]
    found = {row[:n_keys]: row[n_keys:] for row in rows}
    for true in (tuple(map(plain, row)) for row in expected):
        key = tuple(one.removesuffix("+00:00") if isinstance(one, str) else one for one in true[:n_keys])
        told = any(one is None and how.omitted for one, how in zip(key, plan.group_keys, strict=True))
        numbers = found.pop(key, None)
        if numbers is None and not told and any(true[n_keys:]):
            yield "missing", true
        for ours, theirs in zip(numbers or (), true[n_keys:], strict=numbers is not None):
            a, b = float(cast(Fraction, ours or 0)), float(cast(Fraction, theirs or 0))
            if abs(a - b) > 1e-4 * max(abs(b), 1.0) + 4.0 * math.sqrt(abs(b) * unit):
                yield key, a, b
    yield from (("not there", key, row) for key, row in found.items() if any(row))
