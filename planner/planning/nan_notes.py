"""One sentence about the columns of a question that may hold NaN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.schema import Table
from planner.sql.columns import column_ref
from planner.sql.trees import columns_of


def nan_notes(query: BoundQuery) -> Iterator[str]:
    """What becomes of NaN, where a question reads a column that may hold it."""
    names = list(dict.fromkeys(_names(query)))
    if names:
        yield nan_note(names)


def nan_note(names: Iterable[str]) -> str:
    """The sentence, by the columns' names.

    >>> nan_note(["visit.cost", "visit.dose"])
    'NaN in visit.cost or visit.dose counts as missing, like NULL.'
    """
    return f"NaN in {' or '.join(names)} counts as missing, like NULL."


def nan_columns(trees: Iterable[exp.Expr], tables: Mapping[str, Table]) -> Iterator[str]:
    """The names of the columns of some expressions that may hold NaN."""
    for tree in trees:
        for alias, name in map(column_ref, columns_of(tree)):
            column = tables[alias].column(name) if alias in tables else None
            if column is not None and column.nan:
                yield f"{tables[alias].name}.{name}"


def _names(query: BoundQuery) -> Iterator[str]:
    entries = [*query.tables, *(entry for one in query.semi_joins for entry in one.tables)]
    trees = [
        *query.predicates,
        *(condition for entry in entries for condition in entry.outer or ()),
        *(condition for one in query.semi_joins for condition in one.predicates),
        *(key.value for key in query.keys),
    ]
    for aggregate in query.aggregates:
        trees += [part for part in (aggregate.argument, aggregate.condition) if part is not None]
    yield from nan_columns(trees, {entry.alias: entry.table for entry in entries})
    for entry in entries:
        if entry.person is not None:
            yield from _names(entry.person.query)
