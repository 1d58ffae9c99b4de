"""OpenDP over polars, on five questions of TPC-H: a practitioner's bounds, the best by hand, and bounds by quantile.

`Q6.lines.csv` has the joined rows with their customer, and `Q6.people.csv` their sums, a row per customer and group.
A practitioner bounds the rows of a customer and the value of each row. The others bound a customer's sum. OpenDP
searches for the scale of the noise, which takes seconds, once per choice of bounds, and then draws in milliseconds.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache, partial
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"  # on a busy machine threads wait for one another
sys.path.append(str(Path(__file__).parents[1] / "comparison"))

import asked
import opendp.prelude as dp
import polars
from asked import EPSILON, FOLDER, question, run

warnings.simplefilter("ignore")
dp.enable_features("contrib")
asked.FINAL_S = 8.0
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


@cache
def table(name, file):
    return polars.read_csv(FOLDER / f"{name}.{file}.csv").lazy()


def query(name, file, rows, releases):
    """With its share of epsilon, over so many rows of a customer."""
    context = dp.Context.compositor(
        data=table(name, file),
        privacy_unit=dp.unit_of(contributions=1, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=releases,
        margins=[dp.polars.Margin(max_length=MOST_ROWS)],
    )
    return context.query().truncate_per_group(rows)


def number(column):
    return polars.col(column).fill_nan(0.0).fill_null(0.0)


@cache
def sums(name, file, rows, releases, bounds):
    """The measurement of sums within bounds, in each group."""
    released = [number(column).dp.sum((0.0, upper)) for column, upper in bounds]
    people = query(name, file, rows, releases)
    if name not in GROUPS:
        return people.select(*released).resolve()
    keys = polars.DataFrame({"group": GROUPS[name]}).lazy()
    return people.group_by("group").agg(*released).with_keys(keys).resolve()


@cache
def quantiles(name, rows, at):
    """The measurement of a quantile of each sum of the customers."""
    columns = [number(column).dp.quantile(at, CANDIDATES) for column in BY_HAND[name][1]]
    return query(name, "people", rows, 2).select(*columns).resolve()


def cells(name, released):
    """The columns of the answer that follow from released sums, by group and place."""
    found = {}
    for row in released.collect().to_dicts():
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
    return cells(name, sums(name, file, rows, 1, tuple(bounds.items()))(table(name, file)))


def by_quantile(name, *, quantile):
    """Half of epsilon for a quantile of the customers' sums, which then bounds them."""
    rows = len(GROUPS[name]) if name == "Q1" else 1
    people = table(name, "people")
    bounds = quantiles(name, rows, quantile)(people).collect().to_dicts()[0]
    return cells(name, sums(name, "people", rows, 2, tuple(bounds.items()))(people))


for how, file, choices in (("practitioner", "lines", PRACTITIONER), ("by hand", "people", BY_HAND)):
    for name, (rows, bounds) in choices.items():
        tried = {column: (upper,) for column, upper in bounds.items()}
        question(f"{name}, {how}", rows=(rows,), **tried)(partial(stated, name, file))
for name in BY_HAND:
    question(f"{name}, by quantile", quantile=(0.95, 0.99))(partial(by_quantile, name))
run()
