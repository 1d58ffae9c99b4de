"""Lower bounds on epsilon, and on delta at an epsilon, from a mechanism's outputs alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from privacy.audit.events import Event, EventFamily
from privacy.audit.outputs import Outputs
from privacy.errors import InvalidParameter

Gain = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""What events show whose probabilities are at least the first on one input and at most the second on the other."""


def epsilon_lower_bound(first: Outputs, second: Outputs, failure_probability: float, delta: float = 0.0) -> float:
    """Bound from below the epsilon at which a mechanism is (epsilon, delta)-private: ln((P(E) - delta) / P'(E)).

    One event, and which of the inputs it favours, is chosen on the first half of the runs. The second half,
    which had no say in it, counts the event; Clopper-Pearson bounds its two probabilities, each
    with half of the failure probability.

    Args:
      first, second: outputs on two neighbouring inputs, independent runs.
      failure_probability: in (0, 1).
      delta: in [0, 1), what the mechanism claims beside epsilon. Only events that are seen in many more than
        delta of the runs show anything.
    Returns: a number that exceeds the true epsilon with probability at most `failure_probability`; 0 or more.
    Raises: InvalidParameter for a failure probability or a delta out of range.
    Cost: sorting, and a few thousand beta quantiles.
    """
    if not 0 <= delta < 1:
        raise InvalidParameter("delta is a probability below 1")

    def log_ratio(likely: NDArray[np.float64], unlikely: NDArray[np.float64]) -> NDArray[np.float64]:
        shown = np.maximum(likely - delta, 0.0)
        return np.where(shown > 0, np.log(np.maximum(shown, math.ulp(0.0))) - np.log(unlikely), -np.inf)

    return _shown(first, second, failure_probability, log_ratio)


def delta_lower_bound(first: Outputs, second: Outputs, failure_probability: float, epsilon: float) -> float:
    """Bound from below the privacy profile at epsilon: the largest P(E) - e^epsilon P'(E) over events, both ways.

    As `epsilon_lower_bound`, of which it is the inverse: a claim of (epsilon, delta) is refuted by a bound above
    delta.

    Args:
      epsilon: where the profile is bounded, >= 0 and finite.
    Returns: a number that exceeds the true delta with probability at most `failure_probability`; 0 or more.
    Raises: InvalidParameter for a failure probability or an epsilon out of range.
    """
    if not 0 <= epsilon < math.inf:
        raise InvalidParameter("epsilon is finite and not negative")
    return _shown(first, second, failure_probability, lambda likely, unlikely: likely - math.exp(epsilon) * unlikely)


def _shown(first: Outputs, second: Outputs, failure_probability: float, gain: Gain) -> float:
    """The gain of the event that the first half of the runs picks, on the second half; at least 0."""
    if not 0 < failure_probability < 1:
        raise InvalidParameter("a failure probability lies between 0 and 1")
    training, testing = zip(first.halves(), second.halves(), strict=True)
    event, swapped = _most_telling(*training, failure_probability, gain)
    likely, unlikely = reversed(testing) if swapped else testing
    hits, rare_hits = (np.array([event.count(outputs)]) for outputs in (likely, unlikely))
    low, high = _bounds(hits, rare_hits, len(likely), len(unlikely), failure_probability)
    return max(0.0, float(gain(low, high)[0]))


def _most_telling(first: Outputs, second: Outputs, failure_probability: float, gain: Gain) -> tuple[Event, bool]:
    """The event with the largest gain on these runs, and whether it favours the second input."""
    family = EventFamily.of(first, second)
    counts = family.counts(first), family.counts(second)
    forward = gain(*_bounds(*counts, len(first), len(second), failure_probability))
    backward = gain(*_bounds(*counts[::-1], len(second), len(first), failure_probability))
    swapped = bool(backward.max() > forward.max())
    return family.events()[int(np.argmax(backward if swapped else forward))], swapped


def _bounds(
    hits: NDArray[np.int64], rare_hits: NDArray[np.int64], runs: int, rare_runs: int, failure_probability: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One probability bounded from below and one from above, each failing with half of the probability."""
    half = failure_probability / 2
    # With no hit the lower limit is 0, with nothing but hits the upper one is 1; the quantile is undefined there.
    low = np.where(hits == 0, 0.0, beta.ppf(half, np.maximum(hits, 1), runs - hits + 1))
    high = np.where(rare_hits == rare_runs, 1.0, beta.isf(half, rare_hits + 1, np.maximum(rare_runs - rare_hits, 1)))
    return low, high
