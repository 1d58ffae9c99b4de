"""What whoever asks says that one person adds at most: the threshold, instead of one that is chosen.

Why all of epsilon is spent at that one threshold X, and no part of it on choosing a smaller tau and measuring what is
cut off there: two Laplace releases, of the sum up to tau and of what is between tau and X (sensitivity X - tau), with
shares a and 1 - a of epsilon have scales tau / (a epsilon) and (X - tau) / ((1 - a) epsilon), whose sum is at least
(sqrt(tau) + sqrt(X - tau))^2 / epsilon >= X / epsilon; and a count of those who are cut adds up to X - tau for each
person that its own noise leaves open. Nor can anything else gain much. Let an epsilon-DP interval hold the truth with
probability 1 - alpha for all data in which nobody adds more than X. Of data with truth T, and s + k X more by k + 1
people, it holds T + s + k X with at least that probability, hence of the data itself with (1 - alpha) exp(-(k + 1)
epsilon) at least. Summed over k >= 0 and s in [0, X) its expected length above T is at least

    (1 - alpha) X / (exp(epsilon) - 1),

whatever the data. The interval of one Laplace release at X has X ln(1 / alpha) / epsilon there: some three times as
much at 95% and a small epsilon (`make benchmark NAME=trust` has the ratio).
"""

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
    Raises: InvalidSetting for what is not above 0, quantiles and extremes, quotients, counts beside sums, samples, a
      bound that one row may exceed by its declared range, and one that no threshold reaches.

    A bound below what one row may add is refused because it is nearly always of another question: a session in which
    it was said of a count of visits asks for a sum of costs, whose answer would be cut to a thousandth and be said to
    cover the truth. Who knows better can say it in SQL, where it stands beside what it is of.
    """
    if not (math.isfinite(most) and most > 0):
        raise InvalidSetting(f"{_NAME} is a number above 0")
    if any(release.ranked is not None for release in released.releases):
        hint = "ask for quantiles and extremes without it, apart from sums and counts"
        raise InvalidSetting(f"{_NAME} is of sums and counts: nobody adds to a quantile or an extreme", hint=hint)
    if released.jointly:
        hint = "ask for the sum and the count apart: each has its own bound"
        raise InvalidSetting(f"{_NAME} is of a sum or a count, and this question asks for a quotient", hint=hint)
    bounds = {release.most for release in released.releases}
    if 1.0 in bounds and len(bounds) > 1:
        hint = "ask for them apart: each has its own bound"
        raise InvalidSetting(
            f"{_NAME} is of one sum or count, and this question asks for a count and a sum", hint=hint
        )
    if most < max(bounds, default=0.0):
        raise InvalidSetting(
            f"{_NAME} is {most:g}, but one row alone may add up to {max(bounds):g} here, by declared ranges",
            hint=f"it is in the unit of the answer: say at least {max(bounds):g}, leave it out, or bound what a row "
            "adds, as sum(least(x, 100)) or WHERE x <= 100 do",
        )
    if sampling is not None:
        raise InvalidSetting(
            f"{_NAME} makes intervals for the truth, which an answer from a sample misses by chance",
            hint="ask without sampling",
        )
    largest = min((release.weight_bound for release in released.releases), default=1.0) * _LARGEST_LADDER
    if most > largest:
        raise InvalidSetting(f"{_NAME} is at most {largest:g} here", hint="say less, or leave it out")
