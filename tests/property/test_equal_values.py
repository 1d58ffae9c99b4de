"""Equal values of a type that the planner compares are one value to every function of its table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from sqlglot import exp, parse_one

from planner.errors import PlannerError
from planner.expressions.bind_scalar import bind_measure, bind_scalar
from planner.parsing.parse import read
from planner.rewriting.rewrite import to_sql
from planner.sql.sql_types import Family, sql_type
from server.backends.embedded import EmbeddedPostgres
from tests.support.function_examples import EXAMPLES
from tests.support.hostile import HostileNames

# Per hole of the table of functions: a column's type, and two spellings that PostgreSQL finds equal.
SPELLINGS = {
    "i": ("bigint", "7", "007"),
    "n": ("numeric(15,2)", "1.5", "1.50"),
    "m": ("numeric", "1.5", "1.500000000000000000000000000000"),
    "f": ("double precision", "0", "-0"),
    "r": ("real", "-0", "0"),
    "t": ("text", "a ", "a "),
    "v": ("varchar(10)", "a", "a"),
    "c": ("char(5)", "a", "a  "),
    "d": ("date", "2024-02-29", "29 Feb 2024"),
    "s": ("timestamp", "2024-02-29 12:00", "2024-02-29 12:00:00.000"),
    "z": ("timestamptz", "2024-02-29 12:00+00", "2024-02-29 14:00+02"),
    "b": ("boolean", "true", "t"),
}
TYPES = {name: kind for name, (kind, _, _) in SPELLINGS.items()}
NAMES = HostileNames(-100.0, 1000.0, types=TYPES)


@pytest.fixture(scope="module")
def connection(embedded_postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection[Any]]:
    """A table `h` of two rows that are equal column by column."""
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    holes = ", ".join(f"%s::text::{kind}" for kind in TYPES.values())
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TEMPORARY TABLE h ({columns})".encode())
        for place in (1, 2):
            row = [spelling[place] for spelling in SPELLINGS.values()]
            connection.execute(f"INSERT INTO h VALUES ({holes})".encode(), row)
        yield connection


def test_the_spellings_are_equal(connection: psycopg.Connection[Any]) -> None:
    for name, kind in TYPES.items():
        assert sql_type(kind).family is not Family.OTHER, name
        asked = f"SELECT bool_and(a.{name} = b.{name}) FROM h a, h b"
        assert connection.execute(asked.encode()).fetchall() == [(True,)], name


def test_no_function_tells_them_apart(connection: psycopg.Connection[Any]) -> None:
    for example in EXAMPLES:
        forms = {to_sql(form) for text in _filled(example) for form in _forms(text)}
        assert forms, example
        listed = ", ".join(f"count(DISTINCT {form})" for form in sorted(forms))
        different = connection.execute(f"SELECT count(*), {listed} FROM pg_temp.h".encode()).fetchone()
        assert different is not None and different[0] == 2 and max(different[1:]) <= 1, (example, different)


def _filled(example: str) -> list[str]:
    """The example over the first column of each kind, and over the last."""
    last = {"n": "m", "f": "r", "t": "v"}
    first = re.sub(r"\{(\w)\}", lambda hole: hole[1], example)
    return [first, re.sub(r"\{(\w)\}", lambda hole: last.get(hole[1], hole[1]), example)]


def _forms(text: str) -> Iterator[exp.Expr]:
    """How it is written as a key and as a measure, as far as it may be one."""
    select = read(f"SELECT {text}").tree
    with suppress(PlannerError):
        yield bind_scalar(select.selects[0], NAMES).sql
        yield bind_measure(select.selects[0], NAMES)[0]


def test_a_type_whose_equal_values_differ_is_compared_with_nothing() -> None:
    """'a' and 'a ' are equal as bpchar and LIKE sees the blank; 24 hours are a day that has no hour."""
    for kind in ("bpchar", "citext", "interval", "jsonb", "time with time zone", "name", "bytea",
                 "text with collation nocase", '"char"', "money", "bit varying"):  # fmt: skip
        assert sql_type(kind).family is Family.OTHER, kind
        for condition in ("t = 'a'", "t LIKE 'a'"):
            with pytest.raises(PlannerError):
                bind_scalar(parse_one(condition), HostileNames(types={"t": kind}))
