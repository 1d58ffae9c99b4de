"""Samples of privacy units: what they amplify, and the tuples that stay.

Units may be drawn one by one, and a tuple stays where all its owners do; or k of them, each of which brings the
tuples whose first owner it is. What k independent repetitions may spend follows by basic or advanced composition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn, Private
from privacy.kernel import kernel
from privacy.truncation.codes import NO_OWNER, owner_codes
from privacy.units import MAX_UNITS, Bools, Floats, Int32s, Ints, saturating_sums

MOST = 600.0
"""The largest epsilon that is computed with: exp of it is still a double."""

_MARGIN = 1e-12
"""Relative, more than the few roundings of a formula."""


def unit_sampled_loss(epsilon: float, rate: float) -> float:
    """The epsilon of an epsilon-DP mechanism on what a Bernoulli sample of privacy units induces, rounded up.

        ln(1 + rate (exp(epsilon) - 1))

    Proof: let u be the unit by which the instances differ, and draw all others first. If u is not drawn, both
    samples are the same; if it is, they differ by tuples of u, and each differs from the sample without u by
    tuples of u. So with densities a (u not drawn), b and b' (drawn), a and b' are at least exp(-epsilon) b, and
    ((1 - rate) a + rate b) / ((1 - rate) a + rate b'), which falls with a and b' where it exceeds 1, is largest
    at a = b' = exp(-epsilon) b. The same in the other direction, and averaged over the draws of the
    others. Units that occur nowhere change nothing, so their number is not needed.

    Args:
      epsilon: of the mechanism on the sample, in (0, 600].
      rate: eta in (0, 1], the probability with which each unit is drawn, independently.
    Raises: InvalidParameter.
    Source: theorem 4.1 of Fang and Yi (SIGMOD 2024).
    """
    _check(epsilon, rate)
    return min(epsilon, math.log1p(rate * math.expm1(epsilon)) * (1 + _MARGIN))


def unit_sampled_budget(target: float, rate: float) -> float:
    """The epsilon that a mechanism on the sample may spend for `target` in all, rounded down; at most 600.

    Args:
      target: > 0; at most 600.
      rate: as in `unit_sampled_loss`, whose inverse this is: ln(1 + (exp(target) - 1) / rate).
    Raises: InvalidParameter.
    """
    _check(target, rate)
    grown = math.expm1(target) / rate
    return max(target, min(MOST, math.log1p(grown) * (1 - 4 * _MARGIN))) if rate < 1 else target


def _check(epsilon: float, rate: float) -> None:
    if not 0 < epsilon <= MOST:
        raise InvalidParameter("epsilon lies in (0, 600]")
    if not 0 < rate <= 1:
        raise InvalidParameter("a sampling rate lies in (0, 1]")


def induced(tuples: CodedJoinTuples, kept: Bools) -> CodedJoinTuples:
    """Keep a tuple where all its owners are kept.

    Args:
      tuples: m join tuples of n members, one group.
      kept: (n,) bool.
    Returns: the tuples that stay, in their order; members keep their numbers, and some own none.
    Raises: InvalidParameter for several groups or another number of members.
    Cost: a pass over the owners, where one that is not kept ends the look at its tuple, and a copy of what stays.
    Source: Fang and Yi (SIGMOD 2024), section 4.
    """
    if len(tuples.row_start) != 2 or kept.shape != (int(tuples.member_start[-1]),) or kept.dtype != np.bool_:
        raise InvalidParameter("a unit of the one group is kept or not")
    stays = np.empty(tuples.weights.shape[1], np.int64)
    size, fewest, most = _stays(tuples.members, kept, stays)
    rows = stays[:size]
    return replace(
        tuples,
        members=tuples.members[:, rows],
        row_start=np.array([0, size]),
        weights=tuples.weights[:, rows],
        owners=(fewest, most) if size else (1, 1),
    )


@kernel
def _stays(members: Int32s, kept: Bools, stays: Ints) -> tuple[int, int, int]:
    """Write the rows that stay; returns how many they are, and the fewest and most owners of one."""
    positions, m = members.shape
    size, fewest, most = 0, positions, 1
    for t in range(m):
        owners = 0
        while owners < positions and members[owners, t] >= 0 and kept[members[owners, t]]:
            owners += 1
        if owners < positions and members[owners, t] >= 0:
            continue
        stays[size] = t
        size += 1
        fewest, most = min(fewest, owners), max(most, owners)
    return size, fewest, most


@dataclass(frozen=True, eq=False, repr=False)
class Explorable(Private):
    """Join tuples by first owner. Private. Made once, drawn from many times.

    Attributes:
      owners: (positions, m) int32 codes of the owners, NO_OWNER where there is none, sorted by first owner.
      weights: (m,) int64 units, in the same order.
      starts: (a + 1,) int64; the tuples of first owner i are starts[i] to starts[i + 1].
      contributions: (a,) int64 units, the total weight of each, saturating at MAX_UNITS.
      n_units: how many units there are, with those that bring no tuple, >= a; 1 where there is none, so that a draw
        never fails.
    """

    owners: Int32s
    weights: Ints
    starts: Ints
    contributions: Ints
    n_units: int

    def contributions_of(self, drawn: Ints) -> Ints:
        """(k,) the total weight that each drawn unit brings; 0 for units that are nobody's first owner.

        Args:
          drawn: (k,) in [0, n_units), repetitions allowed.
        """
        brings = drawn < len(self.contributions)
        if not len(self.contributions):
            return np.zeros(len(drawn), np.int64)
        return np.where(brings, self.contributions[np.where(brings, drawn, 0)], 0)

    def brought_by(self, drawn: Ints) -> JoinTuples:
        """The tuples whose first owner is among the drawn units.

        Args:
          drawn: (k,) distinct, in [0, n_units).
        Cost: linear in the tuples that are brought.
        """
        drawn = drawn[drawn < len(self.contributions)]
        sizes = self.starts[drawn + 1] - self.starts[drawn]
        rows = np.empty(int(sizes.sum()), np.int64)
        _rows(self.starts, drawn, rows)
        codes = self.owners[:, rows]
        columns = tuple(OwnerColumn("unit", column, column == NO_OWNER) for column in codes)
        return JoinTuples(columns, np.zeros(len(rows), np.int64), 1, self.weights[None, rows])


def explorable(tuples: JoinTuples, n_units: int = 0) -> Explorable:
    """File join tuples under their first owner: the unit at the first position that is not empty.

    Which position comes first is a choice of whoever writes the query; every tuple has one first owner, so each
    is brought by exactly one unit. Tuples without any owner, or outside the public group, are dropped.

    Args:
      tuples: m join tuples, one group, one release.
      n_units: how many privacy units there are, from their own tables; tuples do not show those without any.
    Raises: InvalidParameter for several groups or releases, or arrays that do not fit each other.
    Cost: one stable sort of m small integers and a copy.
    Source: Fang and Yi (SIGMOD 2024), section 5.1.
    """
    check_single(tuples)
    codes, _ = owner_codes(tuples.owners, len(tuples.group))
    first = np.full(len(tuples.group), NO_OWNER, np.int32)
    for column in codes[::-1]:
        first = np.where(column == NO_OWNER, first, column)
    owned = np.flatnonzero((first != NO_OWNER) & (tuples.group == 0))
    rows = owned[np.argsort(first[owned], kind="stable")]
    first = first[rows]
    starts = np.flatnonzero(np.diff(first, prepend=NO_OWNER, append=np.iinfo(np.int32).max)).astype(np.int64)
    weights = tuples.weights[0, rows]
    rank = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    contributions = saturating_sums(rank, weights, len(starts) - 1)
    return Explorable(
        np.ascontiguousarray(codes[:, rows]), weights, starts, contributions, max(n_units, len(contributions), 1)
    )


def check_single(tuples: JoinTuples) -> None:
    """Refuse tuples of several groups or releases, or malformed ones. Raises: InvalidParameter."""
    group, weights = tuples.group, tuples.weights
    if tuples.n_groups != 1 or weights.ndim != 2 or len(weights) != 1 or weights.shape[1:] != group.shape:
        raise InvalidParameter("one group and one release at a time")
    if weights.dtype != np.int64 or weights.min(initial=0) < 0 or weights.max(initial=0) > MAX_UNITS:
        raise InvalidParameter("weights must be in [0, MAX_UNITS]")
    if group.dtype != np.int64 or group.min(initial=0) < -1 or group.max(initial=0) > 0:
        raise InvalidParameter("a tuple has a group that is not in the public list")
    if not tuples.owners:
        raise InvalidParameter("tuples need owner positions")


@kernel
def _rows(starts: Ints, drawn: Ints, rows: Ints) -> None:
    """Write the row numbers of every drawn unit's tuples."""
    end = 0
    for i in range(len(drawn)):
        for row in range(starts[drawn[i]], starts[drawn[i] + 1]):
            rows[end] = row
            end += 1


def advanced_composition(epsilon: float, times: int, delta: float) -> float:
    """The epsilon of `times` releases of `epsilon` each, with `delta`, in the form that the paper uses.

        sqrt(2 k ln(1 / delta)) epsilon + k epsilon (exp(epsilon) - 1)

    Args:
      epsilon: of each, > 0.
      times: k >= 1.
      delta: in (0, 1).
    Raises: InvalidParameter.
    Source: lemma 3.2 of Fang and Yi (SIGMOD 2024); Dwork, Rothblum, Vadhan (FOCS 2010).
    """
    if times < 1 or not epsilon > 0 or not 0 < delta < 1:
        raise InvalidParameter("composition needs at least one release, a positive epsilon and a delta below 1")
    spread = math.sqrt(2 * times * math.log(1 / delta)) * epsilon
    return (spread + times * epsilon * math.expm1(epsilon)) * (1 + 1e-12)


def repeated_budget(target: float, times: int, delta: float) -> float:
    """What each of `times` releases may spend for `target` and `delta` in all, rounded down.

    The larger of what basic composition (target / k, for which no delta is needed) and advanced composition
    allow: which of the two it is depends on public numbers only.

    Args:
      target: > 0.
      times: k >= 1.
      delta: in [0, 1); 0 allows basic composition only.
    Raises: InvalidParameter.
    """
    if times < 1 or not 0 < target < math.inf or not 0 <= delta < 1:
        raise InvalidParameter("composition needs at least one release, a positive epsilon and a delta below 1")
    basic = target / times * (1 - 1e-12)
    if delta == 0 or advanced_composition(basic, times, delta) > target:
        return basic
    low, high = basic, target
    while high - low > 1e-12 * low:
        middle = (low + high) / 2
        fits = middle < 700 and advanced_composition(middle, times, delta) <= target
        low, high = (middle, high) if fits else (low, middle)
    return low


_EXPLORATION_MARGIN = 1e-9
"""Relative, more than sums of a million rounded terms err."""

_MOST_TERMS = 1 << 22
"""Beyond as many possible hits no amplification is claimed."""


@dataclass(frozen=True)
class Exploration:
    """k of n privacy units drawn without replacement; each brings the tuples whose first owner it is. Public.

    An epsilon-DP mechanism that sees only what the drawn units bring is epsilon'-DP with

        epsilon' = ln(E[exp(epsilon H)] / E[exp(epsilon max(0, H - 1))]),   H ~ Hypergeometric(n, A, k),

    where A is the most units that bring a tuple of one unit, itself included; for k = 1 that is
    ln(1 + A / n (exp(epsilon) - 1)). It is required that exchanging one drawn unit for another costs the mechanism
    epsilon as well, not 2 epsilon. That holds for noise scaled to truncated answers: with a the answer of
    what stays, both answers lie in [a, a + tau].

    Proof: let the larger instance have the unit u, and let H be how many of the drawn units bring tuples of u, u
    included. Couple both instances by the same draw; if u's own row is gone, another unit that was not drawn is
    drawn in its place, as both are then first owners of what differs from the rest. Let x and y be the
    mean densities at an output over draws with H = h, without u's tuples and with them, and z that for H = 0,
    which is the same for both. By the coupling y <= exp(epsilon) x; exchanging the h units one by one for
    others, y <= exp(h epsilon) z and x <= exp(h epsilon) z. The ratio of the two sums over h grows with each y
    while x = exp(-epsilon) y, so it is largest at y = exp(h epsilon) z. Likewise the other way round. It
    falls with n and rises with A (likelihood ratios of hypergeometric counts do), so a lower bound on n and
    an upper bound on A serve.

    Theorem 5.4 of the paper is the case k = 1. Corollary D.2 of DP-S4S claims ln(1 + (1 - P)(exp(epsilon) - 1)) for
    all k, with P = C(n - kC, k) / C(n, k). That treats k exchanged units like one: with k = 2, C = 10, n = 10^6
    and epsilon = 12.6 it claims 2.55 for what loses 2.69 (pinned in the tests). And its P, where a
    draw misses the removed unit and its collaborators with probability C(n - C - 1, k) / C(n, k), is needlessly
    small for many units. Both papers count the neighbours of the drawn unit; what matters are the units whose
    neighbour the removed one is, and it itself.

    Source: Fang and Yi (SIGMOD 2024), section 5; DP-S4S (SIGMOD 2026), appendix D.

    Attributes:
      drawn: k >= 1.
      collaborators: C >= 0, a public bound on how many other units share a tuple with a unit; A = C + 1.
    """

    drawn: int
    collaborators: int

    def __post_init__(self) -> None:
        if self.drawn < 1 or self.collaborators < 0:
            raise InvalidParameter("at least one unit is drawn, and a unit has no negative number of collaborators")

    def loss(self, epsilon: float, units: int) -> float:
        """epsilon' in (0, epsilon], rounded up.

        Args:
          epsilon: of the mechanism on what the drawn units bring, in (0, 600].
          units: a lower bound on n, >= 1; a false one costs at most epsilon.
        Raises: InvalidParameter.
        Cost: min(k, A) exponentials.
        """
        if not 0 < epsilon <= MOST or units < 1:
            raise InvalidParameter("epsilon lies in (0, 600], and there is at least one unit")
        return _loss(epsilon, _log_odds(units, self.collaborators + 1, self.drawn))

    def budget(self, target: float, units: int) -> float:
        """The epsilon that the mechanism on what is explored may spend for `target` in all, rounded down.

        Returns: at least `target`, at most 600.
        Raises: InvalidParameter unless 0 < target <= 600.
        Cost: some sixty evaluations of `loss`.
        """
        if not 0 < target <= MOST or units < 1:
            raise InvalidParameter("epsilon lies in (0, 600], and there is at least one unit")
        odds = _log_odds(units, self.collaborators + 1, self.drawn)
        low, high = target, MOST
        while high - low > _EXPLORATION_MARGIN * low:
            middle = (low + high) / 2
            low, high = (middle, high) if _loss(middle, odds) <= target else (low, middle)
        return low


def _log_odds(units: int, affected: int, drawn: int) -> Floats | None:
    """ln(P(H = h) / P(H = 0)) for h = 1 to the most hits; None where P(H = 0) is zero or hits are too many."""
    most = min(drawn, affected)
    if drawn + affected > units or most > _MOST_TERMS:
        return None
    h = np.arange(most, dtype=np.float64)
    grown = (affected - h) * (drawn - h) / ((h + 1) * (units - affected - drawn + h + 1))
    odds: Floats = np.cumsum(np.log(grown))
    return odds


def _loss(epsilon: float, odds: Floats | None) -> float:
    """-ln(exp(-epsilon) + (1 - exp(-epsilon)) / (1 + E)), E = sum_h exp(odds_h + h epsilon), small or large."""
    if odds is None:
        return epsilon
    terms = odds + epsilon * np.arange(1, len(odds) + 1)
    top = float(terms.max())
    log_excess = top + float(np.log(np.exp(terms - top).sum()))
    if log_excess < 0:
        excess = math.exp(log_excess)
        claimed = -math.log1p(math.expm1(-epsilon) * excess / (1 + excess))
    else:
        missing = math.log(-math.expm1(-epsilon)) - float(np.logaddexp(0.0, log_excess))
        claimed = -float(np.logaddexp(-epsilon, missing))
    return min(epsilon, claimed * (1 + _EXPLORATION_MARGIN))
