"""gem keeps its claim when it spends what a sample amplifies, and mistakes about the sample are caught."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privacy.exact import exact_epsilon
from privacy.ladder import Ladder
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.sampling.calibrate import release_budget
from privacy.sampling.design import SampleDesign
from privacy.sampling.loss import Loss
from tests.audit.mutants import WeakerNoise
from tests.audit.tuple_samples import UnitAtTheBound, sampled_audit
from tests.support.simulated_entropy import SimulatedEntropy

RELEASE_HEAVY = SelectionSettings(0.02)
"""Next to nothing for selection, so that the release is what is audited."""

DELTA, RATE, EPSILON = 16, 0.1, 2.0
UNIT = UnitAtTheBound(DELTA, RATE)
ONE_RUNG = Ladder(2, 2)
DESIGN = SampleDesign(RATE, DELTA, EPSILON)


def sampled(design: SampleDesign = DESIGN, groups: int = 1, gap: float = 0.0, ladder: Ladder = ONE_RUNG) -> Gem:
    return Gem(EPSILON, groups_per_unit=groups, gap=gap, ladder=ladder, selection=RELEASE_HEAVY, sample=design)


@pytest.mark.parametrize(
    ("tuples", "rate", "epsilon", "exponent"),
    [
        (1, 0.1, 1.0, 0),
        (16, 0.1, 0.5, 2),
        (16, 0.1, 2.0, 0),
        (16, 0.5, 2.0, 4),
        (1024, 0.01, 1.0, 3),
        (4, 1.0, 1.0, 1),
    ],
)
def test_the_release_spends_nearly_all_that_the_sample_affords(
    tuples: int, rate: float, epsilon: float, exponent: int
) -> None:
    ladder, design = Ladder(exponent, exponent), SampleDesign(rate, tuples, epsilon)
    gem = Gem(epsilon, groups_per_unit=1, ladder=ladder, selection=RELEASE_HEAVY, sample=design)
    assert 0.75 * epsilon < sampled_audit(gem, UnitAtTheBound(tuples, rate)) <= epsilon


@pytest.mark.parametrize("split", [0.2, 0.6])
def test_selection_and_release_from_one_sample(split: float) -> None:
    gem = Gem(EPSILON, groups_per_unit=1, ladder=Ladder(-3, 4), selection=SelectionSettings(split), sample=DESIGN)
    assert sampled_audit(gem, UNIT) <= EPSILON


def test_a_solver_gap_is_paid_for_in_every_sample() -> None:
    assert 0.75 * EPSILON < sampled_audit(sampled(gap=0.5), UNIT) <= EPSILON


@pytest.mark.parametrize("together", [2, 3])
def test_releases_that_share_a_sample_share_its_budget(together: int) -> None:
    """Hoelder's shares: each release is calibrated alone, against all of epsilon at its share."""
    assert 0.7 * EPSILON < sampled_audit(sampled(groups=together), UNIT, together=together) <= EPSILON


def test_a_unit_beyond_the_promised_bound_loses_what_is_announced() -> None:
    gem = sampled()
    assert EPSILON < sampled_audit(gem, UnitAtTheBound(1000, 1.0)) <= gem.epsilon_if_bound_fails()


def test_catches_half_the_release_noise() -> None:
    assert sampled_audit(sampled(), UNIT, WeakerNoise(SimulatedEntropy(1), laplace=0.5)) > EPSILON


def test_catches_budgets_that_are_amplified_one_by_one() -> None:
    """Each of two releases costs half of epsilon on its own sample; both see the same one."""
    alone = Gem(1.0, 1, ladder=Ladder(0, 0), selection=RELEASE_HEAVY, sample=SampleDesign(RATE, 4, 1.0))
    unit = UnitAtTheBound(4, RATE)
    assert sampled_audit(alone, unit) <= 1.0
    assert sampled_audit(alone, unit, together=2) > 2.0


def test_catches_one_release_where_there_are_two() -> None:
    assert sampled_audit(sampled(), UNIT, together=2) > EPSILON


def test_catches_units_that_are_taken_to_have_one_tuple() -> None:
    assert sampled_audit(sampled(SampleDesign(RATE, 1, EPSILON)), UNIT) > EPSILON


def test_catches_a_rate_that_is_applied_twice() -> None:
    assert sampled_audit(sampled(SampleDesign(RATE**2, DELTA, EPSILON)), UNIT) > EPSILON


class ForgetsTheGap(Gem):
    """The noise is scaled for the solver's gap, but the loss of one tuple is that of one tuple."""

    def _budgets(self, n_groups: int) -> tuple[Fraction, tuple[Fraction, ...]]:
        selecting = super()._budgets(n_groups)[0]
        assert self.sample is not None
        budgets = []
        for units in self.ladder.units:

            def loss(budget: float, units: int = int(units)) -> Loss:
                rung = ThresholdNoise(units, self.gap, Fraction(budget))
                return Loss(0.0, 1 / rung.noise_scale, rung.tau)

            budgets.append(release_budget(self.sample, exact_epsilon(self.epsilon), float(selecting), loss))
        return selecting, tuple(map(Fraction, budgets))


def test_catches_a_loss_without_the_gap() -> None:
    ladder = Ladder(4, 4)
    forgetful = ForgetsTheGap(EPSILON, 1, 0.5, ladder, RELEASE_HEAVY, sample=DESIGN)
    assert sampled_audit(forgetful, UNIT) > EPSILON
    assert sampled_audit(sampled(gap=0.5, ladder=ladder), UNIT) <= EPSILON
