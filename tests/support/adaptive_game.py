"""Adversaries who choose each release after seeing the last outcome, and what they achieve exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from privacy.accounting.event import ApproxDP, PrivacyEvent, PureDP, RenyiCurve


@dataclass(frozen=True)
class Release:
    """A mechanism on one pair of neighbours, and the event that it is charged as.

    Attributes:
      event: true of the mechanism in both directions.
      outcomes: (ln P / Q, P's mass) of each; infinite where Q has none.
    """

    event: PrivacyEvent
    outcomes: tuple[tuple[float, float], ...]


Strategy = Callable[[tuple[int, ...]], Release | None]
"""The next release after the outcomes so far, or None to stop."""


def response(epsilon: float) -> Release:
    """Randomised response."""
    truth = 1 / (1 + math.exp(-epsilon))
    return Release(PureDP(epsilon), ((epsilon, truth), (-epsilon, 1 - truth)))


def leak(epsilon: float, delta: float) -> Release:
    """Everything with probability delta, else randomised response."""
    rest = tuple((loss, mass * (1 - delta)) for loss, mass in response(epsilon).outcomes)
    return Release(ApproxDP(epsilon, delta), ((math.inf, delta), *rest))


def two_outcomes(loss: float, mass: float, orders: tuple[float, ...]) -> Release:
    """One outcome of P's mass `mass` with the log ratio `loss`, and the other outcome that this leaves."""
    other = math.log1p(-mass) - math.log1p(-mass * math.exp(-loss))
    outcomes = ((loss, mass), (other, 1 - mass))
    reverse = tuple((-ratio, part * math.exp(-ratio)) for ratio, part in outcomes)
    bounds = (max(_renyi(outcomes, order), _renyi(reverse, order)) * (1 + 1e-12) for order in orders)
    return Release(RenyiCurve(orders, tuple(bounds)), outcomes)


def excess(budget: Any, epsilon: float, strategy: Strategy, depth: int) -> float:
    """The smallest delta with which all that the filter admits of a strategy is (epsilon, delta)-DP, one way."""

    def play(history: tuple[int, ...], spent: Any, loss: float, mass: float) -> float:
        release = strategy(history) if len(history) < depth else None
        if release is None or loss == math.inf:
            return mass * _beyond(loss, epsilon)
        charge = budget.accountant.charge(release.event)
        if not budget.admits(spent, charge):
            return mass * _beyond(loss, epsilon)
        return math.fsum(
            play((*history, number), spent + charge, loss + more, mass * part)
            for number, (more, part) in enumerate(release.outcomes)
        )

    return play((), budget.accountant.nothing, 0.0, 1.0)


def best_excess(budget: Any, epsilon: float, menu: Sequence[Release], depth: int) -> float:
    """The excess of the best of all strategies of at most `depth` releases from a menu."""
    charges = [budget.accountant.charge(release.event) for release in menu]

    def value(spent: Any, loss: float, left: int) -> float:
        best = _beyond(loss, epsilon)
        for release, charge in zip(menu, charges, strict=True):
            if left and loss < math.inf and budget.admits(spent, charge):
                following = (part * value(spent + charge, loss + more, left - 1) for more, part in release.outcomes)
                best = max(best, math.fsum(following))
        return best

    return value(budget.accountant.nothing, 0.0, depth)


def _renyi(outcomes: tuple[tuple[float, float], ...], order: float) -> float:
    return math.log(math.fsum(mass * math.exp((order - 1) * loss) for loss, mass in outcomes)) / (order - 1)


def _beyond(loss: float, epsilon: float) -> float:
    """What P has beyond exp(epsilon) Q, per mass of P."""
    return max(0.0, -math.expm1(epsilon - loss))
