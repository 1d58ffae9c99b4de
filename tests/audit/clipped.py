"""One unit's vector over the groups, many times side by side, and its neighbours; and clips with mistakes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privacy.audit.outputs import Outputs
from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.mechanisms.clipping.clipped_vectors import STEPS
from privacy.mechanisms.clipping.levelled_vectors import Level
from privacy.mechanisms.group_measurement import GroupMeasurement
from privacy.truncation.encode import encode
from privacy.truncation.ladder.level_index_kernels import add_loads
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.audit.auditing import loss_bound, plain
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


class PlainVectors:
    """Clipped to length tau as one would at first: x min(1, tau / |x|). Moves by sqrt(2) tau."""

    def __init__(self, tuples: CodedJoinTuples, row: int) -> None:
        self.n_groups, self._units = tuples.n_groups, tuples.units
        loads: NDArray[np.int64] = add_loads(tuples.members, tuples.weights[row], len(tuples.units))
        self._loads = loads.astype(np.float64)
        self._group = np.repeat(np.arange(tuples.n_groups), np.diff(tuples.member_start))

    def lengths(self, ladder: Ladder) -> TabulatedAnswer:
        return TabulatedAnswer(np.zeros((1, len(ladder)), np.int64), ladder)

    def sums(self, tau: int) -> NDArray[np.int64]:
        length = np.sqrt(np.bincount(self._units, self._loads**2))[self._units]
        clipped = self._loads * np.minimum(1, tau / np.maximum(length, 1))
        return np.bincount(self._group, clipped / tau * STEPS, self.n_groups).astype(np.int64)


class ScaledVectors(PlainVectors):
    """Scaled to the total tau: x min(1, tau / sum x). Moves by 2 tau, in two groups already."""

    totals = PlainVectors.lengths

    @classmethod
    def of_sum(cls, tuples: CodedJoinTuples, row: int) -> ScaledVectors:
        return cls(tuples, row)

    def sums(self, level: Level) -> NDArray[np.int64]:  # type: ignore[override]
        total = np.bincount(self._units, self._loads)[self._units]
        scaled = self._loads * np.minimum(1, level.tau_units / np.maximum(total, 1)) / level.step
        return np.bincount(self._group, scaled, self.n_groups).astype(np.int64)
