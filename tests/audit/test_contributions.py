"""A histogram of contributions keeps its claim: one person is in one bucket. Mutants do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.mechanisms.contributions import released
from tests.audit.auditing import RUNS, loss_bound, plain, slow
from tests.audit.auditor import Outputs
from tests.audit.mutants import WeakerNoise
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

FEW = examples(50_000, RUNS)
"""Runs that show a mistake, which more do not show better."""

WITHOUT = np.array([40, 7, 0, 0], np.int64)
"""People by bucket."""


def with_one_more(*buckets: int) -> NDArray[np.int64]:
    there = WITHOUT.copy()
    there[list(buckets)] += 1
    return there


def audited(epsilon: float, one_more: NDArray[np.int64], entropy: Entropy, runs: int = RUNS) -> float:
    """A lower bound on what all numbers together tell, by the least of those that the person moves."""
    changed = one_more != WITHOUT

    def run(counts: NDArray[np.int64], size: int) -> Outputs:
        noisy = released(np.tile(counts, size), Fraction(repr(epsilon)), entropy).reshape(size, len(counts))
        return plain((noisy - WITHOUT)[:, changed].min(axis=1))

    return loss_bound(run, (WITHOUT, one_more), runs)


@pytest.mark.parametrize("epsilon", [slow(0.5), 1.0, slow(2.0)])
@pytest.mark.parametrize("bucket", [0, 2])
def test_one_person_costs_epsilon_and_no_more(epsilon: float, bucket: int) -> None:
    assert epsilon - 0.2 < audited(epsilon, with_one_more(bucket), SimulatedEntropy(20260101)) <= epsilon


def test_catches_half_the_noise() -> None:
    entropy = WeakerNoise(SimulatedEntropy(1), laplace=0.5)
    assert audited(1.0, with_one_more(2), entropy, FEW) > 1.0


def test_catches_a_person_in_two_buckets() -> None:
    """As if buckets were cumulative, or one were all people less the others, without the owners of lost rows."""
    assert audited(1.0, with_one_more(0, 2), SimulatedEntropy(1), FEW) > 1.0
