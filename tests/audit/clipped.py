"""One unit's vector over the groups, many times side by side, and its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.measurement import GroupMeasurement
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.audit.auditing import loss_bound, plain
from tests.audit.auditor import Outputs
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

BIG = 1 << 12
"""Far above the threshold, in weights."""

RUNS = examples(250_000, 400_000)
"""The bound from zCDP to (epsilon, delta) leaves some room, which a mistake has to exceed visibly."""

Vector = Sequence[float]
"""What a unit weighs in each group."""


def side_by_side(vector: Vector, runs: int) -> CodedJoinTuples:
    """So many units with the same vector, each in groups of its own: every unit is one independent run."""
    size = len(vector)
    group = np.arange(runs * size)
    weights = np.tile(np.round(np.array(vector) * ONE).astype(np.int64), runs)
    here = weights > 0
    keys = OwnerColumn("unit", (group // size)[here], np.zeros(int(here.sum()), bool))
    return encode(JoinTuples((keys,), group[here], runs * size, weights[None, here]))


def vector_audit(
    measurement: GroupMeasurement, pair: tuple[Vector, Vector], direction: Vector, delta: float, runs: int = RUNS
) -> float:
    """A lower bound on epsilon at delta, from the released vectors' component in one direction."""
    source, towards = SimulatedEntropy(seed=20261121), np.array(direction)

    def run(vector: Vector, size: int) -> Outputs:
        released = measurement.release(side_by_side(vector, size), 0, source).values.reshape(size, -1)
        return plain(released @ towards)

    return loss_bound(run, pair, runs, delta)
