"""No word of a statement becomes SQL that was not checked: the text around answers names no private table.

A payload takes the place of each word and sign of statements around answers in turn: as a quoted name, which the
parser library takes for a plain word in some places, as a text, and as a name with a quote in it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from planner.errors import PlannerError
from planner.parsing.lexer import scan
from planner.parsing.parse import read
from planner.postprocessing import allowed_sql, write_outer
from planner.postprocessing.allowed_sql import check_allowed
from planner.postprocessing.decompose import decompose
from planner.postprocessing.write_outer import guard_divisions
from planner.schema import Dialect
from tests.golden.tpch.queries import policy
from tests.property.composed_statements import composed_statement
from tests.support.seeds import sampled
from tests.support.tpch_schema import tpch_schema

STOLEN = "SELECT max(c_name) FROM public.customer"
FIELD = f"year FROM now()), ({STOLEN}), extract(year"
LENGTH = f"5)), ({STOLEN}), CAST(1 AS DECIMAL(5"
FORMS = ('"{}"', "'{}'", "\"a', ({}), '\"", "'a\" , ({}) , \"'")
STATEMENTS = (
    "SELECT count(*) * 2, extract(year FROM timestamp '2020-01-01') FROM customer",
    "SELECT count(*) * 2, CAST(1 AS DECIMAL(5)) FROM customer",
    "SELECT rank() OVER (ORDER BY count(*) DESC), date_trunc('month', timestamp '2020-01-01') FROM customer",
    "SELECT n_name, timestamp '2020-01-01' + INTERVAL '1' DAY, lag(n, 1) OVER w FROM (SELECT n_name, count(*) AS n "
    "FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name) t WINDOW w AS (ORDER BY n_name ROWS "
    "BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) ORDER BY 1 LIMIT 3 OFFSET 1",
    "SELECT string_agg(trim(BOTH 'x' FROM n_name), ',' ORDER BY n_name), to_char(sum(n), '999') FROM (SELECT n_name, "
    "count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name) t FETCH FIRST 1 ROW ONLY",
)


def written(sql: str, dialect: Dialect) -> str | None:
    """What the database would get; None for what is refused."""
    try:
        statement, schema = read(sql), tpch_schema()
        split = decompose(statement.tree, schema, policy())
        if split is None:
            return None
        check_allowed(split.outer, statement.tokens, dialect)
        guard_divisions(split.outer)
        return write_outer.write_outer(split.outer, [], schema, policy(), dialect).sql
    except PlannerError:
        return None


def names_a_person(sql: str) -> bool:
    """Does the private table stand in it as a name, and not inside a text or a quoted name?"""
    return any(sql[start:stop].strip('"').lower() == "customer" for _, start, stop in scan(sql))


def attacks(sql: str) -> Iterator[str]:
    """The statement with a payload in the place of each of its words and signs, and behind it."""
    for _, start, stop in scan(sql):
        for payload in (STOLEN, FIELD, LENGTH):
            for form in FORMS:
                said = form.format(payload)
                yield f"{sql[:start]}{said}{sql[stop:]}"
                yield f"{sql[:stop]} {said}{sql[stop:]}"


def test_the_statements_themselves_can_be_asked() -> None:
    assert all(written(sql, "postgres") for sql in STATEMENTS)


@pytest.mark.parametrize("wall", ["both", "the tree", "the text"])
def test_no_payload_reads_a_private_table(wall: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wall holds by itself, and for each database."""
    if wall == "the tree":
        monkeypatch.setattr(write_outer, "check_written", lambda *_: None)
    if wall == "the text":
        monkeypatch.setattr(allowed_sql, "_is_plain", lambda _: True)
    everywhere = [attack for sql in STATEMENTS for attack in attacks(sql)]
    fields = [attack for sql in STATEMENTS[:2] for attack in attacks(sql)]
    dialects: tuple[Dialect, ...] = ("postgres", "duckdb")
    tried = product(dialects, sampled(fields, 250))
    for dialect, attack in [*tried, *(("postgres", one) for one in sampled(everywhere, 300) if wall == "both")]:
        found = written(attack, dialect)
        assert found is None or not names_a_person(found), (attack, found)


def test_without_either_wall_a_payload_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: fields and lengths are written as they stand."""
    monkeypatch.setattr(write_outer, "check_written", lambda *_: None)
    monkeypatch.setattr(allowed_sql, "_is_plain", lambda _: True)
    tried = (attack for sql in STATEMENTS[:2] for attack in attacks(sql))
    assert any(names_a_person(written(attack, "postgres") or "") for attack in tried)


@pytest.mark.slow
def test_no_payload_in_random_statements_reads_a_private_table() -> None:
    rng = random.Random(5)
    for _ in range(60):
        for attack in attacks(composed_statement(rng)):
            found = written(attack, "postgres")
            assert found is None or not names_a_person(found), (attack, found)
