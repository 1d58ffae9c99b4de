"""The loop of the certificate pass: lengths of units and the worth of multipliers, tuple by tuple."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel

BLOCK = 1 << 12
"""Tuples whose gains are added up before they join the total: the sum then errs by thousands of roundings at most."""

FRESH_COUNTERS = (-1, 0, 0, 0, 0, 0)
"""Before the first tuple: the current group and its first tuple; the multipliers in use are runs [third, fourth);
calls; the largest number of owners of a tuple."""


@kernel
def add_tuples(
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
    scale: float,
    load: NDArray[np.float64],
    square: NDArray[np.float64],
    gain: NDArray[np.float64],
    prices: NDArray[np.float64],
    counters: NDArray[np.int64],
) -> None:
    """Add tuples [first, last) to loads, gain and prices; squares are of the groups before the current one.

    A tuple's time would go into mispredicted branches, so there is only one: most tuples have an owner that matters,
    or most have none. What counts for nothing adds zero, and code 0 has a place everywhere: units that do not matter.

    Args:
      code_of: (n_units,) 1 + place among the units that have a share, a constraint or a multiplier, or 0.
      shares: (C + 1,) by code; 0 at 0, like the next two.
      points: (C + 1, B) the points at which the cuts were taken.
      by_code: (C + 1, B) multipliers in the current group.
      run_group, run_code, by_run: (R,), (R,), (R, B) all multipliers, groups ascending.
      load, square: (C + 1,) of the current group, and of those before; what is at 0 means nothing.
      counters: see FRESH_COUNTERS.
    """
    n_points = points.shape[1]
    row = np.empty(max(1, counters[5]), np.int32)
    total = 0.0
    for t in range(first, last):
        if (t - first) % BLOCK == 0:
            gain[0] += total
            total = 0.0
        if group[t] != counters[0]:
            close_group(t, indptr, units, code_of, load, square, counters)
            for run in range(counters[2], counters[3]):
                by_code[run_code[run]] = 0.0
            start = counters[3]
            while start < len(run_group) and run_group[start] < group[t]:
                start += 1
            end = start
            while end < len(run_group) and run_group[end] == group[t]:
                by_code[run_code[end]] = by_run[end]
                end += 1
            counters[0], counters[2], counters[3] = group[t], start, end
        begin, size, kept, known = indptr[t], indptr[t + 1] - indptr[t], 1.0, np.int32(0)
        if size > len(row):
            row = np.empty(size, np.int32)
        for i in range(size):
            row[i] = code_of[units[begin + i]]
            kept -= shares[row[i]]
            known |= row[i]
        if known == 0:
            continue
        weight = weights[t] * scale
        kept = weight * max(kept, 0.0)
        for i in range(size):
            load[row[i]] += kept
        paid = 0.0
        for b in range(n_points):
            left, worth = 1.0, 0.0
            for i in range(size):
                left -= points[row[i], b]
                worth += by_code[row[i], b]
            paid += worth if left > 0.0 else 0.0
        paid *= weight
        total += paid
        for i in range(size):
            prices[units[begin + i]] += paid
    counters[4] += 1
    counters[5] = len(row)
    gain[0] += total


@kernel
def close_group(
    end: int,
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    code_of: NDArray[np.int32],
    load: NDArray[np.float64],
    square: NDArray[np.float64],
    counters: NDArray[np.int64],
) -> None:
    """Square and forget the loads of the group that ends before tuple `end`: all, or those of its few owners."""
    start = indptr[counters[1]]
    if indptr[end] - start < len(load):
        for entry in range(start, indptr[end]):
            code = code_of[units[entry]]
            square[code] += load[code] * load[code]
            load[code] = 0.0
    else:
        for code in range(len(load)):
            square[code] += load[code] * load[code]
            load[code] = 0.0
    counters[1] = end
