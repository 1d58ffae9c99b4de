"""Which changes of a policy weaken what it protects: the one place that decides it.

A change weakens when afterwards fewer people, paths or rows are protected, more is believed without proof (fan-outs,
rows per unit, foreign keys that the database does not enforce), more may be asked or is shown (tables, a larger
charge, found group keys, smaller groups), or the data or the ledger is another one. What only changes accuracy, or is
enforced whatever the data (ranges, domains, steps, groups per unit, the grain of time), does not. What this file does
not know weakens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from planner.policy.policy import ColumnPolicy, DeclaredForeignKey, Policy, SideChannels, TablePolicy

_Change = Callable[[Any, Any], Iterator[str]]
"""Old and new value of a setting, which differ, to what is weaker about the new one."""


def weakenings(old: Policy, new: Policy) -> tuple[str, ...]:
    """What is weaker under the new policy, one sentence each for the custodian; none when nothing is.

    >>> weakenings(*example())
    ('privacy.max_epsilon: raised', 'tables.visits: its rows may be asked about')
    """
    return tuple(_differences(old, new, _POLICY))


def _differences(old: object, new: object, rules: Mapping[str, _Change], path: str = "") -> Iterator[str]:
    """Each changed field by its rule; one that has no rule weakens."""
    for name in sorted({field.name for one in (old, new) for field in fields(one)}):  # type: ignore[arg-type]
        before, after = getattr(old, name, None), getattr(new, name, None)
        if before != after:
            yield from rules[name](before, after) if name in rules else (f"{path}{name}: changed",)


def _harmless(before: object, after: object) -> Iterator[str]:
    """Accuracy, labels, and what is enforced in SQL."""
    del before, after
    yield from ()


def _raised(setting: str, before: float, after: float) -> Iterator[str]:
    if not after <= before:
        yield f"{setting}: raised"


def _other(setting: str, before: object, after: object) -> Iterator[str]:
    del before, after
    yield f"{setting}: another one"


def _promise(setting: str, before: int | None, after: int | None) -> Iterator[str]:
    """A bound that is believed: a smaller one claims more, and none claims nothing."""
    if after is not None and (before is None or after < before):
        yield f"{setting}: promises more than before"


def _minimum(setting: str, before: int | None, after: int | None) -> Iterator[str]:
    """What fewer people share is withheld; the test is a release that shares the question's own charge, so to ask for
    it, or for more people, costs accuracy alone."""
    if before is not None and (after is None or after < before):
        yield f"{setting}: smaller groups are shown"


def _units(before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for relation, key in before.items():
        if relation not in after:
            yield f"privacy_units.{relation}: no longer protected"
        elif after[relation] != key:
            yield f"privacy_units.{relation}: another key"


def _foreign_keys(before: tuple[DeclaredForeignKey, ...], after: tuple[DeclaredForeignKey, ...]) -> Iterator[str]:
    old, new = {_ends(key): key for key in before}, {_ends(key): key for key in after}
    if len(old) < len(before) or len(new) < len(after):
        yield "foreign_keys: one is declared twice"
    for ends in old.keys() - new.keys():
        yield f"{_named(ends)}: no longer declared"
    for ends in new.keys() - old.keys():
        yield f"{_named(ends)}: declared"
    for ends in old.keys() & new.keys():
        yield from _differences(old[ends], new[ends], _foreign_key_rules(_named(ends)), f"{_named(ends)}, ")


_Ends = tuple[str, tuple[str, ...], str, tuple[str, ...]]


def _ends(key: DeclaredForeignKey) -> _Ends:
    return key.table, key.columns, key.references, key.key


def _named(ends: _Ends) -> str:
    table, columns, references, _ = ends
    return f"foreign_keys {table} ({', '.join(columns)}) to {references}"


def _foreign_key_rules(path: str) -> Mapping[str, _Change]:
    def owning(before: bool, after: bool) -> Iterator[str]:
        if before and not after:
            yield f"{path}: owns no longer"

    return {"owning": owning, "fanout": partial(_promise, f"{path}, fanout"), "accepted_orphans": _harmless}


def _tables(before: Mapping[str, TablePolicy], after: Mapping[str, TablePolicy]) -> Iterator[str]:
    """A table that is taken out can be asked about no more; who owns rows through it does not change by that."""
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            yield f"tables.{name}: its rows may be asked about"
        rules = _table_rules(f"tables.{name}")
        yield from _differences(
            before.get(name, TablePolicy()), after.get(name, TablePolicy()), rules, f"tables.{name}."
        )


def _table_rules(path: str) -> Mapping[str, _Change]:
    def public(before: bool, after: bool) -> Iterator[str]:
        if after and not before:
            yield f"{path}: public from now on"

    def rows_per_unit(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[str]:
        for relation, rows in after.items():
            yield from _promise(f"{path}.rows_per_unit.{relation}", before.get(relation), rows)

    def columns(before: Mapping[str, ColumnPolicy], after: Mapping[str, ColumnPolicy]) -> Iterator[str]:
        for name, declared in sorted(after.items()):
            if declared.discover and not (name in before and before[name].discover):
                yield f"{path}.columns.{name}: values found among its rows may be shown"

    def keys(before: tuple[tuple[str, ...], ...], after: tuple[tuple[str, ...], ...]) -> Iterator[str]:
        for key in after:
            if key not in before:
                yield f"{path}.keys: ({', '.join(key)}) is believed without a constraint"

    return {
        "public": public,
        "rows_per_unit": rows_per_unit,
        "columns": columns,
        "rows": partial(_promise, f"{path}.rows"),
        "keys": keys,
        "accepted_null_owners": _harmless,  # it says how many rows no answer counts, and changes none
        "clip": _harmless,  # contributions are cut there, and the noise is for that
        "at_most": _harmless,  # the noise is for it, and whoever has more is cut to it
        "append_only": _harmless,  # what is kept by it was released and charged before
    }


def _side_channels(before: SideChannels, after: SideChannels) -> Iterator[str]:
    """A larger least epsilon and a coarser quantum only cost accuracy and time."""
    yield from _differences(before, after, _SIDE_CHANNELS, "privacy.")


def _lowered(setting: str, before: float, after: float) -> Iterator[str]:
    if not after >= before:
        yield f"{setting}: lowered"


def _limit(setting: str, before: int | None, after: int | None) -> Iterator[str]:
    """None: there is no such limit."""
    if before is not None and (after is None or after > before):
        yield f"{setting}: raised"


def _allowed(setting: str, before: bool, after: bool) -> Iterator[str]:
    if after and not before:
        yield f"{setting}: allowed"


def _dropped(setting: str, before: bool, after: bool) -> Iterator[str]:
    if before and not after:
        yield f"{setting}: no longer"


_SIDE_CHANNELS: Mapping[str, _Change] = {
    "min_epsilon": partial(_lowered, "privacy.min_epsilon"),
    "unbounded_joins": partial(_allowed, "privacy.unbounded_joins"),
    "max_join_tuples": partial(_limit, "privacy.max_join_tuples"),
    "answer_quantum_s": partial(_lowered, "privacy.answer_quantum"),
    "hold_all_answers": partial(_dropped, "privacy.hold_all_answers"),
}


_POLICY: Mapping[str, _Change] = {
    "name": _harmless,
    "database_url": partial(_other, "database.url"),
    "ledger_path": partial(_other, "ledger.path"),
    "epsilon": _harmless,  # a default: whoever may ask for max_epsilon could ask for it before
    "max_epsilon": partial(_raised, "privacy.max_epsilon"),
    "delta": partial(_raised, "privacy.delta"),
    "global_sensitivity": _harmless,  # r2t loses accuracy by a false one, never privacy
    "privacy_units": _units,
    "foreign_keys": _foreign_keys,
    "tables": _tables,
    "solver": _harmless,
    "database_limits": _harmless,  # of cost; whoever reads more learns no more from what is released
    "mirror": _harmless,  # the same rows in another place
    "question_key_file": _harmless,  # analysts' words in the ledger, sealed; nobody's rows
    "time_grain": _harmless,
    "groups_per_unit": _harmless,  # kept by leaving rows out, and the noise is for what it says
    "minimum_frequency": partial(_minimum, "privacy.minimum_frequency"),
    "budgets": _harmless,  # defaults: no account that there is changes by them
    "side_channels": _side_channels,
}


def example() -> tuple[Policy, Policy]:
    """Two policies for the doctest above."""
    old = Policy("clinic", "env:URL", "ledger", 1.0, 1.0, 0.0, None, {"patient": ("id",)}, (), {})
    new = Policy(
        "clinic", "env:URL", "ledger", 0.5, 2.0, 0.0, None, {"patient": ("id",)}, (), {"visits": TablePolicy()}
    )
    return old, new
