from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privacy.sampling.design import _pieces as linear_pieces
from privacy.sampling.growth import LARGEST, NODES, SMALLEST, Piece, block_rules, log_mass, log_moment
from privacy.sampling.loss import choice_loss, laplace_loss
from tests.support import sixty_digits
from tests.support.papers.renyi_sampling import _pieces as square_pieces
from tests.support.papers.renyi_sampling import gaussian_loss
from tests.support.seeds import ALL, examples
from tests.unit.privacy.refusals import refuses_calls

RELATIVE = 1.02e-10
"""The margin of 1e-10 that is added on purpose, and hardly more."""

SIZES = [
    (10**12, 1e-9, 4096.0),
    (10**12, 0.5, 2.0**39 - 10**6),
    (10**12, 1e-3, 1e9),
    (10**12, 1 - 1e-9, 1e12),
    (10**9, 1 / 64, 2.0**24),
    (10**7, 0.25, 2.0**21),
    (10**5, 1e-9, 1e5),
]


def test_linear_losses_agree_with_sixty_digits() -> None:
    cases = [*itertools.product(SIZES, (1e-6, 1.0, 50.0))]
    for (n, rate, tau), epsilon in cases if ALL else cases[::6]:
        losses = [laplace_loss(tau, tau / epsilon), choice_loss(epsilon / 3)]
        pieces = tuple(linear_pieces(losses, n))
        expected = sixty_digits.log_moment(pieces, n, rate)
        assert abs(log_moment(pieces, n, rate) / expected - 1) < RELATIVE, (n, rate, epsilon)


def test_square_losses_agree_with_sixty_digits() -> None:
    cases = [*itertools.product(SIZES[:2] + SIZES[4:], ((1.5, 1e-6), (1.5, 50.0), (30.0, 0.01)))]
    for (n, rate, tau), (alpha, epsilon) in cases if ALL else cases[::6]:
        losses = [gaussian_loss(tau, tau / math.sqrt(epsilon), 0.01 * tau)]
        pieces = tuple(square_pieces(losses, n, alpha * (alpha - 1)))
        expected = sixty_digits.log_moment(pieces, n, rate)
        assert abs(log_moment(pieces, n, rate) / expected - 1) < RELATIVE, (n, rate, epsilon)


@st.composite
def problems(draw: st.DrawFn) -> tuple[tuple[Piece, ...], int, float]:
    n = draw(st.integers(1, 1500))
    cuts = sorted({*draw(st.lists(st.integers(1, n), max_size=2)), n})
    pieces, low, value = [], 1, 0.0
    for high in cuts:
        grown = draw(st.sampled_from([1e-6, 1e-3, 0.5, 4.0, 60.0, 900.0]))
        bent = draw(st.sampled_from([0.0, 0.5, 1.0]))
        pieces.append(Piece(low, high, value, grown * (1 - bent) / high, grown * bent / high**2))
        low, value = high + 1, pieces[-1].most
    return tuple(pieces), n, draw(st.one_of(st.floats(1e-9, 1 - 1e-9), st.sampled_from([1e-9, 1e-4, 0.5, 1 - 1e-9])))


@given(problems())
@settings(deadline=None, max_examples=examples(6, 40))
def test_any_parabolas_agree_with_sixty_digits(problem: tuple[tuple[Piece, ...], int, float]) -> None:
    pieces, n, rate = problem
    expected = sixty_digits.log_moment(pieces, n, rate)
    value = log_moment(pieces, n, rate)
    assert value == pieces[-1].most or abs(value / expected - 1) < RELATIVE
    assert value >= expected * (1 - 1e-13)  # rounded up


def test_both_peaks_of_a_parabola_are_seen() -> None:
    """Most samples hold five tuples; the few that hold thousands weigh as much."""
    n, rate = 5000, 1e-3
    for factor in (0.99, 1.0, 1.0001):  # of -ln P(K = n)
        piece = Piece(1, n, 0.0, 0.0, factor * n * math.log(1 / rate) / n**2)
        expected = sixty_digits.log_moment([piece], n, rate)
        assert abs(log_moment([piece], n, rate) / expected - 1) < RELATIVE


def test_a_blocks_rule_is_exact_for_polynomials() -> None:
    nodes, weights = block_rules()
    for j in (SMALLEST, 8):
        k = np.arange(2.0**j) - (2.0**j - 1) / 2
        for degree in range(2 * NODES):
            expected = math.fsum((k / 2.0**j) ** degree)
            assert np.dot(weights[j], (nodes[j] / 2.0**j) ** degree) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert weights[LARGEST].sum() == pytest.approx(2.0**LARGEST) and (weights[SMALLEST:] > 0).all()


@given(st.integers(1, 10**12), st.floats(1e-9, 1 - 1e-9), st.floats(-30, 30))
def test_the_mass_keeps_its_digits_in_the_tails(n: int, rate: float, deviations: float) -> None:
    k = min(max(round(n * rate + deviations * math.sqrt(n * rate * (1 - rate))), 0), n)
    with mp.workdps(60):
        expected = sixty_digits.log_choose(n, k, mpf(rate))
    assert abs(log_mass(float(k), 0.0, float(n), rate, 1 - rate) - expected) < 1e-14 * (1 + abs(expected))


def test_refuses_what_is_no_sampling() -> None:
    piece = [Piece(1, 1, 1.0, 0.0)]
    refuses_calls(log_moment, (piece, 0, 0.5), (piece, 1, 0.0), (piece, 1, math.nan), (piece, 1, 1.5))
