"""Running a mechanism on both neighbours and auditing what comes out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.mechanisms.measurement import Measurement
from privacy.noisy_answer import NoisyAnswer
from tests.audit.auditor import Outputs, epsilon_lower_bound
from tests.audit.pairs import Table, repeated
from tests.support.simulated_entropy import SimulatedEntropy

Input = TypeVar("Input")

FAILURE_PROBABILITY = 1e-9
"""Of each audit of a mechanism that keeps its claim, by Clopper and Pearson. `make test` makes fewer than 300 audits,
`make test-all` fewer than 600: all together fail with at most 3e-7 and 6e-7. Nearly all are seeded, for which that is
the chance that another order of draws, and no mistake, brings a failure; the others have the mark `statistical`."""

RUNS = 150_000
"""Of each audit, and how many are made in one go."""

LENGTH = int(os.environ.get("NOISEGATE_AUDIT_LENGTH", "1"))
"""How many times as many runs there are, up to MOST_RUNS where a test does not ask for more; `make audit` sets it."""

MOST_RUNS = 20 * RUNS


def slow(*values: Any) -> Any:
    """A case of a parametrised test that `make test` leaves out: one more of what it shows by another."""
    return pytest.param(*values, marks=pytest.mark.slow)


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

    def run(table: Table, size: int) -> Outputs:
        answer = repeated(table, measurement.thresholds, size * together, measurement.gap)
        return outputs(measurement.release(answer, source), together)

    return loss_bound(run, pair, runs)


def loss_bound(
    run: Callable[[Input, int], Outputs], pair: tuple[Input, Input], runs: int = RUNS, delta: float = 0.0
) -> float:
    """A lower bound on epsilon at delta, from so many runs on either input, some at a time to fit into memory."""
    first, second = (Outputs.joined([run(one, size) for size in goes(runs)]) for one in pair)
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY, delta)


def goes(runs: int) -> Iterator[int]:
    """Sizes of at most RUNS that add up to so many runs, or more at length."""
    every = min(runs * LENGTH, max(runs, MOST_RUNS))
    for start in range(0, every, RUNS):
        yield min(RUNS, every - start)


def plain(score: NDArray[Any]) -> Outputs:
    """Outputs of which only a number counts."""
    return Outputs(score.astype(np.float64), np.zeros(len(score), np.int64))


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
