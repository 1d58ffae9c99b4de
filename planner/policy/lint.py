"""What of a sound policy is hardly meant: deltas that nobody has, and a draft that nobody has decided on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.errors import PolicyInvalid
from planner.policy.draft import Estimates, draft
from planner.policy.policy import Policy, parse_policy
from planner.schema import Schema

_SHOWN = 3

_DRAFT = (
    "nobody has decided anything yet: it is the draft. Every table with a key is a privacy unit, nothing may be "
    "summed or grouped by; decide what its comments ask"
)


def advice(policy: Policy, schema: Schema) -> Iterator[tuple[str, str]]:
    """Each setting to look at, and why. No error: every answer is protected as it stands.

    >>> from planner.schema import Column, Table
    >>> people = Schema({"person": Table("person", "public", (Column("id", "bigint", False),), (("id",),), ())})
    >>> [setting for setting, _ in advice(parse_policy(draft(people, "clinic")), people)]
    ['policy']
    """
    if is_draft(policy, schema):
        yield "policy", _DRAFT
    yield from _declared_views(policy, schema)
    columns = discovered_columns(policy)
    if columns and not policy.delta:
        costs = "may show found group keys, which costs a delta, and no query may spend one"
        yield "privacy.delta", f"{_some(columns)} {costs}"
    if policy.delta:
        yield from _budgets(policy, columns)


def _declared_views(policy: Policy, schema: Schema) -> Iterator[tuple[str, str]]:
    """Views called public that read what is private."""
    for name in sorted(policy.tables.keys() & schema.views.keys()):
        private = sorted(table for table in _read_by(name, schema) if not policy.is_public(table))
        if private:
            yield f"tables.{name}", f"it reads {_some(tuple(private))}, and is answered exactly, free and unprotected"


def _read_by(name: str, schema: Schema) -> set[str]:
    """The tables behind a view, through others."""
    found, waiting = {name}, [name]
    while waiting:
        view = schema.views.get(waiting.pop())
        more = set(view.reads) - found if view is not None else set()
        found |= more
        waiting += more
    return {table for table in found if table not in schema.views}


def is_draft(policy: Policy, schema: Schema) -> bool:
    """Is it what `draft` writes for this catalog, wherever the database is?"""
    left_out = {name: 0.0 for name in schema.tables if name not in policy.tables}  # as lookup tables are
    try:
        drafted = parse_policy(draft(schema, policy.name, Estimates(left_out)))
    except PolicyInvalid:  # a catalog without a key gives a draft without a unit
        return False
    return replace(drafted, database_url=policy.database_url) == policy


def discovered_columns(policy: Policy) -> tuple[str, ...]:
    """The columns whose values may be found among private rows."""
    return tuple(
        f"{table}.{column}"
        for table, declared in policy.tables.items()
        for column, settings in declared.columns.items()
        if settings.discover
    )


def delta_uses(columns: tuple[str, ...]) -> str:
    """Which questions a delta of the policy is for.

    Args:
      columns: from `discovered_columns`.
    """
    found = f"those that group by {_some(columns)}, and " if columns else ""
    return f"{found}by default those of which one person may be in several groups"


def _budgets(policy: Policy, columns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Default budgets in which no query's delta fits."""
    for name, budget in (("analyst", policy.budgets.analyst), ("dataset", policy.budgets.dataset)):
        if budget is not None and budget.delta < policy.delta:
            less = f"{budget.delta:g} is less than the delta of one query, {policy.delta:g}"
            refused = f"questions that ask for it will be refused, {delta_uses(columns)}"
            yield f"budgets.{name}.delta", f"{less}: {refused}"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
