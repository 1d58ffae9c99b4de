"""Both tables of result types are complete, and say each fact once."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from psycopg.postgres import types as postgres_types

from planner.sql import result_types as planned
from planner.sql.sql_types import Family, ResultType
from server.pgwire.wire_values import field_of
from server.results.result_types import PARAMETERS, RESULT_TYPES


def test_every_result_type_has_an_entry_in_both_tables() -> None:
    assert set(get_args(ResultType)) == set(RESULT_TYPES) == set(planned.RESULT_TYPES)


def test_an_oid_is_the_one_that_postgresql_has_for_the_name() -> None:
    for kind in RESULT_TYPES:
        assert field_of("x", kind).oid == postgres_types[kind].oid, kind
        assert PARAMETERS[postgres_types[kind].oid] is RESULT_TYPES[kind].parameter, kind


def test_an_sql_type_is_shown_as_one_result_type_and_a_group_key_of_one() -> None:
    tables = planned.RESULT_TYPES.values()
    shown, keys = Counter(family for facts in tables for family in facts.shown), Counter[Family]()
    for facts in tables:
        keys.update(facts.keys)
    assert max((shown | keys).values()) == 1
    assert set(shown) == set(Family)


def test_a_key_has_the_type_of_the_column_where_that_is_shown() -> None:
    for kind in RESULT_TYPES:
        facts = planned.RESULT_TYPES[kind]
        assert facts.keys - set(facts.shown) <= {Family.ENUM}, kind
