"""`fpa`: the Fourier perturbation algorithm, noise in the first coefficients of the counts' Fourier transform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy, checked
from privacy.errors import InvalidParameter
from privacy.exact import exact_epsilon, float_at_least
from privacy.mechanisms.by_key.incidence import Incidence
from privacy.mechanisms.by_key.noisy_counts import NoisyCounts
from privacy.sampling.draws import Draws

BITS = 20
"""The entries of the basis are whole numbers of 2^-20."""


@dataclass(frozen=True)
class FPA:
    """The first rho frequencies of the counts in the order of the keys, with noise, and the counts that these have.

    Frequencies are measured in real numbers, m = 2 rho - 1 of them: the sum, and a cosine and a sine for each other
    one. The basis is a table of whole numbers, sqrt(2) cos(2 pi j i / d) 2^20 rounded, so that each coefficient is an
    exact whole number, whose sensitivity holds to the last bit, and so has its noise.

    Sensitivity in L1, in units of 2^-20, when `moved` = s counts change by 1: without rounding the m columns are
    orthogonal and of length sqrt(d), so the change has a length of at most sqrt(d s) 2^20; an entry is rounded by
    less than 1, so that adds at most s in each of m coefficients. By Cauchy and Schwarz the sum of absolute values is
    at most sqrt(m d s) 2^20 + m s. It is also at most the L0 by which the sum moves, and sqrt(2) s for
    each other one: that is less for few coefficients, and `sensitivity` takes the smaller.

    Departures from the paper: (1) its theorem 2 counts rho coefficients, which are complex: noise for sqrt(rho) where
    2 rho - 1 real numbers are released is too little by nearly sqrt(2). (2) Its noise is real numbers on floating
    point. (3) It takes the best rho for the data, which tells about them; here rho is a public parameter.
    Source: Kellaris and Papadopoulos (VLDB 2013), theorem 2 and appendix A; Rastogi and Nath (SIGMOD 2010).

    Attributes:
      epsilon: for all keys together, > 0.
      frequencies: rho >= 1, at most d // 2 + 1 are used.
    """

    epsilon: float
    frequencies: int

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if self.frequencies < 1:
            raise InvalidParameter("at least one frequency is measured")

    @property
    def name(self) -> str:
        """`fpa`: noise in the first Fourier coefficients."""
        return "fpa"

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy, over all keys."""
        return PureDP(self.epsilon)

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts; nothing is drawn from `draws`.

        Raises: InvalidParameter for more pairs than sums of whole numbers hold; EntropyFailed.
        Cost: m times the keys, and m draws of noise.
        """
        values, spread = reconstructed(incidence, self.frequencies, exact_epsilon(self.epsilon), entropy)
        told = self.name, self.epsilon, self.frequencies
        return NoisyCounts(values, spread, np.arange(incidence.n_keys), 1, *told)


def reals(n_keys: int, frequencies: int) -> int:
    """m, how many real numbers so many frequencies are."""
    return min(2 * frequencies - 1, n_keys)


def sensitivity(n_keys: int, frequencies: int, moved: int, most: int) -> int:
    """The L1 sensitivity of the whole-numbered coefficients, rounded up; `FPA` has the proof."""
    m = reals(n_keys, frequencies)
    by_length = math.isqrt((m * n_keys * moved) << (2 * BITS)) + 1 + m * moved
    largest = math.isqrt(2 << (2 * BITS)) + 2
    return min(by_length, (most << BITS) + moved * (m - 1) * largest)


def reconstructed(
    incidence: Incidence, frequencies: int, epsilon: Fraction, entropy: Entropy
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n_keys,) the counts of noisy coefficients, epsilon-DP, and their noise scales. Raises: as `FPA.release`."""
    d, m = incidence.n_keys, reals(incidence.n_keys, frequencies)
    scale = coefficient_scale(incidence, frequencies, epsilon)
    exactly = coefficients(incidence.counts, m)
    measured = exactly + checked(entropy.laplace(scale, m), m)
    return from_coefficients(measured.astype(np.float64), d), np.full(d, key_scale(incidence, frequencies, epsilon))


def from_coefficients(measured: NDArray[np.float64], d: int) -> NDArray[np.float64]:
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


def coefficients(counts: NDArray[np.int64], m: int) -> NDArray[np.int64]:
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


def column(number: int, keys: NDArray[np.int64], d: int) -> NDArray[np.int64]:
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
    entries: NDArray[np.int64] = np.rint(wave * (length * 2.0**BITS)).astype(np.int64)
    return entries
