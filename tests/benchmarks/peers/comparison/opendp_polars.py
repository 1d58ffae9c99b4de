"""OpenDP over polars: rows per person are kept up to a number, columns clamped, medians among candidates.

A release with a bound on rows takes seconds, so that one choice of bounds stands for each question: the one that is
best for PipelineDP, which adds the same noise, or nearly so.
"""

from __future__ import annotations

import os
import warnings

os.environ["POLARS_MAX_THREADS"] = "1"  # on a busy machine threads wait for one another

import opendp.prelude as dp
import polars
from asked import BANDS, EPSILON, FOLDER, SEGMENTS, SETTINGS, WARDS, question, run

warnings.simplefilter("ignore")
dp.enable_features("contrib")
SETTINGS["draws"] = min(SETTINGS.get("draws", 1), 3)
CANDIDATES = [[float(n) for n in range(0, top, step)] for top, step in ((2_000, 2),)]


def table(name):
    return polars.read_csv(FOLDER / f"{name}.csv").lazy()


def private(frame, identifier, most_rows, margins=()):
    return dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1, identifier=identifier),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=most_rows), *margins],
    ).query()


def number(column):
    return polars.col(column).fill_nan(0.0).fill_null(0.0)


def by_key(query, keys, *values):
    column = keys.columns[0]
    released = query.group_by(column).agg(*values).with_keys(keys.lazy()).release().collect()
    return {row[0]: row[1] for row in released.select(column, polars.exclude(column)).rows()}


@question("visits", rows=(200,))
def visits(*, rows):
    query = private(table("visit"), "patient_id", 100_000).truncate_per_group(rows)
    return query.select(dp.len()).release().collect().item()


@question("cost by ward", rows=(50,), cost=(3_000.0,), wards=WARDS)
def cost_by_ward(*, rows, cost, wards):
    query = private(table("visit"), "patient_id", 100_000).truncate_per_group(rows)
    keys = polars.DataFrame({"ward": wards})
    return by_key(query, keys, number("cost").dp.sum((0.0, cost)))


@question("average cost", rows=(20,), cost=(10_000.0,))
def average_cost(*, rows, cost):
    query = private(table("visit"), "patient_id", 100_000).truncate_per_group(rows)
    total, n = query.select(number("cost").dp.sum((0.0, cost)), dp.len()).release().collect().row(0)
    return total / n


@question("median cost", rows=(20,), candidates=CANDIDATES)
def median_cost(*, rows, candidates):
    query = private(table("visit"), "patient_id", 100_000).truncate_per_group(rows)
    return query.select(number("cost").dp.median(candidates)).release().collect().item()


@question("patients with a visit", rows=(1,))
def patients_with_a_visit(*, rows):
    query = private(table("visit"), "patient_id", 100_000).truncate_per_group(rows)
    return query.select(dp.len()).release().collect().item()


@question("patients by age band", rows=(1,), bands=BANDS)
def patients_by_age_band(*, rows, bands):
    frame = table("patient").with_columns(band=polars.col("age") // 10)
    query = private(frame, "patient_id", 100_000).truncate_per_group(rows)
    return by_key(query, polars.DataFrame({"band": bands}), dp.len())


@question("revenue by segment", rows=(40,), price=(6_000.0,), segments=SEGMENTS)
def revenue_by_segment(*, rows, price, segments):
    joined = table("orders").join(table("customer"), on="customer_id").collect().lazy()
    query = private(joined, "customer_id", 100_000).truncate_per_group(rows)
    return by_key(query, polars.DataFrame({"segment": segments}), number("price").dp.sum((0.0, price)))


@question("orders within a nation", rows=(20,))
def orders_within_a_nation(*, rows):
    """One identifier per table: that of customers; suppliers are joined beforehand, and nobody's."""
    joined = table("orders").join(table("customer"), on="customer_id").join(table("supplier"), on="supplier_id")
    within = joined.filter(polars.col("nation") == polars.col("nation_right")).collect().lazy()
    query = private(within, "customer_id", 100_000).truncate_per_group(rows)
    return query.select(dp.len()).release().collect().item()


@question("edges", rows=(20,))
def edges(*, rows):
    """One identifier per table: the first of the two."""
    query = private(table("knows"), "src", 100_000).truncate_per_group(rows)
    return query.select(dp.len()).release().collect().item()


@question("2-paths", rows=(50,))
def two_paths(*, rows):
    """A join of the table with itself in the query is refused; what is joined beforehand has one identifier."""
    knows = table("knows")
    query = private(knows, "src", 100_000).join(knows, left_on="dst", right_on="src").truncate_per_group(rows)
    return query.select(dp.len()).release().collect().item()


@question("triangles", rows=(50,))
def triangles(*, rows):
    knows = table("knows")
    paths = private(knows, "src", 100_000).join(knows, left_on="dst", right_on="src", suffix="_b")
    closed = paths.join(knows, left_on=["src", "dst_b"], right_on=["src", "dst"]).truncate_per_group(
        rows, keep="first"
    )
    return closed.select(dp.len()).release().collect().item()


run()
