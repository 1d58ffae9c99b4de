"""What PMSJA and the vector DP-S4S share: the sparse vector over thresholds, the grid, the answer.

Join tuples enter; a sparse vector takes the first threshold at which few enough people are removed; the exact sums
that are left there get Gaussian noise on a public grid. The number of groups is known once the public domain is
read: `VectorMechanism.sized` makes the mechanism for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np
from scipy import special

from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.entropy import Entropy, check_scale, checked
from privacy.errors import InvalidParameter
from privacy.exact import exact_epsilon
from privacy.join_tuples import CodedJoinTuples, CompactJoinTuples, JoinTuples, OwnerColumn, Private
from privacy.noisy_answer import CONFIDENCE, NoisyAnswer
from privacy.papers.vector_program.certificate import SHARE_BITS, WHOLE
from privacy.papers.vector_program.search import DEFAULT_GAP, VectorInstance
from privacy.thresholds import Thresholds
from privacy.truncation.encode import compact
from privacy.units import ONE, Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class TruncatedVector(Private):
    """The truncated answer at the accepted threshold.

    Attributes:
      level: of the thresholds; as private as the noise that chose it.
      removed: in steps of 2^-31 persons, at most `DEFAULT_GAP` above E. A whole number, since noise is added and a
        float could round differently for two neighbours.
      sums: (d,) exact integers in units of 2^-SHARE_BITS of 2^-30.
    """

    level: int
    removed: int
    sums: tuple[int, ...]


def truncated_vector(instance: VectorInstance, thresholds: Thresholds, stops: Ints) -> TruncatedVector | None:
    """Scan the thresholds for the first level that removes at most `stops` steps; None without one.

    Raises: SolverFailed.
    Cost: two or three vector programs, as a rule.
    """
    level = instance.select(thresholds, stops)
    if level is None:
        return None
    tau = int(thresholds.units[level])
    return TruncatedVector(level, instance.removal(tau).removed, instance.sums(tau))


def vector_instance(tuples: CodedJoinTuples, row: int) -> VectorInstance:
    """The vector program of one release.

    Args:
      row: of tuples.weights.
    Raises: InvalidParameter for a row out of range.
    Cost: one pass to merge tuples of the same people.
    """
    if not 0 <= row < len(tuples.weights):
        raise InvalidParameter("no release has this index")
    return VectorInstance(merged(tuples, row), 0, DEFAULT_GAP)


def merged(tuples: CodedJoinTuples, row: int) -> CompactJoinTuples:
    """One release of coded tuples for the vector programs: a unit is one unit in all groups."""
    columns = tuple(
        OwnerColumn("unit", tuples.units[np.maximum(members, 0)] if len(tuples.units) else members, members < 0)
        for members in tuples.members
    )
    group = np.repeat(np.arange(tuples.n_groups), np.diff(tuples.row_start))
    return compact(JoinTuples(columns, group, tuples.n_groups, tuples.weights[row : row + 1]))


_ROUNDED_UP = 1 + 2.0**-50


@dataclass(frozen=True)
class SparseVector:
    """Return the first level whose value v, with noise, is at most a noisy threshold.

    v is E, how many people a threshold removes, up to a gap: E <= v <= E + h. With one more person E rises by 0 to 1
    at every level, so v moves by -h to 1 + h. Let v' be the values with the person.

    From v to v': shift the threshold's noise by -h. What was above stays above, as v' >= v - h. Where it stopped, v'
    is at most 1 + h larger and the threshold h lower, so the level's noise shifts by 1 + 2h. From v' to v: shift the
    threshold by -(1 + h) and the level by -h - (1 + h). So Laplace noise of scale (1 + h) / eps_1 on the threshold
    and (1 + 2h) / eps_2 on each level makes the choice (eps_1 + eps_2)-DP. This is the monotone case (Lyu, Su & Li,
    VLDB 2017) with a gap. Without the gap in the scales it is not private: docs/mathematics.md, section 11.2.

    Attributes:
      epsilon: what the choice spends, > 0.
      threshold: how many people may be removed, before noise.
      threshold_scale, level_scale: of discrete Laplace noise, in steps of 2^-31 persons.
    """

    epsilon: float
    threshold: float
    threshold_scale: float
    level_scale: float

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 0 <= self.threshold < WHOLE:
            raise InvalidParameter("a threshold must be a whole number of people")
        check_scale(self.threshold_scale)
        check_scale(self.level_scale)

    @classmethod
    def monotone(cls, epsilon: float, threshold: float, gap: int = DEFAULT_GAP) -> Self:
        """Spend half of epsilon on the threshold and half on the levels; `gap` is h, in steps of 2^-31 persons."""
        half = float(exact_epsilon(epsilon)) / 2
        return cls(epsilon, threshold, (WHOLE + gap) / half * _ROUNDED_UP, (WHOLE + 2 * gap) / half * _ROUNDED_UP)

    @cached_property
    def _threshold_steps(self) -> int:
        return math.floor(self.threshold * WHOLE)

    def stops(self, levels: int, entropy: Entropy) -> Ints:
        """(levels,) the largest value at which each level is taken, in steps: noisy threshold less the level's noise.

        Raises: EntropyFailed when the source returns something else than was asked for.
        """
        bar = checked(entropy.laplace(self.threshold_scale, 1), 1) + self._threshold_steps
        stops: Ints = bar - checked(entropy.laplace(self.level_scale, levels), levels)
        return stops

    def most_removed(self, levels: int, tail: float) -> float:
        """A public bound on v at the accepted level, in persons. v exceeds it with probability at most `tail`."""
        bar = _quantile(self.threshold_scale, tail / 2)
        level = _quantile(self.level_scale, tail / (2 * levels))
        return (self._threshold_steps + bar + level) / WHOLE


def _quantile(scale: float, tail: float) -> int:
    """A k with P(Z > k) <= tail for a discrete Laplace Z, where P(Z > k) < a^(k + 1), a = exp(-1 / scale)."""
    return math.ceil(-math.log(tail) * scale * (1 + 2.0**-40))


_STEP_BITS = 10
"""Rounding d sums to the grid moves them by at most 2^-10 tau in all."""

_LEAST_SCALE = 16.0
"""In steps and multiples of sqrt(alpha): from there on a discrete Gaussian is as good as a continuous one."""


def step_bits(dimension: int) -> int:
    """The k of the grid's step 2^-k tau: the least for which sqrt(dimension) steps are at most 2^-10 tau."""
    return _STEP_BITS + math.ceil(math.log2(dimension) / 2)


def rounding(dimension: int) -> float:
    """What the grid adds to the distance of two neighbours' sums, in multiples of 2 tau: at most 2^-11.

    |floor(a) - floor(b)| < |a - b| + 1 in each coordinate, so at most sqrt(d) steps more in all.
    """
    return math.sqrt(dimension) * 2.0 ** -(step_bits(dimension) + 1) * (1 + 2.0**-40)


def check_least(sigma: float, alpha: float, dimension: int) -> None:
    """Refuse noise so small, in multiples of 2 tau, that the grid would show. Raises: InvalidParameter."""
    if sigma * 2.0 ** (step_bits(dimension) + 1) < _LEAST_SCALE * math.sqrt(alpha):
        raise InvalidParameter("epsilon is too large for this grid")


@dataclass(frozen=True)
class VectorGrid:
    """d sums released as step * (sum // step + Z), all Z of one scale.

    Two discrete Gaussians of scales s and s' around whole numbers have at most the divergence of the continuous
    ones and d ln(1 + 2 exp(-2 pi^2 min(s, s')^2 / alpha) + ...) more: their sums over whole numbers are the
    integrals times theta functions, largest where the centre is whole (Poisson summation). From a scale of 16
    sqrt(alpha) that is below d 2^-7000. Source: Canonne, Kamath & Steinke, NeurIPS 2020, for s = s'.

    Attributes:
      tau_units: the threshold, a power of two, in units of 2^-30.
      dimension: d.
    """

    tau_units: int
    dimension: int

    @property
    def tau(self) -> float:
        """The threshold in normalised weight."""
        return self.tau_units / ONE

    @property
    def step(self) -> int:
        """In units of 2^-SHARE_BITS of 2^-30; a power of two, as a threshold is at least 2^-20."""
        return (self.tau_units << SHARE_BITS) >> step_bits(self.dimension)

    @property
    def step_weight(self) -> float:
        """One step in normalised weight; exact."""
        return self.tau * 2.0 ** -step_bits(self.dimension)

    def scale(self, sigma: float) -> float:
        """Convert sigma from multiples of 2 tau to steps; exact."""
        return sigma * 2.0 ** (step_bits(self.dimension) + 1)

    def released(self, sums: Sequence[int], sigma: float, entropy: Entropy) -> Floats:
        """(d,) noisy sums in normalised weight.

        Args:
          sums: d exact integers in units of 2^-SHARE_BITS of 2^-30.
          sigma: of the noise, in multiples of 2 tau.
        Raises: EntropyFailed if the source returns something else; InvalidParameter for a scale beyond 2^50 steps,
          which takes a choice of probability below 2^-1000000.
        """
        noise = checked(entropy.gaussian(self.scale(sigma), self.dimension), self.dimension)
        steps = [total // self.step + drawn for total, drawn in zip(sums, noise.tolist(), strict=True)]
        values: Floats = np.array([float(step) for step in steps]) * self.step_weight
        return values


TAIL = 0.01
"""The part of an interval's error for noise that is larger than stated."""

RARE = 2.0**-64
"""How likely noise may choose a noise scale that no source draws; likelier cases are refused beforehand."""

_PRICE = 0.4
"""Per removed person and tau. Doubling tau adds at most 2 tau E to the truncated answer, which is then five prices.
"""


@dataclass(frozen=True)
class VectorMechanism:
    """A mechanism whose first stage is a sparse vector over thresholds, and whose second is Gaussian noise.

    All but `release`, `released` and `noised` is public. A subclass defines its first stage (`selection`) and its
    noise (`sigma`).

    Attributes:
      epsilon, delta: for all groups together; epsilon > 0, delta in (0, 1).
      n_groups: d, the number of public groups.
      thresholds: the candidate thresholds.
      confidence: of the intervals, over all noise, in (0, 0.98].
      private_scale: the noise scale is private, so that `stated_sigma` is shown in its place.
    """

    epsilon: float
    delta: float
    n_groups: int
    thresholds: Thresholds = field(default_factory=Thresholds)
    confidence: float = CONFIDENCE
    private_scale: ClassVar = False

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not (0 < self.delta < 1 and 0 < self.confidence <= 0.98):
            raise InvalidParameter("delta and confidence must be between 0 and 1")
        if self.n_groups < 1:
            raise InvalidParameter("a vector must have at least one group")

    @property
    def name(self) -> str:
        """As in the registry."""
        raise NotImplementedError

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta), whatever the number of groups."""
        return ApproxDP(self.epsilon, self.delta)

    def sized(self, n_groups: int) -> VectorMechanism:
        """The same mechanism for max(1, n_groups) groups. Raises: InvalidParameter."""
        return self if n_groups == self.n_groups else _sized(self, max(1, n_groups))

    @property
    def selection(self) -> SparseVector:
        """The first stage: a sparse vector over thresholds, with its share of epsilon."""
        raise NotImplementedError

    @property
    def stated_sigma(self) -> float:
        """A public bound on `sigma`, in multiples of 2 tau. `sigma` exceeds it with probability at most `TAIL`."""
        raise NotImplementedError

    def sigma(self, removed: int, entropy: Entropy) -> float:
        """The standard deviation of the Gaussian noise, in multiples of 2 tau.

        It grows with the number of people that the threshold removes, which is private. `Pmsja` therefore draws noise
        and adds it to this number first, and then publishes the noise scale. The scale of `S4SVector` stays private.

        Args:
          removed: how many people the threshold removes, in steps of 2^-31 persons. Private.
        """
        raise NotImplementedError

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Choose a threshold and release all groups.

        Args, raises: as `GroupMeasurement.release`.
        Cost: that of `truncated_vector`, and d draws.
        """
        return self.sized(tuples.n_groups).released(vector_instance(tuples, row), entropy)

    def released(self, instance: VectorInstance, entropy: Entropy) -> NoisyAnswer:
        """The release of a prepared program, which remembers what it solved and may be asked again."""
        stops = self.selection.stops(len(self.thresholds), entropy)
        return self.noised(truncated_vector(instance, self.thresholds, stops), entropy)

    def noised(self, found: TruncatedVector | None, entropy: Entropy) -> NoisyAnswer:
        """The second stage alone: the sums at the accepted threshold, with noise.

        With the shares s of the people removed at tau, a larger threshold adds to the sums a vector of norm at most
        sum_u s_u |x_u|, x_u what u has there: z' - z <= z' sum_u s_u. So doubling tau adds at most 2 tau E.

        Without an accepted threshold, which takes noise rarer than a millionth, it reads no data: zeros, with
        intervals that exclude nothing.

        Raises: EntropyFailed.
        """
        if found is None:
            tau, noise, top = float(self.thresholds.taus[-1]), math.inf, math.inf
            values: Floats = np.zeros(self.n_groups)
            low, signal = values.copy(), values.copy()
        else:
            grid = VectorGrid(int(self.thresholds.units[found.level]), self.n_groups)
            drawn, tau = self.sigma(found.removed, entropy), grid.tau
            values = grid.released(found.sums, drawn, entropy)
            noise = 2 * tau * (self.stated_sigma if self.private_scale else drawn)
            half = _reach(noise, self.confidence)
            low, top = values - half, half + grid.step_weight
            signal = np.maximum(values, 0.0) / (_PRICE * max(1.0, self.most_persons()) * tau)
        return NoisyAnswer(
            values=values,
            tau=np.full(self.n_groups, tau),
            noise_scale=np.full(self.n_groups, noise),
            low=low,
            high=values + top,
            confidence=self.confidence,
            covers="truncated_full",
            mechanism=self.name,
            epsilon=self.epsilon,
            signal=signal,
            delta=self.delta,
            noise="gaussian",
        )

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold. Raises: InvalidParameter for parameters that are worth nothing."""
        half = _reach(2 * self.sized(n_groups).stated_sigma, self.confidence)
        return [(tau, tau * half) for tau in self.thresholds.taus.tolist()]

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """epsilon: it rests on no bound."""
        return self.epsilon

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to `n_groups` groups. Public. Raises: InvalidParameter."""
        for sized in (self.sized(1), self.sized(n_groups)):  # the grid is coarsest for one group
            check_scale(VectorGrid(int(self.thresholds.units[0]), sized.n_groups).scale(sized.most_sigma()))

    def most_sigma(self) -> float:
        """As `stated_sigma`, but exceeded with probability at most `RARE`. Raises: InvalidParameter."""
        return self.stated_sigma

    def most_persons(self, tail: float = TAIL) -> float:
        """A public bound on the number of removed people, which is exceeded with probability at most `tail`."""
        return self.selection.most_removed(len(self.thresholds), tail)


def _reach(sigma: float, confidence: float) -> float:
    """The half-width that Gaussian noise of `sigma` stays within, with probability `confidence` + `TAIL`."""
    return sigma * float(special.ndtri(1 - (1 - confidence - TAIL) / 2)) * (1 + 2.0**-30)


@lru_cache(maxsize=64)
def _sized(one: VectorMechanism, n_groups: int) -> VectorMechanism:
    return replace(one, n_groups=n_groups)
