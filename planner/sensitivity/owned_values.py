"""Which counted values are one unit's each: COUNT(DISTINCT x) where x determines the owner of its tuple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.expressions.canonical_value import distinct_value
from planner.sensitivity.column_equalities import Equalities
from planner.sensitivity.groups_per_unit import groups_per_unit
from planner.sensitivity.provenance import OwnerPosition
from planner.sql.columns import column_ref
from planner.sql.sql_types import Family

_KEYS = frozenset({Family.INTEGER, Family.TEXT, Family.CHAR, Family.DATE, Family.UUID})
"""Kinds of columns of which the counted value is equal exactly when a unique key takes two values for one."""


def is_owned(
    value: exp.Expr,
    owners: Sequence[OwnerPosition],
    equalities: Equalities,
    query: BoundQuery,
) -> bool:
    """Is each value found in tuples of one unit alone, by functional dependency?

    The value is a column from which unique keys find the key of the owner: an order's number, its customer; a line's
    order number, the customer of that order. Computed values, and several together, are not followed.

    Only accuracy rests on it. What a unit then adds at tau is min(tau, its own number of values), a function of its
    own rows, whoever else has the same values: where a declared key is false they are counted once per unit.

    Args:
      value: the canonical SQL of what is counted.
      owners: the distinct owner positions.
      equalities: closed.
      query: for the types of its columns.
    Cost: linear in columns and keys.
    """
    column = value.this if isinstance(value, exp.Cast) else value
    if len(owners) != 1 or owners[0].orphan_of or not isinstance(column, exp.Column):
        return False
    kind = query.type_of(column)
    if kind.family not in _KEYS or distinct_value(column, kind) != value:
        return False
    as_unit = replace(owners[0], columns=(column_ref(column),))
    return groups_per_unit([as_unit], owners[0].columns, equalities) == 1
