"""Binds LEFT JOIN, and writes RIGHT JOIN and FULL JOIN by it.

To the owner of rows, and from a public table, it is the inner join. Otherwise its rows are optional.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.aggregates import Argument
from planner.binding.bound_query import BoundTable, OwnerJoin
from planner.binding.conditions import Absent, absent, is_strict
from planner.binding.flattened import Flattened
from planner.binding.scope import Scope, Source
from planner.errors import StatementTooComplex, UnsupportedSQL
from planner.schema import ForeignKey
from planner.sql.trees import (
    bound_column,
    column_ref,
    columns_of,
    conjunction,
    copied,
    fold,
    named_as,
    own_name,
    position_of,
)

NOT_OWN_ROWS = "LEFT JOIN to a private table is not supported: one person's row would replace another row"
"""Refuses optional rows whose owners are not those of the rows beside them (`planner.sensitivity.own_rows`)."""


BESIDE_PUBLIC = "use an inner JOIN and group by the public table's key: groups without rows appear anyway, near zero"
"""The alternative to public LEFT JOIN private, which is written to see keys without rows."""


_WRITTEN = "written"
"""Metadata key of a LEFT JOIN that stands for a RIGHT JOIN: the position of that."""

_MOST_FULL = 3


def in_parentheses(first: exp.Expr, joins: Sequence[exp.Join]) -> exp.Expr:
    """Return joined items as one item. `joins` are all those of the first item, too."""
    item = copied(first)
    item.set("joins", [copied(join) for join in joins])
    return exp.Paren(this=item) if joins else item


def mirrored(left: exp.Expr, join: exp.Join) -> exp.Join:
    """Return the LEFT JOIN that `left RIGHT JOIN x` is, after x."""
    made = _left(join)
    made.set("this", left)
    made.meta[_WRITTEN] = position_of(join)
    return made


def written_at(join: exp.Join) -> int | None:
    """Return the position of an outer join in the statement."""
    return join.meta.get(_WRITTEN) or position_of(join)


def sides_of_full(left: exp.Expr, join: exp.Join, using: Sequence[str]) -> tuple[exp.Select, exp.Select]:
    """Return the rows of `left LEFT JOIN x`, and the rows of x without a partner, for `left FULL JOIN x`.

    Raises: UnsupportedSQL without ON and USING; StatementTooComplex, as each FULL JOIN doubles what it joins.
    """
    within = [one for side in (left, join.this) for one in side.find_all(exp.Join)]
    if sum(one.side == "FULL" for one in within) >= _MOST_FULL:
        hint = "write UNION ALL of their rows, and group them by the person's key"
        raise StatementTooComplex(f"more than {_MOST_FULL} FULL JOINs of one another", hint=hint, at=join)
    kept = exp.Select(expressions=[exp.Star()], from_=exp.From(this=copied(left)), joins=[_left(join)])
    condition = [] if join.args.get("on") is None else [copied(join.args["on"])]
    right = named_as(join.this)[0] or (fold(join.this.this) if isinstance(join.this, exp.Table) else "")
    for name in using:
        theirs = exp.column(own_name(name), table=own_name(right))
        condition.append(exp.EQ(this=exp.column(own_name(name)), expression=theirs))
    if not condition or not right:
        hint = "write ON with the columns that are equal"
        raise UnsupportedSQL("this FULL JOIN is not supported", hint=hint, at=join)
    among = exp.Select(
        expressions=[exp.Literal.number(1)],
        from_=exp.From(this=copied(left)),
        where=exp.Where(this=conjunction(condition)),
    )
    alone = exp.Not(this=exp.Exists(this=among))
    alone.meta.update(join.meta)
    rest = exp.Select(expressions=[exp.Star()], from_=exp.From(this=copied(join.this)), where=exp.Where(this=alone))
    return kept, rest


def _left(join: exp.Join) -> exp.Join:
    made = copied(join)
    made.set("side", "LEFT")
    return made


class OuterJoins:
    """Enters the LEFT JOINs of one FROM clause."""

    def __init__(self, scope: Scope, flat: Flattened) -> None:
        self._scope = scope
        self._flat = flat

    def is_public(self, tree: Iterable[Source]) -> bool:
        """Are all tables behind these items of FROM public?"""
        return all(self._flat.tables.is_public(entry.table) for entry in self._scope.entries(tree))

    def enter(
        self,
        tree: Sequence[Source],
        right: Sequence[Source],
        conditions: Sequence[exp.Expr],
        position: int | None,
        label: str | None = None,
    ) -> None:
        """Mark the one table on the right as optional, so that every row on the left stays.

        Args:
          label: the construct that it is optional for; None for LEFT JOIN.
        Raises: UnsupportedSQL.
        """
        source, entries = right[0], self._scope.entries(right)
        hint = "LEFT JOIN one table at a time, or use an inner JOIN"
        private = any(not self._flat.tables.is_public(entry.table) for entry in entries)
        if private:
            found = self._to_the_owner(tree, entries[0], conditions) if len(entries) == 1 else None
            if found is not None:
                child, key = found
                nullable = any(self._flat.tables.nullable(bound_column(child.alias, name)) for name in key.columns)
                if nullable or not child.table.enforces(key):
                    made = OwnerJoin(child, key, position, nullable, child.table.enforces(key))
                    self._flat.owner_joins.append(made)
                self._flat.found_by[entries[0].alias] = child.alias
                self._flat.predicates.extend(conditions)
                return
            if self.is_public(tree):
                self._enter_beside_public(right, conditions, position)
                return
        if len(entries) != 1 or entries[0].outer is not None:
            raise UnsupportedSQL("LEFT JOIN to several tables is not supported", hint=hint, position=position)
        if any(isinstance(value, exp.Expr) and not is_strict(value) for value in source.columns.values()):
            reason = "LEFT JOIN to a subquery with computed columns is not supported"
            raise UnsupportedSQL(reason, hint="compute the column in the select list", position=position)
        if entries[0].sample is not None and private:
            message = "TABLESAMPLE on the right of a LEFT JOIN is not supported"
            raise UnsupportedSQL(message, hint="sample the table on its left", position=entries[0].start or position)
        outer = replace(entries[0], outer=tuple(conditions), optional=private, position=position, label=label)
        self._flat.tables.replace(source.first, outer)

    def _enter_beside_public(
        self, right: Sequence[Source], conditions: Sequence[exp.Expr], position: int | None
    ) -> None:
        """Enter public LEFT JOIN private as the inner join: groups without rows appear anyway."""
        entries = self._scope.entries(right)
        computed = [value for source in right for value in source.columns.values() if isinstance(value, exp.Expr)]
        if all(entry.sample is None for entry in entries):
            aliases = frozenset(entry.alias for entry in entries)
            every = all(any(column_ref(column)[0] in aliases for column in columns_of(one)) for one in conditions)
            if every and all(map(is_strict, computed)):
                self._flat.predicates.extend(conditions)
                self._flat.beside_public[aliases] = position
                for index, entry in enumerate(self._scope.tables):
                    if entry.alias in aliases:
                        self._flat.tables.replace(index, replace(entry, beside=True))
                return
        raise UnsupportedSQL(NOT_OWN_ROWS, hint=BESIDE_PUBLIC, position=position)

    def _to_the_owner(
        self, tree: Sequence[Source], owner: BoundTable, conditions: Sequence[exp.Expr]
    ) -> tuple[BoundTable, ForeignKey] | None:
        """Find the rows and the foreign key of a LEFT JOIN that leads only to the rows' owner; None for any other.

        Answers leave out rows whose owner is missing (`planner.rewriting.join_tables`), so this is the inner join. It
        is not for rows that are units themselves, nor for owners too many joins away. `planner.sensitivity.own_rows`
        handles NULL keys.
        """
        pairs = {_equal_columns(condition) for condition in conditions}
        for entry in (entry for entry in self._scope.entries(tree) if entry.outer is None):
            for key in self._flat.tables.keys_to_owners(entry.table):
                equal = zip(key.columns, key.key, strict=True)
                along = {frozenset({(entry.alias, a), (owner.alias, b)}) for a, b in equal}
                if key.references == owner.table.name and pairs == along:
                    return entry, key
        return None


def _equal_columns(condition: exp.Expr) -> frozenset[tuple[str, str]] | None:
    """Return the two columns that a bound condition equates; None for any other condition."""
    if not isinstance(condition, exp.EQ):
        return None
    sides = (condition.this, condition.expression)
    return frozenset(map(column_ref, sides)) if all(isinstance(side, exp.Column) for side in sides) else None


def check_beside_public(flat: Flattened, keys: Iterable[exp.Expr], arguments: Iterable[Argument]) -> None:
    """Refuse public LEFT JOIN private unless it equals the inner join.

    A public row without a partner adds nothing to an aggregate that skips it: its argument is NULL there, or zero in
    a sum, or FILTER leaves it out. It belongs to the group of its own keys, which are public and appear anyway. So
    the groups and their contents are those of the inner join.

    Raises: UnsupportedSQL at the LEFT JOIN.
    """
    keys, arguments = list(keys), list(arguments)
    for aliases, position in flat.beside_public.items():
        there = set(aliases)
        for _ in flat.found_by:
            there |= {owner for owner, child in flat.found_by.items() if child in there}
        grouped = any(column_ref(column)[0] in there for key in keys for column in columns_of(key))
        if grouped or not arguments or not all(_adds_nothing(argument, there) for argument in arguments):
            hint = f"count a column of the private table, COUNT(x), instead of COUNT(*); or {BESIDE_PUBLIC}"
            raise UnsupportedSQL(NOT_OWN_ROWS, hint=hint, position=position)


def _adds_nothing(argument: Argument, aliases: Collection[str]) -> bool:
    """Does a row without the rows of these tables add nothing to an aggregate?"""
    call, value, where = argument
    if where is not None and absent(where, aliases) in (Absent.NULL, Absent.FALSE):
        return True
    if isinstance(value, exp.Distinct):
        return any(absent(part, aliases) is Absent.NULL for part in value.expressions)
    return absent(value, aliases) in ((Absent.NULL, Absent.ZERO) if call is exp.Sum else (Absent.NULL,))
