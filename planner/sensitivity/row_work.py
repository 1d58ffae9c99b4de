"""Row work: how long one row may take by the statement's own texts. Long ones searched for long ones take seconds.

An analyst who writes both can make one row's condition take seconds, and only that row's: so the duration of the
answer would tell any fact about the person of the row, however small the join is. What the data's own texts add is
the same for all statements, and not counted beyond a usual length. What is more is refused: held or dearer, it would
still tell one fact about one person for a small epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.errors import StatementTooComplex
from planner.sql.trees import columns_of, nodes

MOST_STEPS = 1_000_000
"""Comparisons and copies of characters: up to so many are milliseconds, hard to tell from none over a network."""

_USUAL_CHARACTERS = 64
"""Of a column's text."""

_WORKING = (exp.Like, exp.ILike, exp.StrPosition, exp.Replace, exp.DPipe)


def check_row_work(query: BoundQuery) -> None:
    """Refuse a question of which one row may take long.

    Raises: StatementTooComplex.
    """
    steps = row_work(query)
    if steps > MOST_STEPS:
        raise StatementTooComplex(
            f"one row may take {steps:,} steps, as long texts are searched for long ones or put together again and"
            f" again, more than {MOST_STEPS:,}: how long the answer takes would tell whose row it is",
            hint="search for shorter texts",
        )


def row_work(query: BoundQuery) -> int:
    """The steps that one row may take: of a search its text's length times its pattern's, of `||` the result's.

    Args:
      query: in normal form, so that what a CTE computes stands wherever it is read.
    Cost: linear in the query, for each search and `||` in it.
    """
    return sum(_steps(node) for tree in _trees(query) for node in nodes(tree) if isinstance(node, _WORKING))


def _trees(query: BoundQuery) -> Iterator[exp.Expr]:
    yield from query.predicates
    entries = [*query.tables, *(entry for semi_join in query.semi_joins for entry in semi_join.tables)]
    for entry in entries:
        yield from entry.outer or ()
        if entry.person is not None:  # whose own rows compute what is grouped and aggregated
            yield from (column.value for column in entry.person.columns if not column.is_key)
            yield from _trees(entry.person.query)
    for semi_join in query.semi_joins:
        yield from semi_join.predicates
    for key in query.keys:
        yield key.value
    for aggregate in query.aggregates:
        yield from (tree for tree in (aggregate.argument, aggregate.condition) if tree is not None)


def _steps(node: exp.Expr) -> int:
    """Of a search the first argument is the text that is searched, the others are what it is searched for."""
    if isinstance(node, exp.DPipe):
        return _characters(node)
    text, *others = (value for value in node.args.values() if isinstance(value, exp.Expr))
    return _characters(text) * sum(map(_characters, others))


def _characters(tree: exp.Expr) -> int:
    written = sum(len(node.this) for node in nodes(tree) if isinstance(node, exp.Literal) and node.is_string)
    return written + _USUAL_CHARACTERS * len(columns_of(tree))
