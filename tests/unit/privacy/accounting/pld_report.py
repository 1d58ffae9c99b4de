"""Privacy loss distributions: the tightest report of what fixed releases cost. A report, not a filter.

Loss distributions may not be added up one by one while later requests depend on earlier outputs: which of two is
worse can depend on the epsilon at which one asks, so no running sum bounds them all. Budgets are kept by filters.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from privacy.accounting.event import ApproxDP, BoundedRange, DiscreteGaussian, PrivacyEvent, PureDP, leaves, refusal

_EXACT_SCALE = 1000.0
"""Up to this scale the discrete Gaussian's mass function is tabulated."""

_LEAST_SCALE = 3.0
"""From this scale on the discrete Gaussian's normalisation is the continuous one's to 1e-76."""


@dataclass(frozen=True)
class PLDReport:
    """What events, all fixed in advance, cost together by their privacy loss distributions.

    The distributions are rounded up to a grid of losses and convolved by dp-accounting (Google), to its numerical
    error of about 1e-15 in delta. Importing that library takes some 2 s, so it is imported at the first question.

    Attributes:
      event: `PureDP`, `ApproxDP`, `BoundedRange` (as if it were pure), `DiscreteGaussian`, or compositions of them.
      interval: the grid of losses: an event of less epsilon than this is reported as this. Memory is the sum of
        epsilons divided by it.
    """

    event: PrivacyEvent
    interval: float = 1e-4

    def epsilon(self, delta: float) -> float:
        """The epsilon at a delta in [0, 1]; infinity when there is none. Raises: InvalidParameter as `delta`."""
        return float(self._distribution().get_epsilon_for_delta(delta)) + self._shift()

    def delta(self, epsilon: float) -> float:
        """The delta at an epsilon >= 0. Raises: InvalidParameter that names an event without a rule."""
        distribution, least = self._distribution(), epsilon - self._shift()
        return float(distribution.get_delta_for_epsilon(least))

    def _distribution(self) -> Any:
        """All events' loss distributions, convolved."""
        counts = Counter(leaves(self.event))
        for event in counts:
            _check(event)
        from dp_accounting.pld import privacy_loss_distribution as pld

        total = pld.identity(value_discretization_interval=self.interval)
        for event, count in counts.items():
            total = total.compose(_loss(event, self.interval).self_compose(count))
        return total

    def _shift(self) -> float:
        """What the discrete Gaussians that are taken for continuous ones may lose beyond these."""
        return math.fsum(_excess(leaf) for leaf in leaves(self.event))


def _check(event: PrivacyEvent) -> None:
    """Refuse, before a slow import, what has no loss distribution."""
    if isinstance(event, DiscreteGaussian):
        if event.scale < _LEAST_SCALE and not _tabulated(event):
            raise refusal("PLD", event, f"in several dimensions its scale is at least {_LEAST_SCALE:g}")
    elif not isinstance(event, (PureDP, ApproxDP, BoundedRange)):
        raise refusal("PLD", event)


def _loss(event: PrivacyEvent, interval: float) -> Any:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(event, DiscreteGaussian):
        if _tabulated(event):
            return pld.from_discrete_gaussian_mechanism(
                event.scale, int(event.sensitivity), value_discretization_interval=interval
            )
        return pld.from_gaussian_mechanism(event.scale / event.sensitivity, value_discretization_interval=interval)
    assert isinstance(event, (PureDP, ApproxDP, BoundedRange))
    delta = event.delta if isinstance(event, ApproxDP) else 0.0
    return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(event.epsilon, delta), interval)


def _tabulated(event: DiscreteGaussian) -> bool:
    return event.dimension == 1 and event.scale <= _EXACT_SCALE and float(event.sensitivity).is_integer()


def _excess(event: PrivacyEvent) -> float:
    """An upper bound on how much later the discrete loss comes than the continuous one.

    The loss on x is (2 x d + d^2) / (2 s^2), and the discrete x is stochastically at most one step beyond the
    continuous one (a sum of a falling function lies below its integral one step earlier), so the losses differ by
    |d|_1 / s^2, at most sqrt(dimension) |d|_2 / s^2.
    """
    if not isinstance(event, DiscreteGaussian) or _tabulated(event):
        return 0.0
    return math.sqrt(event.dimension) * event.sensitivity / event.scale**2
