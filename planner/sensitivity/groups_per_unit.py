"""L0: how many groups and counted values one privacy unit can reach (docs/mathematics.md, section 2.7).

A functional dependency or the policy's rule bounds all units; `groups_per_kind` finds which group keys follow from
the units of each relation. COUNT(DISTINCT x) counts values of one unit each if x determines the owner of its tuple.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.expressions.canonical_value import distinct_value
from planner.plan import GroupDomain, KindReach, UnitBounds
from planner.policy.policy import Policy
from planner.sensitivity.column_equalities import Equalities
from planner.sensitivity.provenance import OwnerPosition
from planner.sql.sql_types import Family
from planner.sql.trees import ColumnRef, column_ref


def groups_per_unit(
    owners: Sequence[OwnerPosition],
    keys: Sequence[ColumnRef],
    equalities: Equalities,
) -> int | None:
    """The most groups that one unit's tuples fall into (L0), as keys bound it; None if keys do not bound it.

    Each owner position that determines every group key is a function from the unit to one group. A unit in several
    positions reaches one group per different function. For two customers a, b with a.birth = b.nation, grouped by it,
    the unit reaches birth(u) and nation(u). Two functions are the same if they are the same expression over the same
    tables. `equalities` are closed.
    """
    functions = _functions(owners, [[key] for key in keys], equalities).values()
    known = all(None not in one for found in functions for one in found)
    return max(map(len, functions)) if known else None


def limited_groups_per_unit(
    determined: int | None, owners: Sequence[OwnerPosition], domains: Sequence[GroupDomain], policy: Policy
) -> UnitBounds:
    """The most groups per unit (L0): from keys, or the policy's limit if that is smaller.

    The policy's limit leaves out a unit's tuples in all other groups. It needs one owner per tuple: with two, the
    tuples that one unit keeps would depend on the other unit. It has no effect if the question has no more groups
    than the limit. The size of a domain that a statement lists is unknown here: it is known only when it is read.

    Args:
      determined: the bound that keys give (`groups_per_unit`), or None.
      owners: the owner positions.
      domains: the group domains.
    """
    declared = {policy.groups_per_unit.get(owner.relation) for owner in owners}
    if len(owners) != 1 or None in declared:
        return UnitBounds(determined)
    (rule,) = declared
    assert rule is not None, "None was excluded"
    least = min((one for one in (determined, _number(domains)) if one is not None), default=None)
    return UnitBounds(least) if least is not None and least <= rule else UnitBounds(rule, rule)


def _number(domains: Sequence[GroupDomain]) -> int | None:
    """The number of groups if every value is declared; None if only the database knows it."""
    sizes = [len(domain.values) for domain in domains if domain.values is not None]
    return max(1, math.prod(sizes)) if len(sizes) == len(domains) else None


def determined_terms(
    start: Sequence[ColumnRef],
    wanted: Sequence[ColumnRef],
    equalities: Equalities,
) -> dict[ColumnRef, str]:
    """For each class of equal columns that a unit's key determines, the expression that computes it from the key.

    Args:
      start: the columns of the unit's key, which expressions call u0, u1, ....
      wanted: the classes to look for.
    """
    terms = {root: f"= {value}" for root, value in equalities.constants.items()}
    terms |= {equalities.find(column): f"u{index}" for index, column in enumerate(start)}
    tables = sorted(equalities.tables.items(), key=lambda entry: (entry[1].name, entry[0]))
    changed = True
    while changed and not all(root in terms for root in wanted):
        changed = _look_up(terms, equalities)
        for alias, table in tables:
            for key in sorted(table.keys):
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
    before = len(terms)
    for alias, columns in equalities.lookups.items():
        arguments = [terms.get(equalities.find(column), "") for column in columns]
        if all(arguments):
            for column in equalities.tables[alias].columns:
                row = f"{alias}[{', '.join(arguments)}]"
                terms.setdefault(equalities.find((alias, column.name)), f"{row}.{column.name}")
    return len(terms) > before


def _term(terms: dict[ColumnRef, str], equalities: Equalities, column: ColumnRef) -> str:
    """The expression of a key column, or nothing if it is not determined; a NULL key finds no single row."""
    return terms.get(equalities.find(column), "") if equalities.known(column) else ""


def groups_per_kind(
    owners: Sequence[OwnerPosition],
    keys: Sequence[Sequence[ColumnRef]],
    equalities: Equalities,
) -> tuple[KindReach, ...]:
    """Which group keys the units of each relation determine, for each owner position.

    A position is a function from the unit to the keys that equalities and enforced keys find from its key (as in
    `groups_per_unit`). All tuples that it owns there share those values. So they fall into at most as many groups as
    share them in a public list of groups. The numbers of several positions add up; equal functions count once.

    Returns: one per relation that owns; nothing if no relation determines any key, so that every unit may reach every
      group.
    """
    reached = tuple(
        KindReach(relation, tuple(tuple(i for i, term in enumerate(one) if term is not None) for one in found))
        for relation, found in _functions(owners, keys, equalities).items()
    )
    return reached if any(places for one in reached for places in one.determines) else ()


_Function = tuple[tuple[str, ...] | None, ...]
"""Per group key, the expressions of its columns over the unit's key; None if the unit does not determine it."""


def _functions(
    owners: Sequence[OwnerPosition], keys: Sequence[Sequence[ColumnRef]], equalities: Equalities
) -> dict[str, list[_Function]]:
    """Per relation, the different functions from its units to the group keys."""
    classes = [[equalities.find(column) for column in columns] for columns in keys]
    wanted = [column for columns in classes for column in columns]
    functions: dict[str, dict[_Function, None]] = {}
    for owner in owners:
        terms = determined_terms(owner.columns, wanted, equalities)
        functions.setdefault(owner.relation, {})[tuple(_terms(columns, terms) for columns in classes)] = None
    return {relation: list(found) for relation, found in functions.items()}


def _terms(columns: Sequence[ColumnRef], terms: dict[ColumnRef, str]) -> tuple[str, ...] | None:
    """The expressions of a key's columns; None if one of them is not determined."""
    found = tuple(terms.get(column, "") for column in columns)
    return found if all(found) else None


_KEYS = frozenset({Family.INTEGER, Family.TEXT, Family.CHAR, Family.DATE, Family.UUID})
"""Column types whose counted values are equal exactly if a unique key takes two values for one."""


def is_owned(
    value: exp.Expr,
    owners: Sequence[OwnerPosition],
    equalities: Equalities,
    query: BoundQuery,
) -> bool:
    """Whether each counted value occurs in tuples of one unit only, as keys prove it.

    Unique keys must find the owner's key from the column: an order's number finds its customer; a line's order number
    finds that order's customer. Computed values and several columns are not followed. Linear.

    Only accuracy rests on it. At tau a unit adds min(tau, its number of values), a function of its own rows. If a
    declared key is false, shared values are counted once per unit.
    """
    column = value.this if isinstance(value, exp.Cast) else value
    if len(owners) != 1 or owners[0].orphan_of or not isinstance(column, exp.Column):
        return False
    kind = query.type_of(column)
    if kind.family not in _KEYS or distinct_value(column, kind) != value:
        return False
    as_unit = replace(owners[0], columns=(column_ref(column),))
    return groups_per_unit([as_unit], owners[0].columns, equalities) == 1
