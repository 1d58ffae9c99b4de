"""DP-S4S with Gaussian noise keeps its (epsilon, delta) from a shared sample and from fresh ones; mistakes do not.

The Renyi divergence is an upper bound, and so is what is converted from it: there is room between what a run loses
and what is claimed, so that the mistakes which can be told from it are larger than under pure privacy.
"""

from __future__ import annotations

import pytest

from privacy.accounting.event import RenyiCurve
from privacy.entropy import OpendpEntropy
from privacy.published.s4s_rdp import S4SRenyi
from privacy.sampling.renyi_order import least_epsilon
from tests.audit.mutants import WeakerNoise
from tests.audit.s4s_values import values_bound
from tests.audit.tuple_samples import UnitAtTheBound, sampled_audit
from tests.support.simulated_entropy import SimulatedEntropy

EPSILON, DELTA = 2.0, 0.01
"""A delta that is seen in a million runs."""

UNIT = UnitAtTheBound(8, 0.2)
RARE = UnitAtTheBound(64, 0.02)
LEVEL = [1.0, 1.0, 1.0, 1.0]


def race(tuples: int, rate: float, epsilon: float = EPSILON, groups: int = 1, published: bool = False) -> S4SRenyi:
    return S4SRenyi(epsilon, DELTA, tuples, rate, groups, published=published)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("unit", [UNIT, RARE, UnitAtTheBound(8, 1.0)], ids=str)
def test_all_values_keep_the_claim(epsilon: float, unit: UnitAtTheBound) -> None:
    assert 0.1 * epsilon < values_bound(race(unit.tuples, unit.rate, epsilon), unit, LEVEL) <= epsilon


def test_the_published_answer_keeps_the_claim() -> None:
    assert 0.2 * EPSILON < sampled_audit(race(8, 0.2), UNIT, runs=300_000, delta=DELTA) <= EPSILON


def test_a_solver_gap_is_paid_for() -> None:
    assert values_bound(S4SRenyi(EPSILON, DELTA, 8, 0.2, gap=0.5), UNIT, LEVEL) <= EPSILON


def test_the_published_budgets_pass_with_a_sample_for_each_threshold() -> None:
    published = race(64, 0.02, published=True)
    assert 0.2 * EPSILON < values_bound(published, RARE, [1.0], fresh=True) <= EPSILON


def test_the_published_sum_over_one_sample_is_pinned() -> None:
    """Simulation does not reach it: the excess is less than what the Renyi bound gives away."""
    published = S4SRenyi(4.0, 1e-7, 1024, 0.001, published=True)
    assert isinstance(published.event, RenyiCurve)
    assert least_epsilon(published.divergence, 1e-7).value == pytest.approx(4.224, abs=5e-3)


def test_two_releases_of_one_sample_share_its_budget() -> None:
    assert sampled_audit(race(1, 0.5, groups=2), UnitAtTheBound(1, 0.5), together=2, delta=DELTA) <= EPSILON


def test_with_the_noise_of_production() -> None:
    assert values_bound(race(8, 0.2), UNIT, LEVEL, OpendpEntropy(), runs=20_000) <= EPSILON


def test_catches_half_the_noise() -> None:
    assert values_bound(race(8, 0.2), UNIT, LEVEL, WeakerNoise(SimulatedEntropy(1), gaussian=0.5)) > EPSILON


def test_catches_a_rate_that_is_applied_twice() -> None:
    assert values_bound(race(64, 0.02**2), RARE, [1.0]) > EPSILON


def test_catches_units_that_are_taken_to_have_one_tuple() -> None:
    assert values_bound(race(1, 0.02), RARE, [1.0]) > EPSILON


class Unsplit(S4SRenyi):
    """Every threshold spends everything."""

    @property
    def _steps(self):  # type: ignore[no-untyped-def]
        return self._rungs([self.plan.rho / self.plan.alpha] * len(self.ladder))


def test_catches_an_unsplit_budget() -> None:
    assert values_bound(Unsplit(EPSILON, DELTA, 64), UnitAtTheBound(64, 1.0), [1.0, 2.0, 4.0, 8.0]) > EPSILON


def test_catches_one_release_where_there_are_four() -> None:
    assert sampled_audit(race(1, 0.5), UnitAtTheBound(1, 0.5), together=4, delta=DELTA) > EPSILON
