"""Tumult Analytics on one machine: `MaxRowsPerID`, costs clamped. Slow, so that fewer bounds are tried."""

from __future__ import annotations

import os
import sys
from functools import partial

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, MaxRowsPerID, PureDPBudget, QueryBuilder, Session
from tries import DRAWS, EPSILON, FOLDER, best, numbers

_FEWEST = min(DRAWS, 5)
_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def spark():
    builder = SparkSession.builder.master("local[1]")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def protected(name, frame):
    """A session that may be asked for ever."""
    return Session.from_dataframe(
        PureDPBudget(float("inf")), name, frame.cache(), protected_change=AddRowsWithID("patient_id")
    )


SPARK = spark()
COSTS = SPARK.read.csv(str(FOLDER / "visit.csv"), header=True, schema="visit_id LONG, patient_id LONG, cost DOUBLE")
VISITS = protected("visit", COSTS.select("patient_id", "cost"))
NUMBERS = protected("numbers", SPARK.createDataFrame(numbers(), "patient_id LONG, n DOUBLE"))


def released(session, query):
    return float(session.evaluate(query, PureDPBudget(EPSILON)).collect()[0][0])


def of_visits(k, make):
    return partial(released, VISITS, make(QueryBuilder("visit").enforce(MaxRowsPerID(k))))


def asked(question, tries):
    best(question, tries, draws=_FEWEST, pilot=1, finalists=1)


asked("count of visits", {f"{k} rows": of_visits(k, lambda query: query.count()) for k in (100, 200)})
costs = [(20, 5_000.0), (50, 10_000.0)]
asked(
    "average cost", {f"{k} rows to {c:g}": of_visits(k, lambda q, c=c: q.average("cost", 0.0, c)) for k, c in costs}
)
asked(
    "spread of cost", {f"{k} rows to {c:g}": of_visits(k, lambda q, c=c: q.stdev("cost", 0.0, c)) for k, c in costs}
)
asked("median cost", {f"{k} rows": of_visits(k, lambda q: q.median("cost", 0.0, 20_000.0)) for k in (2, 5)})
one = QueryBuilder("numbers").enforce(MaxRowsPerID(1))
asked(
    "visits per patient",
    {f"n to {k}": partial(released, NUMBERS, one.average("n", 0.0, float(k))) for k in (100, 200)},
)
