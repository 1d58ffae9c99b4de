"""The marginals of a workload keep one epsilon together, as do the tables that follow from them; mutants do not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.marginals import Grid, Reconstruction, best_shares
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.shared_threshold import SharedThreshold
from privacy.thresholds import Thresholds
from privacy.units import ONE
from tests.audit.auditing import loss_bound, plain, slow
from tests.audit.auditor import Outputs
from tests.audit.mutants import WeakerNoise
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

GRID = Grid((6, 5))
EVERY = (0, 1, 2, 3)
RUNS = examples(30_000, 150_000)
Shares = Mapping[int, float]


def shares(epsilon: float) -> Shares:
    """What each measured marginal of a workload of all of them gets."""
    found = best_shares(GRID, np.ones(4), dict.fromkeys(EVERY, 2 * 4.0**2))
    assert len(found.shares) > 1, "one table alone would audit no composition"
    return {mask: share * epsilon for mask, share in found.shares.items()}


def released(mask: int, epsilon: float, people: int, runs: int, entropy: Entropy) -> NDArray[np.float64]:
    """(runs, cells) of a marginal as the library releases it: so many people, all in the first cell."""
    measurement = SharedThreshold(PureBudget(epsilon), 1, thresholds=Thresholds(0, 0))
    exact = np.zeros((runs, GRID.cells(mask)), np.int64)
    exact[:, 0] = people * ONE
    return measurement.release_at(0, exact.ravel(), entropy).values.reshape(exact.shape)


def tables_lost(of: Shares, people: tuple[int, int], entropy: Entropy) -> float:
    """Of epsilon, by every measured marginal's first cell, which is the one that a person is in."""

    def run(people: int, runs: int) -> Outputs:
        cells = {mask: released(mask, epsilon, people, runs, entropy)[:, 0] for mask, epsilon in of.items()}
        score = np.sum([np.clip(cells[mask], 0, 1) * epsilon for mask, epsilon in of.items()], axis=0)
        label = np.sum([(cells[mask] > 0.5) * 2**place for place, mask in enumerate(of)], axis=0)
        return Outputs(score, label.astype(np.int64))

    return loss_bound(run, people, RUNS)


def estimates_lost(of: Shares, people: tuple[int, int], entropy: Entropy) -> float:
    """Of epsilon, by what a client is given: the workload's tables by least squares, their first cells added up."""
    fit = Reconstruction(GRID, {mask: 1 / epsilon for mask, epsilon in of.items()})
    weights = {mask: np.zeros(GRID.cells(mask)) for mask in of}
    for mask in of:
        for place, cell in enumerate(np.ndindex(GRID.shape(mask))):
            one = {other: np.zeros(GRID.shape(other)) for other in of}
            one[mask][cell] = 1.0
            weights[mask][place] = sum(float(fit.table(wished, one).flat[0]) for wished in EVERY)

    def run(people: int, runs: int) -> Outputs:
        parts = [released(mask, epsilon, people, runs, entropy) @ weights[mask] for mask, epsilon in of.items()]
        return plain(np.sum(parts, axis=0))

    return loss_bound(run, people, RUNS)


@pytest.mark.parametrize("epsilon", [slow(0.5), 1.0, slow(3.0)])
def test_all_marginals_together_spend_one_epsilon(epsilon: float) -> None:
    source = SimulatedEntropy(seed=20261125)
    of = shares(epsilon)
    assert sum(of.values()) <= epsilon
    assert tables_lost(of, (8, 7), source) <= epsilon
    assert 0.6 * epsilon < tables_lost(of, (1, 0), source) <= epsilon


def test_estimates_tell_no_more_than_what_they_follow_from() -> None:
    assert 0.2 < estimates_lost(shares(1.0), (1, 0), SimulatedEntropy(seed=20261126)) <= 1.0


def test_catches_an_epsilon_that_is_not_divided_and_less_noise() -> None:
    whole = dict.fromkeys(shares(1.0), 1.0)
    assert tables_lost(whole, (1, 0), SimulatedEntropy(seed=20261127)) > 1.0
    assert tables_lost(shares(1.0), (1, 0), WeakerNoise(SimulatedEntropy(4), laplace=0.5)) > 1.0


def test_catches_shares_of_all_but_one() -> None:
    """As if what nobody asked for were measured for free."""
    of = dict(shares(1.0))
    finest = max(of)
    forgotten = {mask: epsilon / (1 - of[finest]) for mask, epsilon in of.items()}
    assert sum(forgotten.values()) > 1.1
    assert tables_lost(forgotten, (1, 0), SimulatedEntropy(seed=20261128)) > 1.0
