from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.accounting.amounts import Charge
from privacy.accounting.event import ApproxDP, PureDP
from privacy.accounting.odometer import BasicOdometer, renyi_odometer, zcdp_odometer
from privacy.accounting.renyi import RenyiAccountant
from privacy.accounting.zcdp import ZCDPAccountant

DELTA = 1e-7
ZCDP, RENYI = zcdp_odometer(DELTA), renyi_odometer(DELTA)


def test_basic_reports_the_exact_sum_within_delta() -> None:
    odometer = BasicOdometer(DELTA)
    assert odometer.epsilon(Charge(0)) == 0.0
    assert odometer.epsilon(Charge.of(0.3, 1e-7)) == 0.3
    assert odometer.epsilon(Charge.of(0.3, 1.1e-7)) == math.inf


def test_nothing_is_reported_for_nothing() -> None:
    assert ZCDP.epsilon(ZCDPAccountant().nothing) == 0.0
    assert RENYI.epsilon(RenyiAccountant().nothing) == 0.0


@settings(max_examples=30)
@given(st.lists(st.floats(0.01, 0.5), min_size=1, max_size=30))
def test_reports_rise_and_exceed_the_fixed_accounting_by_little(requests: list[float]) -> None:
    accountant, last = ZCDPAccountant(), 0.0
    spent = accountant.nothing
    for request in requests:
        spent += accountant.charge(PureDP(request))
        report = ZCDP.epsilon(spent)
        assert report >= max(last, accountant.epsilon(spent, DELTA))
        last = report
    assert last <= 1.5 * accountant.epsilon(spent, DELTA)


def test_the_ladders_share_delta() -> None:
    for odometer in (ZCDP, RENYI):
        assert math.fsum(rung.granted.delta for rung in odometer.filters) <= DELTA
        epsilons = [rung.granted.epsilon for rung in odometer.filters]
        assert epsilons == sorted(epsilons)


def test_beyond_the_ladder_nothing_is_claimed() -> None:
    renyi, zcdp = RenyiAccountant(), ZCDPAccountant()
    assert RENYI.epsilon(renyi.charge(PureDP(600.0))) == math.inf
    assert ZCDP.epsilon(zcdp.charge(PureDP(600.0))) == math.inf
    assert ZCDP.epsilon(zcdp.charge(ApproxDP(0.1, 1e-9))) == math.inf


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_renyi_reports_a_pure_release_on_a_rung_as_it_is(epsilon: float) -> None:
    assert RENYI.epsilon(RenyiAccountant().charge(PureDP(epsilon))) == epsilon
