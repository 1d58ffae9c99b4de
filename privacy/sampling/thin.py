"""Keep each join tuple with the same probability, after the database has counted the tuples that are alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples
from privacy.sampling.draws import Draws
from privacy.units import MAX_UNITS, ONE


def thin(counted: JoinTuples, rate: float, draws: Draws) -> JoinTuples:
    """The weights of a Bernoulli sample of join tuples.

    Args:
      counted: rows of tuples that are alike; the last row of `weights` is how many tuples each stands for, the others
        are the weights of one such tuple.
      rate: q in (0, 1].
      draws: where the randomness comes from.
    Returns: one release fewer; weights are those of the tuples that stay, one and the same sample for all releases.
    Raises: InvalidParameter for counts or weights out of range.
    Source: privacy.md section 3. Rows of unlike weights are apart, so that thinning is right for any weights.
    """
    if len(counted.weights) < 2:
        raise InvalidParameter("counted tuples have a weight and a count")
    weights, counts = counted.weights[:-1], counted.weights[-1]
    if weights.size and (weights.min() < 0 or weights.max() > ONE):
        raise InvalidParameter("one tuple weighs between 0 and 1")
    kept = draws.binomial(counts, rate)  # at most 2^32 times at most 2^30: within MAX_UNITS
    return replace(counted, weights=np.minimum(weights * kept, MAX_UNITS))
