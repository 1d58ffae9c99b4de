"""The short way of writing says what the parser library says, plain or not, and leaves the tree as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date

from sqlglot import exp, parse_one

from planner.errors import PlannerError
from planner.expressions.bind_scalar import bind_measure, bind_scalar
from planner.parsing.parse import read
from planner.rewriting.dialects.postgres import PostgresWriter
from tests.golden.tpch.queries import NUMBERS, published
from tests.support.function_examples import EXAMPLES
from tests.support.hostile import COLUMNS, HostileNames
from tests.support.seeds import sampled

STATEMENTS = [
    *(published(number) for number in NUMBERS),
    'SELECT "a""b"."c d", t.*, x, s.t.x, "é"."1", "new\nline"."x" FROM "public"."t" AS "a""b"',
    "SELECT CAST(a AS DECIMAL(3, 1)), CAST(a AS DOUBLE PRECISION), CAST(a AS FLOAT(3)), CAST(a AS INT[]), a::text",
    "SELECT CAST(a AS TIMESTAMP WITH TIME ZONE), CAST(a AS VARCHAR(3)), CAST(a AS mood), CAST(a AS INTERVAL)",
    "SELECT a + b + c - d * e / f % g ^ h, a || b || c, (a < b) = (c > d), a = 1 AND b <> 2 OR NOT c >= 3",
    "SELECT a IS NULL, a IS NOT NULL, a IS TRUE, a LIKE 'x' ESCAPE '!', NOT a ILIKE 'x', a IS DISTINCT FROM b",
    "SELECT a OPERATOR(pg_catalog.+) b + c, a -> b ->> 'c', -(-1), a BETWEEN 1 AND 2 /* comment */",
]


def test_it_writes_what_the_library_writes() -> None:
    for sql in STATEMENTS:
        tree = parse_one(sql, dialect="postgres")
        assert PostgresWriter().generate(tree) == tree.sql("postgres", comments=False)


def test_every_type_without_parameters_has_its_name() -> None:
    for kind in exp.DType:
        tree = exp.DataType(this=kind)
        assert PostgresWriter().generate(tree) == tree.sql("postgres")


def test_writing_changes_nothing() -> None:
    for example in sampled(EXAMPLES, 80):
        written = 0
        for tree in _bound(re.sub(r"\{(\w)\}", lambda hole: COLUMNS[hole[1]][0], example)):
            selected = exp.select(tree.copy(), copy=False)
            before = repr(selected)
            texts = [PostgresWriter().generate(selected, copy=copy) for copy in (True, False, False)]
            assert len(set(texts)) == 1
            assert repr(selected) == before
            written += 1
        assert written


def _bound(example: str) -> Iterator[exp.Expr]:
    """What the planner makes of an expression: as conditions and keys use it, and as sums do."""
    names = HostileNames(0.0, 10.0, (date(2000, 1, 1), date(2024, 12, 31)))
    node: exp.Expr = read(f"SELECT {example}").tree.selects[0]
    with suppress(PlannerError):
        yield bind_scalar(node, names).sql
        yield bind_measure(node, names)[0]
