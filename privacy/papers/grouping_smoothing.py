"""Counts of units by many keys (VLDB 2013): LPA, FPA, and means of random or similar groups.

In: which unit is at which key, a sparse 0/1 table whose column sums are COUNT(DISTINCT unit) per key. `lpa` adds
  noise for all keys of a unit to every count, `fpa` to the lowest frequencies of the counts. `gs_r` releases means of
  random groups of keys, `gs_s` of groups that are similar in a noisy sample of one key of each unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from privacy.entropy import Entropy, checked
from privacy.errors import InvalidParameter
from privacy.exact import exact_epsilon, float_at_least
from privacy.join_tuples import Private
from privacy.mechanisms.measurement import Pure
from privacy.sampling.draws import MAX_COUNT, Draws
from privacy.units import Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class Incidence(Private):
    """Pairs of a unit and a key, without duplicates, no unit at more than `most` keys. Private.

    Sensitivity: when a unit comes or goes, so do its keys, `most` of them at most. Given the order that was drawn
      (`enforced`), no other unit's keys change. So the counts move by 1 at no more than `moved` keys.

    Attributes:
      units: (m,) int64, rising; within a unit the pairs stand in the drawn order.
      keys: (m,) int64 in [0, n_keys).
      n_keys: d, public.
      most: L0, public and enforced.
    """

    units: Ints
    keys: Ints
    n_keys: int
    most: int

    @property
    def moved(self) -> int:
        """The L1 sensitivity of the counts. Public."""
        return min(self.most, self.n_keys)

    @cached_property
    def counts(self) -> Ints:
        """(n_keys,) how many units each key has."""
        return np.bincount(self.keys, minlength=self.n_keys)

    @cached_property
    def first(self) -> Ints:
        """(n_units,) the first key of each unit in the drawn order: uniform over all keys of the unit."""
        begins = np.ones(len(self.units), bool)
        begins[1:] = self.units[1:] != self.units[:-1]
        return self.keys[begins]


def enforced(units: Ints, keys: Ints, n_keys: int, most: int, draws: Draws) -> Incidence:
    """Keep at most `most` keys of each unit, chosen uniformly, and each pair once.

    The bound is enforced; the papers take the largest number that occurs, which is private. Each pair has a place in
    the order by a draw of its own, so that in neighbouring data the same draws decide.

    Args:
      units: (m,) which privacy unit, in [0, 2^31).
      keys: (m,) which public key, in [0, n_keys); pairs with others are dropped, as an error would reveal them.
      n_keys: d >= 1, public, at most 2^31.
      most: L0 >= 1, public.
      draws: of the order.
    Raises: InvalidParameter.
    Cost: two sorts of m pairs.
    """
    if not 1 <= n_keys <= 1 << 31 or most < 1:
        raise InvalidParameter("there must be at least one key, and each unit must have one")
    if units.shape != keys.shape or units.ndim != 1:
        raise InvalidParameter("each pair must have a unit and a key")
    if len(units) and (units.min() < 0 or units.max() >= 1 << 31):
        raise InvalidParameter("units must be numbered from 0, below 2^31")
    known = (keys >= 0) & (keys < n_keys)
    units, keys = units[known], keys[known]
    unit, key = np.divmod(np.unique(units.astype(np.int64) * n_keys + keys), n_keys)
    order = np.lexsort((draws.uniform(MAX_COUNT, len(unit)), unit))
    unit, key = unit[order], key[order]
    place = np.arange(len(unit)) - np.searchsorted(unit, unit)
    kept = place < most
    return Incidence(unit[kept], key[kept], n_keys, min(most, n_keys))


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """One count per key. Every field is safe to publish.

    Attributes:
      values: (n_keys,) float64.
      noise_scale: (n_keys,) float64, the scale of Laplace noise in each, for sums of noise that of the same
        variance; what smoothing changes is no noise.
      group: (n_keys,) int64, the group of each key; keys of one group have one value.
      group_size: w; the last group is larger by what is left over.
      mechanism: its name.
      epsilon: what all counts together spent.
      frequencies: how many Fourier frequencies the values are made of; 0 where they are means of groups.
    """

    values: Floats
    noise_scale: Floats
    group: Ints
    group_size: int
    mechanism: str
    epsilon: float
    frequencies: int = 0


def equal_groups(order: Ints, size: int) -> Ints:
    """(n_keys,) groups of `size` keys that follow one another in an order; the last has what is left over as well.

    Raises: InvalidParameter for a size out of [1, n_keys].
    """
    if not 1 <= size <= len(order):
        raise InvalidParameter("a group must have at least one key, and at most all of them")
    group = np.empty(len(order), np.int64)
    group[order] = np.minimum(np.arange(len(order)) // size, len(order) // size - 1)
    return group


def noise_scale(moved: int, epsilon: Fraction) -> float:
    """Laplace noise that hides `moved`, in counts, rounded up."""
    return float_at_least(moved / epsilon)


def noisy(counts: Ints, moved: int, epsilon: Fraction, entropy: Entropy) -> Ints:
    """Counts plus discrete Laplace noise, epsilon-DP where neighbours differ by `moved` in L1.

    Raises: EntropyFailed.
    """
    return counts + checked(entropy.laplace(noise_scale(moved, epsilon), len(counts)), len(counts))


def smoothed(incidence: Incidence, group: Ints, epsilon: Fraction, entropy: Entropy) -> tuple[Floats, Floats]:
    """The mean of each key's group, with noise on the group's whole sum, and the noise scale of that mean.

    The sums of disjoint groups move by no more in L1 than the counts do. The sum of all moves by L0, as a unit is
    counted at so many keys at most. So integer noise of scale moved / epsilon on each sum is epsilon-DP. Dividing by
    the public size of the group is post-processing. It is the noise of the papers on averages, moved / (epsilon w),
    in integers, and less for the last group.

    Args:
      group: (n_keys,), public, or a function of an earlier release.
    Raises: EntropyFailed.
    """
    sizes = np.bincount(group)
    moved = incidence.most if len(sizes) == 1 else incidence.moved
    sums = np.bincount(group, incidence.counts).astype(np.int64)  # sums of whole numbers below 2^53 are exact
    means = noisy(sums, moved, epsilon, entropy) / sizes
    return means[group], (noise_scale(moved, epsilon) / sizes)[group]


def noisy_sample(incidence: Incidence, epsilon: Fraction, entropy: Entropy) -> Ints:
    """(n_keys,) noisy counts of one key of each unit, the first in the order drawn; epsilon-DP.

    Its sensitivity is 1: a unit that comes or goes does so with its one key. That the order also decides which keys
    are counted elsewhere does no harm: given the order, both are functions of the rows.

    Raises: EntropyFailed.
    Source: Kellaris and Papadopoulos (VLDB 2013), theorem 5; docs/mathematics.md, section 11.5.
    """
    return noisy(np.bincount(incidence.first, minlength=incidence.n_keys), 1, epsilon, entropy)


@dataclass(frozen=True)
class OfKeys(Pure):
    """A mechanism that releases all counts at once.

    Attributes:
      epsilon: for all keys together, > 0.
    """

    epsilon: float

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)


@dataclass(frozen=True)
class LPA(OfKeys):
    """Count of each key + Lap(Delta_1 / epsilon), Delta_1 = `Incidence.moved`.

    The expected error of a count is Delta_1 / epsilon: the paper's sqrt(2) times it is its standard deviation.
    Source: Kellaris and Papadopoulos (VLDB 2013), theorem 1.
    """

    name = "lpa"

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts; nothing is drawn from `draws`. Raises: EntropyFailed. Cost: a draw of noise per key."""
        group = np.arange(incidence.n_keys)
        noisy = smoothed(incidence, group, exact_epsilon(self.epsilon), entropy)
        return NoisyCounts(*noisy, group, 1, self.name, self.epsilon)


BITS = 20
"""The entries of the basis are whole numbers of 2^-20."""


@dataclass(frozen=True)
class FPA(OfKeys):
    """The first rho frequencies of the counts in the order of the keys, with noise, and the counts rebuilt from them.

    Frequencies are measured in real numbers, m = 2 rho - 1 of them: the sum, and a cosine and a sine for each other
    one. The basis is a table of whole numbers, sqrt(2) cos(2 pi j i / d) 2^20 rounded. So each coefficient is an
    exact whole number, and so are its sensitivity and its noise.

    Sensitivity in L1, in units of 2^-20, when `moved` = s counts change by 1: without rounding the m columns are
    orthogonal and of norm sqrt(d), so the change has a norm of at most sqrt(d s) 2^20. An entry is rounded by less
    than 1, which adds at most s in each of m coefficients. By Cauchy and Schwarz the sum of absolute values is at
    most sqrt(m d s) 2^20 + m s. It is also at most the L0 by which the sum moves, and sqrt(2) s for each other one;
    `sensitivity` takes the smaller.

    Departures from the paper: (1) its theorem 2 counts rho complex coefficients: too little noise, by nearly sqrt(2),
    for 2 rho - 1 real numbers. (2) Its noise is real numbers on floating point. (3) It takes the best rho for the
    data, which is private; here rho is a public parameter.
    Source: Kellaris and Papadopoulos (VLDB 2013), theorem 2 and appendix A; Rastogi and Nath (SIGMOD 2010).

    Attributes:
      frequencies: rho >= 1, at most d // 2 + 1 are used.
    """

    frequencies: int
    name = "fpa"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frequencies < 1:
            raise InvalidParameter("there must be at least one frequency")

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts; nothing is drawn from `draws`.

        Raises: InvalidParameter for more pairs than sums of whole numbers hold; EntropyFailed.
        Cost: m times the keys, and m draws of noise.
        """
        values, spread = reconstructed(incidence, self.frequencies, exact_epsilon(self.epsilon), entropy)
        keys = np.arange(incidence.n_keys)
        return NoisyCounts(values, spread, keys, 1, self.name, self.epsilon, self.frequencies)


def reals(n_keys: int, frequencies: int) -> int:
    """m, how many real numbers so many frequencies are."""
    return min(2 * frequencies - 1, n_keys)


def sensitivity(n_keys: int, frequencies: int, moved: int, most: int) -> int:
    """The L1 sensitivity of the whole-numbered coefficients, rounded up; `FPA` has the proof."""
    m = reals(n_keys, frequencies)
    by_norm = math.isqrt((m * n_keys * moved) << (2 * BITS)) + 1 + m * moved
    largest = math.isqrt(2 << (2 * BITS)) + 2
    return min(by_norm, (most << BITS) + moved * (m - 1) * largest)


def reconstructed(
    incidence: Incidence, frequencies: int, epsilon: Fraction, entropy: Entropy
) -> tuple[Floats, Floats]:
    """(n_keys,) the counts of noisy coefficients, epsilon-DP, and their noise scales. Raises: as `FPA.release`."""
    d, m = incidence.n_keys, reals(incidence.n_keys, frequencies)
    scale = coefficient_scale(incidence, frequencies, epsilon)
    exactly = coefficients(incidence.counts, m)
    measured = exactly + checked(entropy.laplace(scale, m), m)
    return from_coefficients(measured.astype(np.float64), d), np.full(d, key_scale(incidence, frequencies, epsilon))


def from_coefficients(measured: Floats, d: int) -> Floats:
    """(d,) the counts that whole-numbered coefficients make up."""
    values, keys = np.zeros(d), np.arange(d)
    for number, coefficient in enumerate(measured.tolist()):
        values += column(number, keys, d) * (coefficient / (d * 4.0**BITS))
    return values


def column_sum(frequencies: int, keys: int) -> float:
    """The largest column sum of |I - P|, rounded up. P is circulant, of a Dirichlet kernel: all are the same."""
    half = np.arange(1, keys) * (math.pi / keys)
    others = np.abs(np.sin((2 * frequencies - 1) * half) / np.sin(half)).sum() / keys
    return (1 - (2 * frequencies - 1) / keys + float(others)) * (1 + 2.0**-30)


def key_scale(incidence: Incidence, frequencies: int, epsilon: Fraction) -> float:
    """The scale of Laplace noise of the same variance as that of one key. Public."""
    d, m = incidence.n_keys, reals(incidence.n_keys, frequencies)
    return coefficient_scale(incidence, frequencies, epsilon) * math.sqrt(m) / (d * 2.0**BITS)


def coefficient_scale(incidence: Incidence, frequencies: int, epsilon: Fraction) -> float:
    """The scale of the noise in each whole-numbered coefficient. Public."""
    return float_at_least(
        Fraction(sensitivity(incidence.n_keys, frequencies, incidence.moved, incidence.most)) / epsilon
    )


def coefficients(counts: Ints, m: int) -> Ints:
    """(m,) whole-numbered coefficients, exact: the sum, then cosine and sine of each frequency.

    Raises: InvalidParameter where the counts add up to more than 2^32, for which the error of GS's scores is bounded;
      so many pairs take 69 GB.
    """
    present = np.flatnonzero(counts)
    weight = counts[present]
    if weight.sum() > 1 << 32:
        raise InvalidParameter("there are more pairs of a unit and a key than sums of whole numbers hold")
    table = [int((weight * column(number, present, len(counts))).sum()) for number in range(m)]
    return np.array(table, np.int64)


def column(number: int, keys: Ints, d: int) -> Ints:
    """(k,) entries of some of d keys in one column of the basis, in 2^-20.

    Column 0 is the constant, 2 j - 1 the cosine of frequency j, 2 j its sine.
    """
    if number == 0:
        return np.full(len(keys), 1 << BITS)
    frequency = (number + 1) // 2
    # The angle is reduced in whole numbers, so that it, its cosine and its sine err by far less than 2^-21.
    angle = (keys * frequency % d) * (2 * math.pi / d)
    wave = np.cos(angle) if number % 2 else np.sin(angle)
    length = 1.0 if 2 * frequency == d else math.sqrt(2)  # cos(pi i) is 1 or -1: of length sqrt(d) by itself
    entries: Ints = np.rint(wave * (length * 2.0**BITS)).astype(np.int64)
    return entries


@dataclass(frozen=True)
class GSR(OfKeys):
    """Means of random groups of Delta_1 keys, so that the noise in each is 1 / epsilon.

    The groups depend on no data. The paper's Delta_1 is the largest number of keys that occurs; here it is the public
    `Incidence.moved`. The last group is larger, so its mean has less noise.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.1, theorem 3.
    """

    name = "gs_r"

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts. Raises: EntropyFailed. Cost: a sort of the keys, and a draw of noise per group."""
        order = np.argsort(draws.uniform(MAX_COUNT, incidence.n_keys), kind="stable")
        group = equal_groups(order, incidence.moved)
        noisy = smoothed(incidence, group, exact_epsilon(self.epsilon), entropy)
        return NoisyCounts(*noisy, group, incidence.moved, self.name, self.epsilon)


@dataclass(frozen=True)
class GSS(OfKeys):
    """Half of epsilon orders the keys by the noisy counts of a sample; half releases means of groups of Delta_1.

    Departure from the paper: Delta_1 is `Incidence.moved`, which is public and enforced.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.2, theorem 5.
    """

    name = "gs_s"

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts. Raises: EntropyFailed. Cost: a draw of noise per key and a sort of the keys."""
        half = exact_epsilon(self.epsilon) / 2
        sample = noisy_sample(incidence, half, entropy)
        group = equal_groups(np.argsort(sample, kind="stable"), incidence.moved)
        noisy = smoothed(incidence, group, half, entropy)
        return NoisyCounts(*noisy, group, incidence.moved, self.name, self.epsilon)
