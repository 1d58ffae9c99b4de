"""OpenDP over polars, on five questions of TPC-H: a practitioner's bounds, the best by hand, and bounds by quantile.

`Q6.lines.csv` has the joined rows with their customer, and `Q6.people.csv` their sums, a row per customer and group. A
practitioner bounds the rows of a customer and the value of each row. The others bound a customer's sum.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"  # on a busy machine threads wait for one another
sys.path.append(str(Path(__file__).parents[1] / "comparison"))

import opendp.prelude as dp
import polars
from asked import EPSILON, FOLDER, question, run

warnings.simplefilter("ignore")
dp.enable_features("contrib")
MOST_ROWS = 1_000_000
CANDIDATES = [2.0 ** (power / 2) for power in range(-12, 81)]
GROUPS = {
    "Q1": [f"{flag} {status}" for flag in "ANR" for status in "FO"],
    "Q5": ["CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"],
}
PRACTITIONER = {
    "Q1": (100, {"qty": 50.0, "price": 105_000.0, "net": 105_000.0, "charge": 113_400.0, "discount": 0.1, "n": 1.0}),
    "Q5": (5, {"revenue": 105_000.0}),
    "Q6": (5, {"revenue": 10_500.0}),
    "Q14": (5, {"promotion": 105_000.0, "revenue": 105_000.0}),
    "Q19": (2, {"revenue": 105_000.0}),
}
"""Rows of a customer, somewhat above their mean, and the range of a row's value."""

BY_HAND = {
    "Q1": (4, {"qty": 1_040.0, "price": 1.5e6, "net": 1.4e6, "charge": 1.5e6, "discount": 2.1, "n": 40.0}),
    "Q5": (1, {"revenue": 150_000.0}),
    "Q6": (1, {"revenue": 12_650.0}),
    "Q14": (1, {"promotion": 240_000.0, "revenue": 408_000.0}),
    "Q19": (1, {"revenue": 25_500.0}),
}
"""Groups of a customer, and the bound on a sum with the least median error, computed from the rows."""


def context(name, file, releases):
    return dp.Context.compositor(
        data=polars.read_csv(FOLDER / f"{name}.{file}.csv").lazy(),
        privacy_unit=dp.unit_of(contributions=1, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=releases,
        margins=[dp.polars.Margin(max_length=MOST_ROWS)],
    )


def number(column):
    return polars.col(column).fill_nan(0.0).fill_null(0.0)


def cells(name, query, bounds):
    """The columns of the answer that follow from released sums, by group and place."""
    sums = [number(column).dp.sum((0.0, upper)) for column, upper in bounds.items()]
    if keys := GROUPS.get(name):
        query = query.group_by("group").agg(*sums).with_keys(polars.DataFrame({"group": keys}).lazy())
    else:
        query = query.select(*sums)
    found = {}
    for row in query.release().collect().to_dicts():
        group = row.pop("group", "")
        if name == "Q1":
            n = row.pop("n")
            discount = row.pop("discount")
            row = {**row, "a": row["qty"] / n, "b": row["price"] / n, "c": discount / n, "n": n}
        if name == "Q14":
            row = {"share": 100 * row["promotion"] / row["revenue"]}
        found |= {f"{group}|{place}": value for place, value in enumerate(row.values())}
    return found


def stated(name, file, *, rows, **bounds):
    return cells(name, context(name, file, 1).query().truncate_per_group(rows), bounds)


def found(name, *, quantile):
    """Half of epsilon for a quantile of the customers' sums, which then bounds them."""
    both = context(name, "people", 2)
    rows = len(GROUPS[name]) if name == "Q1" else 1
    quantiles = [number(column).dp.quantile(quantile, CANDIDATES) for column in BY_HAND[name][1]]
    bounds = both.query().truncate_per_group(rows).select(*quantiles).release().collect().to_dicts()[0]
    return cells(name, both.query().truncate_per_group(rows), bounds)


for how, file, choices in (("practitioner", "lines", PRACTITIONER), ("by hand", "people", BY_HAND)):
    for name, (rows, bounds) in choices.items():
        tried = {column: (upper,) for column, upper in bounds.items()}
        question(f"{name}, {how}", rows=(rows,), **tried)(partial(stated, name, file))
for name in BY_HAND:
    question(f"{name}, by quantile", quantile=(0.95, 0.99))(partial(found, name))
run()
