"""Samples of join tuples with and without one unit that has as many as the public bound allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.mechanisms.measurement import Measurement
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.audit.auditing import RUNS, loss_bound, outputs_high
from tests.audit.auditor import Outputs
from tests.support.simulated_entropy import SimulatedEntropy


@dataclass(frozen=True)
class UnitAtTheBound:
    """Nobody, against one unit of `tuples` join tuples of weight 1, each sampled with probability `rate`.

    Everything of one run sees the same sample. A solver errs as much as it may, in the unit's favour.
    """

    tuples: int
    rate: float

    def drawn(self, runs: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """(runs,) how many of the unit's tuples are in each run's sample."""
        return generator.binomial(self.tuples, self.rate, runs)

    def values(
        self, thresholds: Thresholds, runs: int, generator: np.random.Generator, gap: float = 0.0
    ) -> NDArray[np.int64]:
        """(runs, L) the truncated answer of each run's sample, in units."""
        drawn = self.drawn(runs, generator)[:, None] * ONE
        error = np.floor(gap * thresholds.units.astype(np.float64)).astype(np.int64)
        return np.where(drawn > 0, np.minimum(drawn, thresholds.units) + error, 0)


def sampled_audit(
    measurement: Measurement,
    unit: UnitAtTheBound,
    entropy: Entropy | None = None,
    runs: int = RUNS,
    together: int = 1,
    delta: float = 0.0,
) -> float:
    """A lower bound on epsilon when `together` releases are made from each sample."""
    source = SimulatedEntropy(seed=20260107) if entropy is None else entropy
    generator = np.random.default_rng(20260106)

    def run(there: bool, size: int) -> Outputs:
        thresholds = measurement.thresholds
        values = np.zeros((size, len(thresholds)), np.int64)
        if there:
            values = unit.values(thresholds, size, generator, measurement.gap)
        answer = TabulatedAnswer(np.repeat(values, together, axis=0), thresholds, measurement.gap)
        return outputs_high(measurement.release(answer, source), together)

    return loss_bound(run, (False, True), runs, delta)
