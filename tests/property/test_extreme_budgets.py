"""Whatever epsilon and delta are asked for: an answer with a finite charge and finite noise, or a refusal by name.

A refusal comes before anything is reserved, so every error of the mathematics counts here: no client may see it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from planner.errors import InvalidSetting, PlannerError, PolicyInvalid
from planner.limits import MAX_EPSILON, MIN_DELTA, MIN_EPSILON
from planner.policy.policy import parse_policy
from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import RenyiSpent, ZCDPSpent
from privacy.accounting.orders import UNBOUNDED
from privacy.accounting.saved_spending import Spent
from privacy.registry import OFFERED
from server.ledger.accounts.amounts import charged_delta, charged_epsilon
from tests.support.extreme_budgets import MANY_SUMS, QUESTIONS, Budget, policy, prepared, released

TOO_SMALL = (math.nan, -1.0, 0.0, 5e-324, 1e-300, 1e-30, 1e-9, math.nextafter(MIN_EPSILON, 0))
TOO_LARGE = (math.nextafter(MAX_EPSILON, math.inf), 7e3, 1e4, 1e6, 1e9, 1e100, 1e300, math.inf)
WITHIN = (MIN_EPSILON, 2e-4, 3e-4, 1e-3, 0.1, 1.0, 50.0, 709.8, 999.0, MAX_EPSILON)
DELTAS = (0.0, MIN_DELTA, 1e-12, 1e-7, 1e-3, 0.5, 0.999999)
BAD_DELTAS = (math.nan, -1e-9, 1e-300, 1e-18, math.nextafter(MIN_DELTA, 0), 1.0, math.inf)
MECHANISMS: tuple[str | None, ...] = (None, *OFFERED)
RATES = (None, 1e-6, 0.01, 0.999)

Case = tuple[str, int, Budget]


def cases(groups: tuple[int, ...]) -> list[Case]:
    walk = product(QUESTIONS, groups, WITHIN, DELTAS, MECHANISMS, RATES)
    return [(sql, size, Budget(epsilon, delta, name, rate)) for sql, size, epsilon, delta, name, rate in walk]


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


def some(seed: int, count: int) -> Iterator[Case]:
    rng = random.Random(seed)
    everything = cases((1, 2, 40))
    yield from rng.sample(everything, count)


def test_every_budget_within_bounds_is_answered_or_refused_by_name() -> None:
    answered = [check(case) for case in some(15, 100)]
    assert sum(answered) > 20
    assert sum(answered) < len(answered)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_default_answers_every_budget_within_bounds(sql: str) -> None:
    """Keys that are found cost a delta; all else is answered, by pure noise where Gaussian noise is worth nothing."""
    refused = [
        (epsilon, delta)
        for epsilon, delta in product(WITHIN, DELTAS)
        if not check((sql, 40, Budget(epsilon, delta)), release=False)
    ]
    assert refused == ([(epsilon, 0.0) for epsilon in WITHIN] if "GROUP BY kind" in sql else [])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_very_many_budgets_are(seed: int) -> None:
    assert sum(check(case) for case in some(seed, 1_000)) > 200


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 3e-4, MAX_EPSILON])
@pytest.mark.parametrize("delta", [0.0, 1e-7])
@pytest.mark.parametrize("sql", QUESTIONS[2:6])
def test_so_are_those_of_a_hundred_thousand_groups(sql: str, epsilon: float, delta: float) -> None:
    answered = check((sql, 100_000, Budget(epsilon, delta)))
    assert answered == (epsilon > MIN_EPSILON or "meeting" not in sql)


def test_noise_beyond_its_range_is_refused_by_name_before_the_charge() -> None:
    """Nobody knows how many groups a unit of a chain of meetings reaches, so all share epsilon: 1e-9 for each."""
    message = r"epsilon 0\.0001 is too small for 100,000 groups of 1 noisy column: no such noise can be drawn"
    with pytest.raises(InvalidSetting, match=message) as refused:
        prepared(QUESTIONS[5], 100_000, Budget(MIN_EPSILON, 0.0))
    assert "larger epsilon" in str(refused.value.hint) and "[groups_per_unit]" in str(refused.value.hint)
    assert prepared(QUESTIONS[5], 100_000, Budget(2 * MIN_EPSILON, 0.0)).groups == 100_000
    with pytest.raises(InvalidSetting, match=r"epsilon 0\.001 is too small for 100,000 groups of 9 noisy columns"):
        prepared(MANY_SUMS, 100_000, Budget(1e-3, 0.0))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [1e-3, 3e-3])
@pytest.mark.parametrize("delta", [0.0, 1e-7])
def test_so_is_that_of_many_sums(epsilon: float, delta: float, mechanism: str | None) -> None:
    answered = check((MANY_SUMS, 10_000, Budget(epsilon, delta, mechanism)))
    assert answered or mechanism is not None or delta == 0


@pytest.mark.parametrize("epsilon", (*TOO_SMALL, *TOO_LARGE))
def test_an_epsilon_beyond_the_bounds_is_refused_by_name(epsilon: float) -> None:
    for sql, delta, mechanism in product(QUESTIONS, (0.0, 1e-7), MECHANISMS):
        with pytest.raises(InvalidSetting, match=r"epsilon must be at least 0\.0001 and at most 1000"):
            prepared(sql, 40, Budget(epsilon, delta, mechanism))


@pytest.mark.parametrize("delta", BAD_DELTAS)
def test_so_is_a_delta(delta: float) -> None:
    for sql, mechanism in product(QUESTIONS, MECHANISMS):
        with pytest.raises(InvalidSetting, match="delta must be"):
            prepared(sql, 40, Budget(1.0, delta, mechanism))


@pytest.mark.parametrize(
    "setting",
    ["epsilon = 1e-5", "epsilon = 1001", "max_epsilon = 1e4", "max_epsilon = inf", "delta = 1e-300", "delta = 1"],
)
def test_a_policy_allows_nothing_beyond(setting: str) -> None:
    text = f"""
name = "x"
database = {{ url = "env:X" }}
ledger = {{ path = "x" }}
privacy_units = {{ person = "id" }}
[privacy]
{setting}
"""
    with pytest.raises(PolicyInvalid, match="privacy"):
        parse_policy(text + ("" if setting.startswith("epsilon") else "epsilon = 1\n"))
    assert policy(1).max_epsilon == MAX_EPSILON
