"""COUNT(DISTINCT x) only where equal values have one spelling."""

from __future__ import annotations

import pytest
from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions.canonical_value import distinct_value
from planner.policy.policy import parse_policy
from planner.schema import Column, Schema, Table
from planner.sql.sql_types import sql_type
from tests.support.planning import planned

COLUMN = exp.column("x")
TYPES = ["numeric(15,2)", "timestamptz", "timestamp with time zone", "bigint", "char(3)", "uuid", "boolean", "date"]
POLICY = """
name = "people"
[database]
url = "env:URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1.0
[privacy_units]
person = "id"
[tables.person]
"""
REFUSED = ["numeric", "real", "double precision", "jsonb"]


def test_a_computed_numeric_has_no_scale_of_its_own() -> None:
    assert distinct_value(exp.Add(this=COLUMN, expression=exp.Literal.number(1)), sql_type("numeric(9,2)")) is None


def test_count_distinct_has_one_text_per_type_or_is_refused() -> None:
    """A text that depends on the type only, of which a value has one; a refusal says what can be counted."""
    for kind in (*TYPES, *REFUSED):
        columns = (Column("id", "bigint", False), Column("x", kind, True))
        schema = Schema({"person": Table("person", "public", columns, (("id",),), ())})
        policy = parse_policy(POLICY)
        ask = "SELECT count(DISTINCT x) FROM person"
        if kind in REFUSED:
            with pytest.raises(UnsupportedSQL, match="DISTINCT") as caught:
                planned(ask, schema, policy)
            assert "numeric(p, s)" in (caught.value.hint or "")
        else:
            assert planned(ask, schema, policy).releases[0].distinct is not None
