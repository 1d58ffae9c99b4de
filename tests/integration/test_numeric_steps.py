"""A clamped numeric that PostgreSQL reads in whole steps is the double that its cast is, and never fails."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import psycopg
from sqlglot import exp

from planner.expressions.column_ranges import STEPS, clamp_column
from planner.rewriting.dialects.postgres import postgres_sql
from planner.sql.sql_types import Family, SqlType
from tests.support.seeds import examples

ROWS = examples(500, 4_000)


def test_every_value_is_the_same_double(scratch_url: str) -> None:
    with psycopg.connect(scratch_url) as connection:
        for precision, scale, low, high in (
            (15, 2, 0.0, 105000.0),
            (15, 2, -50.0, 200.25),
            (4, 4, 0.0001, 0.1),
            (18, 15, -1.0, 3.141592653589793),
            (18, 1, -900719925474099.2, 900719925474099.2),  # 2^53 steps
            (12, 6, -3.5, -0.000001),
        ):
            _compare(connection, precision, scale, low, high)
            connection.rollback()


def _compare(connection: psycopg.Connection[Any], precision: int, scale: int, low: float, high: float) -> None:
    kind = SqlType(Family.NUMERIC, precision, scale)
    tree, _ = clamp_column(exp.column("x"), kind, low, high)
    assert STEPS in tree.meta
    rng = np.random.default_rng(precision * 100 + scale)
    digits = rng.integers(1, precision, ROWS, endpoint=True).tolist()
    steps = [int(rng.integers(-(10**places) + 1, 10**places)) for places in digits]
    ends = [int(Decimal(repr(end)).scaleb(scale)) + off for end in (low, high) for off in (-1, 0, 1)]
    most = 10**precision - 1
    steps += [0, -1, 1, most, -most, *(step for step in ends if abs(step) <= most)]
    values = [*(f"{Decimal(step).scaleb(-scale):f}" for step in steps), "NaN", None]
    written, cast = postgres_sql(tree), tree.sql("postgres")
    connection.execute(f"CREATE TEMPORARY TABLE t (x numeric({precision}, {scale}))".encode())
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s::text::numeric)", [(value,) for value in values])
    differing, unknown, told_apart = connection.execute(
        f"SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b), count(*) FILTER (WHERE a IS NULL), "
        f"count(DISTINCT a) FROM (SELECT {written} AS a, {cast} AS b FROM t) q".encode()
    ).fetchone() or (None, None, None)
    assert (differing, unknown) == (0, 2)
    assert told_apart and told_apart > 3


def test_what_has_no_whole_steps_is_cast() -> None:
    for kind, low, high in (
        (SqlType(Family.NUMERIC), 0.0, 1.0),  # infinities
        (SqlType(Family.NUMERIC, 19, 2), 0.0, 1.0),  # beyond a bigint
        (SqlType(Family.NUMERIC, 15, 2), 0.0, 0.125),  # no whole step
        (SqlType(Family.NUMERIC, 18, 2), 0.0, 1e15),  # beyond what a double holds exactly
        (SqlType(Family.NUMERIC, 15, -2), 0.0, 100.0),
        (SqlType(Family.NUMERIC, 2, 4), 0.0, 0.01),
        (SqlType(Family.FLOAT), 0.0, 1.0),
        (SqlType(Family.INTEGER), 0.0, 1.0),
    ):
        tree, _ = clamp_column(exp.column("x"), kind, low, high)
        assert STEPS not in tree.meta, kind
        assert postgres_sql(tree) == tree.sql("postgres"), kind


def test_a_computed_numeric_is_cast() -> None:
    """Its digits are proved, and it is not read from a column, whose type keeps infinities away."""
    computed = exp.Mul(this=exp.column("x"), expression=exp.Literal.number(2))
    tree, _ = clamp_column(computed, SqlType(Family.NUMERIC, 15, 2), 0.0, 1.0)
    assert STEPS not in tree.meta
