"""Functional dependencies: how many groups can one privacy unit reach (privacy.md section 5, L0)."""

from __future__ import annotations

from collections.abc import Sequence

from planner.equalities import ColumnRef, Equalities
from planner.provenance import OwnerPosition


def groups_per_unit(owners: Sequence[OwnerPosition], keys: Sequence[ColumnRef], equalities: Equalities) -> int | None:
    """L0 by functional dependency: the most groups that the tuples of one unit can fall into.

    Each owner position that determines every group key is a function from the unit to one group. A unit
    that stands in several positions reaches one group per different function: for two customers a, b with
    a.birth = b.nation, grouped by it, the unit reaches birth(u) and nation(u). Two functions are the same
    when they are the same expression over the same tables.

    Args:
      owners: the distinct owner positions.
      keys: the group keys.
      equalities: closed.
    Returns: the bound, or None when some owner does not determine some key.
    """
    classes = [equalities.find(key) for key in keys]
    functions: dict[str, set[tuple[str, ...]]] = {}
    for owner in owners:
        terms = _determined(owner.columns, classes, equalities)
        group = tuple(terms.get(key, "") for key in classes)
        if not all(group):
            return None
        functions.setdefault(owner.relation, set()).add(group)
    return max(len(groups) for groups in functions.values())


def _determined(
    start: Sequence[ColumnRef], wanted: Sequence[ColumnRef], equalities: Equalities
) -> dict[ColumnRef, str]:
    """For the classes that the unit's key determines, the expressions that compute them from the key `u0`, `u1`, ...

    Args:
      wanted: the classes asked for; others may be left out.
    """
    terms = {root: f"= {value}" for root, value in equalities.constants.items()}
    terms |= {equalities.find(column): f"u{index}" for index, column in enumerate(start)}
    tables = sorted(equalities.tables.items(), key=lambda entry: (entry[1].name, entry[0]))
    changed = True
    while changed and not all(root in terms for root in wanted):
        changed = _look_up(terms, equalities)
        for alias, table in tables:
            for key in sorted(table.unique_keys):
                arguments = [_term(terms, equalities, (alias, name)) for name in key]
                if not all(arguments):
                    continue
                row = f"{table.name}[{', '.join(f'{n}={t}' for n, t in zip(key, arguments, strict=True))}]"
                for column in table.columns:
                    root = equalities.find((alias, column.name))
                    if root not in terms:
                        terms[root] = f"{row}.{column.name}"
                        changed = True
    return terms


def _look_up(terms: dict[ColumnRef, str], equalities: Equalities) -> bool:
    """Add what a LEFT JOIN finds, or its absence; did that add anything?"""
    before = len(terms)
    for alias, columns in equalities.lookups.items():
        arguments = [terms.get(equalities.find(column), "") for column in columns]
        if all(arguments):
            for column in equalities.tables[alias].columns:
                row = f"{alias}[{', '.join(arguments)}]"
                terms.setdefault(equalities.find((alias, column.name)), f"{row}.{column.name}")
    return len(terms) > before


def _term(terms: dict[ColumnRef, str], equalities: Equalities, column: ColumnRef) -> str:
    """The expression of a key column, or nothing when it is not determined; a NULL key finds no one row."""
    return terms.get(equalities.find(column), "") if equalities.known(column) else ""
