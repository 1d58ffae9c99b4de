"""DP-S4S under zCDP keeps its claim at every rate; what a sample is taken to save there is not saved."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import ZCDP
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.published.s4s_zcdp import S4SConcentrated
from privacy.sampling.joint_renyi import joint_renyi
from privacy.sampling.square_loss import gaussian_loss
from tests.audit.mutants import WeakerNoise
from tests.audit.s4s_values import values_bound
from tests.audit.tuple_samples import UnitAtTheBound
from tests.support.simulated_entropy import SimulatedEntropy

EPSILON, DELTA = 2.0, 0.01
ALL, MOST, SOME = UnitAtTheBound(8, 1.0), UnitAtTheBound(8, 0.9), UnitAtTheBound(8, 0.2)
WEIGHTS = [1.0, 2.0, 4.0, 8.0]


def race(tuples: int = 8, groups: int = 1) -> S4SConcentrated:
    return S4SConcentrated(EPSILON, DELTA, tuples, groups)


@pytest.mark.parametrize("unit", [ALL, MOST, SOME], ids=str)
def test_all_values_keep_the_claim(unit: UnitAtTheBound) -> None:
    least = 0.2 * EPSILON if unit is ALL else 0.0
    assert least < values_bound(race(), unit, WEIGHTS) <= EPSILON


def test_catches_half_the_noise() -> None:
    assert values_bound(race(), ALL, WEIGHTS, WeakerNoise(SimulatedEntropy(1), gaussian=0.5)) > EPSILON


class Unsplit(S4SConcentrated):
    """Every threshold spends everything."""

    @property
    def _each(self) -> float:
        return self.budget.rho


def test_catches_an_unsplit_budget() -> None:
    assert values_bound(Unsplit(EPSILON, DELTA, 8), ALL, WEIGHTS) > EPSILON


class AmplifiedByTheMean(S4SConcentrated):
    """rho for the mean of the loss, to which rho'(a) / a falls at small orders: as if orders near 1 were all."""

    rate = 0.2

    @property
    def _each(self) -> float:
        return super()._each / self.rate**2


def test_catches_amplification_by_the_rate() -> None:
    """A unit whose tuples are all drawn as often as one of eight would be."""
    assert values_bound(AmplifiedByTheMean(EPSILON, DELTA, 8), UnitAtTheBound(8, 0.9), WEIGHTS) > EPSILON


@pytest.mark.parametrize("rate", [0.001, 0.2, 0.9])
def test_no_rate_amplifies_zcdp(rate: float) -> None:
    """rho'(a) / a rises with a, to the loss of all rows and no further: the supremum that appendix G leaves open."""
    losses = [gaussian_loss(tau, 3.0 * tau) for tau in (1.0, 2.0, 4.0)]
    orders = [1.001, 1.5, 2.0, 8.0, 64.0, 1024.0, 16384.0]
    ratios = [joint_renyi(losses, 4, rate, order) / order for order in orders]
    whole = math.fsum(loss.most for loss in losses)
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.95 * whole
    assert ratios[-1] == pytest.approx(whole, rel=2e-2)
    assert max(ratios) <= whole * (1 + 1e-9)


def test_the_divergence_itself_comes_as_near_as_one_likes() -> None:
    """By quadrature, one tuple at rate 1/4 and noise of scale 1: only the bound of all rows holds at every order."""
    z = np.linspace(-60.0, 160.0, 400_001)
    without, there = -(z**2) / 2, -((z - 1) ** 2) / 2
    both = np.logaddexp(math.log(0.75) + without, math.log(0.25) + there)
    ratios = []
    for order in (2.0, 8.0, 32.0, 100.0):
        logs = order * both + (1 - order) * without
        top = logs.max()
        area = math.log(float(np.exp(logs - top).sum()) * (z[1] - z[0]) / math.sqrt(2 * math.pi)) + top
        ratios.append(area / ((order - 1) * order))
    assert ratios == sorted(ratios)
    assert 0.47 < ratios[-1] <= 0.5


def test_it_costs_what_all_rows_do() -> None:
    made = race(1024, groups=3)
    rho = ConcentratedBudget.of(EPSILON, DELTA).rho
    assert made.event == ZCDP(rho)
    spent = math.fsum(rung.rho for rung in made._steps) * 3
    assert rho * (1 - 1e-9) < spent <= rho
    assert made.epsilon_if_bound_fails() == EPSILON
