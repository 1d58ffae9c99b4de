"""Questions of a workload that count the same rows by different keys, as marginals of one grid of groups."""

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
"""The values of an axis, each with one entry per key of it, in the order of a domain."""

_TAIL = math.log(20)
"""A Laplace noise of scale 1 is within this at 95%."""


@dataclass(frozen=True, eq=False)
class Member:
    """One question of a grid.

    Attributes:
      place: of the item in the workload.
      weight: of the item.
      request: at the epsilon that it was looked up with.
      bound, question: what it is.
      marginal: what it counts, along which axes; in a grid those of `whole`.
      domain: its public groups, which it shows.
      whole: the same question in a grid: with a group more along each axis that leaves rows out, where another
        question of the grid has not that axis.
      policy: that `whole` is planned under.
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
      scale: of the Laplace noise of each cell at epsilon 1, in normalised weight; at epsilon e it is scale / e.
    """

    bound: BoundQuery
    request: QueryRequest
    policy: Policy = field(repr=False)
    axes: tuple[Axis, ...]
    scale: float


@dataclass(frozen=True, eq=False)
class CountedGrid:
    """Questions that count the same along axes of one grid.

    Attributes:
      grid: its axes' sizes.
      axes, values: what they are, and which values they have.
      members: the questions; several may be one marginal.
      measurable: by mask: every marginal that some question of the workload is coarser than, and can be measured.
    """

    grid: Grid
    axes: tuple[Axis, ...]
    values: tuple[AxisValues, ...] = field(repr=False)
    members: tuple[Member, ...]
    measurable: Mapping[int, MarginalQuestion]

    def mask(self, axes: Sequence[Axis]) -> int:
        """The marginal along some axes."""
        return sum(1 << self.axes.index(axis) for axis in axes)

    @property
    def scales(self) -> NDArray[np.float64]:
        """(masks,) scales at epsilon 1; infinite for what cannot be measured."""
        scales = np.full(len(self.grid.masks), np.inf)
        for mask, one in self.measurable.items():
            scales[mask] = one.scale
        return scales

    @property
    def n_questions(self) -> int:
        """How many different questions there are: what would be charged if each were asked alone."""
        return len({one.question.answer_key for one in self.members})

    def table(self, axes: Sequence[Axis], domain: Domain, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Values of a domain as an array with one axis per axis of the grid, rising; None for other domains."""
        places = self.places(axes, domain.by_block, domain)
        if places is None:
            return None
        found = np.full([len(self.values[axis]) for axis in sorted(places)], np.nan)
        if len(values) != found.size:
            return None
        found[tuple(places[axis] for axis in sorted(places))] = values if places else values[0]
        return None if np.isnan(found).any() else found

    def in_order_of(self, member: Member, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """A marginal as the values of the groups that a member shows."""
        places = self.places_of(member)
        assert places is not None, "every group that is shown is one of the grid's"
        if not places:
            return np.full(len(member.domain), table)
        return np.asarray(table[tuple(places[axis] for axis in sorted(places))])

    def places_of(self, member: Member) -> dict[int, NDArray[np.intp]] | None:
        """By axis, the value that each group of a member's domain has; None where one of them has none."""
        return self.places(member.marginal.axes, _blocks(member.whole), member.domain)

    def places(
        self, axes: Sequence[Axis], blocks: Sequence[Sequence[int]], domain: Domain
    ) -> dict[int, NDArray[np.intp]] | None:
        """By axis, the value that each group of a domain has; None where one of them has none.

        Args:
          axes, blocks: the axes, and the keys of the domain that each is.
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
    """Why a question cannot be one of a grid: as `why_alone`, and where its noise is not that of one threshold."""
    reason = why_alone(bound, question.plan)
    if reason is None and not all(len(one.expected_noise(1)) == 1 for one in question.measuring.releases):
        return "what each person adds is cut at a threshold that is chosen"
    return reason


def grids_of(
    planning: Planning, members: Sequence[Member], cancelled: threading.Event | None
) -> Iterator[CountedGrid]:
    """The grids that have several questions of a workload, each with what can be measured of it.

    Args:
      planning: plans the marginals that nobody asked for, and reads public groups.
      members: questions that add up.
      cancelled: ends reads early.
    Cost: a plan for each marginal that might be measured; no private row is read.
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
    """The questions with axes that leave no row out, but those that all of them have; None where that is not so."""
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
    """A question that adds up, with its groups, which are read from public tables.

    Args:
      planning: reads them.
      place, weight: of the question in the workload.
      request, bound, question: what is asked, bound, and planned.
      cancelled: ends waits early.
    """
    domain = planning.groups_of(question, request.analyst, cancelled)
    own = marginal(question.plan)
    return Member(place, weight, request, bound, question, own, domain, question, planning.policy)


def _grid(planning: Planning, members: Sequence[Member], cancelled: threading.Event | None) -> CountedGrid | None:
    """The grid of questions that count the same; None where their groups do not lie in one."""
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
        return None  # keys that the public knows together here and apart there
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
    """The marginal that a question is; None where its noise is not of one threshold."""
    scale = scale_at_one(member.whole, domain)
    if scale is None:
        return None
    return MarginalQuestion(member.bound, member.request, member.policy, member.marginal.axes, scale)


def _unasked(planning: Planning, known: CountedGrid, mask: int) -> MarginalQuestion | None:
    """A marginal that nobody asked for, as a question; None where it cannot be measured."""
    first = known.members[0]
    axes = [known.axes[axis] for axis in known.grid.axes(mask)]
    bound = finer([(one.bound, one.whole.plan) for one in known.members], axes)
    if bound is None or known.grid.cells(mask) > most_groups(len(first.question.plan.releases)):
        return None
    try:
        question = planning.of_bound(bound, first.request, policy=first.policy)
    except PlannerError:
        return None  # too many groups, or too little epsilon for them: others will do
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
    """The scale of the noise at epsilon 1, by the interval that is published beforehand; None for more than one."""
    try:
        check_explained(question.plan, question.query, question.measuring, len(domain))
    except PlannerError:
        return None
    widths = [one.expected_noise(max(1, len(domain))) for one in question.measuring.of_groups(domain).releases]
    if any(len(width) != 1 for width in widths):
        return None
    return max(half for ((_, half),) in widths) / _TAIL * question.plan.epsilon


def _blocks(question: Question) -> tuple[tuple[int, ...], ...]:
    """The keys of each domain of a question."""
    return tuple(tuple(domain.keys) for domain in question.plan.domains)


def _block_values(domain: Domain, block: Sequence[int]) -> AxisValues:
    """The values of keys of one block, side by side."""
    return tuple(zip(*(domain.keys[key] for key in block), strict=True))


WORTH = 0.8
"""Questions are answered together where the root mean square of their errors, over all their groups, is at most this
much of what it would be alone."""

COARSER = (1.01, 1.1, 1.2, 4 / 3)
"""No question's error may be larger than one of these times what it would be alone, of which the least is taken that
brings all errors together to `ENOUGH`. Fine tables gain what coarse ones lose: without a limit a total would be the
sum of a thousand noisy groups. By three keys with all that follows from them nobody has to lose; a grid by two keys
alone gains a fifth or a quarter then, and half where its total may lose a tenth."""

ENOUGH = 0.7
"""Of what errors would be alone: what more could be gained is not worth that some question loses more."""

_SPARE = 0.01
"""Of rounding."""

_NANO = 1e9


@dataclass(frozen=True, eq=False)
class GridStrategy:
    """How a grid is measured.

    Attributes:
      counted: the grid.
      strategy: shares of what the grid gets, by mask.
      need: the squared error that it is given a share for, in multiples of what its questions have alone: of the
        worst of them, but never more than alone.
    """

    counted: CountedGrid
    strategy: Strategy
    need: float


@dataclass(frozen=True)
class Allocation:
    """Shares of one epsilon.

    Attributes:
      alone: by item, of questions that are measured by themselves.
      grids: of each grid.
      mean, worst: the root mean square of errors, over the groups of a grid and then over the questions, and that of
        the worst question, each in multiples of what it would be if each were asked alone with an equal share; of
        weighted ones times the root of the weight.
      count: how many different questions there are: 1 / count is the equal share.
    """

    alone: Mapping[int, float]
    grids: tuple[float, ...]
    mean: float
    worst: float
    count: int = 0


def strategy_of(counted: CountedGrid) -> GridStrategy | None:
    """How to measure a grid; None where it gains less than `WORTH` says.

    Each question's variance is compared with what it has if all of the grid are asked alone, with equal shares. Only
    public numbers decide: how many groups there are, and how many of them one unit reaches.
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
    """The strategy by which no question loses more than it must for all of them to gain enough; None for no gain.

    Args:
      grid, scales: as of `best_shares`.
      limits: by mask, the variance that a question has alone with an equal share.
      apart: what the variances would be with the shares that weights ask for, in multiples of that.
    Cost: that of `best_shares` for each of `COARSER`, at most.
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
    """The scale of a question's noise where it is asked alone with an epsilon of 1, in normalised weight."""
    scale = scale_at_one(member.question, member.domain)
    assert scale is not None, "a question of a grid has one threshold"
    return scale


def allocate(alone: Mapping[int, float], grids: Sequence[GridStrategy]) -> Allocation:
    """Shares with which a grid that gains for all its questions gives some of it to the others.

    A unit of the workload, a question or a grid, has at its equal share a squared error of m, in multiples of what
    each of its questions has alone. Squared errors fall with the square of what it gets, so that shares in proportion
    to k sqrt(m), k its number of questions, make them all alike. No m is above what it would be alone, so that no
    question pays for a grid.

    Args:
      alone: the weight of each item that is measured by itself; of equal questions one.
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
    """Rounded down to what ledgers count, so that shares of a whole never add up to more than it."""
    scaled = epsilon * _NANO
    return math.floor(scaled) / _NANO if math.isfinite(scaled) else epsilon
