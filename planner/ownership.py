"""Who owns the rows of a table: the foreign keys along which ownership flows (privacy.md section 1)."""

from __future__ import annotations

from planner.policy import Policy
from planner.schema import ForeignKey, Schema


class Ownership:
    """The ownership graph of a schema under a policy.

    A foreign key owns unless the policy says `owning = false`; it matters when its parent is owned: a
    privacy-unit relation, or a table with an owning key to an owned one.
    Cost: linear in the foreign keys per step of the longest path.
    """

    def __init__(self, schema: Schema, policy: Policy) -> None:
        self._policy = policy
        self._references = {name: _references(name, schema, policy) for name in schema.tables}
        self._keys = {name: _owning(name, keys, policy) for name, keys in self._references.items()}
        self._owned = self._closure()

    def unit_key(self, table: str) -> str | None:
        """The key column of a privacy-unit relation, None for another table."""
        return self._policy.privacy_units.get(table)

    def is_owned(self, table: str) -> bool:
        """Does some path lead from the table's rows to a privacy unit?"""
        return table in self._owned

    def owning_keys(self, table: str) -> tuple[ForeignKey, ...]:
        """The foreign keys along which the table's rows are owned, in the catalog's order, declared ones last."""
        return tuple(key for key in self._keys.get(table, ()) if key.references in self._owned)

    def foreign_keys(self, table: str) -> tuple[ForeignKey, ...]:
        """All references of the table's rows, owning or not."""
        return self._references.get(table, ())

    def cycles(self) -> tuple[str, ...]:
        """The tables whose rows would own one another in a circle; the policy must settle each."""
        return tuple(sorted(name for name in self._owned if name in self._reachable(name)))

    def _closure(self) -> frozenset[str]:
        owned = set(self._policy.privacy_units)
        while True:
            more = {name for name, keys in self._keys.items() if any(key.references in owned for key in keys)} - owned
            if not more:
                return frozenset(owned)
            owned |= more

    def _reachable(self, start: str) -> set[str]:
        seen: set[str] = set()
        stack = [start]
        while stack:
            for key in self.owning_keys(stack.pop()):
                if key.references not in seen:
                    seen.add(key.references)
                    stack.append(key.references)
        return seen


def _references(table: str, schema: Schema, policy: Policy) -> tuple[ForeignKey, ...]:
    """The foreign keys of a table: the catalog's, then those that only the policy declares."""
    keys = list(schema.tables[table].foreign_keys)
    for declared in policy.foreign_keys:
        key = ForeignKey(declared.columns, declared.references, declared.key)
        if declared.table == table and all(_pairs(key) != _pairs(other) for other in keys):
            keys.append(key)
    return tuple(keys)


def _owning(table: str, keys: tuple[ForeignKey, ...], policy: Policy) -> tuple[ForeignKey, ...]:
    """Those of `keys` that the policy does not declare non-owning."""
    settled = {
        _pairs(ForeignKey(declared.columns, declared.references, declared.key))
        for declared in policy.foreign_keys
        if declared.table == table and not declared.owning
    }
    return tuple(key for key in keys if _pairs(key) not in settled)


def _pairs(key: ForeignKey) -> tuple[str, frozenset[tuple[str, str]]]:
    return key.references, frozenset(zip(key.columns, key.key, strict=True))
