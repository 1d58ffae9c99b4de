"""The answer of a release in which all groups share one threshold and one scale of Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from privacy.entropy import Entropy, check_scale
from privacy.ladder import Ladder
from privacy.mechanisms.vector.sparse_vector import SparseVector
from privacy.mechanisms.vector.truncated_vector import TruncatedVector, truncated_vector
from privacy.mechanisms.vector.vector_grid import VectorGrid
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.vector.instance import VectorInstance

TAIL = 0.01
"""The part of an interval's error that is left for its noise being larger than stated."""

RARE = 2.0**-64
"""How likely noise may be to choose a scale of noise that no source draws: what is likelier is refused beforehand."""

_PRICE = 0.4
"""Per removed person and tau. Doubling tau adds at most 2 tau E to the truncated answer (`removal_price`), which is
then five prices, as `MOST_MISSED` has it."""


class VectorMechanism(Protocol):
    """A mechanism whose first stage is a sparse vector over thresholds. All of this is public."""

    @property
    def name(self) -> str:
        """The mechanism's name, as `NoisyAnswer.mechanism` carries it."""
        ...

    @property
    def epsilon(self) -> float:
        """What one release spends, for all groups together."""
        ...

    @property
    def delta(self) -> float:
        """The delta of one release."""
        ...

    @property
    def n_groups(self) -> int:
        """d, the public number of groups."""
        ...

    @property
    def ladder(self) -> Ladder:
        """The public thresholds that the sparse vector goes through."""
        ...

    @property
    def confidence(self) -> float:
        """The probability that an interval covers what it names, in (0, 1)."""
        ...

    @property
    def selection(self) -> SparseVector:
        """The first stage: a sparse vector over thresholds, with its share of epsilon."""
        ...


def taken(by: VectorMechanism, instance: VectorInstance, entropy: Entropy) -> TruncatedVector | None:
    """What the threshold left that the first stage took. Raises: EntropyFailed; SolverFailed; Cancelled."""
    return truncated_vector(instance, by.ladder, by.selection.stops(len(by.ladder), entropy))


def most_persons(by: VectorMechanism, tail: float = TAIL) -> float:
    """What the number of people removed does not exceed but with probability `tail`. Public."""
    return by.selection.most_removed(len(by.ladder), tail)


def check_largest(by: VectorMechanism, sigma: float) -> None:
    """Refuse noise of `sigma`, in multiples of 2 tau, that no source draws. Public. Raises: InvalidParameter."""
    check_scale(VectorGrid(int(by.ladder.units[0]), by.n_groups).scale(sigma))  # in steps it is the same at every tau


def vector_answer(
    by: VectorMechanism,
    found: TruncatedVector | None,
    sigma: Callable[[int], float],
    entropy: Entropy,
    shown: float | None = None,
) -> NoisyAnswer:
    """The second stage: the sums that are left, with noise.

    With the shares s of the people removed at tau, what a larger threshold adds to the sums is a vector of length
    at most sum_u s_u |x_u|, x_u what u has there: z' - z <= z' sum_u s_u. So doubling tau adds at most 2 tau E.

    Args:
      by: the mechanism that releases.
      found: what the first stage took.
      sigma: of the noise in multiples of 2 tau, by how many were removed, in steps; it may draw noise itself.
      entropy: where the noise comes from.
      shown: where sigma is private, a public bound that it exceeds with probability `TAIL` at most.
    Returns: all public.
    Raises: EntropyFailed.
    """
    if found is None:
        return _no_answer(by)
    grid = VectorGrid(int(by.ladder.units[found.rung]), by.n_groups)
    drawn = sigma(found.removed)
    values = grid.released(found.sums, drawn, entropy)
    noise = 2 * grid.tau * (drawn if shown is None else shown)
    half = _reach(noise, by.confidence)
    return NoisyAnswer(
        values=values,
        tau=np.full(by.n_groups, grid.tau),
        noise_scale=np.full(by.n_groups, noise),
        low=values - half,
        high=values + half + grid.step_weight,
        confidence=by.confidence,
        covers="truncated_full",
        mechanism=by.name,
        epsilon=by.epsilon,
        signal=np.maximum(values, 0.0) / (_PRICE * max(1.0, most_persons(by)) * grid.tau),
        delta=by.delta,
        noise="gaussian",
    )


def half_widths(by: VectorMechanism, sigma: float) -> list[tuple[float, float]]:
    """(tau, half-width) per threshold, in normalised weight, for noise of sigma in multiples of 2 tau."""
    half = _reach(2 * sigma, by.confidence)
    return [(tau, tau * half) for tau in by.ladder.taus.tolist()]


def _reach(sigma: float, confidence: float) -> float:
    """How far Gaussian noise of `sigma` is from 0 at most, in its unit, with probability `confidence` + `TAIL`."""
    return sigma * float(special.ndtri(1 - (1 - confidence - TAIL) / 2)) * (1 + 2.0**-30)


def _no_answer(by: VectorMechanism) -> NoisyAnswer:
    """What is said when no threshold was taken, which on any data needs noise of a millionth of all runs and less.

    It reads no data: zeros, with intervals that exclude nothing.
    """
    nothing: NDArray[np.float64] = np.zeros(by.n_groups)
    return NoisyAnswer(
        values=nothing,
        tau=np.full(by.n_groups, float(by.ladder.taus[-1])),
        noise_scale=np.full(by.n_groups, math.inf),
        low=nothing.copy(),
        high=np.full(by.n_groups, math.inf),
        confidence=by.confidence,
        covers="truncated_full",
        mechanism=by.name,
        epsilon=by.epsilon,
        signal=nothing.copy(),
        delta=by.delta,
        noise="gaussian",
    )
