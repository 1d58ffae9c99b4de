from __future__ import annotations

import math
import subprocess
import sys

import pytest
from mpmath import mp, mpf

from privacy.accounting.event import ZCDP, ApproxDP, BoundedRange, Composed, DiscreteGaussian, PureDP, RenyiCurve
from privacy.accounting.zcdp import ZCDPAccountant
from privacy.errors import InvalidParameter
from tests.unit.privacy.accounting.currencies import Tarot
from tests.unit.privacy.accounting.pld_report import PLDReport


def discrete_delta(scale: float, shift: int, epsilon: float) -> float:
    """sum max(0, P - exp(epsilon) Q) for the discrete Gaussian, at 50 digits."""
    reach = int(40 * scale)
    weights = [mp.exp(-(mpf(x) ** 2) / (2 * mpf(scale) ** 2)) for x in range(-reach, reach + 1)]
    over = (max(0, p - mp.exp(epsilon) * q) for p, q in zip(weights[:-shift], weights[shift:], strict=True))
    return float(mp.fsum(over) / mp.fsum(weights))


def test_a_pure_release_costs_its_epsilon_and_nothing_nothing() -> None:
    assert PLDReport(Composed(())).epsilon(1e-7) == 0.0
    assert PLDReport(PureDP(0.5)).epsilon(0.0) == pytest.approx(0.5, abs=1.01e-4)
    assert PLDReport(Composed((PureDP(0.5), BoundedRange(0.25)))).epsilon(0.0) == pytest.approx(0.75, abs=2.1e-4)
    with_delta = PLDReport(Composed((ApproxDP(0.1, 1e-6),) * 2))
    assert with_delta.epsilon(1e-6) == math.inf
    assert with_delta.delta(0.2002) == pytest.approx(2e-6, rel=1e-3)


def test_a_tabulated_discrete_gaussian_is_exact_but_for_the_grid() -> None:
    for scale, shift in [(1.5, 1), (20.0, 7)]:
        report = PLDReport(DiscreteGaussian(scale, float(shift)))
        for epsilon in (0.2, 1.0):
            exact = discrete_delta(scale, shift, epsilon)
            assert (
                exact
                <= report.delta(epsilon) * (1 + 1e-9)
                <= discrete_delta(scale, shift, epsilon - 2e-4) * (1 + 1e-6)
            )


def test_a_discrete_gaussian_taken_for_a_continuous_one_is_bounded() -> None:
    """In two dimensions the shift may lie along one of them, where the exact delta is known."""
    exact = discrete_delta(12.0, 6, 0.5)
    report = PLDReport(DiscreteGaussian(12.0, 6.0, dimension=2))
    assert exact <= report.delta(0.5) <= 1.5 * exact
    earlier, ratio = mpf("0.5") - mp.sqrt(2) * 6 / 144, mpf(6) / 12
    shifted = mp.ncdf(ratio / 2 - earlier / ratio) - mp.exp(earlier) * mp.ncdf(-ratio / 2 - earlier / ratio)
    assert shifted <= report.delta(0.5) <= shifted * 1.01
    assert report.epsilon(float(shifted)) == pytest.approx(0.5, abs=1e-3)


def test_is_tighter_than_zcdp_on_gaussian_noise() -> None:
    event = Composed((DiscreteGaussian(1e6, 1e5),) * 50)
    zcdp = ZCDPAccountant().epsilon(ZCDPAccountant().charge(event), 1e-7)
    exact = 3.6381  # of one continuous Gaussian of ratio sqrt(50) / 10, from its closed form
    assert exact - 1e-3 <= PLDReport(event).epsilon(1e-7) <= min(zcdp, exact + 1e-2)


def test_refuses_by_name_what_has_no_distribution() -> None:
    for event in [
        Tarot(),
        ZCDP(0.1),
        RenyiCurve((2.0,), (0.1,)),
        DiscreteGaussian(1.0, 1.0, 2),
        DiscreteGaussian(1.0, 0.5),
    ]:
        for composed in (event, Composed((PureDP(1.0), event))):
            with pytest.raises(InvalidParameter, match=type(event).__name__):
                PLDReport(composed).epsilon(1e-7)


def test_the_library_is_imported_at_the_first_question() -> None:
    code = "import sys, tests.unit.privacy.accounting.pld_report as _; print('dp_accounting' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
