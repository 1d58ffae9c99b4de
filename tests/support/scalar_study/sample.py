"""Bernoulli samples of join tuples, as a database would return them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacy.join_tuples import JoinTuples


def sampled(tuples: JoinTuples, rate: float, generator: np.random.Generator) -> JoinTuples:
    """Each tuple with probability `rate`, independently. Cost: linear in the sample, not in the tuples."""
    if rate == 1:
        return tuples
    size = len(tuples.group)
    expected = rate * size
    steps = generator.geometric(rate, int(expected + 8 * expected**0.5 + 32))
    rows = np.cumsum(steps) - 1  # the gaps between tuples that stay are geometric
    assert rows[-1] >= size, "eight standard deviations more than expected"
    rows = rows[: np.searchsorted(rows, size)]
    owners = tuple(replace(owner, keys=owner.keys[rows], missing=owner.missing[rows]) for owner in tuples.owners)
    return replace(tuples, owners=owners, group=tuples.group[rows], weights=tuples.weights[:, rows])
