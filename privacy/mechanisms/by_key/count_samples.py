"""Noisy counts of a sample, by which keys are put in order: sampled rows (units), or one key of each unit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked
from privacy.exact import float_at_least
from privacy.mechanisms.by_key.incidence import Incidence
from privacy.mechanisms.by_key.noisy_counts import noisy
from privacy.sampling.draws import Draws

Sampling = Literal["column", "row"]


def noisy_sample(
    incidence: Incidence, sampling: Sampling, epsilon: Fraction, draws: Draws, entropy: Entropy
) -> NDArray[np.int64]:
    """(n_keys,) noisy counts of a sample; epsilon-DP.

    `column` keeps one key of each unit, the first in the order drawn. Its sensitivity is 1: a
    unit that comes or goes does so with its one key. That the order also decides which keys are counted elsewhere
    does no harm: given the order, both are functions of the rows.

    `row` keeps each unit with `row_rate` and adds noise of scale 1 / epsilon, far too little for all keys of a unit
    without the sample. Amplification: let X and Y be the densities without the unit and with it, within a factor E =
    exp(epsilon Delta_1). Then ((1 - b) X + b Y) / X is at most 1 + b (E - 1) = exp(epsilon), and its inverse less.

    Raises: EntropyFailed.
    Source: Kellaris and Papadopoulos (VLDB 2013), theorems 4 and 5; privacy.md section 6.
    """
    if sampling == "column":
        counts = np.bincount(incidence.first, minlength=incidence.n_keys)
        return noisy(counts, 1, epsilon, entropy)
    scale = float_at_least(1 / epsilon)
    return _rows(incidence, epsilon, draws) + checked(entropy.laplace(scale, incidence.n_keys), incidence.n_keys)


def row_rate(moved: int, epsilon: Fraction) -> float:
    """b = (e^epsilon - 1) / (e^(epsilon Delta_1) - 1), rounded down; 0 where no unit would be drawn anyhow.

    It falls exponentially with Delta_1: below 2^-64 nobody is drawn, which tells less.
    """
    exponent = float_at_least(epsilon * moved)
    if exponent > _LARGEST_EXPONENT:
        return 0.0
    rate = math.expm1(float(epsilon)) / math.expm1(exponent) * (1 - 2.0**-40)
    return min(1.0, rate) if rate >= 2.0**-64 else 0.0


_LARGEST_EXPONENT = 600.0
"""exp() of it still is a float."""


def _rows(incidence: Incidence, epsilon: Fraction, draws: Draws) -> NDArray[np.int64]:
    """(n_keys,) counts of the units that are drawn."""
    rate = row_rate(incidence.moved, epsilon)
    if rate == 0:
        return np.zeros(incidence.n_keys, np.int64)
    codes = np.cumsum(np.diff(incidence.units, prepend=incidence.units[:1]) != 0)
    n_units = int(codes[-1]) + 1 if len(codes) else 0
    drawn = draws.binomial(np.ones(n_units, np.int64), rate).astype(bool)
    return np.bincount(incidence.keys[drawn[codes]], minlength=incidence.n_keys)
