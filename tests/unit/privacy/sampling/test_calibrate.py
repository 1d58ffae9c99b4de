from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise
from privacy.sampling.calibrate import choice_budget, largest_factor, release_budget
from privacy.sampling.design import SampleDesign
from privacy.sampling.loss import Loss, choice_loss, laplace_loss

DESIGNS = st.builds(
    SampleDesign,
    st.floats(1e-6, 1.0),
    st.integers(1, 10**9),
    st.floats(0.01, 8.0),
)


def laplace(tau: float, epsilon: float) -> Loss:
    return laplace_loss(tau, tau / epsilon)


@given(DESIGNS, st.integers(1, 12), st.integers(-3, 20))
def test_budgets_cost_their_share_and_nearly_all_of_it(design: SampleDesign, cells: int, exponent: int) -> None:
    cell = Fraction(design.epsilon) / cells
    selecting = choice_budget(design, cell) / 2
    tau = 2.0**exponent
    budget = release_budget(design, cell, selecting, partial(laplace, tau))
    together = [choice_loss(selecting), laplace(tau, budget)] * cells
    assert design.joint(together) <= design.epsilon * (1 + 1e-9)
    more = [choice_loss(selecting), laplace(tau, budget * 1.001)] * cells
    within_reach = sum(loss.most for loss in more) < 9e3  # beyond, the search ends
    assert not within_reach or design.joint(more) > design.epsilon * (1 - 1e-5)
    assert selecting >= float(cell) / 2 * (1 - 1e-5)  # never less than without amplification
    assert budget >= float(cell) / 2 * (1 - 1e-2) or selecting > float(cell) / 2


@given(DESIGNS, st.lists(st.tuples(st.integers(1, 5), st.integers(-2, 14)), min_size=2, max_size=4))
def test_releases_that_choose_different_thresholds_stay_within_the_budget_together(
    design: SampleDesign, parts: list[tuple[int, int]]
) -> None:
    """Hoelder: each release was calibrated as if all of the others chose as it does."""
    total, losses = sum(share for share, _ in parts), []
    for share, exponent in parts:
        cell = Fraction(design.epsilon) * Fraction(share, total)
        losses.append(laplace(2.0**exponent, release_budget(design, cell, 0.0, partial(laplace, 2.0**exponent))))
    assert design.joint(losses) <= design.epsilon * (1 + 1e-7)


def test_a_small_sample_pays_for_large_thresholds() -> None:
    """At q = 1/64 a unit of 1024 tuples has 16 in the sample: a threshold of 1024 needs the noise of 64 or so."""
    design = SampleDesign(1 / 64, 1024, 1.0)
    budgets = [release_budget(design, Fraction(1), 0.6, partial(laplace, 2.0**j)) for j in range(11)]
    scales = [2.0**j / budget for j, budget in enumerate(budgets)]
    assert budgets[0] == pytest.approx(0.4, rel=1e-6)
    assert max(scales) == pytest.approx(min(scale for scale in scales if scale > 40), rel=1e-3)
    assert max(scales) < 41


def test_without_a_bound_on_tuples_nothing_is_claimed() -> None:
    sampled = SampleDesign(0.01, None, 1.0)
    assert choice_budget(sampled, Fraction(1)) == pytest.approx(1.0, rel=1e-6)
    plain, claimed = Gem(1.0), Gem(1.0, sample=sampled)
    assert plain.prices() == claimed.prices()


def test_a_selection_that_spends_everything_leaves_nothing() -> None:
    design = SampleDesign(0.5, 10, 1.0)
    with pytest.raises(InvalidParameter):
        release_budget(design, Fraction(1), 3.0, partial(laplace, 1.0))
    with pytest.raises(InvalidParameter):
        largest_factor(design, Fraction(1), lambda factor: [], 1.0)


def test_gem_s_transcripts_cost_no_more_than_epsilon_in_all_groups_together() -> None:
    """Whatever threshold each of a unit's groups chooses."""
    design = SampleDesign(0.02, 300, 2.0)
    gem = Gem(1.0, groups_per_unit=3, gap=0.01, ladder=Ladder(0, 9), sample=design)  # another release has the rest
    selecting, releasing = gem._budgets(10)
    rng = np.random.default_rng(0)
    for _ in range(50):
        chosen = rng.integers(len(gem.ladder), size=3)
        rungs = [ThresholdNoise(int(gem.ladder.units[i]), 0.01, releasing[i]) for i in chosen]
        losses = [choice_loss(float(selecting))] * 3 + [rung.loss for rung in rungs]
        # The other release spends as much, so it counts once more.
        assert design.joint(losses + losses) <= 2.0 * (1 + 1e-7)


def test_a_rung_s_loss_bounds_how_far_its_steps_can_move() -> None:
    for exponent, gap in ((3, 0.0), (25, 0.0), (4, 0.01), (30, 0.01), (-5, 0.0)):
        rung = ThresholdNoise(1 << (30 + exponent), gap, Fraction(1, 3))
        for k in (1, 2, 7, 8, 9, 10**6, 1 << 40):
            moved = math.ceil(Fraction(min(rung.tau_units, k << 30) + Fraction(gap) * rung.tau_units) / rung.step)
            assert moved / rung.scale <= (rung.loss.step + rung.loss.slope * min(rung.loss.cap, k)) * (1 + 1e-12)
