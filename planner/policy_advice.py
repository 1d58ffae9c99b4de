"""What of a sound policy is hardly meant: deltas that nobody has, and a draft that nobody has decided on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.errors import PolicyInvalid
from planner.policy import Policy, parse_policy
from planner.policy_draft import draft
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
    columns = discovered_columns(policy)
    if columns and not policy.delta:
        costs = "may show found group keys, which costs a delta, and no query may spend one"
        yield "privacy.delta", f"{_some(columns)} {costs}"
    several = tuple(name for name in columns if name.partition(".")[0] not in policy.privacy_units)
    if several and not policy.groups_per_unit:
        bound = "how many groups one person may reach is not bounded: questions that group by them are mostly refused"
        yield "groups_per_unit", f"{_some(several)} may show found group keys, and {bound}"
    if policy.delta:
        yield from _budgets(policy, columns)


def is_draft(policy: Policy, schema: Schema) -> bool:
    """Is it what `draft` writes for this catalog, wherever the database is?"""
    try:
        drafted = parse_policy(draft(schema, policy.name))
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
