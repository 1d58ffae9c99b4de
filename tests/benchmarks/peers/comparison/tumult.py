"""Tumult Analytics on one machine: rows per person kept up to a number, columns clamped.

Each release takes seconds, so that one choice of bounds stands for each question: the one that is best for
PipelineDP, which adds the same noise, or nearly so.
"""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

from asked import BANDS, EPSILON, FOLDER, SEGMENTS, SETTINGS, WARDS, question, run
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

SETTINGS["draws"] = min(SETTINGS.get("draws", 1), 2)
_QUIET = {
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.default.parallelism": "1",
}


def opened():
    builder = SparkSession.builder.master("local[1]")
    for name, value in _QUIET.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def table(name, schema):
    return SPARK.read.csv(str(FOLDER / f"{name}.csv"), header=True, schema=schema)


def private(tables):
    """A session over tables by name, each with its column of people, who are of one kind."""
    builder = Session.Builder().with_privacy_budget(PureDPBudget(float("inf"))).with_id_space("people")
    for name, (frame, person) in tables.items():
        builder = builder.with_private_dataframe(name, frame.cache(), AddRowsWithID(person, "people"))
    return builder.build()


def released(session, query):
    return session.evaluate(query, PureDPBudget(EPSILON)).collect()


@question("visits", rows=(200,))
def visits(*, rows):
    return released(HOSPITAL, QueryBuilder("visit").enforce(MaxRowsPerID(rows)).count())[0][0]


@question("cost by ward", rows=(50,), cost=(3_000.0,), wards=WARDS)
def cost_by_ward(*, rows, cost, wards):
    query = QueryBuilder("visit").enforce(MaxRowsPerID(rows)).groupby(KeySet.from_dict({"ward": wards}))
    return {row[0]: row[1] for row in released(HOSPITAL, query.sum("cost", 0.0, cost))}


@question("average cost", rows=(20,), cost=(10_000.0,))
def average_cost(*, rows, cost):
    return released(HOSPITAL, QueryBuilder("visit").enforce(MaxRowsPerID(rows)).average("cost", 0.0, cost))[0][0]


@question("median cost", rows=(20,), cost=(3_000.0,))
def median_cost(*, rows, cost):
    return released(HOSPITAL, QueryBuilder("visit").enforce(MaxRowsPerID(rows)).median("cost", 0.0, cost))[0][0]


@question("patients with a visit", rows=(1,))
def patients_with_a_visit(*, rows):
    return released(HOSPITAL, QueryBuilder("visit").enforce(MaxRowsPerID(rows)).count())[0][0]


@question("patients by age band", rows=(1,), bands=BANDS)
def patients_by_age_band(*, rows, bands):
    query = QueryBuilder("patient").enforce(MaxRowsPerID(rows)).groupby(KeySet.from_dict({"band": bands}))
    return {row[0]: row[1] for row in released(HOSPITAL, query.count())}


@question("revenue by segment", rows=(40,), price=(6_000.0,), segments=SEGMENTS)
def revenue_by_segment(*, rows, price, segments):
    joined = QueryBuilder("orders").join_private(QueryBuilder("customer").enforce(MaxRowsPerID(1)), ["customer_id"])
    query = joined.enforce(MaxRowsPerID(rows)).groupby(KeySet.from_dict({"segment": segments}))
    return {row[0]: row[1] for row in released(SHOP, query.sum("price", 0.0, price))}


@question("orders within a nation", rows=(20,))
def orders_within_a_nation(*, rows):
    """A row has one person: suppliers are joined as a public table, and nobody's."""
    joined = QueryBuilder("orders").join_private(QueryBuilder("customer").enforce(MaxRowsPerID(1)), ["customer_id"])
    within = joined.join_public(SUPPLIER, ["supplier_id"]).filter("nation = of_supplier")
    return released(SHOP, within.enforce(MaxRowsPerID(rows)).count())[0][0]


@question("edges", rows=(20,))
def edges(*, rows):
    return released(GRAPH, QueryBuilder("knows").enforce(MaxRowsPerID(rows)).count())[0][0]


@question("2-paths", rows=(50,))
def two_paths(*, rows):
    """A join of edges with edges has to have the person among its columns on both sides."""
    after = QueryBuilder("knows").rename({"src": "dst", "dst": "last"}).enforce(MaxRowsPerID(rows))
    query = QueryBuilder("knows").enforce(MaxRowsPerID(rows)).join_private(after, ["dst"])
    return released(GRAPH, query.enforce(MaxRowsPerID(rows)).count())[0][0]


@question("triangles", rows=(50,))
def triangles(*, rows):
    after = QueryBuilder("knows").rename({"src": "dst", "dst": "last"}).enforce(MaxRowsPerID(rows))
    closing = QueryBuilder("knows").rename({"dst": "last"}).enforce(MaxRowsPerID(rows))
    paths = QueryBuilder("knows").enforce(MaxRowsPerID(rows)).join_private(after, ["dst"])
    return released(GRAPH, paths.join_private(closing, ["src", "last"]).count())[0][0]


SPARK = opened()
VISIT = table("visit", "visit_id LONG, patient_id LONG, ward STRING, cost DOUBLE")
PATIENT = table("patient", "patient_id LONG, age LONG").selectExpr("patient_id", "age div 10 AS band")
ORDERS = table("orders", "order_id LONG, customer_id LONG, supplier_id LONG, price DOUBLE")
CUSTOMER = table("customer", "customer_id LONG, segment STRING, nation LONG")
SUPPLIER = table("supplier", "supplier_id LONG, of_supplier LONG")
KNOWS = table("knows", "src LONG, dst LONG")
HOSPITAL = private({"visit": (VISIT, "patient_id"), "patient": (PATIENT, "patient_id")})
SHOP = private({"orders": (ORDERS, "customer_id"), "customer": (CUSTOMER, "customer_id")})
GRAPH = private({"knows": (KNOWS, "src")})
run()
