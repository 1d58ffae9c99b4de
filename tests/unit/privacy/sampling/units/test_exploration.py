from __future__ import annotations

import math

import pytest
from mpmath import binomial, mp, mpf

from privacy.errors import InvalidParameter
from privacy.sampling.units.exploration import Exploration
from tests.support.laplace_mixture import mixture_loss

CASES = [
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


@pytest.mark.parametrize(("epsilon", "drawn", "collaborators", "units"), CASES)
def test_the_loss_to_many_digits_and_rounded_up(epsilon: float, drawn: int, collaborators: int, units: int) -> None:
    with mp.workdps(60):
        true = by_many_digits(epsilon, drawn, collaborators + 1, units)
        found = mpf(Exploration(drawn, collaborators).loss(epsilon, units))
        assert -1e-15 <= found / true - 1 < 2e-9


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0])
def test_one_drawn_unit_is_the_papers_theorem(epsilon: float) -> None:
    true = math.log1p(4 / 1000 * math.expm1(epsilon))
    assert Exploration(1, 3).loss(epsilon, 1000) == pytest.approx(true, rel=2e-9)


@pytest.mark.parametrize(("drawn", "collaborators", "units"), [(1, 3, 10), (2, 10, 10**6), (1000, 1024, 10**5)])
@pytest.mark.parametrize("target", [1e-3, 1.0, 4.0])
def test_a_budget_costs_its_target_and_no_more(target: float, drawn: int, collaborators: int, units: int) -> None:
    exploration = Exploration(drawn, collaborators)
    budget = exploration.budget(target, units)
    assert budget >= target
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


@pytest.mark.parametrize(("drawn", "collaborators"), [(0, 1), (1, -1)])
def test_refuses_what_is_no_exploration(drawn: int, collaborators: int) -> None:
    with pytest.raises(InvalidParameter):
        Exploration(drawn, collaborators)


@pytest.mark.parametrize(("epsilon", "units"), [(0.0, 5), (math.nan, 5), (700.0, 5), (1.0, 0)])
def test_refuses_what_is_out_of_range(epsilon: float, units: int) -> None:
    for function in (Exploration(1, 1).loss, Exploration(1, 1).budget):
        with pytest.raises(InvalidParameter):
            function(epsilon, units)
