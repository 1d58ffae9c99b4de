"""Running a mechanism on both neighbours and auditing what comes out."""

from __future__ import annotations

import numpy as np

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.entropy import Entropy
from privacy.mechanisms.measurement import Measurement
from privacy.noisy_answer import NoisyAnswer
from tests.audit.pairs import Table, repeated
from tests.support.simulated_entropy import SimulatedEntropy

FAILURE_PROBABILITY = 1e-7
"""Of each audit. There are fewer than a hundred, so the family's chance of a false alarm is below 1e-5."""

RUNS = 150_000


def audit(
    measurement: Measurement,
    pair: tuple[Table, Table],
    entropy: Entropy | None = None,
    runs: int = RUNS,
    together: int = 1,
) -> float:
    """A lower bound on epsilon when one unit changes `together` groups at once.

    The groups are independent given the data and share one table, so each consecutive `together` of them is one run.
    """
    source = SimulatedEntropy(seed=20260101) if entropy is None else entropy
    gap = measurement.gap
    first, second = (
        outputs(measurement.release(repeated(table, measurement.ladder, runs * together, gap), source), together)
        for table in pair
    )
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY)


def outputs(answer: NoisyAnswer, together: int) -> Outputs:
    """One row per run: the largest of its groups' values (it is low only if all are), and the smallest threshold."""
    return Outputs(
        score=answer.values.reshape(-1, together).max(axis=1),
        label=np.where(answer.tau > 0, np.log2(np.maximum(answer.tau, 2.0**-40)), -40)
        .astype(np.int64)
        .reshape(-1, together)
        .min(axis=1),
    )
