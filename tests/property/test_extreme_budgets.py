"""Whatever epsilon and delta are asked for: an answer with a finite charge and finite noise, or a refusal by name.

A refusal comes before anything is reserved, so every error of the mathematics counts here: no client may see it.
"""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest

from planner.errors import InvalidSetting, PlannerError, PolicyInvalid
from planner.limits import MAX_EPSILON, MIN_DELTA, MIN_EPSILON
from planner.policy.policy import parse_policy
from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import RenyiSpent, Spent, ZCDPSpent
from privacy.accounting.event import UNBOUNDED
from privacy.registry import OFFERED
from server.ledger.currency import charged_delta, charged_epsilon
from tests.support.extreme_budgets import MANY_SUMS, QUESTIONS, Budget, policy, prepared, released
from tests.support.seeds import SEED, examples, sampled

TOO_SMALL = (math.nan, -1.0, 0.0, 5e-324, 1e-300, 1e-30, 1e-9, math.nextafter(MIN_EPSILON, 0))
TOO_LARGE = (math.nextafter(MAX_EPSILON, math.inf), 7e3, 1e4, 1e6, 1e9, 1e100, 1e300, math.inf)
WITHIN = (MIN_EPSILON, 2e-4, 3e-4, 1e-3, 0.1, 1.0, 50.0, 709.8, 999.0, MAX_EPSILON)
DELTAS = (0.0, MIN_DELTA, 1e-12, 1e-7, 1e-3, 0.5, 0.999999)
BAD_DELTAS = (math.nan, -1e-9, 1e-300, 1e-18, math.nextafter(MIN_DELTA, 0), 1.0, math.inf)
MECHANISMS: tuple[str | None, ...] = (None, *OFFERED)

Case = tuple[str, int, Budget]


def check(case: Case, *, release: bool = True) -> bool:
    """Is it answered? Anything but an answer and a PlannerError before it fails."""
    sql, groups, budget = case
    try:
        asked = prepared(sql, groups, budget)
    except PlannerError:
        return False
    assert asked.plan.epsilon == budget.epsilon and asked.plan.delta in (0.0, budget.delta)
    assert asked.amounts["basic"] == Amount(charged_epsilon(budget.epsilon), charged_delta(asked.plan.delta))
    for amount in asked.amounts.values():
        assert is_countable(amount)
    for noisy in released(asked) if release else ():
        assert np.isfinite([noisy.values, noisy.tau, noisy.low]).all()
        nothing = not noisy.values.any() and np.isposinf(noisy.high).all()  # what is said where no threshold is taken
        assert nothing or np.isfinite(noisy.noise_scale).all()
        assert (noisy.noise_scale[noisy.tau > 0] > 0).all()
        assert not np.isnan(noisy.high).any() and not np.isnan(noisy.signal).any()
    return True


def is_countable(amount: Spent) -> bool:
    """Above zero; at UNBOUNDED a budget admits nothing, which is a refusal by name."""
    if isinstance(amount, Amount):
        return amount.nano_epsilon > 0
    if isinstance(amount, ZCDPSpent):
        return 0 < amount.femto_rho <= UNBOUNDED
    assert isinstance(amount, RenyiSpent)
    return all(0 <= divergence <= UNBOUNDED for divergence in amount.femto)


def test_every_budget_within_bounds_is_answered_or_refused_by_name() -> None:
    everything = [
        (sql, size, Budget(epsilon, delta, name, rate))
        for sql, size, epsilon, delta, name, rate in product(
            QUESTIONS, (1, 2, 40), WITHIN, DELTAS, MECHANISMS, (None, 1e-6, 0.01, 0.999)
        )
    ]
    tried = examples(50, 4_000)
    answered = sum(check(case) for case in random.Random(14 + SEED).sample(everything, tried))
    assert tried / 5 < answered < tried


def test_the_default_answers_every_budget_within_bounds() -> None:
    """Keys that are found cost a delta; all else is answered, by pure noise where Gaussian noise is worth nothing."""
    for sql, epsilon, delta in sampled([*product(QUESTIONS, WITHIN, DELTAS)], 70):
        answered = check((sql, 40, Budget(epsilon, delta)), release=False)
        assert answered == (delta > 0 or "GROUP BY kind" not in sql), (sql, epsilon, delta)


@pytest.mark.slow
def test_so_are_those_of_a_hundred_thousand_groups() -> None:
    for sql, epsilon, delta in product(QUESTIONS[2:6], (MIN_EPSILON, 3e-4, MAX_EPSILON), (0.0, 1e-7)):
        answered = check((sql, 100_000, Budget(epsilon, delta)))
        assert answered == (epsilon > MIN_EPSILON or "meeting" not in sql), (sql, epsilon, delta)


def test_noise_beyond_its_range_is_refused_by_name_before_the_charge() -> None:
    """Nobody knows how many groups a unit of a chain of meetings reaches, so all share epsilon: 1e-9 for each."""
    message = r"epsilon 0\.0001 is too small for 100,000 groups of 1 noisy column: the noise would exceed its range"
    with pytest.raises(InvalidSetting, match=message) as refused:
        prepared(QUESTIONS[5], 100_000, Budget(MIN_EPSILON, 0.0))
    assert "larger epsilon" in str(refused.value.hint) and "[groups_per_unit]" in str(refused.value.hint)
    assert prepared(QUESTIONS[5], 100_000, Budget(2 * MIN_EPSILON, 0.0)).groups == 100_000
    with pytest.raises(InvalidSetting, match=r"epsilon 0\.001 is too small for 100,000 groups of 9 noisy columns"):
        prepared(MANY_SUMS, 100_000, Budget(1e-3, 0.0))


@pytest.mark.slow
def test_so_is_that_of_many_sums() -> None:
    for epsilon, delta, mechanism in product((1e-3, 3e-3), (0.0, 1e-7), MECHANISMS):
        answered = check((MANY_SUMS, 10_000, Budget(epsilon, delta, mechanism)))
        assert answered or mechanism is not None or delta == 0, (epsilon, delta)


def test_an_epsilon_beyond_the_bounds_is_refused_by_name() -> None:
    for epsilon in (*TOO_SMALL, *TOO_LARGE):
        for sql, delta, mechanism in sampled([*product(QUESTIONS, (0.0, 1e-7), MECHANISMS)], 5):
            with pytest.raises(InvalidSetting, match=r"epsilon must be at least 0\.0001 and at most 1000"):
                prepared(sql, 40, Budget(epsilon, delta, mechanism))


def test_so_is_a_delta() -> None:
    for delta in BAD_DELTAS:
        for sql, mechanism in sampled([*product(QUESTIONS, MECHANISMS)], 5):
            with pytest.raises(InvalidSetting, match="delta must be"):
                prepared(sql, 40, Budget(1.0, delta, mechanism))


def test_a_policy_allows_nothing_beyond() -> None:
    text = 'name = "x"\ndatabase = { url = "env:X" }\nledger = { path = "x" }\nprivacy_units = { person = "id" }\n'
    for name, value in (("epsilon", "1e-5"), ("epsilon", "1001"), ("max_epsilon", "1e4"), ("max_epsilon", "inf"),
                        ("delta", "1e-300"), ("delta", "1")):  # fmt: skip
        setting = f"{name} = {value}\n" + ("" if name == "epsilon" else "epsilon = 1\n")
        with pytest.raises(PolicyInvalid, match="privacy"):
            parse_policy(f"{text}[privacy]\n{setting}")
    assert policy(1).max_epsilon == MAX_EPSILON
