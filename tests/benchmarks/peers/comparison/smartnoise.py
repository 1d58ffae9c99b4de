"""SmartNoise SQL over pandas: `max_ids` rows per person, columns clamped; a query's cost is made epsilon."""

from __future__ import annotations

import pandas
from asked import COSTS, DELTA, EPSILON, FOLDER, PRICES, ROWS, question, run
from snsql import Privacy, from_df


def asked(sql, frame, metadata):
    """The rows of one answer: the library charges each noisy column, so that each has its part of epsilon."""
    reader = from_df(frame, privacy=Privacy(epsilon=EPSILON, delta=DELTA), metadata={"": {"s": metadata}})
    parts = reader.get_privacy_cost(sql)[0] / EPSILON
    reader = from_df(frame, privacy=Privacy(epsilon=EPSILON / parts, delta=DELTA), metadata={"": {"s": metadata}})
    return reader.execute(sql)[1:]


def table(name):
    return pandas.read_csv(FOLDER / f"{name}.csv")


def visits(rows, cost=20_000.0):
    """The table of visits as the metadata describes it."""
    return {
        "visit": {
            "max_ids": rows,
            "sample_max_ids": True,
            "censor_dims": False,
            "patient_id": {"private_id": True, "type": "int"},
            "ward": {"type": "string"},
            "cost": {"type": "float", "lower": 0.0, "upper": cost},
        }
    }


@question("visits", rows=ROWS[1:])
def count_of_visits(*, rows):
    return asked("SELECT COUNT(*) AS n FROM s.visit", VISIT, visits(rows))[0][0]


@question("cost by ward", rows=ROWS[1:], cost=COSTS[1:])
def cost_by_ward(*, rows, cost):
    return dict(asked("SELECT ward, SUM(cost) AS c FROM s.visit GROUP BY ward", VISIT, visits(rows, cost)))


@question("average cost", rows=ROWS[:3], cost=COSTS[1:])
def average_cost(*, rows, cost):
    return asked("SELECT AVG(cost) AS c FROM s.visit", VISIT, visits(rows, cost))[0][0]


@question("median cost", rows=ROWS[:1], cost=COSTS[:1])
def median_cost(*, rows, cost):
    return asked("SELECT MEDIAN(cost) AS c FROM s.visit", VISIT, visits(rows, cost))[0][0]


@question("patients with a visit", rows=(1, 5))
def patients_with_a_visit(*, rows):
    return asked("SELECT COUNT(DISTINCT patient_id) AS n FROM s.visit", VISIT, visits(rows))[0][0]


@question("patients by age band", rows=(1,))
def patients_by_age_band(*, rows):
    metadata = {
        "patient": {
            "max_ids": rows,
            "censor_dims": False,
            "patient_id": {"private_id": True, "type": "int"},
            "band": {"type": "int"},
        }
    }
    frame = PATIENT.assign(band=PATIENT.age // 10)
    return dict(asked("SELECT band, COUNT(*) AS n FROM s.patient GROUP BY band", frame, metadata))


@question("revenue by segment", rows=(20, 40), price=PRICES[1:])
def revenue_by_segment(*, rows, price):
    metadata = {
        "orders": {
            "max_ids": rows,
            "sample_max_ids": True,
            "censor_dims": False,
            "customer_id": {"private_id": True, "type": "int"},
            "segment": {"type": "string"},
            "price": {"type": "float", "lower": 0.0, "upper": price},
        }
    }
    joined = ORDERS.merge(CUSTOMER, on="customer_id")
    return dict(asked("SELECT segment, SUM(price) AS p FROM s.orders GROUP BY segment", joined, metadata))


@question("orders within a nation", rows=(10, 20))
def orders_within_a_nation(*, rows):
    """One private key per query: that of customers; suppliers are joined beforehand, and nobody's."""
    metadata = {
        "orders": {
            "max_ids": rows,
            "sample_max_ids": True,
            "censor_dims": False,
            "customer_id": {"private_id": True, "type": "int"},
            "within": {"type": "int"},
        }
    }
    joined = ORDERS.merge(CUSTOMER, on="customer_id").merge(SUPPLIER, on="supplier_id")
    joined["within"] = (joined.nation_x == joined.nation_y).astype(int)
    return asked("SELECT COUNT(*) AS n FROM s.orders WHERE within = 1", joined, metadata)[0][0]


def edges(rows):
    """The table of edges as the metadata describes it: one of the two may be the private key."""
    return {
        "knows": {
            "max_ids": rows,
            "sample_max_ids": True,
            "censor_dims": False,
            "src": {"private_id": True, "type": "int"},
            "dst": {"type": "int"},
        }
    }


@question("edges", rows=(20,))
def count_of_edges(*, rows):
    return asked("SELECT COUNT(*) AS n FROM s.knows", KNOWS, edges(rows))[0][0]


@question("2-paths", rows=(20,))
def two_paths(*, rows):
    sql = "SELECT COUNT(*) AS n FROM s.knows AS a JOIN s.knows AS b ON a.dst = b.src"
    return asked(sql, KNOWS, edges(rows))[0][0]


@question("triangles", rows=(20,))
def triangles(*, rows):
    sql = (
        "SELECT COUNT(*) AS n FROM s.knows AS a JOIN s.knows AS b ON a.dst = b.src "
        "JOIN s.knows AS c ON a.src = c.src AND b.dst = c.dst"
    )
    return asked(sql, KNOWS, edges(rows))[0][0]


VISIT, PATIENT, ORDERS, CUSTOMER, SUPPLIER, KNOWS = map(
    table, ("visit", "patient", "orders", "customer", "supplier", "knows")
)
run()
