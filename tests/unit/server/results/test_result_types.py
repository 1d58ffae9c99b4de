"""Both tables of result types are complete, and say each fact once."""

from __future__ import annotations

from typing import get_args

from psycopg.postgres import types as postgres_types
from sqlglot import exp

from planner.sql.result_types import result_type, shown_as
from planner.sql.sql_types import REAL, Family, ResultType, SqlType
from server.pgwire.wire_values import field_of
from server.results.result_types import PARAMETERS, RESULT_TYPES


def test_every_result_type_has_an_entry() -> None:
    assert set(get_args(ResultType)) == set(RESULT_TYPES)


def test_an_oid_is_the_one_that_postgresql_has_for_the_name() -> None:
    for kind in RESULT_TYPES:
        assert field_of("x", kind).oid == postgres_types[kind].oid, kind
        assert PARAMETERS[postgres_types[kind].oid] is RESULT_TYPES[kind].parameter, kind


def test_every_sql_type_is_shown_as_a_result_type_and_a_key_of_it_is_too() -> None:
    shown = {kind: shown_as(exp.Null(), kind)[0] for kind in [REAL, *map(SqlType, Family)]}
    assert set(shown.values()) == set(get_args(ResultType))
    assert all(result_type(kind) in (None, of_column) for kind, of_column in shown.items())
