"""Counts by key as a server runs them: public parameters, intervals, and the check of the noise.

`lpa`, `fpa`, `gs_r`, `gs_s` and `gs`. The largest change of any count by smoothing is measured, so that an interval
can include it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, check_scale, checked
from privacy.errors import InvalidParameter
from privacy.exact import UPWARD, check_confidence, check_groups, exact, exact_epsilon, float_at_least
from privacy.join_tuples import CodedJoinTuples, DistinctTuples
from privacy.mechanisms.measurement import Pure
from privacy.mechanisms.noise import laplace_quantile
from privacy.mechanisms.noise_sums import NoiseSum
from privacy.noisy_answer import CONFIDENCE, NoisyAnswer
from privacy.papers.grouping_smoothing import (
    BITS,
    FPA,
    GSR,
    GSS,
    LPA,
    Incidence,
    NoisyCounts,
    coefficient_scale,
    coefficients,
    column_sum,
    enforced,
    from_coefficients,
    noise_scale,
    reals,
)
from privacy.papers.smoothing_choice import GS, choice_scale
from privacy.sampling.draws import Draws
from privacy.truncation.codes import owner_codes
from privacy.units import Floats, Ints

_GRID = 1 << 10
"""It is measured in whole parts of a count, so that rounding costs next to nothing."""

_FLOAT_ERROR = 2.0**-6
"""Of counts made of at most 63 whole coefficients: 63^2 terms of 2^33 / d at most, each off by 2^-52 of it."""

_ENTRY_ERROR = 2.0**-18
"""Of the rounded basis per coefficient: two entries below 2 that are off by 2^-20 each, over d, times d changes."""


@dataclass(frozen=True)
class SmoothingBias:
    """The largest |c - s| over all keys, c a count and s its smoothed value without noise; plus noise.

    The smoothing is public, or a function of what was released: means of groups, or the first frequencies. A unit
    changes at most `moved` counts by d, all by 1 or all by -1, and c - s by that of d. So the largest |c - s| moves
    by no more than the largest |c - s| of d. Groups of w: where d_i = 1, it is 1 less the mean, so at most 1 - 1/w.
    Where d_i = 0 it is the mean, of at most w - 1 keys. So it is below 1, however many counts change. It is taken in
    parts of 2^-10, rounded up from exact whole numbers. Frequencies: the constant is among them, so a row of I - P
    adds up to 0. What stands above 0 is half of the row's absolute sum, and so is what stands below. As d has one
    sign, its sum is at most that half. It is also at most `moved` times the largest entry, which is at most 1. The
    basis is rounded and the sums are floats, for which the bound includes more, and one part for rounding up.
    epsilon-DP with discrete Laplace noise for that, in parts.

    Attributes:
      epsilon: what it may spend, > 0.
    """

    epsilon: Fraction

    def scale(self, n_keys: int, moved: int, frequencies: int) -> float:
        """Of the noise, in parts of 2^-10. Public."""
        return float_at_least(_sensitivity(n_keys, moved, frequencies) / self.epsilon)

    def added(self, n_keys: int, moved: int, frequencies: int, tail: float) -> float:
        """How far above the bias what is released lies in the middle of all draws, in counts. Public."""
        return laplace_quantile(tail, self.scale(n_keys, moved, frequencies)) / _GRID

    def at_most(self, incidence: Incidence, smooth: NoisyCounts, tail: float, entropy: Entropy) -> float:
        """A released number that no key's bias exceeds, with probability 1 - `tail`; 0 where nothing is smoothed.

        Whether anything is smoothed is a function of what was released.

        Raises: EntropyFailed.
        """
        if not smooth.frequencies and smooth.group_size == 1:
            return 0.0
        scale = self.scale(incidence.n_keys, incidence.moved, smooth.frequencies)
        exactly = (
            _by_frequencies(incidence, smooth.frequencies) if smooth.frequencies else _by_groups(incidence, smooth)
        )
        noisy = exactly + int(checked(entropy.laplace(scale, 1), 1)[0])
        return max(0, noisy + laplace_quantile(tail, scale)) / _GRID


def _sensitivity(n_keys: int, moved: int, frequencies: int) -> int:
    if not frequencies:
        return _GRID
    m = reals(n_keys, frequencies)
    exactly = 0.0 if m == n_keys else min(column_sum(frequencies, n_keys) / 2, float(moved))
    return math.ceil((exactly + m * _ENTRY_ERROR + 2 * _FLOAT_ERROR) * _GRID) + 1


def _by_groups(incidence: Incidence, smooth: NoisyCounts) -> int:
    """The largest bias in parts, rounded up, by whole numbers of 2^61 at most. Private."""
    sizes = np.bincount(smooth.group)
    sums = np.bincount(smooth.group, incidence.counts).astype(np.int64)
    size = sizes[smooth.group]
    off = np.abs(size * incidence.counts - sums[smooth.group]) * _GRID
    return int((-(-off // size)).max())


def _by_frequencies(incidence: Incidence, frequencies: int) -> int:
    m = reals(incidence.n_keys, frequencies)
    smooth = from_coefficients(coefficients(incidence.counts, m).astype(np.float64), incidence.n_keys)
    return math.ceil((float(np.abs(incidence.counts - smooth).max()) + _FLOAT_ERROR) * _GRID)


BIAS_SHARE = Fraction(1, 8)
"""The share of epsilon that measures the largest change by smoothing; the other noise is 1/7 more. It widens an
interval by 24 / epsilon or more on either side; half the share would double that. `lpa` smooths nothing and spends
none."""

_MOST_FREQUENCIES = 32
"""So that a million keys take seconds: m passes over them."""


ByKey = LPA | FPA | GSR | GSS | GS


def frequencies(incidence: Incidence) -> int:
    """rho of a served `fpa`: as many as leave a count half the noise of `lpa`, and no more than 32. Public.

    m real coefficients leave noise of m sqrt(moved / d) / epsilon in a count, where `lpa` has moved / epsilon: so
    m is half of sqrt(moved d). The paper takes the rho that is best for the data, which tells of them.
    """
    half = math.isqrt(incidence.moved * incidence.n_keys) // 2
    return max(1, min(_MOST_FREQUENCIES, (half + 1) // 2, (incidence.n_keys + 1) // 2))


_MADE: Mapping[str, Callable[[float, Incidence], ByKey]] = {
    "lpa": lambda epsilon, _: LPA(epsilon),
    "fpa": lambda epsilon, of: FPA(epsilon, frequencies(of)),
    "gs_r": lambda epsilon, _: GSR(epsilon),
    "gs_s": lambda epsilon, _: GSS(epsilon),
    "gs": lambda epsilon, _: GS(epsilon),
}


@dataclass(frozen=True)
class KeyCounts(Pure):
    """Counts of units by key, all at once, each with an interval; epsilon-DP for all keys together.

    Of n public keys a unit counts at `rule` at most, which is enforced (`Incidence`), or at `groups_per_unit` of
    them, which follow from the unit, or at all. A unit is at a key once, however many rows it has there, so nothing
    is clipped for that.

    The smoothing mechanism has all of epsilon but BIAS_SHARE. That part measures the largest bias of any key
    (`SmoothingBias`), given the released smoothing; pure losses add up. `lpa` has all of it.

    An interval is the released value, plus or minus the noise and the bias; each has half of the probability to miss.
    So it covers the count itself, of the keys in which a unit counts. The bias is that of the most smoothed key, so
    most intervals of `fpa` and `gs` are wider than necessary. No narrower ones are known to hold at that price. Noise
    of means of groups is discrete Laplace noise, whose quantile is exact. Noise of `fpa` is a sum of m independent
    ones with factors a_j, the sum of a_j^2 at most m / d^2 and each a_j^2 at most 2 / d^2, but for up to 2^-18 of
    them by which the basis is rounded. The logarithm of its moments is a sum of one convex function of each a_j^2
    that is 0 at 0. So it is at most that of m / 2 noises with the largest factor. Discrete Laplace noise has no
    larger moments than continuous noise of its scale, as (cosh t - 1) / t^2 rises. Then Chernoff (`NoiseSum.reach`).

    Source: Kellaris and Papadopoulos (VLDB 2013); docs/mathematics.md, section 11.5.

    Attributes:
      name: `lpa`, `fpa`, `gs_r`, `gs_s` or `gs`.
      epsilon: for all keys together, > 0.
      groups_per_unit: L0 by what follows from a unit, or `rule`; None if only the number of keys bounds it.
      rule: the most keys that a unit counts at; None without such a rule.
      confidence: of each interval, over the noise, in (0, 1).
    """

    name: str
    epsilon: float
    groups_per_unit: int | None = None
    rule: int | None = None
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        check_groups(self.groups_per_unit)
        check_groups(self.rule)
        check_confidence(self.confidence)
        if self.name not in _MADE:
            raise InvalidParameter(f"{self.name} is not a mechanism for counts of units by key")
        _MADE[self.name](_at_most(self._part("smoothing")), self._empty(1))  # refuses an epsilon beyond its own

    @property
    def smooths(self) -> bool:
        """Whether a key's released value depends on the counts of other keys."""
        return self.name != "lpa"

    def of_values(self, tuples: DistinctTuples, draws: Draws, entropy: Entropy) -> NoisyAnswer:
        """Release from tuples that carry the unit as the counted value. Raises, cost: as `release`."""
        codes, _ = owner_codes(tuples.owners, len(tuples.value))
        counted = (tuples.value >= 0) & (codes[0] >= 0)
        return self.release(codes[0][counted], tuples.group[counted], tuples.n_groups, draws, entropy)

    def of_sums(self, tuples: CodedJoinTuples, row: int, draws: Draws, entropy: Entropy) -> NoisyAnswer:
        """Release from weighed tuples: a unit is at a key where one of its tuples has a weight."""
        counted = tuples.weights[row] > 0
        group = np.repeat(np.arange(tuples.n_groups), np.diff(tuples.row_start))
        units = tuples.units[tuples.members[0][counted]]
        return self.release(units, group[counted], tuples.n_groups, draws, entropy)

    def release(
        self, units: NDArray[np.integer], keys: Ints, n_keys: int, draws: Draws, entropy: Entropy
    ) -> NoisyAnswer:
        """Release one noisy count per key.

        Args:
          units: (m,) the one owner of each row, in [0, 2^31).
          keys: (m,) the key of each row, -1 for none.
          n_keys: how many keys there are, public or released.
          draws: which keys of a unit count, and what is sampled.
        Raises: InvalidParameter before noise is drawn; EntropyFailed.
        Cost: a sort of the rows, one to three draws per key, and 63 passes over the keys at most.
        """
        table = enforced(units.astype(np.int64), keys, n_keys, self._most(n_keys), draws)
        found = _MADE[self.name](_at_most(self._part("smoothing")), table).release(table, draws, entropy)
        bias = self._bias.at_most(table, found, 2 * self._tail, entropy) if self.smooths else 0.0
        reach = self._reach(table, found) + bias
        return NoisyAnswer(
            values=found.values,
            tau=np.ones(n_keys),
            noise_scale=found.noise_scale,
            low=found.values - reach,
            high=found.values + reach,
            confidence=self.confidence,
            covers="smoothed" if self.smooths else "truncated_full",
            mechanism=self.name,
            epsilon=self.epsilon,
            signal=np.full(n_keys, np.inf),
        )

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that leaves its range for up to so many keys. Public. Raises: InvalidParameter."""
        most = max(1, n_groups)
        whole = most if self.rule is None else min(most, self.rule)  # up to there nothing is left out
        for n_keys in {1, most, whole}:  # but for what is left out every scale rises with the number of keys
            for scale in self._scales(self._empty(n_keys)):
                check_scale(scale)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(1, half-width) of a key's interval where smoothing moves nothing; of `gs` where it releases counts."""
        table, tail = self._empty(max(1, n_groups)), self._tail
        if self.name == "fpa":
            rho = frequencies(table)
            half = _reach_of_sum(table, rho, coefficient_scale(table, rho, self._part("smoothing")), tail)
        else:
            size = table.moved if self.name in ("gs_r", "gs_s") else 1
            half = laplace_quantile(tail, noise_scale(table.moved, self._part("release"))) / size
        if self.smooths:
            half += self._bias.added(table.n_keys, table.moved, self._frequencies(table), 2 * tail)
        return [(1.0, half)]

    @property
    def _tail(self) -> float:
        """With what probability noise may exceed the interval's end on one side: half is left to the bias."""
        return (1 - self.confidence) / (4 if self.smooths else 2)

    @property
    def _bias(self) -> SmoothingBias:
        return SmoothingBias(self._part("bias"))

    def _part(self, what: Literal["smoothing", "release", "bias"]) -> Fraction:
        """Of epsilon: what the mechanism spends, on all or on its released counts alone, or the measured bias."""
        whole = exact_epsilon(self.epsilon)
        if what == "bias":
            return whole * BIAS_SHARE
        spent = exact(_at_most(whole * (1 - BIAS_SHARE))) if self.smooths else whole
        shares = {"gs_s": Fraction(1, 2), "gs": 1 - exact(GS.share)}
        return spent * (shares.get(self.name, Fraction(1)) if what == "release" else 1)

    def _most(self, n_keys: int) -> int:
        """At how many keys a unit counts."""
        reached = self.groups_per_unit if self.rule is None else self.rule
        return n_keys if reached is None else min(reached, n_keys)

    def _empty(self, n_keys: int) -> Incidence:
        """An empty table of so many keys, with the public facts of any table."""
        none = np.zeros(0, np.int64)
        return Incidence(none, none, n_keys, self._most(n_keys))

    def _frequencies(self, table: Incidence) -> int:
        return frequencies(table) if self.name == "fpa" else 0

    def _scales(self, table: Incidence) -> Iterator[float]:
        """Of all noise that may be drawn; `gs` draws no coefficients where they would be out of range."""
        if self.name == "fpa":
            yield coefficient_scale(table, frequencies(table), self._part("smoothing"))
        else:
            yield noise_scale(table.moved, self._part("release"))
            yield noise_scale(table.most, self._part("release"))
        if self.smooths:
            yield self._bias.scale(table.n_keys, table.moved, self._frequencies(table))
        spent = self._part("smoothing") - self._part("release")
        if self.name == "gs_s":
            yield noise_scale(min(2, table.n_keys), spent)
        if self.name == "gs":
            yield noise_scale(min(2, table.n_keys), spent / 4)
            yield choice_scale(spent * 3 / 4)

    def _reach(self, table: Incidence, found: NoisyCounts) -> Floats:
        """(n_keys,) what the noise of each value is off by at most, with probability 1 - 2 `_tail`."""
        if found.frequencies:
            scale = coefficient_scale(table, found.frequencies, self._part("release"))
            return np.full(table.n_keys, _reach_of_sum(table, found.frequencies, scale, self._tail))
        sizes = np.bincount(found.group)[found.group]
        return laplace_quantile(self._tail, float((found.noise_scale * sizes).max()) * UPWARD) / sizes


def _at_most(share: Fraction) -> float:
    """The largest float whose decimal is no more than a share."""
    value = float(share)
    while exact(value) > share:
        value = math.nextafter(value, 0.0)
    return value


def _reach_of_sum(table: Incidence, rho: int, scale: float, tail: float) -> float:
    """What a sum of noisy coefficients is off by in one key at most; `KeyCounts` has the proof."""
    m = reals(table.n_keys, rho)
    largest = math.sqrt(2) * scale / (table.n_keys * 2.0**BITS) * (1 + 2.0**-18)
    return NoiseSum.counted(np.array([largest]), np.array([-(-m // 2)])).reach(tail) * UPWARD + 2.0**-6
