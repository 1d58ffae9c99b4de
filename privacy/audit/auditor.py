"""A lower bound on epsilon from a mechanism's outputs alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from privacy.audit.events import Event, EventFamily
from privacy.audit.outputs import Outputs
from privacy.errors import InvalidParameter


def epsilon_lower_bound(first: Outputs, second: Outputs, failure_probability: float) -> float:
    """Bound from below the epsilon of a mechanism with delta = 0.

    One event, and which of the inputs it favours, is chosen on the first half of the runs. The second half,
    which had no say in it, counts the event; Clopper-Pearson bounds its two probabilities, each
    with half of the failure probability.

    Args:
      first, second: outputs on two neighbouring inputs, independent runs.
      failure_probability: in (0, 1).
    Returns: a number that exceeds the true epsilon with probability at most `failure_probability`; 0 or more.
    Raises: InvalidParameter for a failure probability outside (0, 1).
    Cost: sorting, and a few thousand beta quantiles.
    """
    if not 0 < failure_probability < 1:
        raise InvalidParameter("a failure probability lies between 0 and 1")
    training, testing = zip(first.halves(), second.halves(), strict=True)
    event, swapped = _most_telling(*training, failure_probability)
    likely, unlikely = reversed(testing) if swapped else testing
    bound = _log_ratio(
        np.array([event.count(likely)]),
        len(likely),
        np.array([event.count(unlikely)]),
        len(unlikely),
        failure_probability,
    )
    return max(0.0, float(bound[0]))


def _most_telling(first: Outputs, second: Outputs, failure_probability: float) -> tuple[Event, bool]:
    """The event with the largest bound on these runs, and whether it favours the second input."""
    family = EventFamily.of(first, second)
    counts = family.counts(first), family.counts(second)
    forward = _log_ratio(counts[0], len(first), counts[1], len(second), failure_probability)
    backward = _log_ratio(counts[1], len(second), counts[0], len(first), failure_probability)
    swapped = bool(backward.max() > forward.max())
    return family.events()[int(np.argmax(backward if swapped else forward))], swapped


def _log_ratio(
    hits: NDArray[np.int64], runs: int, rare_hits: NDArray[np.int64], rare_runs: int, failure_probability: float
) -> NDArray[np.float64]:
    """ln(p / q) with p bounded from below and q from above, each failing with half of the probability."""
    half = failure_probability / 2
    # With no hit the lower limit is 0, with nothing but hits the upper one is 1; the quantile is undefined there.
    low = np.where(hits == 0, 0.0, beta.ppf(half, np.maximum(hits, 1), runs - hits + 1))
    high = np.where(rare_hits == rare_runs, 1.0, beta.isf(half, rare_hits + 1, np.maximum(rare_runs - rare_hits, 1)))
    return np.where(low > 0, np.log(np.maximum(low, math.ulp(0.0))) - np.log(high), -np.inf)
