"""Who owns the rows of a table: the foreign keys along which ownership flows (docs/mathematics.md, section 1.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy
from planner.schema import STORED, ForeignKey, Schema, Table
from planner.sql.sql_types import canonical_cast, sql_type


class Ownership:
    """The ownership graph of a schema under a policy.

    A foreign key owns unless the policy says `owning = false`. It matters if its parent is owned: a privacy-unit
    relation, a table whose rows are units, or a table with an owning key to an owned one. Keys that the policy
    declares count, even if the schema does not have them. Cost: linear in the foreign keys per step of the longest
    path.
    """

    def __init__(self, schema: Schema, policy: Policy) -> None:
        schema = with_declared_keys(schema, policy)  # or two schemas of one fingerprint would have two graphs
        self._units = dict(policy.privacy_units)
        self._orphans = {
            name: key
            for name, declared in policy.tables.items()
            if declared.rows_are_units and name in schema.tables and (key := row_key(schema.tables[name])) is not None
        }
        self._references = {name: _references(name, schema, policy) for name in schema.tables}
        self._keys = {name: _owning(name, keys, policy) for name, keys in self._references.items()}
        self._depths = _depths(policy)
        self._one_owner = {name: declared.one_owner for name, declared in policy.tables.items()}
        self._owned = self._closure()
        self._views = schema.views
        self._owning = {
            name: tuple(key for key in keys if key.references in self._owned) for name, keys in self._keys.items()
        }

    def unit_key(self, table: str) -> tuple[str, ...] | None:
        """The key columns of a privacy-unit relation; None for another table."""
        return self._units.get(table)

    def orphan_key(self, table: str) -> tuple[str, ...] | None:
        """The key columns of a table whose rows are units themselves if they reference no owner."""
        return self._orphans.get(table)

    def depth(self, table: str, key: ForeignKey) -> int | None:
        """How often ownership follows this foreign key on one path; None: without limit."""
        return self._depths.get((table, *key.pairs))

    def is_owned(self, table: str) -> bool:
        """Does some path lead from the table's rows to a privacy unit?"""
        return table in self._owned

    def may_show_owned(self, name: str) -> bool:
        """Is it a view that may be computed at query time from owned rows?

        One person's rows may change such a view, even if the policy calls it public. A materialized view or a
        foreign table stays the same when a person leaves. Relations that the proxy cannot see count as owned.
        """
        if name not in self._views:
            return False
        found, waiting = {name}, [name]
        while waiting:
            relation = waiting.pop()
            view = self._views.get(relation)
            if view is None:
                if self.is_owned(relation) or relation not in self._references:
                    return True
                continue
            if view.kind in STORED:
                continue
            if view.kind != "view":  # whose text nobody reads
                return True
            waiting += [other for other in view.reads if other not in found]
            found.update(view.reads)
        return False

    def owning_keys(self, table: str) -> tuple[ForeignKey, ...]:
        """The foreign keys along which the table's rows are owned, in the catalog's order, declared ones last."""
        return self._owning.get(table, ())

    def only_key(self, table: str) -> ForeignKey | None:
        """The foreign key to the only owner of each row; None if a row may have several, or is a person."""
        keys = self.owning_keys(table)
        alone = len(keys) == 1 and self.unit_key(table) is None and self.depth(table, keys[0]) is None
        return keys[0] if alone else None

    def keys_of_one_owner(self, table: str) -> tuple[tuple[str, ...], ...]:
        """The columns that determine the owner by the policy: those of the row, and of the row above it."""
        key = self.only_key(table)
        if key is None:
            return ()
        here = dict(zip(key.key, key.columns, strict=True))
        above = [one for one in self.keys_of_one_owner(key.references) if all(name in here for name in one)]
        return (*self._one_owner.get(table, ()), *(tuple(here[name] for name in one) for one in above))

    def foreign_keys(self, table: str) -> tuple[ForeignKey, ...]:
        """All references of the table's rows, owning or not."""
        return self._references.get(table, ())

    def reached(self, tables: Iterable[str]) -> frozenset[str]:
        """These tables, and all that their references lead to: what is proved of rows rests on the keys of these."""
        return _led_to(tables, self.foreign_keys)

    def owners(self, tables: Iterable[str]) -> frozenset[str]:
        """These tables, and all through which their rows are owned."""
        return _led_to(tables, self.owning_keys)

    def paths(self) -> tuple[str, ...]:
        """Units and owning foreign keys, a sentence each, for administrators to compare."""
        units = [f"{name}: its rows are people" for name in self._units if name in self._references]
        units += [f"{name}: its rows are their own where they reference nobody" for name in self._orphans]
        keys = [
            f"{name} ({', '.join(key.columns)}): owned through {key.references}"
            for name, owning in self._owning.items()
            for key in owning
        ]
        return tuple(sorted(units + keys))

    def cycles(self) -> tuple[str, ...]:
        """The tables whose rows would own one another in an endless circle; the policy must settle each."""
        return tuple(sorted(name for name in self._owned if name in self._reachable(name)))

    def _closure(self) -> frozenset[str]:
        owned = {*self._units, *self._orphans}
        while True:
            more = {name for name, keys in self._keys.items() if any(key.references in owned for key in keys)} - owned
            if not more:
                return frozenset(owned)
            owned |= more

    def _reachable(self, start: str) -> set[str]:
        seen: set[str] = set()
        stack = [start]
        while stack:
            table = stack.pop()
            for key in self.owning_keys(table):
                if self.depth(table, key) is None and key.references not in seen:
                    seen.add(key.references)
                    stack.append(key.references)
        return seen


def _led_to(tables: Iterable[str], keys: Callable[[str], Iterable[ForeignKey]]) -> frozenset[str]:
    seen, waiting = set[str](), [*tables]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [key.references for key in keys(name)]
    return frozenset(seen)


def is_open(schema: Schema, policy: Policy, table: str, column: str) -> bool:
    """May partition selection read a private column? Yes if the policy opens it, or declares its values.

    A column that names people or their rows, such as a foreign key to them, must be opened by itself.
    """
    declared = policy.column(table, column)
    if declared.domain is not None or declared.discover is not None:
        return declared.domain is not None or bool(declared.discover)
    graph = ownership(schema, policy)
    known = schema.tables.get(table)
    own = known is not None and graph.is_owned(table) and any(column in key for key in known.keys)
    led = any(column in key.columns and graph.is_owned(key.references) for key in graph.foreign_keys(table))
    return policy.discovers(table, column) and not own and not led


def ownership(schema: Schema, policy: Policy) -> Ownership:
    """The graph of a schema under a policy, cached for the few in use."""
    return _cached(_Case(schema, policy))


class _Case:
    """A schema under a policy, equal to any other with the same content."""

    def __init__(self, schema: Schema, policy: Policy) -> None:
        self.schema, self.policy = schema, policy
        self._content = (schema.fingerprint, policy.hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Case) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


@lru_cache(maxsize=8)
def _cached(case: _Case) -> Ownership:
    return Ownership(case.schema, case.policy)


def _references(table: str, schema: Schema, policy: Policy) -> tuple[ForeignKey, ...]:
    keys = list(schema.tables[table].foreign_keys)
    for declared in policy.foreign_keys:
        key = declared.foreign_key
        if declared.table == table and all(key.pairs != other.pairs for other in keys):
            keys.append(key)
    return tuple(keys)


def _owning(table: str, keys: tuple[ForeignKey, ...], policy: Policy) -> tuple[ForeignKey, ...]:
    settled = {
        declared.foreign_key.pairs
        for declared in policy.foreign_keys
        if declared.table == table and not declared.owning
    }
    return tuple(key for key in keys if key.pairs not in settled)


def _depths(policy: Policy) -> dict[tuple[object, ...], int]:
    return {
        (declared.table, *declared.foreign_key.pairs): declared.depth
        for declared in policy.foreign_keys
        if declared.depth is not None
    }


def row_key(table: Table) -> tuple[str, ...] | None:
    """The unique key without NULL that can name a row as a privacy unit: the shortest, then the first."""
    fit = [key for key in table.keys if all(_can_name(table, name) for name in key)]
    return min(fit, key=len, default=None)


def _can_name(table: Table, name: str) -> bool:
    column = table.column(name)
    return column is not None and not column.nullable and canonical_cast(sql_type(column.type)) is not None
