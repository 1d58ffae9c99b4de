"""s4s_vector and pmsja keep their (epsilon, delta) where their proofs are tight; their mistakes are caught.

A neighbour may remove one person more and have sums 2 tau B apart. What a run shows is the log ratio of the densities
that such a pair would have, so that both the means and the variances count.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.papers.pmsja import Pmsja
from privacy.papers.s4s_vector import S4SVector
from privacy.papers.smooth_sensitivity import GaussianRamp
from privacy.papers.vector_program.certificate import SHARE_BITS, WHOLE
from privacy.papers.vector_release import SparseVector, TruncatedVector, vector_instance
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.audit.auditing import FAILURE_PROBABILITY, LENGTH, loss_bound, slow
from tests.audit.auditor import Outputs, epsilon_lower_bound
from tests.audit.mutants import WeakerNoise
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

EPSILON, DELTA, D = 2.0, 0.01, 8
RUNS = 10_000 * LENGTH
FEW_RUNS = examples(5_000, RUNS)
RUNG = 20
"""tau = 1."""


class RememberedRamp(GaussianRamp):
    """The same noise, computed once per bound."""

    @cache  # noqa: B019
    def sigma(self, bound: float) -> float:
        return super().sigma(bound)


class LocalNoise(RememberedRamp):
    """Noise in proportion to the local sensitivity: enough for the distance of the means, not for its own change."""

    @cache  # noqa: B019
    def sigma(self, bound: float) -> float:
        return self.slope * bound


def s4s_vector(ramp: type[GaussianRamp] = RememberedRamp) -> S4SVector:
    mechanism = S4SVector(EPSILON, DELTA, D)
    made = mechanism.noise
    mechanism.__dict__["noise"] = ramp(made.dimension, made.alpha, made.rho, made.growth)
    return mechanism


def released(mechanism: S4SVector | Pmsja, bound: float, entropy: Entropy, runs: int = RUNS) -> float:
    """Audit what a threshold leaves of a pair of neighbours, of which the smaller bound is `bound`."""
    apart = int(2 * bound / D**0.5 * 2**30) << SHARE_BITS
    removed = round((bound - 1) * WHOLE)
    pair = TruncatedVector(RUNG, removed, (0,) * D), TruncatedVector(RUNG, removed + WHOLE, (apart,) * D)
    shown = [[mechanism.noised(one, entropy) for _ in range(runs)] for one in pair]
    sigmas = [np.mean([np.std(answer.values) for answer in answers]) for answers in shown]
    outputs = []
    for answers in shown:
        values = np.stack([answer.values for answer in answers])
        near, far = (values / sigmas[0]) ** 2, ((values - 2 * bound / D**0.5) / sigmas[1]) ** 2
        score = (far - near).sum(axis=1) / 2
        said = np.array([answer.noise_scale[0] for answer in answers])
        label = np.digitize(np.log2(said), np.arange(0, 12, 0.5))
        outputs.append(Outputs(score, label.astype(np.int64)))
    return epsilon_lower_bound(outputs[0], outputs[1], FAILURE_PROBABILITY, DELTA)


@pytest.mark.parametrize("bound", [slow(1.0), slow(5.0), 60.0])
def test_the_noise_of_s4s_vector_keeps_the_claim(bound: float) -> None:
    assert 0.15 * EPSILON < released(s4s_vector(), bound, SimulatedEntropy(1), FEW_RUNS) <= EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("bound", [1.0, 10.0])
def test_the_noise_of_pmsja_keeps_the_claim(bound: float) -> None:
    assert released(Pmsja(EPSILON, DELTA, D), bound, SimulatedEntropy(1)) <= EPSILON


def test_catches_a_third_of_the_noise() -> None:
    assert released(s4s_vector(), 60.0, WeakerNoise(SimulatedEntropy(1), gaussian=1 / 3), FEW_RUNS) > EPSILON


@pytest.mark.slow
def test_catches_noise_in_proportion_to_local_sensitivity_and_a_quarter_of_the_noise_of_pmsja() -> None:
    assert released(s4s_vector(LocalNoise), 1.0, SimulatedEntropy(1)) > EPSILON
    assert released(Pmsja(EPSILON, DELTA, D), 60.0, WeakerNoise(SimulatedEntropy(1), gaussian=1 / 4)) > EPSILON


class ExactBound(Pmsja):
    """The bound on local sensitivity without noise of its own."""

    def noisy_bound(self, removed: int, entropy: Entropy) -> float:
        return removed / WHOLE + 1


def test_catches_a_bound_without_noise() -> None:
    assert released(ExactBound(EPSILON, DELTA, D), 1.0, SimulatedEntropy(1), examples(2_000, RUNS)) > EPSILON


def stopped(made: SparseVector, runs: int = 300_000) -> float:
    """Audit the choice: a person leaves, who lowers the early levels as far as the gap allows and lifts the last."""
    entropy, h, level = SimulatedEntropy(2), 0.3, made.threshold + 1

    def run(values: tuple[float, ...], size: int) -> Outputs:
        return Outputs(np.zeros(size), _first(made, np.array(values), entropy, size))

    return loss_bound(run, ((level,) * 10, (level - 1 - h,) * 9 + (level + h,)), runs)


def _first(made: SparseVector, values: NDArray[np.float64], entropy: Entropy, runs: int) -> NDArray[np.int64]:
    """The level at which each run stops, as `stops` has it, many at once."""
    threshold = entropy.laplace(made.threshold_scale, runs)[:, None] + round(made.threshold * WHOLE)
    rungs = entropy.laplace(made.level_scale, runs * len(values)).reshape(runs, -1)
    passed = np.rint(values * WHOLE).astype(np.int64) <= threshold - rungs
    return np.where(passed.any(axis=1), passed.argmax(axis=1), len(values)).astype(np.int64)


def test_the_choice_keeps_its_epsilon_with_a_large_gap_and_scales_without_it_are_caught() -> None:
    assert 1.0 < stopped(SparseVector.monotone(2.0, 4.0, 3 * WHOLE // 10)) <= 2.0
    assert stopped(SparseVector.monotone(2.0, 4.0, 0)) > 2.0


def one_person(weight: int) -> JoinTuples:
    """Nobody, or one person with so much in every group."""
    size = D if weight else 0
    owners = (OwnerColumn("p", np.zeros(size, np.int64), np.zeros(size, bool)),)
    return JoinTuples(owners, np.arange(size), D, np.full((1, size), weight * ONE, np.int64))


@pytest.mark.slow
@pytest.mark.parametrize("made", [S4SVector, Pmsja], ids=lambda made: made.__name__)
def test_a_person_beyond_every_threshold_is_hidden(made: type[S4SVector] | type[Pmsja]) -> None:
    """The whole way, from tuples: the answer's first value, and the threshold that was taken."""
    mechanism = made(EPSILON, DELTA, D, thresholds=Thresholds(0, 3))
    if isinstance(mechanism, S4SVector):
        mechanism = S4SVector(EPSILON, DELTA, D, thresholds=Thresholds(0, 3))
        made_noise = mechanism.noise
        mechanism.__dict__["noise"] = RememberedRamp(D, made_noise.alpha, made_noise.rho, made_noise.growth)
    entropy, outputs = SimulatedEntropy(3), []
    for weight in (0, 1000):
        instance = vector_instance(encode(one_person(weight)), 0)
        answers = [mechanism.released(instance, entropy) for _ in range(RUNS // 2)]
        label = np.array([np.log2(answer.tau[0]) for answer in answers], np.int64)
        outputs.append(Outputs(np.array([answer.values.sum() for answer in answers]), label))
    assert epsilon_lower_bound(outputs[0], outputs[1], FAILURE_PROBABILITY, DELTA) <= EPSILON
