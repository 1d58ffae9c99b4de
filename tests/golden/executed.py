"""What the planner made of a statement, executed without truncation and noise, beside the statement itself."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from planner.plan import BackendQuery, Plan
from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy
from planner.postprocessing.write_outer import Cell, OuterStatement
from planner.released_expression import is_noisy
from planner.rewriting.rewrite import rewrite, write_public
from planner.schema import Dialect, Schema
from server.postprocessing.composition import Composition
from tests.golden.benchmark import planned
from tests.golden.untruncated import Run, untruncated

_RELATIVE, _ABSOLUTE = 1e-5, 1e-4
"""Weights are rounded down to 2^-30 of their bounds, and what is computed from sums of them may differ by more."""

Row = tuple[object, ...]


@dataclass(frozen=True)
class Database:
    """One of the two.

    Attributes:
      schema, dialect: its own.
      run: a statement to its rows.
      width: a statement to the number of its columns.
    """

    schema: Schema
    dialect: Dialect
    run: Run
    width: Callable[[str], int]


def executed(text: str, database: Database, policy: Policy) -> list[Row]:
    """What an analyst would see without truncation and noise; groups that nothing falls into are left out."""
    schema = with_declared_keys(database.schema, policy)
    found = planned(text, schema, policy, database.dialect)
    if isinstance(found, Plan):
        return _answer(found, rewrite(found, dialect=database.dialect, schema=schema), database)
    if isinstance(found, Composition):
        return _computed(found, database)
    return list(database.run(write_public(found, dialect=database.dialect).sql))


def assert_same_rows(shown: Sequence[Row], expected: Sequence[Row]) -> None:
    """Are they the same rows, whatever their order? A sum over nothing is zero here and NULL there."""
    assert len(shown) == len(expected), f"{len(shown)} rows instead of {len(expected)}"
    ours, theirs = [list(map(_plain, row)) for row in shown], [list(map(_plain, row)) for row in expected]
    texts = {place for row in (*ours, *theirs) for place, cell in enumerate(row) if isinstance(cell, str)}
    left = defaultdict(list)
    for row in ours:
        left[tuple(row[place] for place in sorted(texts))].append(row)
    for row in theirs:
        alike = left[tuple(row[place] for place in sorted(texts))]
        found = next((one for one in alike if all(map(_close, one, row))), None)
        assert found is not None, f"nothing is {row}; there are {alike[:3]}"
        alike.remove(found)


def _answer(plan: Plan, query: BackendQuery, database: Database) -> list[Row]:
    answer = untruncated(replace(plan, display=replace(plan.display, limit=None, offset=0)), database.run, query)
    shown: list[Row] = [row for group, row in answer.rows.items() if group in answer.reached or not plan.group_keys]
    return shown[plan.display.rows]


def _computed(composition: Composition, database: Database) -> list[Row]:
    """The interval of a value without noise is the value."""
    answers: dict[str, list[tuple[Cell, ...]]] = {}
    for part in composition.parts:
        noisy = [place for place, one in enumerate(part.question.plan.display.outputs) if is_noisy(one)]
        tables = [
            table.released.with_rows(_rows(table.statement.with_rows(answers), database)) for table in part.tables
        ]
        question = part.question.over(tables, database.dialect) if tables else part.question
        rows = _answer(question.plan, question.query, database)
        kinds = [output.type for output in part.question.plan.display.outputs]
        answers[part.relation] = [
            (
                *(_cell(value, whole=kind == "int8") for value, kind in zip(row, kinds, strict=True)),
                *(_cell(row[place]) for place in noisy for _ in range(2)),
            )
            for row in rows
        ]
    shown = _rows(composition.statement.with_rows(answers), database)
    return [row[: len(row) - 2 * len(composition.shown.places)] for row in shown]


def _rows(filled: OuterStatement, database: Database) -> list[Row]:
    width = database.width(filled.columns_sql())
    return list(map(tuple, database.run(filled.rows_sql([f"c{place}" for place in range(width)], 1_000_000))))


def _cell(value: object, *, whole: bool = False) -> Cell:
    """A value as a relation holds it: of a whole number without a point."""
    if isinstance(value, Fraction):
        return int(value) if whole else float(value)
    assert value is None or isinstance(value, (bool, str))
    return value


def _plain(value: object) -> object:
    if isinstance(value, (int, float, Decimal, Fraction)) and not isinstance(value, bool):
        return float(value)
    if value is None or isinstance(value, bool):
        return value
    return str(value).rstrip()


def _close(value: object, true: object) -> bool:
    if isinstance(value, float) and isinstance(true, float):
        return math.isclose(value, true, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    return value == true or (not value and true is None)
