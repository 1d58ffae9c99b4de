"""What whoever asks says that one person adds at most: the threshold, instead of one that is chosen."""

from __future__ import annotations

import math

from planner.errors import InvalidSetting
from planner.plan import SamplingPlan
from planner.planning.releases import Releases

_LARGEST_LADDER = 2.0**32
"""Loads saturate there, in multiples of what one row adds at most."""

_NAME = "nobody_adds_more_than"


def check_nobody_adds_more_than(most: float, released: Releases, sampling: SamplingPlan | None) -> None:
    """Refuse a bound where it would not make the interval one for the truth.

    Args:
      most: X, in the unit of the answer.
      released: what is measured.
      sampling: how the rows are sampled, if they are.
    Raises: InvalidSetting for what is not above 0, quantiles and extremes, quotients, samples, and a bound that no
      threshold reaches.
    """
    if not (math.isfinite(most) and most > 0):
        raise InvalidSetting(f"{_NAME} is a number above 0")
    if any(release.ranked is not None for release in released.releases):
        hint = "ask for quantiles and extremes without it, apart from sums and counts"
        raise InvalidSetting(f"{_NAME} is of sums and counts: nobody adds to a quantile or an extreme", hint=hint)
    if released.jointly:
        hint = "ask for the sum and the count apart: each has its own bound"
        raise InvalidSetting(f"{_NAME} is of a sum or a count, and this question asks for a quotient", hint=hint)
    if sampling is not None:
        raise InvalidSetting(
            f"{_NAME} makes intervals for the truth, which an answer from a sample misses by chance",
            hint="ask without sampling",
        )
    largest = min((release.weight_bound for release in released.releases), default=1.0) * _LARGEST_LADDER
    if most > largest:
        raise InvalidSetting(f"{_NAME} is at most {largest:g} here", hint="say less, or leave it out")
