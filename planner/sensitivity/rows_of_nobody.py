"""Rows whose owning references are all NULL belong to nobody, and no answer counts them: say so, or refuse."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.errors import UnsupportedSQL
from planner.sensitivity.column_equalities import Equalities
from planner.sensitivity.provenance import OwnerPosition, Provenance
from planner.sql.columns import ColumnRef, column_ref
from planner.sql.trees import position_of


def rows_of_nobody(query: BoundQuery, found: Provenance) -> tuple[str, ...]:
    """One sentence where tuples of the question may belong to nobody; nothing where each has an owner.

    Args:
      query: bound.
      found: its owners; a row that is a unit where it references nobody always has one.
    Raises: UnsupportedSQL where the conditions keep such tuples alone, whose number no answer can say.
    """
    equalities = found.equalities
    present = {equalities.find(column) for column in _present(query)}
    absent = dict(_absent(query, equalities))
    asked: list[exp.Expr] = []
    owned = False
    for owner in found.owners:
        classes = list(map(equalities.find, owner.columns))
        owned |= bool(owner.orphan_of) or all(one in present or equalities.known(one) for one in classes)
        asked += [absent[one] for one in classes if one in absent and one not in present][:1]
    named = " and ".join(dict.fromkeys(_name(query, owner, equalities) for owner in found.owners))
    if len(asked) == len(found.owners):
        hint = "the custodian may count each as a person of its own, by rows_are_units = true in the policy's table"
        message = f"this asks for rows whose {named} is NULL: they belong to nobody, and no answer counts them"
        raise UnsupportedSQL(message, hint=hint, position=position_of(asked[0]))
    return () if owned else (f"Rows whose {named} is NULL belong to nobody and are not counted.",)


def _present(query: BoundQuery) -> Iterator[ColumnRef]:
    """The columns that conditions compare with constants, or say to be there: they are not NULL."""
    for condition in query.predicates:
        there = isinstance(condition, exp.Is) and condition.args.get("negate")
        other = condition.args.get("expression")
        compared = isinstance(condition, _COMPARISONS) and not isinstance(other, exp.Column)
        if isinstance(condition.this, exp.Column) and (there or compared):
            yield column_ref(condition.this)


_COMPARISONS = exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between


def _absent(query: BoundQuery, equalities: Equalities) -> Iterator[tuple[ColumnRef, exp.Expr]]:
    """The classes of columns that conditions say to be NULL."""
    for condition in query.predicates:
        absent = isinstance(condition, exp.Is) and not condition.args.get("negate")
        if absent and isinstance(condition.this, exp.Column) and isinstance(condition.expression, exp.Null):
            yield equalities.find(column_ref(condition.this)), condition


def _name(query: BoundQuery, owner: OwnerPosition, equalities: Equalities) -> str:
    """The reference that leads to an owner, as the question names its table."""
    names, tables = {entry.alias: entry.name for entry in query.tables}, equalities.tables
    members = equalities.members(owner.columns[0])
    here = (column for column in members if column[0] in names and tables[column[0]].name != owner.relation)
    alias, name = next(here, owner.columns[0])
    return f"{names.get(alias, tables[alias].name)}.{name}"
