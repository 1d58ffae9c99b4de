"""A count whose unit's rows are bounded: the noise of the bound, a chosen threshold, and a test of which is better.

Units of one row position, their rows drawn from six distributions under a bound Delta, at epsilon 1. The rows of
`bound_first` show what the test gains and what it costs beside the better of both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import OpendpEntropy
from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.bound_first import BoundFirst, bound_thresholds
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.shared_threshold import SharedThreshold, fixed_threshold
from privacy.thresholds import useful_thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.units import WEIGHT_BITS
from tests.benchmarks.rows import Row

_BOUNDS = (16, 64, 200, 1000)
_UNITS, _QUICK_UNITS = (300, 6_000, 60_000), (300, 6_000)
_RUNS, _QUICK_RUNS = 201, 21
_EPSILON = 1.0
_LITTLE, _OF_BETTER = 2.5, 2.5
"""The error of `bound_first` is at most this per cent of the count, or this times that of the better way."""

Loads = NDArray[np.int64]


def run(quick: bool) -> list[Row]:
    """Median errors, in per cent of the count."""
    rows = []
    rng = np.random.default_rng(20261123)
    for bound in _BOUNDS:
        for units in _QUICK_UNITS if quick else _UNITS:
            for name, loads in _distributions(bound, units, rng).items():
                rows += _compared(f"Delta {bound}, {units} units, {name}", loads, bound, quick)
    return rows


def _distributions(bound: int, units: int, rng: np.random.Generator) -> dict[str, Loads]:
    """Rows per unit, at most the bound."""

    def zipf(power: float) -> Loads:
        chances = np.arange(1, bound + 2) ** -power
        return rng.choice(bound + 1, size=units, p=chances / chances.sum())

    return {
        "as n to the power of -1.7": zipf(1.7),
        "as n to the power of -2.5": zipf(2.5),
        "a quarter of the bound each": np.full(units, bound // 4),
        "geometric, a tenth of the bound": np.minimum(rng.geometric(1 / max(2, bound / 10), units), bound),
        "the bound each": np.full(units, bound),
        "one each, two in 1,000 the bound": np.where(rng.random(units) < 0.002, bound, 1),
    }


def _compared(case: str, loads: Loads, bound: int, quick: bool) -> list[Row]:
    thresholds = useful_thresholds(True, bound)
    ways: dict[str, SharedThreshold | Gem | BoundFirst] = {
        "the bound": fixed_threshold(_EPSILON, 1, thresholds=bound_thresholds(bound)),
        "a chosen threshold": Gem(PureBudget(_EPSILON), 1, thresholds=thresholds, monotone=True),
        "bound_first": BoundFirst(_EPSILON, bound, 1, thresholds=thresholds, monotone=True),
    }
    tuples, runs = _coded(loads[loads > 0]), _QUICK_RUNS if quick else _RUNS
    truth = float(loads.sum())
    errors = {name: 100 * _error(one, tuples, truth, runs) / truth for name, one in ways.items()}
    least = min(errors["the bound"], errors["a chosen threshold"])
    most = None if quick else max(_LITTLE, _OF_BETTER * least)
    rows = [Row(case, f"{name}: error, median", errors[name], "%") for name in ("the bound", "a chosen threshold")]
    return [*rows, Row(case, "bound_first: error, median", errors["bound_first"], "%", most=most)]


def _error(way: SharedThreshold | Gem | BoundFirst, tuples: CodedJoinTuples, truth: float, runs: int) -> float:
    entropy = OpendpEntropy()

    def value() -> float:
        if isinstance(way, BoundFirst):
            return float(way.release(tuples, 0, entropy).values[0])
        return float(way.release(truncate(tuples, 0, way.thresholds, way.gap), entropy).values[0])

    return float(np.median([abs(value() - truth) for _ in range(runs)]))


def _coded(loads: Loads) -> CodedJoinTuples:
    n = len(loads)
    owner = OwnerColumn("unit", np.arange(n), np.zeros(n, bool))
    return encode(JoinTuples((owner,), np.zeros(n, np.int64), 1, (loads << WEIGHT_BITS)[None].astype(np.int64)))
