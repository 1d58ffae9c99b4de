"""Decide which changes of a policy weaken what it protects.

A change weakens in four ways. Fewer people, paths or rows are protected. More is believed without proof: fan-outs,
rows per unit, foreign keys that the database does not enforce. More may be queried or shown: tables, a larger charge,
partition selection, smaller groups. Or the data or the ledger is another one. A change of accuracy alone does not
weaken, nor does one that is enforced on all data: ranges, domains, steps, groups per unit, the grain of time. A
setting without a rule here weakens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from planner.policy.policy import ColumnPolicy, DeclaredForeignKey, Policy, TablePolicy

_Rule = Callable[[str, Any, Any], Iterator[str]]
"""From a setting with its old and new value, which differ, to sentences on what is weaker."""


def weakenings(old: Policy, new: Policy) -> tuple[str, ...]:
    """What is weaker under the new policy, one sentence each for the administrator."""
    return tuple(_differences(old, new, _POLICY))


def _differences(old: object, new: object, rules: Mapping[str, _Rule], path: str = "") -> Iterator[str]:
    for name in sorted({field.name for one in (old, new) for field in fields(one)}):  # type: ignore[arg-type]
        before, after = getattr(old, name, None), getattr(new, name, None)
        if before != after:
            yield from rules.get(name, _changed)(path + _SETTINGS.get(name, name), before, after)


_SETTINGS = {
    "answer_quantum_s": "answer_quantum",
    "database_url": "database.url",
    "delta": "privacy.delta",
    "ledger_path": "ledger.path",
    "max_epsilon": "privacy.max_epsilon",
    "discover": "privacy.discover",
    "minimum_frequency": "privacy.minimum_frequency",
}
"""Fields with another name in the file."""


def _rule(what: str, weaker: Callable[[Any, Any], bool]) -> _Rule:
    def told(setting: str, before: object, after: object) -> Iterator[str]:
        if weaker(before, after):
            yield f"{setting}: {what}"

    return told


def _fewer(before: int | None, after: int | None) -> bool:
    """None says nothing."""
    return after is not None and (before is None or after < before)


_changed = _rule("changed", lambda before, after: True)
_other = _rule("another one", lambda before, after: True)
_harmless = _rule("", lambda before, after: False)
_raised = _rule("raised", lambda before, after: not after <= before)
_lowered = _rule("lowered", lambda before, after: not after >= before)
_limit = _rule("raised", lambda before, after: _fewer(after, before))
_allowed = _rule("allowed", lambda before, after: after and not before)
_dropped = _rule("no longer", lambda before, after: before and not after)
_promise = _rule("declares a smaller bound", _fewer)
"""A declared bound: a smaller one claims more, and none claims nothing."""


def _units(
    setting: str, before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    for relation, key in before.items():
        if after.get(relation) != key:
            yield f"{setting}.{relation}: {'another key' if relation in after else 'no longer protected'}"


def _foreign_keys(
    setting: str, before: tuple[DeclaredForeignKey, ...], after: tuple[DeclaredForeignKey, ...]
) -> Iterator[str]:
    old, new = {_named(key): key for key in before}, {_named(key): key for key in after}
    if len(old) < len(before) or len(new) < len(after):
        yield f"{setting}: one is declared twice"
    for name in sorted(old.keys() - new.keys()):
        yield f"{name[0]}: no longer declared"
    for name in sorted(new.keys() - old.keys()):
        yield f"{name[0]}: declared"
    for name in sorted(old.keys() & new.keys()):
        yield from _differences(old[name], new[name], _FOREIGN_KEY, f"{name[0]}, ")


def _named(key: DeclaredForeignKey) -> tuple[str, tuple[str, ...]]:
    """The name of a foreign key in sentences, and its referenced key, which they leave out."""
    return f"foreign_keys {key.table} ({', '.join(key.columns)}) to {key.references}", key.key


_FOREIGN_KEY: Mapping[str, _Rule] = {"owning": _dropped, "fanout": _promise, "accepted_orphans": _harmless}


def _tables(setting: str, before: Mapping[str, TablePolicy], after: Mapping[str, TablePolicy]) -> Iterator[str]:
    """A table that is taken out can no longer be queried; ownership through it does not change."""
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            yield f"{setting}.{name}: its rows may be queried"
        old, new = before.get(name, TablePolicy()), after.get(name, TablePolicy())
        yield from _differences(old, new, _TABLE, f"{setting}.{name}.")


def _rows_per_unit(setting: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[str]:
    for relation, rows in after.items():
        yield from _promise(f"{setting}.{relation}", before.get(relation), rows)


def _columns(setting: str, before: Mapping[str, ColumnPolicy], after: Mapping[str, ColumnPolicy]) -> Iterator[str]:
    for name, declared in sorted(after.items()):
        if declared.discover and not (name in before and before[name].discover):
            yield f"{setting}.{name}: partition selection may show its values"
    for name, declared in sorted(before.items()):
        if declared.discover is False and after.get(name, ColumnPolicy()).discover is None:
            yield f"{setting}.{name}: `discover = false` is gone"


def _keys(setting: str, before: tuple[tuple[str, ...], ...], after: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    for key in after:
        if key not in before:
            yield f"{setting}: ({', '.join(key)}) is trusted without a constraint"


_TABLE: Mapping[str, _Rule] = {
    "public": _rule("true from now on", lambda before, after: after),
    "rows_per_unit": _rows_per_unit,
    "columns": _columns,
    "rows": _promise,
    "keys": _keys,
    "one_owner": _harmless,  # rows of several owners never meet by it
    "accepted_null_owners": _harmless,  # it says how many rows no answer counts
    "clip": _harmless,  # contributions are clipped there, and the noise fits
    "at_most": _harmless,  # larger contributions are clipped, and the noise fits
    "append_only": _harmless,  # cached answers were released and charged before
}

_SIDE_CHANNELS: Mapping[str, _Rule] = {
    "min_epsilon": _lowered,  # a larger one, and a coarser quantum, only cost accuracy and time
    "unbounded_joins": _allowed,
    "max_join_tuples": _limit,
    "answer_quantum_s": _lowered,
    "hold_all_answers": _dropped,
}

_POLICY: Mapping[str, _Rule] = {
    "name": _harmless,
    "database_url": _other,
    "ledger_path": _other,
    "epsilon": _harmless,  # a default: max_epsilon could be asked for before
    "max_epsilon": _raised,
    "delta": _raised,
    "global_sensitivity": _harmless,  # a false one costs accuracy of r2t, not privacy
    "privacy_units": _units,
    "foreign_keys": _foreign_keys,
    "tables": _tables,
    "solver": _harmless,
    "database_limits": _harmless,  # they bound cost; the noise does not depend on them
    "mirror": _harmless,  # the same rows in another place
    "practice": _harmless,  # rows that are made up
    "audience": _harmless,  # of answers over them
    "question_key_file": _harmless,  # encrypted question texts in the ledger, no rows
    "time_grain": _harmless,
    "groups_per_unit": _harmless,  # enforced by leaving rows out, and the noise fits
    # Smaller groups are withheld by a release within the question's own charge, so raising it costs accuracy alone.
    "minimum_frequency": _rule("smaller groups are shown", lambda before, after: (after or 0) < (before or 0)),
    "discover": _rule("partition selection may show values of every column", lambda before, after: after),
    "budgets": _harmless,  # defaults: no account that there is changes by them
    "side_channels": lambda setting, before, after: _differences(before, after, _SIDE_CHANNELS, "privacy."),
}
