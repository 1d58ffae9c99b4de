"""One pass over the tuples as they came: how long everybody is at given shares, and what multipliers are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.certificate.certificate_pass_kernel import (
    BLOCK,
    FRESH_COUNTERS,
    add_tuples,
    close_group,
)
from privacy.truncation.vector.certificate.dual_point import DualPoint, relative_rounding
from privacy.truncation.vector.slices import slices


@dataclass(frozen=True, eq=False, repr=False)
class CertificatePass:
    """What neither a core nor a sample can say about the whole.

    Attributes:
      lengths: (n_units,) lengths in multiples of tau, rounded up; 0 where `over` is false.
      gain: sum_t w_t g_t of `dual_point`, rounded down.
      prices: (n_units,) a_v of `dual_point`, rounded up.
    """

    lengths: NDArray[np.float64]
    gain: float
    prices: NDArray[np.float64]

    def __repr__(self) -> str:
        return "CertificatePass(<private>)"


def certificate_pass(
    tuples: CompactJoinTuples,
    release: int,
    over: NDArray[np.bool_],
    degree: NDArray[np.int64],
    shares: NDArray[np.float64],
    dual: DualPoint,
    tau: int,
    control: Control = QUIET,
) -> CertificatePass:
    """Measure shares (n_units,) on the grid, 0 outside `over` and the dual's columns, and multipliers on all tuples.

    Neither needs to know which tuples have the same owners: no merging, and no memory per tuple.

    Args:
      degree: (n_units,) how many tuples each unit owns: as many roundings are in its sums.
    Raises: Cancelled.
    Cost: one pass over the owners, with a look at each point of the dual. Memory O(n_units + entries of the dual).
    """
    units = np.union1d(dual.columns, np.flatnonzero(over))
    code_of = np.zeros(tuples.n_units, np.int32)
    code_of[units] = np.arange(1, len(units) + 1)
    n_points = dual.points.shape[1]
    points, by_code = np.zeros((len(units) + 1, n_points)), np.zeros((len(units) + 1, n_points))
    points[code_of[dual.columns]] = dual.points
    run_code = code_of[dual.columns[dual.run_column]]
    load, square = np.zeros(len(units) + 1), np.zeros(len(units) + 1)
    prices = np.zeros(tuples.n_units)
    gain, counters = np.zeros(1), np.array(FRESH_COUNTERS)
    for first, last in slices(tuples.indptr, control, "proving"):
        add_tuples(
            first,
            last,
            tuples.indptr,
            tuples.units,
            tuples.group,
            tuples.weights[release],
            code_of,
            np.concatenate((np.zeros(1), shares[units])),
            points,
            by_code,
            dual.run_group,
            run_code,
            dual.by_run,
            1.0 / float(tau),
            load,
            square,
            gain,
            prices,
            counters,
        )
    close_group(len(tuples.group), tuples.indptr, tuples.units, code_of, load, square, counters)
    lengths = np.zeros(tuples.n_units)
    lengths[units] = np.where(over[units], np.sqrt(square[1:]), 0.0)
    # Each sum errs by the number of its own terms: with millions of units the number of all tuples says too much.
    n_slices, per_tuple = counters[4], counters[5] * (n_points + 1)
    terms = 2 * degree + per_tuple
    rounded_up = 1.0 + relative_rounding(terms)
    gain_terms = BLOCK + len(tuples.group) // BLOCK + n_slices + per_tuple
    rounded_down = 1.0 - float(relative_rounding(gain_terms))
    return CertificatePass(lengths * rounded_up, float(gain[0]) * rounded_down, prices * rounded_up)
