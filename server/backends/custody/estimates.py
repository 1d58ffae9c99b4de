"""What PostgreSQL's statistics say of the rows, for a custodian who lets them be looked at; for no client."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import psycopg

from planner.policy.draft import Estimates
from planner.schema import Column, Schema
from planner.sql.sql_types import Family, sql_type

_MOST_VALUES = 50
"""The largest domain that is proposed."""

_LONGEST_VALUE = 80

_ROWS = """
    SELECT n.nspname, c.relname, greatest(c.reltuples, 0)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (%s) AND c.relkind IN ('r', 'p') AND c.reltuples >= 0
"""

# Of a partitioned table the statistics of the whole are those that `inherited` marks.
_COLUMNS = """
    SELECT schemaname, tablename, attname, n_distinct, most_common_vals::text::text[], histogram_bounds::text::text[]
    FROM pg_stats WHERE schemaname = ANY (%s)
    ORDER BY inherited
"""


def read_estimates(connection: psycopg.Connection[Any], schema: Schema, today: date) -> Estimates:
    """Row counts and, per column, a range or a domain, from the last ANALYZE; nothing of a table that has had none.

    Nothing here is differentially private: a range's ends come from single rows, though they are rounded outward.
    Cost: two catalog queries.
    """
    namespaces = sorted({table.namespace for table in schema.tables.values()})
    rows = {}
    for namespace, relation, count in connection.execute(_ROWS, [namespaces]):
        if (table := schema.at(namespace, relation)) is not None:
            rows[table.name] = count
    columns = {}
    for namespace, relation, attribute, n_distinct, common, histogram in connection.execute(_COLUMNS, [namespaces]):
        table = schema.at(namespace, relation)
        column = None if table is None else table.column(attribute)
        setting = None if column is None else _setting(column, n_distinct, common or [], histogram or [])
        if table is not None and setting is not None:
            columns[table.name, attribute] = setting
    return Estimates(rows, columns, today)


def _setting(column: Column, n_distinct: float, common: Sequence[str], histogram: Sequence[str]) -> str | None:
    """A range of numbers, or a domain of few texts of which all are known; None where neither is near."""
    kind = sql_type(column.type)
    if kind.is_number:
        return _range([*common, *histogram], whole=kind.family is Family.INTEGER)
    known = 0 < n_distinct == len(common) <= _MOST_VALUES and not histogram
    if kind.family is Family.TEXT and known and all(len(value) <= _LONGEST_VALUE for value in common):
        return f"domain = {json.dumps(sorted(common), ensure_ascii=False)}"
    return None


def _range(values: Sequence[str], whole: bool) -> str | None:
    numbers = [number for value in values if math.isfinite(number := float(value))]
    if not numbers:
        return None
    low, high = _outward(min(numbers), math.floor), _outward(max(numbers), math.ceil)
    return f"range = [{low:.0f}, {high:.0f}]" if whole else f"range = [{low:.6g}, {high:.6g}]"


def _outward(value: float, rounded: Callable[[float], int]) -> float:
    """The next number of one digit on that side."""
    if value == 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(abs(value)))
    return rounded(value / unit) * unit
