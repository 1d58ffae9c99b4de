"""GS: counts alone, groups of a size, or frequencies, whichever costs less.

A paid comparison of the counts themselves decides, with noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy.entropy import MAX_SCALE, Entropy, checked_geometric
from privacy.errors import InvalidParameter
from privacy.exact import exact, exact_epsilon, float_at_least
from privacy.mechanisms.measurement import Pure
from privacy.papers.grouping_smoothing import (
    Incidence,
    NoisyCounts,
    coefficient_scale,
    column_sum,
    equal_groups,
    key_scale,
    noise_scale,
    noisy_sample,
    reconstructed,
    smoothed,
)
from privacy.sampling.draws import Draws
from privacy.units import Floats, Ints


def candidate_sizes(n_keys: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 11, ... and n_keys: steps of sqrt(2), where the paper tries all sizes."""
    steps = {round(2 ** (step / 2)) for step in range(2 * n_keys.bit_length())}
    return sorted(size for size in {1, n_keys, *steps} if size == n_keys or 2 * size <= n_keys)


def group_sizes(keys: int, size: int) -> Ints:
    """(groups,) how many keys each group of `equal_groups` has, in their order: the last has what is left over."""
    sizes = np.full(keys // size, size, np.int64)
    sizes[-1] += keys % size
    return sizes


def own_means(ordered: Floats, sizes: Ints) -> Floats:
    """(keys,) the mean of each one's group, of numbers whose groups follow one another."""
    return np.repeat(np.add.reduceat(ordered, np.cumsum(sizes) - sizes) / sizes, sizes)


FREQUENCIES = (2, 4, 8, 16)
"""Of FPA; one frequency is one group of all keys, with less noise."""

_GRID = 1 << 10
"""Scores are whole numbers of a sensitivity over this."""

_SLACK = 2
"""By how much more than _GRID a score moves: its rounding, and that of the floats of which it is made."""

_RISK = 1024
"""Once in so many choices something else is taken that is no better than the default."""

_WELL_ABOVE = 2
"""What the coarse questions may count for, in penalties: enough to beat the default, not what the fine ones find."""

_LARGEST_SUM = 1 << 32
"""Keys per epsilon, up to which the floats of a score err by far less than `_SLACK` allows for: all errors come to
n Delta_1 / epsilon, a score is 410 / Delta_1 times that, and 2^-53 of it 2^-12. Beyond it there is noise alone."""

_MOST = 1 << 60


@dataclass(frozen=True)
class Smoothing:
    """Means of groups of so many keys, of which 1 is noise in every count; or so many frequencies, where not 0."""

    size: int = 1
    frequencies: int = 0


@dataclass(frozen=True)
class _Candidate:
    """How much larger its error is than that of counts by themselves, all keys together; what that is may move by."""

    released: Smoothing
    excess: float
    sensitivity: float
    penalties: int
    coarse: bool = False


def choose(incidence: Incidence, order: Ints, epsilon: Fraction, rest: Fraction, entropy: Entropy) -> Smoothing:
    """What to release with `rest`, by report noisy max; epsilon-DP for an order that was released before.

    The score of a candidate is its expected absolute error over all keys less that of noise in every count; both are
    exact. A deviation s from the mean of a group whose noise has the scale b costs E|s + noise| = s + b exp(-s / b),
    which moves by no more than s. All |c - mean| of a group move by at most 2 (1 - 1/w) in sum when one of its counts
    moves by 1. Noise in a count c that is clipped at 0 costs b - exp(-c / b) b / 2, which moves by at most 1/2. So
    the score of groups moves by at most 2.5 moved. That of frequencies moves by moved (1/2 + the largest column sum
    of |I - P|), P the projection onto them.

    Each score is divided by its own public sensitivity before one geometric draw each is subtracted. Epsilon does not
    depend on the divisors: the score of the winner and the largest of the others move by `_GRID` + `_SLACK` at most,
    and the noise is for twice that. Different sensitivities bend the comparison, so all fine questions share the
    largest.

    Counts alone are the default: their error is known, that of smoothing has no bound. Everything else must beat a
    penalty, so that something no better is taken once in `_RISK` times. One group of all keys has one penalty, all
    else two. For few keys the penalty exceeds what smoothing can gain. Two coarse questions see further, for one
    group only: the total, of which all deviations are at most twice as much and which moves by L0, and one group
    without the others' sensitivity.

    Raises: EntropyFailed, InvalidParameter for an epsilon below 2^-38.
    Cost: some thirty passes over the keys.
    """
    candidates = _candidates(incidence, order, rest)
    if not candidates:
        return Smoothing()
    scale = choice_scale(epsilon)
    penalty = scale * math.log(_RISK * len(candidates))
    fine = max(one.sensitivity for one in candidates if not one.coarse)
    scores = np.zeros(len(candidates) + 1, np.int64)
    for number, one in enumerate(candidates, 1):
        excess = one.excess * _GRID / (one.sensitivity if one.coarse else fine)
        if one.coarse:
            excess = max(excess, -_WELL_ABOVE * penalty)
        scores[number] = math.ceil(min(max(excess + one.penalties * penalty, -_MOST), _MOST))
    noise = checked_geometric(entropy.geometric(scale, len(scores)), len(scores))
    return (Smoothing(), *(one.released for one in candidates))[int(np.argmax(noise - scores))]


def choice_scale(epsilon: Fraction) -> float:
    """The scale of the noise in each score. Public."""
    return float_at_least(2 * (_GRID + _SLACK) / epsilon)


def _candidates(incidence: Incidence, order: Ints, rest: Fraction) -> list[_Candidate]:
    """All but the default."""
    keys, moved = incidence.n_keys, incidence.moved
    if keys == 1 or keys > rest * _LARGEST_SUM:
        return []
    counts, ordered = incidence.counts.astype(np.float64), incidence.counts[order].astype(np.float64)
    alone = noise_scale(moved, rest)
    default = keys * alone - alone / 2 * float(np.exp(-counts / alone).sum())
    found: list[_Candidate] = []
    for size in candidate_sizes(keys)[1:]:
        sizes = group_sizes(keys, size)
        scale = noise_scale(incidence.most if size == keys else moved, rest) / np.repeat(sizes, sizes)
        excess = _error(ordered - own_means(ordered, sizes), scale) - default
        found.append(_Candidate(Smoothing(size), excess, 2.5 * moved, 1 if size == keys else 2))
    whole = found[-1]
    transformed = np.fft.rfft(counts)
    for frequencies in FREQUENCIES:
        # What is not released must not be chosen: that it fails would tell what was best. Both bounds are public.
        if 2 * frequencies - 1 >= keys or coefficient_scale(incidence, frequencies, rest) > MAX_SCALE:
            break
        smooth = np.fft.irfft(np.where(np.arange(len(transformed)) < frequencies, transformed, 0), keys)
        scale = np.full(keys, key_scale(incidence, frequencies, rest) * _NORMAL)
        excess = _error(counts - smooth, scale) - default
        found.append(_Candidate(Smoothing(1, frequencies), excess, moved * (0.5 + column_sum(frequencies, keys)), 2))
    total = 2 * float(counts.sum()) + noise_scale(incidence.most, rest) - keys * alone / 2
    return [
        *found,
        _Candidate(whole.released, whole.excess, whole.sensitivity, 1, coarse=True),
        _Candidate(whole.released, total, 2.0 * incidence.most, 1, coarse=True),
    ]


_NORMAL = 2 / math.sqrt(math.pi)
"""A sum of many Laplace draws is off by so much of the scale of one draw that has the same variance."""


def _error(deviation: Floats, scale: Floats) -> float:
    """The sum of E|s + Lap(b)|: each term is 1-Lipschitz in |s|."""
    off = np.abs(deviation)
    return float((off + scale * np.exp(-off / scale)).sum())


_LARGEST_EPSILON = 1024


@dataclass(frozen=True)
class GS(Pure):
    """Order the keys by a noisy sample, choose how to smooth, release that.

    The sample spends a quarter of `share` of epsilon, the choice three quarters, the release the rest. The order
    depends only on what was released, and so does the choice of the release. So the three add up to epsilon.

    Departures from the paper, beside those of `GSS`: (1) half of epsilon for the grouping makes GS at least twice as
    bad as LPA if no grouping helps. A share s costs at least s / (1 - s) there, 3.2% for a thirty-second. No private
    choice is free: one that hardly depends on the counts is as often wrong on some of them. (2) The paper chooses a
    size by L0 times the sample, which is no estimate of the counts. `choose` compares what each size would cost, by
    the counts themselves, with noise. (3) It also compares noise in every count, and Fourier coefficients.

    The cost of choosing on n keys, in units of LPA's error: s / (1 - s), and at most 2 / (1024 s n) for wrong choices
    if LPA is best. Smoothing that gains less than some 150 / (s n) goes unseen, as the sum of all deviations moves by
    2.5 Delta_1 and LPA's errors come to n Delta_1 / epsilon. So for a thousand keys GS is LPA, unless all counts are
    small; from tens of thousands on the loss is small. Some loss is unavoidable. Between zero counts and counts for
    which LPA is as good as one group lie n / epsilon units. So a choice that is right there takes LPA with
    probability exp(-s n) / 2 for zero counts, and is n times worse then. Within 5% of both therefore needs s n >=
    ln(10 n): some 250 keys at a thirty-second.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.3, theorem 6; report noisy max with exponential noise.

    Attributes:
      epsilon: for all keys together, > 0.
      share: of epsilon, for order and choice, in (0, 1).
    """

    epsilon: float
    share: float = 1 / 32
    name = "gs"

    def __post_init__(self) -> None:
        # With more the noise of one release may be too little to draw, and that of another not.
        if exact_epsilon(self.epsilon) > _LARGEST_EPSILON:
            raise InvalidParameter("epsilon must be at most 1024 here")
        if not 0 < exact(self.share) < 1:
            raise InvalidParameter("a share must be between 0 and 1")

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts.

        Raises: EntropyFailed. Cost: two draws of noise per key, a sort of the keys, and some thirty passes over them.
        """
        spent = exact_epsilon(self.epsilon) * exact(self.share)
        rest = exact_epsilon(self.epsilon) - spent
        order = np.argsort(noisy_sample(incidence, spent / 4, entropy), kind="stable")
        chosen = choose(incidence, order, spent * 3 / 4, rest, entropy)
        if chosen.frequencies:
            group = np.arange(incidence.n_keys)
            values, spread = reconstructed(incidence, chosen.frequencies, rest, entropy)
        else:
            group = equal_groups(order, chosen.size)
            values, spread = smoothed(incidence, group, rest, entropy)
        return NoisyCounts(values, spread, group, chosen.size, self.name, self.epsilon, chosen.frequencies)
