"""Find questions of a workload that count the same rows by different keys: marginals of one grid of groups."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from planner.binding.bound_query import BoundQuery
from planner.errors import PlannerError
from planner.limits import most_groups
from planner.policy.policy import Policy
from planner.reuse.marginals import (
    Axis,
    ColumnOfTable,
    Marginal,
    finer,
    made_whole,
    marginal,
    why_alone,
    with_others,
)
from privacy.marginals import MOST_AXES, Grid, Strategy, best_shares
from server.backends.columns import Domain
from server.planning import Planning
from server.query import QueryRequest
from server.question import Question
from server.workers.group_limits import check_explained

AxisValues = tuple[tuple[object, ...], ...]
"""The values of an axis, one entry for each of its keys, in the order of a domain."""

_TAIL = math.log(20)
"""Laplace noise of scale 1 stays within this at 95%."""


@dataclass(frozen=True, eq=False)
class Member:
    """One question of a grid.

    Attributes:
      place, weight: of the item in the workload.
      request: at the epsilon of the first look.
      bound, question: the question.
      marginal: what it counts, along the axes of `whole`.
      domain: its public groups, which it shows.
      whole: the same question in the grid. An axis that leaves rows out gets one group more, unless all questions
        have it.
      policy: of `whole`.
    """

    place: int
    weight: float
    request: QueryRequest
    bound: BoundQuery
    question: Question
    marginal: Marginal
    domain: Domain = field(repr=False)
    whole: Question
    policy: Policy = field(repr=False)

    @property
    def lossy(self) -> dict[str, ColumnOfTable | None]:
        """The keys whose domains leave rows out, by SQL, with the column that could have a group for them."""
        keys = self.question.plan.group_keys
        pairs = zip(keys, self.bound.keys, strict=True)
        return {
            shown.key.sql(): made_whole(key, self.bound, self.policy)
            for shown, key in pairs
            if shown.omitted is not None
        }


@dataclass(frozen=True, eq=False)
class MarginalQuestion:
    """A marginal that can be measured.

    Attributes:
      bound, request, policy: the question, asked or not.
      axes: in the order of its domain.
      scale: of the Laplace noise of each cell at epsilon 1, in normalised weight.
    """

    bound: BoundQuery
    request: QueryRequest
    policy: Policy = field(repr=False)
    axes: tuple[Axis, ...]
    scale: float


@dataclass(frozen=True, eq=False)
class CountedGrid:
    """Questions that count the same rows along axes of one grid.

    Attributes:
      grid: its axes' sizes.
      axes, values: the axes, and the values of each.
      members: the questions; several may be one marginal.
      measurable: by mask, the marginals that can be measured and that some question is coarser than.
    """

    grid: Grid
    axes: tuple[Axis, ...]
    values: tuple[AxisValues, ...] = field(repr=False)
    members: tuple[Member, ...]
    measurable: Mapping[int, MarginalQuestion]

    def mask(self, axes: Sequence[Axis]) -> int:
        """Return the mask of some axes: bit i stands for axis i of the grid."""
        return sum(1 << self.axes.index(axis) for axis in axes)

    @property
    def scales(self) -> NDArray[np.float64]:
        """The noise scale at epsilon 1 of each mask (a set of grouping columns); infinite if it is not measurable."""
        scales = np.full(len(self.grid.masks), np.inf)
        for mask, one in self.measurable.items():
            scales[mask] = one.scale
        return scales

    @property
    def n_questions(self) -> int:
        """The number of different questions, which would be charged one by one."""
        return len({one.question.answer_key for one in self.members})

    def table(self, axes: Sequence[Axis], domain: Domain, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Arrange a domain's values as an array along the grid's axes; None if the domain is not of the grid."""
        places = self.places(axes, domain.by_block, domain)
        if places is None:
            return None
        found = np.full([len(self.values[axis]) for axis in sorted(places)], np.nan)
        if len(values) != found.size:
            return None
        found[tuple(places[axis] for axis in sorted(places))] = values if places else values[0]
        return None if np.isnan(found).any() else found

    def in_order_of(self, member: Member, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a marginal's values for the groups that a member shows."""
        places = self.places_of(member)
        assert places is not None, "every group that is shown is one of the grid's"
        if not places:
            return np.full(len(member.domain), table)
        return np.asarray(table[tuple(places[axis] for axis in sorted(places))])

    def places_of(self, member: Member) -> dict[int, NDArray[np.intp]] | None:
        """Return by axis the value of each group of a member's domain; None where a group has none."""
        return self.places(member.marginal.axes, _blocks(member.whole), member.domain)

    def places(
        self, axes: Sequence[Axis], blocks: Sequence[Sequence[int]], domain: Domain
    ) -> dict[int, NDArray[np.intp]] | None:
        """Return by axis the value of each group of a domain; None where a group has none.

        Args:
          axes, blocks: the axes, and the domain's keys of each.
        """
        found = {}
        for axis, block in zip(axes, blocks, strict=True):
            if not any(set(block) <= set(keys) for keys in domain.by_block):
                return None
            at = self.axes.index(axis)
            known = {value: place for place, value in enumerate(self.values[at])}
            places = [known.get(value, -1) for value in _block_values(domain, block)]
            if -1 in places:
                return None
            found[at] = np.array(places, np.intp)[domain.places(block[0])]
        return found


def why_not_in_a_grid(question: Question, bound: BoundQuery) -> str | None:
    """Say why a question cannot be one of a grid; None if it can.

    The reasons are those of `why_alone`, and that the question has several candidate thresholds.
    """
    reason = why_alone(bound, question.plan)
    if reason is None and not all(len(one.expected_noise(1)) == 1 for one in question.measuring.releases):
        return "contributions are clipped at a threshold that is chosen"
    return reason


def grids_of(
    planning: Planning, members: Sequence[Member], cancelled: threading.Event | None
) -> Iterator[CountedGrid]:
    """Yield the grids with several questions of a workload, each with its measurable marginals.

    Cost: a plan for each marginal that might be measured. No private row is read.
    """
    families: dict[object, list[Member]] = defaultdict(list)
    for member in members:
        never_whole = frozenset(key for key, column in member.lossy.items() if column is None)
        families[member.question.data_version, member.marginal.counted, never_whole].append(member)
    for family in families.values():
        whole = _made_whole(planning, family)
        grid = None if whole is None or len(whole) < 2 else _grid(planning, whole, cancelled)
        if grid is not None and grid.n_questions > 1:
            yield grid


def _made_whole(planning: Planning, family: Sequence[Member]) -> list[Member] | None:
    """Return the questions with axes that leave out the same rows, or none; None where that is impossible."""
    common = frozenset.intersection(*(frozenset(member.lossy) for member in family))
    columns = {
        column
        for member in family
        for key, column in member.lossy.items()
        if key not in common and column is not None
    }
    keys = [(member.bound, key) for member in family for key in member.bound.keys]
    policy = with_others(planning.policy, columns, keys) if columns else planning.policy
    found = []
    for member in family:
        whole = planning.of_bound(member.bound, member.request, policy=policy) if columns else member.question
        own = marginal(whole.plan)
        if own.lossy - common or own.counted != member.marginal.counted:
            return None
        found.append(replace(member, whole=whole, policy=policy, marginal=own))
    return found


def member_of(
    planning: Planning,
    place: int,
    weight: float,
    request: QueryRequest,
    bound: BoundQuery,
    question: Question,
    cancelled: threading.Event | None,
) -> Member:
    """Return a question as a member of a grid, with its groups, which are read from public tables."""
    domain = planning.groups_of(question, request.analyst, cancelled)
    own = marginal(question.plan)
    return Member(place, weight, request, bound, question, own, domain, question, planning.policy)


def _grid(planning: Planning, members: Sequence[Member], cancelled: threading.Event | None) -> CountedGrid | None:
    """Return the grid of questions that count the same; None where their groups form no grid."""
    values: dict[Axis, AxisValues] = {}
    wholes: dict[int, Domain] = {}
    for member in members:
        plain = member.whole is member.question
        domain = member.domain if plain else planning.groups_of(member.whole, member.request.analyst, cancelled)
        wholes[member.place] = domain
        for axis, block in zip(member.marginal.axes, domain.by_block, strict=True):
            own = _block_values(domain, block)
            if set(values.setdefault(axis, own)) != set(own) or not own or len(set(own)) < len(own):
                return None
    axes = tuple(sorted(values))
    keys = [key for axis in axes for key in axis]
    if len(axes) > MOST_AXES or len(set(keys)) < len(keys):
        return None  # keys that form one axis here and two there
    grid = Grid(tuple(len(values[axis]) for axis in axes))
    known = CountedGrid(grid, axes, tuple(values[axis] for axis in axes), tuple(members), {})
    if any(known.places_of(member) is None for member in members):
        return None
    asked = {known.mask(member.marginal.axes): member for member in members}
    measurable = {}
    for mask in grid.masks:
        if any(mask & coarser == coarser for coarser in asked):
            one = asked.get(mask)
            found = _unasked(planning, known, mask) if one is None else _asked(one, wholes[one.place])
            if found is not None:
                measurable[mask] = found
    return replace(known, measurable=measurable) if asked.keys() <= measurable.keys() else None


def _asked(member: Member, domain: Domain) -> MarginalQuestion | None:
    """Return the marginal of a question; None where it has several candidate thresholds."""
    scale = scale_at_one(member.whole, domain)
    if scale is None:
        return None
    return MarginalQuestion(member.bound, member.request, member.policy, member.marginal.axes, scale)


def _unasked(planning: Planning, known: CountedGrid, mask: int) -> MarginalQuestion | None:
    """Return a marginal that nobody asked for; None where it cannot be measured."""
    first = known.members[0]
    axes = [known.axes[axis] for axis in known.grid.axes(mask)]
    bound = finer([(one.bound, one.whole.plan) for one in known.members], axes)
    if bound is None or known.grid.cells(mask) > most_groups(len(first.question.plan.releases)):
        return None
    try:
        question = planning.of_bound(bound, first.request, policy=first.policy)
    except PlannerError:
        return None  # too many groups, or too little epsilon for them
    own = marginal(question.plan)
    if why_not_in_a_grid(question, bound) is not None or own.counted != first.marginal.counted:
        return None
    if question.data_version != first.question.data_version or sorted(own.axes) != sorted(axes):
        return None
    if own.lossy != first.marginal.lossy:
        return None
    columns: dict[int, tuple[object, ...]] = {}
    for axis, block in zip(own.axes, _blocks(question), strict=True):
        rows = known.values[known.axes.index(axis)]
        columns |= {key: tuple(row[place] for row in rows) for place, key in enumerate(block)}
    domain = Domain(tuple(columns[key] for key in range(len(columns))), _blocks(question))
    scale = scale_at_one(question, domain)
    return None if scale is None else MarginalQuestion(bound, first.request, first.policy, own.axes, scale)


def scale_at_one(question: Question, domain: Domain) -> float | None:
    """Return the scale of the noise at epsilon 1, from the published interval; None for several thresholds."""
    try:
        check_explained(question.plan, question.query, question.measuring, len(domain))
    except PlannerError:
        return None
    widths = [one.expected_noise(max(1, len(domain))) for one in question.measuring.of_groups(domain).releases]
    if any(len(width) != 1 for width in widths):
        return None
    return max(half for ((_, half),) in widths) / _TAIL * question.plan.epsilon


def _blocks(question: Question) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(domain.keys) for domain in question.plan.domains)


def _block_values(domain: Domain, block: Sequence[int]) -> AxisValues:
    return tuple(zip(*(domain.keys[key] for key in block), strict=True))


WORTH = 0.8
"""A grid is used where the root mean square of all errors is at most this share of the errors of separate
questions."""

COARSER = (1.01, 1.1, 1.2, 4 / 3)
"""Limits of one question's error, in multiples of its error alone. The first that brings all errors to `ENOUGH` is
taken. Fine tables gain what coarse ones lose: without a limit, a total would be the sum of a thousand noisy groups.
With three keys nobody has to lose. With two keys, a grid gains a quarter at the first limit, and half at the
second."""

ENOUGH = 0.7
"""A gain beyond this share of the separate errors is not worth a loss of one question."""

_SPARE = 0.01
"""Allowance for rounding."""

_NANO = 1e9


@dataclass(frozen=True, eq=False)
class GridStrategy:
    """How a grid is measured: the marginals, and the share of epsilon of each.

    Attributes:
      counted: the grid.
      strategy: shares of the grid's epsilon, by mask.
      need: the worst squared error of its questions that its share is computed for, in multiples of the error alone;
        at most 1.
    """

    counted: CountedGrid
    strategy: Strategy
    need: float


@dataclass(frozen=True)
class Allocation:
    """The shares of one epsilon that questions and grids get, and the errors that follow.

    Attributes:
      alone: by item, of questions that are measured alone.
      grids: of each grid.
      mean, worst: root mean square of all errors, and the worst question's, in multiples of the error alone with an
        equal share. Weighted errors count times the root of the weight.
      count: the number of different questions; an equal share is 1 / count.
    """

    alone: Mapping[int, float]
    grids: tuple[float, ...]
    mean: float
    worst: float
    count: int = 0


def strategy_of(counted: CountedGrid) -> GridStrategy | None:
    """Decide how to measure a grid; None if it is too little better than separate questions (`WORTH`).

    Each question's variance is compared with its variance alone, at an equal share. Only public numbers decide.
    """
    asked = counted.n_questions
    limits: dict[int, float] = {}
    weights: dict[str, float] = {}
    for member in counted.members:
        mask = counted.mask(member.marginal.axes)
        limit = 2 * (alone_scale(member) * asked) ** 2 / member.weight
        limits[mask] = min(limits.get(mask, math.inf), limit)
        key = member.question.answer_key
        weights[key] = max(weights.get(key, 0.0), member.weight)
    apart = (math.fsum(map(math.sqrt, weights.values())) / asked) ** 2
    strategy = gentlest(counted.grid, counted.scales, limits, apart)
    return None if strategy is None else GridStrategy(counted, strategy, min(strategy.worst, apart))


def gentlest(
    grid: Grid, scales: NDArray[np.float64], limits: Mapping[int, float], apart: float = 1.0
) -> Strategy | None:
    """Return the strategy that loses least for any one question and gains enough in all; None if none gains.

    Args:
      grid, scales: as of `best_shares`.
      limits: by mask, the variance of a question alone with an equal share.
      apart: the variances with weighted shares, in multiples of that.
    Cost: at most `best_shares` for each of `COARSER`.
    """
    best = None
    for coarser in COARSER:
        found = best_shares(grid, scales, limits, most=apart * coarser**2)
        within = found.worst <= apart * coarser**2 * (1 + _SPARE)
        if within and (best is None or found.mean < best.mean):
            best = found
            if best.mean <= apart * ENOUGH**2:
                break
    return None if best is None or best.mean > apart * WORTH**2 else best


def alone_scale(member: Member) -> float:
    """Return the scale of a question's noise alone at epsilon 1, in normalised weight."""
    scale = scale_at_one(member.question, member.domain)
    assert scale is not None, "a question of a grid has one threshold"
    return scale


def allocate(alone: Mapping[int, float], grids: Sequence[GridStrategy]) -> Allocation:
    """Divide epsilon so that a grid which gains gives part of its share to the other questions.

    A unit is a question or a grid. At its equal share it has the squared error m, in multiples of its questions'
    errors alone. Squared errors fall with the square of the share. So shares in proportion to k sqrt(m), with k
    questions, make all errors equal. No m is above its value alone, so no question pays for a grid.

    Args:
      alone: the weight of each item that is measured alone; equal questions once.
      grids: with their strategies, whose `need` is m.
    """
    needs = {place: math.sqrt(weight) for place, weight in alone.items()}
    of_grids = [one.counted.n_questions * math.sqrt(one.need) for one in grids]
    whole = math.fsum([*needs.values(), *of_grids])
    count = len(needs) + sum(one.counted.n_questions for one in grids)
    if not whole:
        return Allocation({}, (), 1.0, 1.0)
    shares = {place: need / whole for place, need in needs.items()}
    alike = (whole / count) ** 2  # the squared error of each question alone, and of a grid's at `need`
    worst = max([alike] * len(needs) + [one.strategy.worst / one.need * alike for one in grids])
    of_all = [one.counted.n_questions * one.strategy.mean / one.need * alike for one in grids]
    mean = math.fsum([len(needs) * alike, *of_all]) / count
    return Allocation(shares, tuple(need / whole for need in of_grids), math.sqrt(mean), math.sqrt(worst), count)


def floored(epsilon: float) -> float:
    """Round down to the ledger's unit, so that shares never add up to more than the whole."""
    scaled = epsilon * _NANO
    return math.floor(scaled) / _NANO if math.isfinite(scaled) else epsilon
