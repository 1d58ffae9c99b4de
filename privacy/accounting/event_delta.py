"""The part of a granted delta that is kept for events with a delta of their own.

Why it adds up, also adaptively. On a given transcript so far, a release that is (epsilon_i, delta_i)-DP has outputs
P_i = (1 - delta_i) P'_i + delta_i P''_i on one neighbour and likewise Q_i on the other, with P'_i and Q'_i
epsilon_i-close (Kairouz, Oh, Viswanath, ICML 2015). Let w(x) be the product of the (1 - delta_i) along a transcript
x; a filter that keeps their sum within d on every transcript makes w >= 1 - d. Then P(S) <= int_S w dP' + d and
Q(S) >= int_S w dQ', while int_S w (dP' - exp(epsilon) dQ') <= delta' whenever P' and Q' are (epsilon, delta')-close,
since 0 <= w <= 1. Together P(S) <= exp(epsilon) Q(S) + delta' + d.
"""

from __future__ import annotations

from privacy.accounting.charge import Charge, atto_delta
from privacy.errors import InvalidParameter


def without_event_delta(granted: Charge, event_delta: float) -> tuple[Charge, int]:
    """The grant less the part that is kept for the events, and that part in multiples of 1e-18.

    Raises: InvalidParameter when more is kept than was granted.
    """
    kept = atto_delta(event_delta)
    if kept > granted.atto_delta:
        raise InvalidParameter("the events' deltas are part of the granted delta")
    return Charge(granted.nano_epsilon, granted.atto_delta - kept), kept
