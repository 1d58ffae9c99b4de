"""Whatever is asked in whatever order, what was granted fits the budget; and what fits is granted."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.errors import BudgetExhausted
from server.ledger.analyst import key_hash
from server.ledger.charge import Reservation
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from tests.support.charging import reserve
from tests.support.seeds import examples
from tests.unit.server.ledger.charges import charge

EPSILONS = st.floats(min_value=1e-12, max_value=3.0) | st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 1e-9, 1.0])
DELTAS = st.floats(min_value=0.0, max_value=3e-6) | st.sampled_from([0.0, 1e-6, 1e-18])
FATES = st.sampled_from(["commit", "fail", "release", "leave"])


@settings(max_examples=examples(12, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EPSILONS, DELTAS, st.lists(st.tuples(EPSILONS, DELTAS, FATES), max_size=25))
def test_the_filter_never_overspends(
    budget_epsilon: float, budget_delta: float, asked: list[tuple[float, float, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = create_ledger(Path(folder) / "ledger.sqlite", Path(folder) / "marker.json")
        if budget_epsilon >= 1e-9:
            ledger.add_analyst("ada", key_hash("ng_ada"), budget_epsilon, budget_delta)
            _spend(ledger, Fraction(repr(budget_epsilon)), Fraction(repr(budget_delta)), asked)
        ledger.close()


def _spend(
    ledger: Ledger, budget_epsilon: Fraction, budget_delta: Fraction, asked: list[tuple[float, float, str]]
) -> None:
    """An independent account in exact fractions, which forgives one unit of rounding per charge and no more."""
    spent_epsilon = spent_delta = Fraction(0)
    standing = 0
    for epsilon, delta, fate in asked:
        wanted_epsilon, wanted_delta = Fraction(repr(epsilon)), Fraction(repr(delta))
        rounding = standing + 2
        try:
            reservation = reserve(ledger, charge(epsilon, delta))
        except BudgetExhausted:
            short_epsilon = spent_epsilon + wanted_epsilon + Fraction(rounding, 10**9) > budget_epsilon
            short_delta = spent_delta + wanted_delta + Fraction(rounding, 10**18) > budget_delta
            assert short_epsilon or short_delta
            continue
        assert spent_epsilon + wanted_epsilon <= budget_epsilon
        assert spent_delta + wanted_delta <= budget_delta
        _settle(ledger, reservation, fate)
        if fate != "release":
            spent_epsilon += wanted_epsilon
            spent_delta += wanted_delta
            standing += 1
        assert Fraction(repr(ledger.budget("ada").epsilon_left)) <= budget_epsilon - spent_epsilon
        assert Fraction(repr(ledger.budget("ada").delta_left)) <= budget_delta - spent_delta


def _settle(ledger: Ledger, reservation: Reservation, fate: str) -> None:
    if fate == "commit":
        ledger.commit(reservation)
    elif fate == "fail":
        ledger.fail(reservation)
    elif fate == "release":
        ledger.release(reservation)
