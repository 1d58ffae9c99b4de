"""OpenDP over polars: it keeps so many rows per patient, clamps costs, and picks medians among candidates."""

from __future__ import annotations

import warnings
from functools import partial

import opendp.prelude as dp
import polars
from tries import COSTS, EPSILON, ROWS, best, numbers, refused, visits

warnings.simplefilter("ignore")
dp.enable_features("contrib")
VISITS = polars.LazyFrame(visits(), schema={"patient_id": polars.Int64, "cost": polars.Float64}, orient="row")
NUMBERS = polars.LazyFrame(numbers(), schema={"patient_id": polars.Int64, "n": polars.Float64}, orient="row")
MOST_ROWS = 1_000_000


def released(frame, k, expressions):
    """One row of answers."""
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1, identifier="patient_id"),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=MOST_ROWS)],
    )
    query = context.query().truncate_per_group(k).select(*expressions)
    return query.release().collect().row(0)


def number(column):
    return polars.col(column).fill_nan(0.0).fill_null(0.0)


def count(k):
    return released(VISITS, k, [dp.len()])[0]


def average(frame, column, k, upper):
    total, rows = released(frame, k, [number(column).dp.sum((0.0, upper)), dp.len()])
    return total / rows


def middle(k, candidates):
    return released(VISITS, k, [number("cost").dp.median(candidates)])[0]


best("count of visits", {f"{k} rows": partial(count, k) for k in ROWS})
clipped = [(k, upper) for k in (5, 10, 20, 50) for upper in COSTS[1:4]]
tries = {f"{k} rows to {upper:g}": partial(average, VISITS, "cost", k, upper) for k, upper in clipped}
best("average cost", tries)
grids = {"20,000 by 1": [float(n) for n in range(20_001)], "2,000 by 0.5": [n / 2 for n in range(4_001)]}
tries = {f"{k} rows, {name}": partial(middle, k, grid) for k in (1, 2, 5, 10, 20) for name, grid in grids.items()}
best("median cost", tries)
best("visits per patient", {f"n to {k}": partial(average, NUMBERS, "n", 1, float(k)) for k in ROWS})
refused("spread of cost", "queries of tables have counts, sums, averages and quantiles, no variance")
