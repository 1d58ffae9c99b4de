"""Mechanisms that release each group by itself, and the budgets that they spend."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from privacy.accounting.event import ZCDP, PureDP
from privacy.accounting.renyi import approximate
from privacy.errors import InvalidParameter
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.gem import NESTED_SELECTION, SELECTION, Gem
from privacy.mechanisms.release import check_answer
from privacy.mechanisms.selection import SelectionSettings
from privacy.mechanisms.shared_threshold import SharedThreshold, fixed_threshold
from privacy.registry import EachGroup, measurement
from privacy.thresholds import Thresholds, useful_thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer, answer_of_contributions
from privacy.units import ONE
from tests.support.papers.laplace_global import LaplaceGlobal
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.answers import answer_of, poisson_answer, poisson_contributions
from tests.unit.privacy.refusals import refuses, refuses_calls, refuses_each

BUDGET = ConcentratedBudget(0.5, 1e-7)
Scalar = Gem | LaplaceGlobal | SharedThreshold


def test_the_interval_covers_the_truncated_answer_as_often_as_it_says() -> None:
    """20,000 groups with seeded noise: 5.4 standard deviations either way."""
    eight = Thresholds(3, 3)
    mechanisms: list[Scalar] = [
        replace(fixed_threshold(1.0, 1), confidence=0.9),
        LaplaceGlobal(1.0, 3.0, 1, confidence=0.9),
        Gem(PureBudget(1.0), 1, thresholds=eight, confidence=0.9),
        Gem(BUDGET, 1, thresholds=eight, confidence=0.9, c=1.0, monotone=True),
        SharedThreshold(PureBudget(4.0), 1, thresholds=eight, confidence=0.9),
        SharedThreshold(BUDGET, 1, thresholds=eight, confidence=0.9),
    ]
    for one in mechanisms:
        released = one.release(answer_of(one.thresholds, [123] * 20_000), SimulatedEntropy(6))
        covered = ((released.low <= 123) & (released.high >= 123)).mean()
        assert abs(covered - 0.9) < 5.4 * math.sqrt(0.09 / 20_000), one
        assert one.expected_noise(20_000)[0][1] == pytest.approx((released.high - released.low)[0] / 2), one


def test_expected_noise_is_the_half_width_of_the_interval_of_each_threshold() -> None:
    for one in (Gem(PureBudget(0.7), 2, thresholds=Thresholds(-3, 5), gap=0.01), fixed_threshold(0.7, 2, gap=0.01)):
        released = one.release(poisson_answer(one.thresholds, 4, one.gap), SimulatedEntropy(7))
        expected = dict(one.expected_noise(n_groups=4))
        assert (released.high - released.low) / 2 == pytest.approx([expected[tau] for tau in released.tau])


def test_groups_share_the_budget() -> None:
    for groups_per_unit, share in ((1, 1), (3, 3), (None, 8), (50, 8)):
        pure: list[tuple[Scalar, float]] = [
            (fixed_threshold(0.5, groups_per_unit), 1 / 0.5),
            (LaplaceGlobal(0.5, 1.0, groups_per_unit), 1 / 0.5),
            (Gem(PureBudget(1.0), groups_per_unit, thresholds=Thresholds(3, 3)), 8 / (1 - SELECTION.split)),
        ]
        for one, noise in pure:
            released = one.release(answer_of(one.thresholds, [7] * 8), SimulatedEntropy(5))
            assert released.noise_scale == pytest.approx(np.full(8, noise * share), rel=1e-5), (one, share)
            assert one.event == PureDP(one.epsilon)


def test_refuses_an_answer_for_other_parameters_before_drawing() -> None:
    recorded = RecordedEntropy(ConstantEntropy())
    others = [answer_of(Thresholds(1, 1), [0]), answer_of(Thresholds(0, 0), [0], gap=0.01)]
    for one in (fixed_threshold(1.0), LaplaceGlobal(1.0, 1.0)):
        refuses_each(partial(one.release, entropy=recorded), others)
    assert recorded.draws == []


def test_refuses_parameters_out_of_range() -> None:
    of_groups: dict[str, list[float]] = {"groups_per_unit": [0], "gap": [-0.1, 2.0], "confidence": [1.0]}
    of_epsilon = of_groups | {"epsilon": [0.0, math.nan]}
    refuses(
        fixed_threshold, {"epsilon": 1.0}, thresholds=[Thresholds()], groups_per_unit=[0], epsilon=[0.0, math.nan]
    )
    refuses(Gem, {"budget": PureBudget(1.0)}, c=[-1.0, math.inf], **of_groups)
    refuses(PureBudget, {}, epsilon=[0.0, math.nan])
    bounds = [0.0, math.nan, 2.0**33]
    refuses(LaplaceGlobal, {"epsilon": 1.0, "global_sensitivity": 1.0}, global_sensitivity=bounds, **of_epsilon)
    refuses(SharedThreshold, {"budget": PureBudget(4.0)}, **of_groups)


def test_states_the_epsilon_that_an_accountant_states_and_pure_privacy_has_no_delta() -> None:
    budget = ConcentratedBudget.of(4.0, 1e-7)
    assert budget.epsilon == approximate(ZCDP(budget.rho), 1e-7).epsilon
    assert 4.0 - 1e-9 < budget.epsilon <= 4.0
    assert (PureBudget(0.5).epsilon, PureBudget(0.5).delta) == (0.5, 0.0)


def test_a_pure_budget_is_split_exactly() -> None:
    budget = PureBudget(0.3)
    assert (budget.selecting(0.2), budget.releasing(0.2)) == (Fraction(6, 100), Fraction(24, 100))
    assert (budget.event, budget.noise) == (PureDP(0.3), "laplace")


def test_a_concentrated_budget_is_never_exceeded_by_its_parts() -> None:
    budget = ConcentratedBudget(0.3, 1e-6)
    (level,) = budget.levels(Thresholds(3, 3), 0.0, budget.releasing(0.2))
    spent = float(budget.selecting(0.2)) ** 2 / 8 + (level.tau / level.noise_scale) ** 2 / 2
    assert 0.3 * (1 - 1e-5) < spent <= 0.3
    assert (budget.event, budget.noise) == (ZCDP(0.3), "gaussian")


def test_the_scale_is_that_of_a_release_of_sensitivity_one_and_refuses_budgets_out_of_range() -> None:
    budgets: list[PureBudget | ConcentratedBudget] = [PureBudget(0.7), ConcentratedBudget(0.3, 1e-6)]
    for budget in budgets:
        part = budget.releasing(0.5)
        (level,) = budget.levels(Thresholds(0, 0), 0.0, part)
        assert level.noise_scale == pytest.approx(budget.scale(part), rel=1e-9)
    refuses_calls(ConcentratedBudget, (0.0, 0.1), (math.inf, 0.1), (1.0, 0.0), (1.0, 1.0))
    refuses_each(PureBudget, [-1.0])


THRESHOLDS = Thresholds(1, 2)
ZEROS = np.zeros((1, 2), np.int64)


def test_accepts_an_answer_that_keeps_its_contract() -> None:
    check_answer(TabulatedAnswer(ZEROS, THRESHOLDS), THRESHOLDS, 0.01)


def test_a_broken_answer_is_refused_before_noise_is_drawn() -> None:
    crossed = RevealingAnswer(ZEROS, THRESHOLDS, ZEROS, ZEROS)
    crossed._upper, crossed._lower = ZEROS - 0, ZEROS + 1
    tables: list[Any] = [ZEROS[:, :1], ZEROS.astype(np.float64), ZEROS - 1, ZEROS + (1 << 62) + 1]
    broken = [
        crossed,
        TabulatedAnswer(ZEROS, Thresholds(0, 1)),
        *(TabulatedAnswer(ZEROS, THRESHOLDS, gap) for gap in (0.02, math.nan)),
        *(TabulatedAnswer(table, THRESHOLDS) for table in tables),
    ]
    refuses_each(lambda answer: check_answer(answer, THRESHOLDS, 0.01), broken)
    recorded = RecordedEntropy(ConstantEntropy())
    for name in ("gem", "r2t"):
        made = measurement(name, EachGroup(1.0, gap=0.01, global_sensitivity=4.0))
        refuses_each(partial(made.release, entropy=recorded), broken[1:])
    assert recorded.draws == []


def test_without_noise_it_is_the_value_and_nothing_is_drawn_for_a_choice() -> None:
    fixed = fixed_threshold(1.0)
    recorded = RecordedEntropy(ConstantEntropy())
    released = fixed.release(answer_of(fixed.thresholds, [25, 0]), recorded)
    assert released.values.tolist() == [25.0, 0.0]
    assert released.tau.tolist() == [1.0, 1.0]
    assert [kind for kind, _, _ in recorded.draws] == ["laplace"]
    assert (released.mechanism, released.covers, released.epsilon) == ("fixed", "truncated_full", 1.0)
    assert fixed.event == PureDP(1.0)
    assert fixed.release(answer_of(fixed.thresholds, []), SimulatedEntropy(8)).values.shape == (0,)


def test_noise_grows_with_the_threshold_and_the_gap() -> None:
    for exponent, gap in ((0, 0.0), (3, 0.0), (0, 0.01), (-4, 0.01)):
        fixed = fixed_threshold(2.0, gap=gap, thresholds=Thresholds(exponent, exponent))
        scale = fixed.release(answer_of(fixed.thresholds, [7], gap), SimulatedEntropy(5)).noise_scale[0]
        assert scale == pytest.approx((1 + gap) * 2.0**exponent / 2.0, rel=1e-4)
        assert scale >= (1 + gap) * 2.0**exponent / 2.0


def test_what_the_bounds_leave_open_is_solved_once() -> None:
    fixed = fixed_threshold(1.0)
    values = np.array([[5], [6]]) * ONE
    hidden = RevealingAnswer(values, fixed.thresholds, np.zeros_like(values), values + ONE)
    assert fixed.release(hidden, ConstantEntropy()).values.tolist() == [5.0, 6.0]
    assert sorted(hidden.solved) == [(0, 0), (1, 0)]


def test_without_noise_it_takes_the_best_score_and_the_exact_value() -> None:
    released = Gem(PureBudget(1.0)).release(poisson_answer(Thresholds()), ConstantEntropy())
    published = Gem(PureBudget(1.0), selection=replace(SELECTION, rarity=None)).release(
        poisson_answer(Thresholds()), ConstantEntropy()
    )
    assert released.tau.tolist() == published.tau.tolist() == [32.0]
    assert released.values[0] == poisson_contributions().clip(max=32).sum()
    assert released.low[0] <= released.values[0] <= released.high[0]
    assert (released.mechanism, released.covers, released.epsilon) == ("gem", "truncated_full", 1.0)


def test_selection_noise_comes_before_release_noise_and_is_split_exactly() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(4))
    Gem(PureBudget(1.0), selection=SelectionSettings(0.25), gap=0.01).release(poisson_answer(Thresholds()), recorded)
    (first, selection_scale, draws), (second, release_scale, _) = recorded.draws
    assert (first, second, len(draws)) == ("geometric", "laplace", len(Thresholds()))
    assert selection_scale == 2 * 1025 / 0.25
    assert release_scale == pytest.approx(1.01 * 2**20 / 0.75, rel=1e-6)
    # the interval reaches up over the solvers gap
    gem = Gem(PureBudget(1.0), thresholds=Thresholds(0, 0), gap=0.25)
    exact = Gem(PureBudget(1.0), thresholds=Thresholds(0, 0), gap=0.0)
    reach = [m.release(poisson_answer(m.thresholds, gap=m.gap), ConstantEntropy()).high[0] for m in (gem, exact)]
    low = [m.release(poisson_answer(m.thresholds, gap=m.gap), ConstantEntropy()).low[0] for m in (gem, exact)]
    assert reach[0] - reach[1] == pytest.approx(low[1] - low[0] + 0.25, abs=1e-5)


def test_a_hundred_thousand_groups_and_none() -> None:
    gem = Gem(PureBudget(1.0), groups_per_unit=1, thresholds=Thresholds(-2, 10))
    released = gem.release(poisson_answer(gem.thresholds, groups=100_000, people=500), SimulatedEntropy(8))
    truth = poisson_contributions()[:500].sum()
    assert np.median(np.abs(released.values / truth - 1)) < 0.05
    assert gem.release(poisson_answer(gem.thresholds, groups=0), SimulatedEntropy(8)).values.shape == (0,)


def test_a_typical_count_is_within_a_fifth_of_a_percent() -> None:
    gem = Gem(PureBudget(1.0), groups_per_unit=1)
    released = gem.release(poisson_answer(gem.thresholds, groups=2_000), SimulatedEntropy(9))
    assert np.quantile(np.abs(released.values / poisson_contributions().sum() - 1), 0.95) < 0.002


def test_a_threshold_has_to_beat_smaller_ones_by_how_far_they_are_below() -> None:
    """Thirty units of four tuples are worth two doublings; the published scores want forty for each."""
    thresholds = Thresholds(0, 10)
    crowd = 3_000 * np.minimum(thresholds.units, ONE) + 30 * np.minimum(thresholds.units, 4 * ONE)
    table = TabulatedAnswer(crowd[None], thresholds)

    def chosen(rarity: float | None) -> float:
        gem = Gem(PureBudget(1.0), 1, thresholds=thresholds, selection=replace(SELECTION, rarity=rarity))
        return float(gem.release(table, ConstantEntropy()).tau[0])

    assert (chosen(4.0), chosen(None)) == (4.0, 1.0)


def _of(contributions: list[float], thresholds: Thresholds, runs: int = 1) -> TabulatedAnswer:
    """Units with these loads, in so many groups."""
    units = (np.array(contributions) * ONE).astype(np.int64)
    groups = np.repeat(np.arange(runs), len(units))
    return answer_of_contributions(groups, np.tile(units, runs), runs, thresholds)


def test_few_units_below_do_not_hold_a_threshold_back() -> None:
    """Twenty units of 128 among 1,400 of few: each step up is worth it, but not what lies between 1 and 128."""
    thresholds = Thresholds(0, 10)
    contributions = [1.0] * 1_200 + [8.0] * 100 + [32.0] * 60 + [128.0] * 20
    gem = Gem(PureBudget(1.0), 1, thresholds=thresholds, selection=NESTED_SELECTION, monotone=True)
    assert gem.release(_of(contributions, thresholds), ConstantEntropy()).tau[0] < 128.0
    assert replace(gem, nested=True).release(_of(contributions, thresholds), ConstantEntropy()).tau[0] == 128.0


def test_each_step_beyond_everybody_is_rarer() -> None:
    """Everybody has four tuples; 20,000 runs."""
    thresholds = Thresholds(0, 10)
    gem = Gem(PureBudget(1.0), 1, thresholds=thresholds, selection=NESTED_SELECTION, monotone=True, nested=True)
    table = _of([4.0] * 100, thresholds)
    assert table.exceedances is not None
    counts = np.tile(table.exceedances, (20_000, 1))
    tau = gem.release(
        TabulatedAnswer(np.tile(table.values, (20_000, 1)), thresholds, exceedances=counts), SimulatedEntropy(12)
    ).tau
    share = np.array([(tau >= 4.0 * 2.0**k).mean() for k in range(5)])
    assert share[0] == 1.0
    assert share[1] < 0.15
    assert (share[2:] <= 0.2 * share[1:-1] + 1e-3).all()


def test_counts_of_one_owners_tuples_get_noise_for_whole_numbers() -> None:
    """At epsilon 1 its mean is 0.85, where that of continuous noise is 1."""
    thresholds = useful_thresholds(True, 1, fine=True)
    assert thresholds == Thresholds(0, 0)
    fixed = fixed_threshold(1.0, 1, thresholds=thresholds, counts=True)
    released = fixed.release(_of([1.0] * 100, fixed.thresholds, 4_000), SimulatedEntropy(3))
    assert (released.values == np.round(released.values)).all()
    assert 0.82 < np.abs(released.values - 100).mean() < 0.88, "2 a / (1 - a^2), a = 1 / e; five standard deviations"
    assert (released.high - released.values == released.values - released.low).all(), "nothing is rounded"


def test_settings_of_the_choice_are_checked() -> None:
    refuses(partial(replace, NESTED_SELECTION), rarity=[0.5], growth=[-1.0], first=[-1.0])
    with pytest.raises(InvalidParameter, match="rarity"):
        replace(NESTED_SELECTION, rarity=None).exceedance_scores(Thresholds(0, 1), 0.0, 1.0)
    with pytest.raises(InvalidParameter, match="one owner"):
        Gem(PureBudget(1.0), 1, thresholds=THRESHOLDS, nested=True).release(
            TabulatedAnswer(ZEROS, THRESHOLDS), ConstantEntropy()
        )


def test_each_doubling_too_far_is_rarer() -> None:
    """Everybody has one tuple: larger thresholds only add noise; 400,000 runs."""
    thresholds = Thresholds(0, 10)
    gem = Gem(PureBudget(1.0), 1, thresholds=thresholds, selection=replace(SELECTION, rarity=4.0))
    table = np.full((400_000, len(thresholds)), 100_000 * ONE)
    tau = gem.release(TabulatedAnswer(table, thresholds), SimulatedEntropy(11)).tau
    share = np.array([(tau >= 2.0**k).mean() for k in range(6)])
    assert (share[1:] <= 0.3 * share[:-1] + 1e-5).all()
    assert share[1] < 0.25


WIDE = ConcentratedBudget.of(4.0, 1e-7)


def test_selection_and_release_of_the_groups_of_a_unit_spend_rho() -> None:
    for groups_per_unit, share in [(1, 1), (3, 3), (None, 8), (50, 8)]:
        gem = Gem(
            WIDE,
            groups_per_unit,
            thresholds=Thresholds(3, 3),
            selection=SelectionSettings(0.25),
            c=1.0,
            monotone=True,
        )
        released = gem.release(poisson_answer(gem.thresholds, 8), SimulatedEntropy(1))
        spent = gem._budgets(8)[0] ** 2 / 8 + (8 / released.noise_scale[0]) ** 2 / 2
        assert share * spent == pytest.approx(WIDE.rho, rel=1e-5), (groups_per_unit, share)
        assert share * spent <= WIDE.rho, (groups_per_unit, share)
        assert gem.event == ZCDP(WIDE.rho), (groups_per_unit, share)
        assert (released.noise, released.delta, released.epsilon) == ("gaussian", 1e-7, WIDE.epsilon)


def test_the_choice_is_made_with_its_share() -> None:
    gem = Gem(WIDE, 1, thresholds=Thresholds(0, 9), c=1.0, monotone=True)
    recorded = RecordedEntropy(SimulatedEntropy(2))
    gem.release(poisson_answer(gem.thresholds), recorded)
    kind, scale, _ = recorded.draws[0]
    assert kind == "geometric"
    assert scale == pytest.approx(10 * 2 * 1025 / math.sqrt(8 * WIDE.rho / 2), rel=1e-9)


def test_a_count_of_many_people_is_close_and_the_threshold_cuts_nobody_within_the_bound() -> None:
    gem = Gem(WIDE, 1, c=1.0, monotone=True)
    released = gem.release(poisson_answer(gem.thresholds, 50), SimulatedEntropy(4))
    assert np.median(np.abs(released.values / poisson_contributions().sum() - 1)) < 0.002
    assert not released.may_be_clipped.any()
    empty = TabulatedAnswer(np.zeros((50, len(gem.thresholds)), np.int64), gem.thresholds)
    assert gem.release(empty, SimulatedEntropy(5)).may_be_clipped.mean() > 0.9
    for bound, exponent in [(1.0, 0), (1.5, 1), (2.0, 1), (1e3, 10), (0.25, -2), (2.0**32, 32)]:
        assert LaplaceGlobal(1.0, bound).thresholds == Thresholds(exponent, exponent)


def test_the_noise_is_that_of_the_bound_and_not_of_the_threshold() -> None:
    for bound, gap, epsilon in [(1000.0, 0.0, 0.5), (3.0, 0.01, 2.0), (0.7, 0.0, 0.1)]:
        mechanism = LaplaceGlobal(epsilon, bound, 1, gap)
        scale = mechanism.release(answer_of(mechanism.thresholds, [7], gap), SimulatedEntropy(5)).noise_scale[0]
        true = (bound + gap * mechanism.thresholds.taus[0]) / epsilon
        assert true <= scale <= true * (1 + 2.0**-18), (bound, gap, epsilon)
    # a broken promise costs less than twice
    assert LaplaceGlobal(1.0, 1024.0, 1).epsilon_if_bound_fails() == pytest.approx(1.0)
    assert LaplaceGlobal(1.0, 1000.0, 1).epsilon_if_bound_fails() == pytest.approx(1.024, rel=1e-4)
    assert LaplaceGlobal(1.0, 1025.0).epsilon_if_bound_fails(4) == pytest.approx(2.0, rel=1e-2)


def test_without_noise_it_is_the_value() -> None:
    mechanism = LaplaceGlobal(1.0, 24.0)
    released = mechanism.release(answer_of(mechanism.thresholds, [25, 0]), ConstantEntropy())
    assert released.values.tolist() == [25.0, 0.0]
    assert released.tau.tolist() == [24.0, 24.0]
    assert (released.mechanism, released.covers, released.epsilon) == ("laplace_global", "truncated_full", 1.0)
    assert mechanism.event == PureDP(1.0)


def test_few_people_with_far_more_than_the_threshold_leave_no_value_unmarked() -> None:
    """With several owners: 200 answers, in each of which the value may be a thousandth of the truth.

    A choice overlooks more people than it states in one of 20 at most. So more than 20 of 200 are unmarked and wrong
    by chance less often than once in a thousand times, and the seeds are fixed.
    """
    thresholds = useful_thresholds(True, None)
    gem = Gem(PureBudget(1.0), 1, thresholds=thresholds, monotone=True)
    wrong = 0
    for people in (45, 50, 55, 60):
        values = people * np.minimum(thresholds.units, 4096 * ONE)
        for seed in range(50):
            released = gem.release(TabulatedAnswer(values[None], thresholds), SimulatedEntropy(seed))
            reached = released.high[0] + released.missing[0] >= people * 4096
            wrong += not reached and not released.may_be_clipped[0]
    assert wrong <= 20
