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
from planner.workload.marginals import Axis, Marginal, finer, marginal, why_alone
from planner.workload.whole_axes import ColumnOfTable, made_whole, with_others
from privacy.marginals import MOST_AXES, Grid
from server.backends.columns import Domain
from server.query import QueryRequest
from server.question import Question
from server.workers.group_limits import check_explained
from server.workload.asking import Asking

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
        sizes, order, places = [], [], []
        for axis, block in zip(axes, domain.by_block, strict=True):
            at = self.axes.index(axis)
            known = {value: place for place, value in enumerate(self.values[at])}
            own = _block_values(domain, block)
            if len(own) != len(known) or set(own) != known.keys():
                return None
            sizes.append(len(own))
            order.append(at)
            places.append(np.argsort([known[value] for value in own]))
        table = values.reshape(sizes)
        for axis_place, place in enumerate(places):
            table = np.take(table, place, axis=axis_place)
        return np.transpose(table, np.argsort(order))

    def in_order_of(self, member: Member, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """A marginal as the values of the groups that a member shows."""
        rising = sorted(map(self.axes.index, member.marginal.axes))
        places = self.places_of(member)
        if not rising:
            return np.full(len(member.domain), table)
        assert places is not None, "every group that is shown is one of the grid's"
        return np.asarray(table[tuple(places[axis] for axis in rising)])

    def places_of(self, member: Member) -> dict[int, NDArray[np.intp]] | None:
        """By axis, the value that each group of a member's domain has; None where one of them has none."""
        found = {}
        for axis, block in zip(member.marginal.axes, _blocks(member.whole), strict=True):
            at = self.axes.index(axis)
            own = next((keys for keys in member.domain.by_block if set(block) <= set(keys)), None)
            if own is None:
                return None
            known = {value: place for place, value in enumerate(self.values[at])}
            places = [known.get(value, -1) for value in _block_values(member.domain, block)]
            if -1 in places:
                return None
            found[at] = np.array(places, np.intp)[member.domain.places(block[0])]
        return found


def why_not_in_a_grid(question: Question, bound: BoundQuery) -> str | None:
    """Why a question cannot be one of a grid: as `why_alone`, and where its noise is not that of one threshold."""
    reason = why_alone(bound, question.plan)
    if reason is None and not all(len(one.expected_noise(1)) == 1 for one in question.measuring.releases):
        return "what each person adds is cut at a threshold that is chosen"
    return reason


def grids_of(asking: Asking, members: Sequence[Member], cancelled: threading.Event | None) -> Iterator[CountedGrid]:
    """The grids that have several questions of a workload, each with what can be measured of it.

    Args:
      asking: plans the marginals that nobody asked for, and reads public groups.
      members: questions that add up.
      cancelled: ends reads early.
    Cost: a plan for each marginal that might be measured; no private row is read.
    """
    families: dict[object, list[Member]] = defaultdict(list)
    for member in members:
        never_whole = frozenset(key for key, column in member.lossy.items() if column is None)
        families[member.question.data_version, member.marginal.counted, never_whole].append(member)
    for family in families.values():
        whole = _made_whole(asking, family)
        grid = None if whole is None or len(whole) < 2 else _grid(asking, whole, cancelled)
        if grid is not None and grid.n_questions > 1:
            yield grid


def _made_whole(asking: Asking, family: Sequence[Member]) -> list[Member] | None:
    """The questions with axes that leave no row out, but those that all of them have; None where that is not so."""
    common = frozenset.intersection(*(frozenset(member.lossy) for member in family))
    columns = {
        column
        for member in family
        for key, column in member.lossy.items()
        if key not in common and column is not None
    }
    keys = [(member.bound, key) for member in family for key in member.bound.keys]
    policy = with_others(asking.policy, columns, keys) if columns else asking.policy
    found = []
    for member in family:
        whole = asking.planned(member.bound, member.request, policy) if columns else member.question
        own = marginal(whole.plan)
        if own.lossy - common or own.counted != member.marginal.counted:
            return None
        found.append(replace(member, whole=whole, policy=policy, marginal=own))
    return found


def member_of(
    asking: Asking,
    place: int,
    weight: float,
    request: QueryRequest,
    bound: BoundQuery,
    question: Question,
    cancelled: threading.Event | None,
) -> Member:
    """A question that adds up, with its groups, which are read from public tables.

    Args:
      asking: reads them.
      place, weight: of the question in the workload.
      request, bound, question: what is asked, bound, and planned.
      cancelled: ends waits early.
    """
    domain = _groups(asking, question, request, cancelled)
    own = marginal(question.plan)
    return Member(place, weight, request, bound, question, own, domain, question, asking.policy)


def _groups(asking: Asking, question: Question, request: QueryRequest, cancelled: threading.Event | None) -> Domain:
    return asking.groups(question.query, request.analyst, cancelled) if question.plan.group_keys else Domain(())


def _grid(asking: Asking, members: Sequence[Member], cancelled: threading.Event | None) -> CountedGrid | None:
    """The grid of questions that count the same; None where their groups do not lie in one."""
    values: dict[Axis, AxisValues] = {}
    wholes: dict[int, Domain] = {}
    for member in members:
        plain = member.whole is member.question
        domain = member.domain if plain else _groups(asking, member.whole, member.request, cancelled)
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
            found = _unasked(asking, known, mask) if one is None else _asked(one, wholes[one.place])
            if found is not None:
                measurable[mask] = found
    return replace(known, measurable=measurable) if asked.keys() <= measurable.keys() else None


def _asked(member: Member, domain: Domain) -> MarginalQuestion | None:
    """The marginal that a question is; None where its noise is not of one threshold."""
    scale = scale_at_one(member.whole, domain)
    if scale is None:
        return None
    return MarginalQuestion(member.bound, member.request, member.policy, member.marginal.axes, scale)


def _unasked(asking: Asking, known: CountedGrid, mask: int) -> MarginalQuestion | None:
    """A marginal that nobody asked for, as a question; None where it cannot be measured."""
    first = known.members[0]
    axes = [known.axes[axis] for axis in known.grid.axes(mask)]
    bound = finer([(one.bound, one.whole.plan) for one in known.members], axes)
    if bound is None or known.grid.cells(mask) > most_groups(len(first.question.plan.releases)):
        return None
    try:
        question = asking.planned(bound, first.request, first.policy)
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
