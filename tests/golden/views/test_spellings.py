"""Every function and operator as PostgreSQL spells it in a view: read, bound, and of the view's own values."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal

import psycopg
import pytest

from planner.errors import PlannerError
from planner.expand_views import read_definition
from planner.expressions.bind_scalar import bind_scalar
from planner.parsing.parse import private_select
from planner.rewriting.rewrite import to_sql
from server.backends.embedded import EmbeddedPostgres
from tests.support.function_examples import EXAMPLES
from tests.support.hostile import TYPES, HostileNames, create_table, insert_row

NAMES = HostileNames(-50.0, 50.0, (date(1990, 1, 1), date(2029, 12, 31)))
VALUES: dict[str, list[str | None]] = {
    "i": ["3", "-2", "0", "7", "1", "2", None], "j": ["5", "1", "-9"],
    "n": ["2.50", "-2.50", "1.01", "0.00", "33.37", None], "m": ["0.125", "-7.5", "12", "0"],
    "f": ["0.25", "-1.5", "3", "0", None], "r": ["0.5", "-3"], "t": ["abc", "a", "", "A b", "éa_%x", " a!% ", None],
    "v": ["ab", "xyz", "a"], "c": ["ab", "b", "a", None], "d": ["2024-02-29", "1999-12-31", "2020-01-31", None],
    "s": ["2024-02-29 23:59:59.5", "2020-01-01", None], "z": ["2024-02-29 12:00+00", "1999-12-31 23:59:59+00"],
    "b": ["true", "false", None],
}  # fmt: skip
MORE = (
    "v = 'ab'", "v IN ('ab', 'xyz')", "v NOT IN ('ab')", "v LIKE 'a%'", "c = 'ab'", "c IN ('ab', 'b')", "t = v",
    "i IN (3, -2)", "n IN (2.5, -2.5, 7)", "f IN (0.25, 3)", "j NOT IN (1, 5)", "n > 5", "n > -1.5", "f >= 0.25",
    "d IN ('2024-02-29', '2020-01-31')", "d >= '2020-01-31'", "s > '2020-01-01 00:00'", "z < '2024-01-01 00:00+02'",
    "d BETWEEN '2000-01-01' AND date '2020-12-31'", "s - interval '36 hours'", "s + interval '90 minutes'",
    "s - interval '61 seconds'", "d + interval '-2 years'", "coalesce(v, 'none')", "-5", "-2.5", "'text'",
    "'text'::varchar", "CASE WHEN v = 'a' THEN 'b' ELSE v END", "nullif(v, 'a')", "'left'", "'= ANY (ARRAY['",
    "t NOT LIKE '%!%%' ESCAPE '!'", "t ILIKE 'A%' ESCAPE '#'", "i / 2", "i / 2.0", "(i + 1) % 4", "(2 + i) * 3",
    "5 / 2 + i", "t <> ALL (ARRAY['abc', ''])", "NOT (i = ANY (ARRAY[3, 7]))", "strpos(t, 'a') = ANY (ARRAY[1, 2])",
    "'5'::numeric / '2'::numeric + i", "'5'::float8 / '2'::float8 + i", "nullif(5::numeric, n) / 2::numeric",
    "least(1::numeric, i::numeric) / 4::numeric", "i / 2::numeric", "'-5'::numeric * i / '2'::float8",
    "'a'::bpchar = c", "(CASE WHEN b THEN 1::numeric ELSE 2::numeric END) / 4::numeric", "'5'::bigint / 2 + i",
    "\"position\"(t, 'b')",
)  # fmt: skip
"""Expressions over the columns themselves."""

OF_THE_TABLE = dict.fromkeys(re.sub(r"\{(\w)\}", r"\1", text) for text in EXAMPLES)
ALL_EXAMPLES = (
    *(text.replace("3000", "30") for text in OF_THE_TABLE),
    *MORE,
)  # the driver reads no year before Christ
CONSTANT = {"d IS DISTINCT FROM NULL", "f <= 1e50", "nullif(d, d)"}


@pytest.fixture(scope="module")
def connection(embedded_postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(embedded_postgres.url()) as connection:
        connection.execute("SET LOCAL TimeZone = 'UTC'")
        connection.execute("CREATE SCHEMA spelled")
        connection.execute("SET LOCAL search_path = pg_catalog, spelled")
        connection.execute(create_table().replace("TABLE h", "TABLE spelled.h").encode())
        draw = random.Random(1)
        for _ in range(60):
            connection.execute(insert_row().encode(), [draw.choice(VALUES[kind]) for kind in TYPES])
        yield connection
        connection.rollback()


def test_it_means_what_the_database_understood(connection: psycopg.Connection) -> None:
    for example in ALL_EXAMPLES:
        with connection.transaction(force_rollback=True):
            connection.execute(f"CREATE VIEW spelled.v AS SELECT {example} AS x FROM h".encode())
            expected = connection.execute("SELECT x FROM spelled.v").fetchall()
            connection.execute("SET LOCAL search_path = pg_catalog")
            row = connection.execute("SELECT pg_get_viewdef('spelled.v'::regclass)").fetchone()
            assert row is not None
            column = private_select(read_definition(row[0])).expressions[0].unalias()
            bound = to_sql(bind_scalar(column, NAMES).sql)
            found = connection.execute(f"SELECT {bound} FROM spelled.h".encode()).fetchall()
        assert len({value for (value,) in expected}) > 1 or example in (*MORE, *CONSTANT)
        assert all(_same(one, other) for (one,), (other,) in zip(found, expected, strict=True)), (row[0], bound)


def test_a_cast_that_changes_a_value_is_not_dropped(connection: psycopg.Connection) -> None:
    """It is refused, or means what it says."""
    for example in [
        "t = ('ab '::bpchar)::text", "t = 'abc'::varchar(2)", "t = ANY ((ARRAY['abc'::varchar])::varchar(2)[])",
        "d = ANY ((ARRAY['2024-02-29 10:00'::timestamp])::date[])", "t = ANY ((ARRAY['a '::bpchar])::text[])",
        "'abc'::spelled.short", "t = ('abc'::spelled.short)::text", "i = ANY ((ARRAY[2.5, 1])::bigint[])",
        "i > 2.5::int", "i / 2.5::int", "i > -2.5::int", "t = ANY ('{a,b}'::text[])", "t LIKE ANY (ARRAY['a%'])",
        "i = ANY (ARRAY[[1, 2]])", "(t COLLATE \"C\") > 'a'", "r = 0.1::real", "t::char(2)",
        "'abc'::\"char\" = 'a'::\"char\"", "t ~ 'a'", "i::bit(4)",
    ]:  # fmt: skip
        with connection.transaction(force_rollback=True):
            connection.execute("CREATE DOMAIN spelled.short AS varchar(2)")
            connection.execute(f"CREATE VIEW spelled.v AS SELECT {example} AS x FROM h".encode())
            expected = connection.execute("SELECT x FROM spelled.v").fetchall()
            connection.execute("SET LOCAL search_path = pg_catalog")
            row = connection.execute("SELECT pg_get_viewdef('spelled.v'::regclass)").fetchone()
            assert row is not None
            try:
                column = private_select(read_definition(row[0])).expressions[0].unalias()
                bound = to_sql(bind_scalar(column, NAMES).sql)
            except PlannerError:
                continue
            found = connection.execute(f"SELECT {bound} FROM spelled.h".encode()).fetchall()
        assert all(_same(one, other) for (one,), (other,) in zip(found, expected, strict=True)), (row[0], bound)


def _same(found: object, expected: object) -> bool:
    """Numbers of any type; a moment of a zone as that at UTC, as all of the planner's are; seconds of intervals."""
    expected = expected.total_seconds() if isinstance(expected, timedelta) else expected
    if isinstance(found, (int, float, Decimal)) and isinstance(expected, (int, float, Decimal)):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(found, datetime) and isinstance(expected, datetime):
        return found.replace(tzinfo=None) == expected.replace(tzinfo=None)
    return found == expected
