"""All noisy values of DP-S4S, which is what its accounting is about: it publishes the largest of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.entropy import Entropy
from privacy.mechanisms.noise.release import released
from privacy.mechanisms.noise.threshold_noise import rungs
from privacy.mechanisms.racing.s4s import S4S
from privacy.published.s4s_rdp import S4SRenyi
from privacy.published.s4s_zcdp import S4SConcentrated
from tests.audit.auditing import FAILURE_PROBABILITY, in_goes
from tests.audit.tuple_samples import UnitAtTheBound
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = 1_000_000
Values = Callable[[int], NDArray[np.int64]]


def values_bound(
    race: S4S | S4SRenyi | S4SConcentrated,
    unit: UnitAtTheBound,
    cuts: list[float],
    entropy: Entropy | None = None,
    fresh: bool = False,
    runs: int = RUNS,
) -> float:
    """A lower bound on the epsilon of all noisy values, from how often the first of them are all large.

    Args:
      cuts: the event is that each of so many values exceeds its cut by some number, which the auditor picks.
      fresh: every threshold has a sample of its own.
    """
    source = SimulatedEntropy(seed=20260108) if entropy is None else entropy
    generator = np.random.default_rng(20260109)
    grids, index = rungs(race.ladder, race.gap, Fraction(1)), np.arange(len(race.ladder))

    def without(size: int) -> NDArray[np.int64]:
        return np.zeros((size, len(index)), np.int64)

    def with_unit(size: int) -> NDArray[np.int64]:
        samples = [unit.values(race.ladder, size, generator, race.gap) for _ in (index if fresh else index[:1])]
        return np.stack([samples[i if fresh else 0][:, i] for i in index], axis=1)

    def run(values: Values, size: int) -> Outputs:
        noise = race.draw(size, source)
        noisy = released(values(size), noise, np.broadcast_to(index, noise.shape), grids)
        return Outputs((noisy[:, : len(cuts)] - cuts).min(axis=1), np.zeros(size, np.int64))

    first, second = (in_goes(runs, partial(run, values)) for values in (without, with_unit))
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY, getattr(race, "delta", 0.0))
