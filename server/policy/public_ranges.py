"""Ranges of public columns that the policy declares none for: from their least to their greatest value.

Anybody may read public rows, so their ranges are free. They count like declared ranges: sums count a value beyond as
the nearest end. So a public table that changes after it was read costs accuracy and never privacy. The ranges are
read with the policy: when the proxy starts, and at each reload.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import MAXYEAR, date

from planner.errors import PlannerError
from planner.parsing.parse import read_of
from planner.policy.policy import ColumnPolicy, Policy
from planner.public.bind import bind_public
from planner.rewriting.rewrite import write_public
from planner.schema import Column, Schema, Table
from planner.sql.sql_types import sql_type
from server.backends.backend import Backend, quoted
from server.errors import ServerError

_LONGEST_S = 15.0
"""After so long no further table is read. The database ends each statement after `Limits.public_ms`."""

_NUMBERS, _DAYS = "-1e100 AND 1e100", f"DATE '0001-01-01' AND DATE '{MAXYEAR}-12-31'"
"""Values that can be an end: no NaN, and nothing infinite."""

_AT_ONCE = 4
"""Tables that are read at the same time, each by a connection of its own."""


def with_public_ranges(policy: Policy, schema: Schema, backend: Backend) -> Policy:
    """Return the same policy, of the same hash, with the ranges of public columns.

    A column without values has no range, and neither has a table that cannot be read in time.
    Cost: one scan of each public table, four tables at a time.
    """
    until = time.monotonic() + _LONGEST_S

    def ranges(name: str) -> dict[str, ColumnPolicy]:
        late = time.monotonic() >= until
        return {} if late else dict(_ranges(schema.tables[name], policy, schema, backend))

    public = [name for name, declared in policy.tables.items() if declared.public and name in schema.tables]
    with ThreadPoolExecutor(_AT_ONCE, "public-ranges") as threads:
        found = dict(zip(public, threads.map(ranges, public), strict=True))
    tables = policy.tables
    return policy.beside(
        {name: replace(tables[name], columns={**tables[name].columns, **read}) for name, read in found.items()}
    )


def _ranges(table: Table, policy: Policy, schema: Schema, backend: Backend) -> Iterator[tuple[str, ColumnPolicy]]:
    columns = [column for column in table.columns if _has_no_range(column, policy.column(table.name, column.name))]
    if not columns:
        return
    ends = ", ".join(f"{end}({quoted(one.name)}) {_where(one)}" for one in columns for end in ("min", "max"))
    text = f"SELECT {ends} FROM {quoted(table.namespace)}.{quoted(table.relation)}"
    try:
        query = bind_public(read_of(text, policy.name).tree, schema, policy)
        (cells,) = backend.public(write_public(query, dialect=backend.dialect))
    except (PlannerError, ServerError):
        return
    for column, low, high in zip(columns, cells[::2], cells[1::2], strict=True):
        known = policy.column(table.name, column.name)
        if low is not None and high is not None and sql_type(column.type).is_number:
            yield column.name, replace(known, range=(float(low), float(high)))
        elif low is not None and high is not None:
            yield column.name, replace(known, dates=_years(str(low), str(high)))


def _has_no_range(column: Column, declared: ColumnPolicy) -> bool:
    kind = sql_type(column.type)
    return (kind.is_number and declared.range is None) or (kind.is_moment and declared.dates is None)


def _where(column: Column) -> str:
    inside = _NUMBERS if sql_type(column.type).is_number else _DAYS
    return f"FILTER (WHERE {quoted(column.name)} BETWEEN {inside})"


def _years(low: str, high: str) -> tuple[date, date]:
    """Return whole years and the year after, since tables of days grow, and days beyond are in no group.

    >>> _years("2023-05-01", "2024-02-29 10:00:00")
    (datetime.date(2023, 1, 1), datetime.date(2025, 12, 31))
    """
    return date(int(low[:4]), 1, 1), date(min(int(high[:4]) + 1, MAXYEAR), 12, 31)
