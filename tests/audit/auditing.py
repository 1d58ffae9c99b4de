"""Running a mechanism on both neighbours and auditing what comes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.entropy import Entropy
from privacy.mechanisms.measurement import Measurement
from privacy.noisy_answer import NoisyAnswer
from tests.audit.pairs import Table, repeated
from tests.support.simulated_entropy import SimulatedEntropy

FAILURE_PROBABILITY = 1e-7
"""Of each audit. There are fewer than two hundred, so the family's chance of a false alarm is below 2e-5."""

RUNS = 150_000
"""Of each audit, and how many are made in one go."""

LENGTH = int(os.environ.get("NOISEGATE_AUDIT_LENGTH", "1"))
"""How many times as many runs there are, up to MOST_RUNS where a test does not ask for more; `make audit` sets it."""

MOST_RUNS = 20 * RUNS


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

    def run(table: Table, size: int) -> Outputs:
        answer = repeated(table, measurement.ladder, size * together, gap)
        return outputs(measurement.release(answer, source), together)

    first, second = (in_goes(runs, lambda size, table=table: run(table, size)) for table in pair)  # type: ignore[misc]
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY)


def in_goes(runs: int, run: Callable[[int], Outputs]) -> Outputs:
    """So many runs, or more at length, some at a time so that their tables fit into memory."""
    return Outputs.joined([run(size) for size in goes(runs)])


def goes(runs: int) -> Iterator[int]:
    """Sizes of at most RUNS that add up to so many runs, or more at length."""
    every = min(runs * LENGTH, max(runs, MOST_RUNS))
    for start in range(0, every, RUNS):
        yield min(RUNS, every - start)


def outputs(answer: NoisyAnswer, together: int) -> Outputs:
    """One row per run: the largest of its groups' values (it is low only if all are), and the smallest threshold."""
    return Outputs(
        score=answer.values.reshape(-1, together).max(axis=1),
        label=thresholds(answer).reshape(-1, together).min(axis=1),
    )


def outputs_high(answer: NoisyAnswer, together: int) -> Outputs:
    """The same with the smallest value, which is high only if all are, and the largest threshold."""
    return Outputs(
        score=answer.values.reshape(-1, together).min(axis=1),
        label=thresholds(answer).reshape(-1, together).max(axis=1),
    )


def thresholds(answer: NoisyAnswer) -> NDArray[np.int64]:
    """(n_groups,) the exponents of the published thresholds; -40 where there is none."""
    return np.where(answer.tau > 0, np.log2(np.maximum(answer.tau, 2.0**-40)), -40).astype(np.int64)
