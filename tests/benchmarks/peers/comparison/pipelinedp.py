"""PipelineDP in memory: public partitions, so many of them and so many rows in each per person, columns clamped."""

from __future__ import annotations

import pipeline_dp
from asked import BANDS, COSTS, DELTA, EPSILON, PRICES, ROWS, SEGMENTS, WARDS, question, run
from asked import rows as table
from pipeline_dp import Metrics


def asked(metric, data, person, partition, value, partitions, groups, rows, upper=None):
    """The numbers of one answer, by partition."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[metric],
        max_partitions_contributed=groups,
        max_contributions_per_partition=rows,
        min_value=None if upper is None else 0.0,
        max_value=upper,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=person, partition_extractor=partition, value_extractor=value
    )
    answer = engine.aggregate(data, params, extractors, public_partitions=partitions)
    accountant.compute_budgets()
    return {key: next(iter(metrics)) for key, metrics in answer}


def of_visits(metric, rows, cost=None):
    return asked(metric, VISIT, patient_of, lambda row: 0, lambda row: row["cost"], [0], 1, rows, cost)[0]


def patient_of(row):
    return row["patient_id"]


@question("visits", rows=ROWS)
def visits(*, rows):
    return of_visits(Metrics.COUNT, rows)


@question("cost by ward", groups=(1, 2), rows=(5, 20, 50), cost=COSTS, wards=WARDS)
def cost_by_ward(*, groups, rows, cost, wards):
    return asked(
        Metrics.SUM, VISIT, patient_of, lambda row: row["ward"], lambda row: row["cost"], wards, groups, rows, cost
    )


@question("average cost", rows=ROWS, cost=COSTS)
def average_cost(*, rows, cost):
    return of_visits(Metrics.MEAN, rows, cost)


@question("median cost", rows=ROWS, cost=COSTS[:2])
def median_cost(*, rows, cost):
    return of_visits(Metrics.PERCENTILE(50), rows, cost)


@question("patients with a visit")
def patients_with_a_visit():
    return of_visits(Metrics.PRIVACY_ID_COUNT, 1)


@question("patients by age band", rows=(1,), bands=BANDS)
def patients_by_age_band(*, rows, bands):
    band = lambda row: row["age"] // 10  # noqa: E731
    return asked(Metrics.COUNT, PATIENT, patient_of, band, lambda row: 1, bands, 1, rows)


@question("revenue by segment", rows=(10, 20, 40), price=PRICES, segments=SEGMENTS)
def revenue_by_segment(*, rows, price, segments):
    segment_of = {row["customer_id"]: row["segment"] for row in CUSTOMER}
    return asked(
        Metrics.SUM,
        ORDERS,
        lambda row: row["customer_id"],
        lambda row: segment_of[row["customer_id"]],
        lambda row: row["price"],
        segments,
        1,
        rows,
        price,
    )


@question("orders within a nation", rows=(10, 20, 40))
def orders_within_a_nation(*, rows):
    """One privacy id per row: that of customers; suppliers are joined beforehand, and nobody's."""
    customers = {row["customer_id"]: row["nation"] for row in CUSTOMER}
    suppliers = {row["supplier_id"]: row["nation"] for row in SUPPLIER}
    within = [row for row in ORDERS if customers.get(row["customer_id"]) == suppliers.get(row["supplier_id"], "gone")]
    counted = asked(Metrics.COUNT, within, lambda row: row["customer_id"], lambda row: 0, lambda row: 1, [0], 1, rows)
    return counted[0]


def of_paths(paths, rows):
    """One privacy id per row: the first of a path."""
    return asked(Metrics.COUNT, paths, lambda path: path[0], lambda path: 0, lambda path: 1, [0], 1, rows)[0]


def followed():
    """Whom each knows."""
    found = {}
    for row in KNOWS:
        found.setdefault(row["src"], []).append(row["dst"])
    return found


@question("edges", rows=(5, 10, 20))
def edges(*, rows):
    return of_paths([(row["src"], row["dst"]) for row in KNOWS], rows)


@question("2-paths", rows=(20, 50, 100))
def two_paths(*, rows):
    after = followed()
    return of_paths([(a, b, c) for a in after for b in after[a] for c in after.get(b, ())], rows)


@question("triangles", rows=(5, 10, 20))
def triangles(*, rows):
    after = followed()
    known = {(a, b) for a in after for b in after[a]}
    return of_paths([(a, b, c) for a, b in known for c in after.get(b, ()) if (a, c) in known], rows)


VISIT, PATIENT = table("visit", patient_id=int, cost=float), table("patient", patient_id=int, age=int)
ORDERS, CUSTOMER = table("orders", price=float), table("customer")
SUPPLIER, KNOWS = table("supplier"), table("knows")
run()
