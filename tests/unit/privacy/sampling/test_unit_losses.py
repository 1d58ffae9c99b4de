"""What samples of units cost: drawn alone, explored, and again and again."""

from __future__ import annotations

import math

import pytest
from mpmath import binomial, mp, mpf

from privacy.errors import InvalidParameter
from tests.support.laplace_mixture import mixture_loss
from tests.support.papers.unit_samples import (
    MOST,
    Exploration,
    advanced_composition,
    repeated_budget,
    unit_sampled_budget,
    unit_sampled_loss,
)
from tests.unit.privacy.refusals import refuses_calls

CASES = [(epsilon, rate) for epsilon in (1e-6, 0.1, 1.0, 4.0, 50.0) for rate in (1e-9, 1e-3, 0.25, 0.999)]


def test_the_loss_to_many_digits_and_rounded_up() -> None:
    for epsilon, rate in CASES:
        with mp.workdps(60):
            true = mp.log1p(mpf(rate) * mp.expm1(mpf(epsilon)))
            assert 0 <= mpf(unit_sampled_loss(epsilon, rate)) / true - 1 < 1e-11


def test_a_budget_costs_its_target_and_no_more() -> None:
    for target, rate in CASES:
        budget = unit_sampled_budget(target, rate)
        assert target <= budget, (target, rate)
        assert target * (1 - 1e-9) <= unit_sampled_loss(budget, rate) <= target
    # everybody drawn buys nothing
    assert unit_sampled_budget(1.0, 1.0) == 1.0
    assert unit_sampled_loss(1.0, 1.0) == 1.0
    # a budget is never more than can be computed with
    assert unit_sampled_budget(500.0, 1e-300) == MOST


def test_a_unit_that_is_drawn_or_not_attains_it() -> None:
    """Nobody against one unit at the threshold."""
    epsilon, rate = 2.0, 0.25
    loss = mixture_loss([(0.75, 0.0), (0.25, 1.0)], [(1.0, 0.0)], 1 / epsilon)
    assert loss == pytest.approx(unit_sampled_loss(epsilon, rate), rel=1e-11)


def test_refuses_what_is_out_of_range() -> None:
    for epsilon, rate in [(0.0, 0.5), (math.nan, 0.5), (601.0, 0.5), (1.0, 0.0), (1.0, 1.1)]:
        for function in (unit_sampled_loss, unit_sampled_budget):
            with pytest.raises(InvalidParameter):
                function(epsilon, rate)


EXPLORED = [
    (epsilon, drawn, collaborators, units)
    for epsilon in (1e-6, 0.1, 4.0, 50.0)
    for drawn, collaborators, units in [
        (1, 0, 1),
        (1, 3, 10),
        (2, 10, 10**6),
        (50, 7, 60),
        (30, 40, 10**9),
        (5, 1, 7),
    ]
]


def by_many_digits(epsilon: float, drawn: int, affected: int, units: int) -> mpf:
    """ln(E[exp(epsilon H)] / E[exp(epsilon max(0, H - 1))])."""
    grown, less = mpf(0), mpf(0)
    for h in range(min(drawn, affected) + 1):
        if drawn - h > units - affected:
            continue
        probability = binomial(affected, h) * binomial(units - affected, drawn - h) / binomial(units, drawn)
        grown += probability * mp.exp(mpf(epsilon) * h)
        less += probability * mp.exp(mpf(epsilon) * max(0, h - 1))
    return mp.log(grown / less)


def test_the_loss_to_many_digits_and_rounded_up_of_exploration() -> None:
    for epsilon, drawn, collaborators, units in EXPLORED:
        with mp.workdps(60):
            true = by_many_digits(epsilon, drawn, collaborators + 1, units)
            found = mpf(Exploration(drawn, collaborators).loss(epsilon, units))
            assert -1e-15 <= found / true - 1 < 2e-9, (epsilon, drawn, collaborators, units)


def test_one_drawn_unit_is_the_papers_theorem() -> None:
    for epsilon in [1e-3, 1.0, 20.0]:
        true = math.log1p(4 / 1000 * math.expm1(epsilon))
        assert Exploration(1, 3).loss(epsilon, 1000) == pytest.approx(true, rel=2e-9)
    # a budget costs its target and no more of exploration
    for drawn, collaborators, units in [(1, 3, 10), (2, 10, 10**6), (1000, 1024, 10**5)]:
        for target in [1e-3, 1.0, 4.0]:
            exploration = Exploration(drawn, collaborators)
            budget = exploration.budget(target, units)
            assert budget >= target, (drawn, collaborators, units, target)
            assert target * (1 - 1e-6) <= exploration.loss(budget, units) <= target * (1 + 1e-15)


def test_fewer_units_or_more_collaborators_cost_more() -> None:
    losses = [Exploration(3, 4).loss(2.0, units) for units in (1, 7, 8, 9, 20, 1000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == 2.0
    losses = [Exploration(3, collaborators).loss(2.0, 1000) for collaborators in (0, 1, 10, 500, 2000)]
    assert losses == sorted(losses)
    assert losses[-1] == 2.0


def test_corollary_d2_claims_less_than_two_explored_units_lose() -> None:
    """Ten collaborators bring tau / 2 alone and tau / 2 with the removed unit; everybody else brings nothing.

    Who explores one of them sees tau against tau / 2, who explores two of them 2 tau against tau.
    """
    units, collaborators, epsilon = 10**6, 10, 12.6
    pairs = math.comb(units, 2)
    none, two = math.comb(units - collaborators, 2) / pairs, math.comb(collaborators, 2) / pairs
    one = 1 - none - two
    lost = mixture_loss([(none, 0.0), (one, 1.0), (two, 2.0)], [(none, 0.0), (one, 0.5), (two, 1.0)], 1 / epsilon)
    missed = math.comb(units - 2 * collaborators, 2) / pairs
    published = math.log1p((1 - missed) * math.expm1(epsilon))
    assert published == pytest.approx(2.554, abs=2e-3)
    assert lost == pytest.approx(2.687, abs=2e-3)
    assert lost <= Exploration(2, collaborators).loss(epsilon, units)


def test_refuses_what_is_no_exploration() -> None:
    refuses_calls(Exploration, (0, 1), (1, -1))
    # refuses what is out of range of exploration
    for epsilon, units in [(0.0, 5), (math.nan, 5), (700.0, 5), (1.0, 0)]:
        for function in (Exploration(1, 1).loss, Exploration(1, 1).budget):
            with pytest.raises(InvalidParameter):
                function(epsilon, units)
    # advanced composition is the papers formula
    true = math.sqrt(2 * 100 * math.log(1e8)) * 0.01 + 100 * 0.01 * math.expm1(0.01)
    assert advanced_composition(0.01, 100, 1e-8) == pytest.approx(true, rel=1e-11)


def test_the_budget_is_what_the_better_composition_allows() -> None:
    for times in [1, 10, 10_000, 10**7]:
        for target in [0.1, 1.0, 50.0]:
            each = repeated_budget(target, times, 1e-8)
            basic = target / times
            assert each >= basic * (1 - 1e-11), (times, target)
            if each > basic:
                assert advanced_composition(each, times, 1e-8) == pytest.approx(target, rel=1e-9)
                assert advanced_composition(each, times, 1e-8) <= target
            else:
                assert advanced_composition(basic, times, 1e-8) > target


def test_many_releases_gain_a_root_and_refuses_what_is_out_of_range_of_repetition() -> None:
    assert repeated_budget(1.0, 10**6, 1e-8) > 100 * 1e-6
    assert repeated_budget(1.0, 10**6, 0.0) == pytest.approx(1e-6)
    refuses_calls(repeated_budget, (0.0, 1, 0.1), (1.0, 0, 0.1), (1.0, 1, 1.0), (1.0, 1, -0.1), (math.inf, 1, 0.1))
