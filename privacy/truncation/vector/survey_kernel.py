"""The loop of a survey."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel

BLOCK = 1 << 12
"""Tuples whose gains are added up before they join the total: the sum then errs by thousands of roundings at most."""


@kernel
def survey_tuples(
    first: int,
    last: int,
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    group: NDArray[np.int64],
    weights: NDArray[np.int64],
    code_of: NDArray[np.int32],
    shares: NDArray[np.float64],
    points: NDArray[np.float64],
    by_code: NDArray[np.float64],
    run_group: NDArray[np.int64],
    run_code: NDArray[np.int32],
    by_run: NDArray[np.float64],
    width: int,
    scale: float,
    load: NDArray[np.float64],
    square: NDArray[np.float64],
    touched: NDArray[np.int32],
    gain: NDArray[np.float64],
    prices: NDArray[np.float64],
    counters: NDArray[np.int64],
) -> None:
    """Add tuples [first, last) to loads, gain and prices; squares are of the groups before the current one.

    Args:
      code_of: (n_units,) 1 + place among the units that have a share, a constraint or a multiplier, or 0.
      shares: (C + 1,) by code; 0 at 0, like the next two.
      points: (C + 1, B) the points at which the cuts were taken.
      by_code: (C + 1, B) multipliers in the current group.
      run_group, run_code, by_run: (R,), (R,), (R, B) all multipliers, groups ascending.
      touched: codes that have a load in the current group.
      counters: current group; how many are touched; the multipliers in use are runs [third, fourth); calls.
    """
    n_points = points.shape[1]
    row = np.empty(width + 1, np.int32)
    current, n_touched, total = counters[0], counters[1], 0.0
    for t in range(first, last):
        if (t - first) % BLOCK == 0:
            gain[0] += total
            total = 0.0
        if group[t] != current:
            for i in range(n_touched):
                square[touched[i]] += load[touched[i]] * load[touched[i]]
                load[touched[i]] = 0.0
            for run in range(counters[2], counters[3]):
                by_code[run_code[run]] = 0.0
            start = counters[3]
            while start < len(run_group) and run_group[start] < group[t]:
                start += 1
            end = start
            while end < len(run_group) and run_group[end] == group[t]:
                by_code[run_code[end]] = by_run[end]
                end += 1
            current, n_touched = group[t], 0
            counters[2], counters[3] = start, end
        begin, stop, size, kept = indptr[t], indptr[t + 1], 0, 1.0
        for entry in range(begin, stop):
            code = code_of[units[entry]]
            kept -= shares[code]
            row[size] = code
            size += 1 if code > 0 else 0
        if size == 0 or weights[t] <= 0:
            continue
        weight = weights[t] * scale
        if kept > 0.0:
            for i in range(size):
                code = row[i]
                if load[code] == 0.0:
                    touched[n_touched] = code
                    n_touched += 1
                load[code] += weight * kept
        paid = 0.0
        for b in range(n_points):
            left, worth = 1.0, 0.0
            for i in range(size):
                left -= points[row[i], b]
                worth += by_code[row[i], b]
            paid += worth if left > 0.0 else 0.0
        if paid > 0.0:
            paid *= weight
            total += paid
            for entry in range(begin, stop):
                prices[units[entry]] += paid
    counters[0], counters[1] = current, n_touched
    counters[4] += 1
    gain[0] += total
