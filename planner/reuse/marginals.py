"""Decide which questions add up, so that their groups are exact sums of a finer question's groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.bound_query import BoundKey, BoundQuery
from planner.plan import Plan, Release
from planner.policy.declared import declared_domain
from planner.policy.policy import ColumnPolicy, Policy
from planner.policy.toml_section import DomainValue
from planner.released_expression import Display, KeyValue, Output, ReleasedValue
from planner.sql.sql_types import Family, ResultType
from planner.sql.trees import column_ref

_TEXTS = (Family.TEXT, Family.CHAR, Family.ENUM)
_OTHER = "(other)"

ColumnOfTable = tuple[str, str]
"""A table's name in the catalog, and one of its columns."""


def made_whole(key: BoundKey, query: BoundQuery, policy: Policy) -> ColumnOfTable | None:
    """Return the column that may get a group for its undeclared values, so that the key leaves no row out.

    Returns: None for expressions, dates, and columns that have such a group or one for NULL.
    """
    if not isinstance(key.value, exp.Column):
        return None
    alias, name = column_ref(key.value)
    table = query.table_of(key.value).table.name
    assert alias, "bound columns have an alias"
    declared = policy.column(table, name)
    if declared.other is not None or declared.null_group or key.type.family not in (*_TEXTS, Family.INTEGER):
        return None
    values = declared_domain(declared, key.type)
    return (table, name) if values and table in policy.tables else None


def with_others(
    policy: Policy, columns: Collection[ColumnOfTable], keys: Sequence[tuple[BoundQuery, BoundKey]]
) -> Policy:
    """Return the policy, with the same hash, in which some columns have one group for NULL and undeclared values.

    A question planned with it counts the same rows and protects as much. Each row is still in one group, and its
    undeclared value stays hidden. The administrator might have declared this group (`other`).

    Args:
      columns: from `made_whole`.
    """
    tables = dict(policy.tables)
    for query, key in keys:
        column = made_whole(key, query, policy)
        if column is None or column not in columns:
            continue
        table, name = column
        known = tables[table].columns.get(name, ColumnPolicy())
        values = declared_domain(known, key.type)
        assert values is not None, "its values are declared"
        own = {**tables[table].columns, name: replace(known, other=_beyond(values, key))}
        tables[table] = replace(tables[table], columns=own)
    return policy.beside(tables)


def _beyond(values: Sequence[DomainValue], key: BoundKey) -> DomainValue:
    if key.type.family in _TEXTS:
        other = _OTHER
        while other in values:
            other += "'"
        return other
    return max(int(value) for value in values) + 1


_ONE_THRESHOLD = ("gem", "group_lp")
"""Mechanisms that clip each group by itself where there is one candidate threshold."""

Axis = tuple[str, ...]
"""SQL of group keys whose values are public together, in order: one axis of a grid of groups."""


@dataclass(frozen=True)
class Marginal:
    """A question as a table of a grid: what it adds up, and along which axes.

    Attributes:
      counted: everything that decides what a group adds up. Where it is equal and no axis leaves rows out, a group of
        the coarser question is the sum of the finer question's groups.
      axes: one for each domain of the plan, in its order.
      lossy: SQL of the keys whose domains leave rows out, so that a group is missing.
    """

    counted: tuple[object, ...]
    axes: tuple[Axis, ...]
    lossy: frozenset[str]


def why_alone(bound: BoundQuery, plan: Plan) -> str | None:
    """Say why a question's groups are no sums of a finer question's groups; None where they are.

    A released group must be the plain sum over its rows, so nothing may be clipped. That holds in two cases. Either
    each unit has one row of the join at most and rows are counted, or the request says what nobody exceeds
    (`at_most`). Where thresholds are chosen, each grouping has its own: the parts of a total clipped at 8 are not the
    parts clipped at 2.

    No question may lack rows: no samples, no withheld groups, no rule of groups per unit. `Marginal.lossy` names keys
    whose domains leave rows out. Theorem: docs/mathematics.md, section 9.7.

    Returns: a clause for people.
    """
    if bound.again is not None:
        return "it has a per-person subquery"
    if plan.sampling is not None or any(entry.sample is not None for entry in bound.tables):
        return "it is answered from a sample"
    if plan.selection is not None:
        return "noise decides which of its groups are shown"
    if plan.bounds.rule is not None:
        return "the policy's rule of groups per unit leaves rows out"
    if not all(release.is_sum and release.around is None for release in plan.releases):
        return "it asks for more than counts and sums"
    if any(plan.gap(release) for release in plan.releases):
        return "more than two people share a row"
    one_row = plan.bounds.tuples == 1 and all(release.whole for release in plan.releases)
    if not one_row and plan.bounds.assumed is None:
        return (
            "contributions are clipped at a threshold that each grouping chooses for itself; "
            "set at_most to what nobody exceeds"
        )
    if plan.mechanism not in _ONE_THRESHOLD or plan.delta:
        return f"it is released by {plan.mechanism}{' with a delta' if plan.delta else ''}"
    return None


def marginal(plan: Plan) -> Marginal:
    """Return what a question that adds up counts, and along which axes.

    Args:
      plan: of a question for which `why_alone` has no reason.
    """
    axes = tuple(tuple(plan.group_keys[place].key.sql() for place in domain.keys) for domain in plan.domains)
    counted = (
        plan.source.sql(),
        tuple((owner.relation, owner.key.sql()) for owner in plan.owners),
        tuple(map(_weighed, plan.releases)),
        plan.bounds.assumed,
        plan.relied_on,
        plan.fingerprint,
    )
    return Marginal(counted, axes, frozenset(key.key.sql() for key in plan.group_keys if key.omitted is not None))


def finer(questions: Sequence[tuple[BoundQuery, Plan]], axes: Sequence[Axis]) -> BoundQuery | None:
    """Return the question over other axes that adds up the same; None where the questions lack an axis.

    It shows its keys and its releases, of all groups.

    Args:
      questions: of one `Marginal.counted`.
      axes: each an axis of one of the questions.
    """
    keys: list[BoundKey] = []
    shown: list[ResultType] = []
    for axis in axes:
        found = next((known for one in questions if (known := _keys_of(*one, axis)) is not None), None)
        if found is None:
            return None
        for key in found:
            result = key.result
            if result is None:
                return None
            keys.append(key)
            shown.append(result)
    bound, _ = questions[0]
    named = [Output(f"key_{place}", kind, KeyValue(place)) for place, kind in enumerate(shown)]
    values = [Output(f"value_{place}", "float8", ReleasedValue(place)) for place in range(len(bound.aggregates))]
    return replace(bound, keys=tuple(keys), display=Display((*named, *values)))


def _keys_of(bound: BoundQuery, plan: Plan, axis: Axis) -> list[BoundKey] | None:
    for domain in plan.domains:
        if tuple(plan.group_keys[place].key.sql() for place in domain.keys) == axis:
            return [bound.keys[place] for place in domain.keys]
    return None


def _weighed(release: Release) -> tuple[object, ...]:
    """Return what a release adds up, without its share of epsilon and its label."""
    return release.weight.sql(), release.weight_bound, release.whole
