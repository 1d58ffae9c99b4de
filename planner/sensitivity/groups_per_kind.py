"""L0 per privacy-unit relation: which group keys follow from a unit, which reaches no groups but those with them."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import KindReach
from planner.sensitivity.column_equalities import Equalities
from planner.sensitivity.groups_per_unit import determined_terms
from planner.sensitivity.provenance import OwnerPosition
from planner.sql.columns import ColumnRef


def groups_per_kind(
    owners: Sequence[OwnerPosition],
    keys: Sequence[Sequence[ColumnRef]],
    equalities: Equalities,
) -> tuple[KindReach, ...]:
    """Which of the group keys the units of each relation determine, in each position that they stand in.

    A position is a function from the unit to the keys whose columns its key finds by equalities and enforced keys
    (as in `groups_per_unit`). All tuples that it owns there have those values, whatever other rows there are, so they
    fall into groups that share them: of a public list of groups, no more than the most that share values of these
    keys. Over several positions the numbers add up; positions that are the same function count once.

    Args:
      owners: the distinct owner positions.
      keys: per group key, the columns that it is computed from.
      equalities: closed.
    Returns: one per relation that owns; nothing where no relation determines any key, so that every unit may reach
      every group.
    """
    classes = [[equalities.find(column) for column in columns] for columns in keys]
    wanted = [column for columns in classes for column in columns]
    functions: dict[str, dict[tuple[tuple[str, ...] | None, ...], None]] = {}
    for owner in owners:
        terms = determined_terms(owner.columns, wanted, equalities)
        found = tuple(_terms(columns, terms) for columns in classes)
        functions.setdefault(owner.relation, {})[found] = None
    reached = tuple(
        KindReach(relation, tuple(tuple(i for i, term in enumerate(one) if term is not None) for one in found))
        for relation, found in functions.items()
    )
    return reached if any(places for one in reached for places in one.determines) else ()


def _terms(columns: Sequence[ColumnRef], terms: dict[ColumnRef, str]) -> tuple[str, ...] | None:
    """The expressions of a key's columns; None when one of them is not determined."""
    found = tuple(terms.get(column, "") for column in columns)
    return found if all(found) else None
