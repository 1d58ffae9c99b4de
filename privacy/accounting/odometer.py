"""Running totals that one may look at, and act on, at any time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from privacy.accounting.accountant import A, PrivacyFilter
from privacy.accounting.amounts import Charge, RenyiSpent, ZCDPSpent
from privacy.accounting.renyi import RenyiFilter
from privacy.accounting.zcdp import ZCDPFilter

A_contra = TypeVar("A_contra", Charge, ZCDPSpent, RenyiSpent, contravariant=True)
"""The amounts that an odometer reads."""

_STEPS = range(-40, 37)
"""Quarters of an octave: from epsilon 2^-10 to 2^9."""


class Odometer(Protocol[A_contra]):
    """Reports what has been spent, validly whenever one looks: the outputs may decide when to look and to stop.

    With E(x) the report on a transcript x, P puts at most delta more than exp(E(x)) Q(x) on all transcripts together.
    Source: Rogers, Roth, Ullman, Vadhan, NIPS 2016.
    """

    @property
    def delta(self) -> float:
        """The probability that a report does not cover."""
        ...

    def epsilon(self, spent: A_contra) -> float:
        """The epsilon of what is spent; infinity beyond what is counted."""
        ...


@dataclass(frozen=True)
class BasicOdometer:
    """Basic composition: its sum is an odometer as it is.

    Attributes:
      delta: that the sum of the events' deltas may reach.
    """

    delta: float = 0.0

    def epsilon(self, spent: Charge) -> float:
        """The exact sum of epsilons, while the deltas stay within delta; infinity afterwards."""
        return spent.epsilon if spent.atto_delta <= Charge.granted(0.0, self.delta).atto_delta else math.inf


@dataclass(frozen=True)
class LadderOdometer(Generic[A]):
    """The smallest of a ladder of filters that would have admitted everything so far.

    Each filter holds with its own part of delta, so all hold together, whichever is reported. A report exceeds
    that of a filter built for the amount by at most a quarter of an octave and the price of the smaller delta.

    Attributes:
      filters: with rising epsilons.
      delta: the sum of theirs.
    """

    filters: tuple[PrivacyFilter[A], ...]
    delta: float

    def epsilon(self, spent: A) -> float:
        """The epsilon of the first filter that admits `spent`; 0 for nothing; infinity beyond the last."""
        nothing = self.filters[0].accountant.nothing
        if spent == nothing:
            return 0.0
        fitting = (rung.granted.epsilon for rung in self.filters if rung.admits(nothing, spent))
        return next(fitting, math.inf)


def zcdp_odometer(delta: float) -> LadderOdometer[ZCDPSpent]:
    """An odometer of releases counted in rho, for a delta in (0, 1]."""
    return LadderOdometer(tuple(ZCDPFilter.of(2 ** (step / 4), delta / len(_STEPS)) for step in _STEPS), delta)


def renyi_odometer(delta: float) -> LadderOdometer[RenyiSpent]:
    """An odometer of releases counted at every order, for a delta in (0, 1]."""
    return LadderOdometer(tuple(RenyiFilter.of(2 ** (step / 4), delta / len(_STEPS)) for step in _STEPS), delta)
