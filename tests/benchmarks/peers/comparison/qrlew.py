"""Qrlew: it rewrites SQL into SQL that adds noise, here for DuckDB; rows per person up to a multiplicity, ranges."""

from __future__ import annotations

import sqlite3

import duckdb
import pyqrlew
import sqlalchemy
from asked import COSTS, DELTA, EPSILON, FOLDER, PRICES, ROWS, SEGMENTS, WARDS, question, run
from pyqrlew import Dialect

_TABLES = {
    "patient": "patient_id INTEGER PRIMARY KEY, age INTEGER",
    "visit": "visit_id INTEGER PRIMARY KEY, patient_id INTEGER, ward VARCHAR, cost FLOAT",
    "customer": "customer_id INTEGER PRIMARY KEY, segment VARCHAR, nation INTEGER",
    "supplier": "supplier_id INTEGER PRIMARY KEY, nation INTEGER",
    "orders": "order_id INTEGER PRIMARY KEY, customer_id INTEGER, supplier_id INTEGER, price FLOAT",
    "person": "person_id INTEGER PRIMARY KEY",
    "knows": "src INTEGER, dst INTEGER",
}
VISITS = [("visit", [], "patient_id"), ("patient", [], "patient_id")]
ORDERS = [("orders", [], "customer_id"), ("customer", [], "customer_id")]
BOTH = [*ORDERS, ("supplier", [], "supplier_id")]
EDGES = [("knows", [], "src")]


def opened():
    """The rows in DuckDB, which runs the PostgreSQL that Qrlew writes, and in SQLite, whose catalog it reads."""
    file = FOLDER / "qrlew.sqlite"
    file.unlink(missing_ok=True)
    rows = duckdb.connect()
    with sqlite3.connect(file) as catalog:
        for table, columns in _TABLES.items():
            catalog.execute(f"CREATE TABLE {table} ({columns})")
            rows.execute(f"CREATE TABLE {table} ({columns}); INSERT INTO {table} FROM '{FOLDER / table}.csv'")
            found = rows.execute(f"FROM {table}").fetchall()
            marks = ", ".join("?" * len(found[0]))
            catalog.executemany(f"INSERT INTO {table} VALUES ({marks})", found)
    return rows, pyqrlew.Dataset.from_database("data", sqlalchemy.create_engine(f"sqlite:///{file}"), "main")


def asked(sql, privacy_unit, most_rows, dataset):
    """The rows of one answer."""
    private = dataset.relation(sql).rewrite_with_differential_privacy(
        dataset, privacy_unit, {"epsilon": EPSILON, "delta": DELTA}, max_multiplicity=float(most_rows)
    )
    return DATABASE.execute(private.relation().to_query(Dialect.PostgreSql)).fetchall()


@question("visits", rows=ROWS)
def visits(*, rows):
    return asked("SELECT count(*) AS n FROM visit", VISITS, rows, DATASET)[0][0]


@question("cost by ward", rows=ROWS, cost=COSTS, wards=WARDS)
def cost_by_ward(*, rows, cost, wards):
    known = DATASET.with_range("main", "visit", "cost", 0.0, cost).with_possible_values(
        "main", "visit", "ward", wards
    )
    return dict(asked("SELECT ward, sum(cost) AS c FROM visit GROUP BY ward", VISITS, rows, known))


@question("average cost", rows=ROWS, cost=COSTS)
def average_cost(*, rows, cost):
    known = DATASET.with_range("main", "visit", "cost", 0.0, cost)
    return asked("SELECT avg(cost) AS c FROM visit", VISITS, rows, known)[0][0]


@question("median cost", rows=ROWS, cost=COSTS)
def median_cost(*, rows, cost):
    known = DATASET.with_range("main", "visit", "cost", 0.0, cost)
    return asked("SELECT median(cost) AS c FROM visit", VISITS, rows, known)[0][0]


@question("patients with a visit", rows=ROWS)
def patients_with_a_visit(*, rows):
    return asked("SELECT count(DISTINCT patient_id) AS n FROM visit", VISITS, rows, DATASET)[0][0]


@question("patients by age band", rows=(1,), age=(99,))
def patients_by_age_band(*, rows, age):
    known = DATASET.with_range("main", "patient", "age", 0, age)
    sql = "SELECT floor(age / 10.0) AS band, count(*) AS n FROM patient GROUP BY floor(age / 10.0)"
    return {int(band): n for band, n in asked(sql, VISITS, rows, known)}


@question("revenue by segment", rows=(10, 20, 40), price=PRICES, segments=SEGMENTS)
def revenue_by_segment(*, rows, price, segments):
    known = DATASET.with_range("main", "orders", "price", 0.0, price)
    known = known.with_possible_values("main", "customer", "segment", segments)
    sql = (
        "SELECT c.segment AS segment, sum(o.price) AS p FROM orders o "
        "JOIN customer c ON o.customer_id = c.customer_id GROUP BY c.segment"
    )
    return dict(asked(sql, ORDERS, rows, known))


@question("orders within a nation", rows=(10, 20, 40))
def orders_within_a_nation(*, rows):
    sql = (
        "SELECT count(*) AS n FROM orders o JOIN customer c ON o.customer_id = c.customer_id "
        "JOIN supplier s ON o.supplier_id = s.supplier_id WHERE c.nation = s.nation"
    )
    return asked(sql, BOTH, rows, DATASET)[0][0]


@question("edges", rows=(5, 10, 20))
def edges(*, rows):
    return asked("SELECT count(*) AS n FROM knows", EDGES, rows, DATASET)[0][0]


@question("2-paths", rows=(20, 50, 100))
def two_paths(*, rows):
    sql = "SELECT count(*) AS n FROM knows a JOIN knows b ON a.dst = b.src"
    return asked(sql, EDGES, rows, DATASET)[0][0]


@question("triangles", rows=(5, 10, 20))
def triangles(*, rows):
    sql = (
        "SELECT count(*) AS n FROM knows a JOIN knows b ON a.dst = b.src "
        "JOIN knows c ON a.src = c.src AND b.dst = c.dst"
    )
    return asked(sql, EDGES, rows, DATASET)[0][0]


DATABASE, DATASET = opened()
run()
