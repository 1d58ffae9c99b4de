"""Questions that add up: what one must be so that its groups are sums of the groups of a finer one, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.binding.bound_query import BoundKey, BoundQuery
from planner.plan import Plan, Release
from planner.released_expression import KeyValue, Output, ReleasedValue
from planner.sql.sql_types import ResultType

_ONE_THRESHOLD = ("gem", "group_lp")
"""The mechanisms whose release at the one threshold that there is cuts a unit in each group, and nothing else."""

Axis = tuple[str, ...]
"""The SQL of the keys whose values the public knows together, in order: one axis of a grid of groups."""


@dataclass(frozen=True)
class Marginal:
    """A question as a table of a grid: what it counts, and along which axes.

    Attributes:
      counted: everything that decides what a group adds up. Of questions of which it is equal, with axes that leave
        no row out, a group of the one with fewer axes is the sum of the other's groups with the same values of them.
      axes: one for each domain of the plan, in its order.
      lossy: the keys whose domains leave rows out, by their SQL: the group of what they leave out is missing.
    """

    counted: tuple[object, ...]
    axes: tuple[Axis, ...]
    lossy: frozenset[str]


def why_alone(bound: BoundQuery, plan: Plan) -> str | None:
    """Why a question's groups cannot be added up from those of a finer one; None where they can.

    What is released of a group must be the plain sum over its rows: then, and only then, is the sum over groups what
    is released of their union. So nothing may be cut: there is one threshold, and nobody exceeds it. Either every
    unit has one row of the join at most, by keys or declared fan-outs, and rows are counted; or whoever asks says
    what nobody adds more than, to the groups of the coarsest question, and so to those of all finer ones. Where
    thresholds are chosen each grouping has its own: the parts of a total that is cut at 8 are not the parts that are
    cut at 2, and no weighing of the two is right.

    And no row of the join may be missing in one of them: nothing is sampled, no group is withheld, no rule leaves
    rows out. Keys whose domains leave rows out are in `Marginal.lossy`.

    Args:
      bound: the question.
      plan: made of it.
    Returns: a clause for people.
    """
    if bound.again is not None:
        return "it reads a table of one row per person"
    if plan.sampling is not None or any(entry.sample is not None for entry in bound.tables):
        return "it is answered from a sample"
    if plan.selection is not None:
        return "which of its groups are shown is decided by noise"
    if plan.group_rule is not None:
        return "the policy's rule of groups per unit leaves rows out"
    if not all(release.is_sum and release.around is None for release in plan.releases):
        return "it asks for more than counts and sums"
    if any(plan.gap(release) for release in plan.releases):
        return "more than two people share a row"
    one_row = plan.tuples_per_unit == 1 and all(release.whole for release in plan.releases)
    if not one_row and plan.nobody_adds_more_than is None:
        return (
            "what each person adds is cut at a threshold that each grouping chooses for itself; "
            "nobody_adds_more_than would say what nobody exceeds"
        )
    if plan.mechanism not in _ONE_THRESHOLD or plan.delta:
        return f"it is released by {plan.mechanism}{' with a delta' if plan.delta else ''}"
    return None


def marginal(plan: Plan) -> Marginal:
    """What a question that adds up counts, and along which axes.

    Args:
      plan: of a question for which `why_alone` has no reason.
    """
    axes = tuple(tuple(plan.group_keys[place].key.sql() for place in domain.keys) for domain in plan.domains)
    counted = (
        plan.source.sql(),
        tuple((owner.relation, owner.key.sql()) for owner in plan.owners),
        tuple(map(_weighed, plan.releases)),
        plan.nobody_adds_more_than,
        plan.policy_hash,
        plan.fingerprint,
    )
    return Marginal(counted, axes, frozenset(key.key.sql() for key in plan.group_keys if key.omitted is not None))


def finer(questions: Sequence[tuple[BoundQuery, Plan]], axes: Sequence[Axis]) -> BoundQuery | None:
    """The question that counts what some do, by other axes; None where they do not have them.

    It shows its keys and its releases, of all groups.

    Args:
      questions: of one `Marginal.counted`.
      axes: each of them an axis of one of the questions.
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
    return replace(bound, keys=tuple(keys), outputs=(*named, *values), having=None, order=(), limit=None, offset=0)


def _keys_of(bound: BoundQuery, plan: Plan, axis: Axis) -> list[BoundKey] | None:
    """The bound keys of an axis, if the question has it."""
    for domain in plan.domains:
        if tuple(plan.group_keys[place].key.sql() for place in domain.keys) == axis:
            return [bound.keys[place] for place in domain.keys]
    return None


def _weighed(release: Release) -> tuple[object, ...]:
    """What a release adds up, without its share of epsilon and the words that it was asked in."""
    return release.weight.sql(), release.weight_bound, release.whole
