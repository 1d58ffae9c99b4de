"""SmartNoise SQL over pandas: `max_ids` rows per patient, costs clamped; epsilon is shared by what a query costs."""

from __future__ import annotations

from functools import partial

import pandas
from snsql import Privacy, from_df
from tries import COSTS, DELTA, EPSILON, FOLDER, ROWS, best, numbers

VISITS = pandas.read_csv(FOLDER / "visit.csv")[["patient_id", "cost"]]
NUMBERS = pandas.DataFrame(numbers(), columns=["patient_id", "n"])


def asked(sql, frame, most_rows, upper, column):
    """One answer, all of which costs EPSILON: the library's is that of each noisy column, of counts it adds too."""
    key = {"private_id": True, "type": "int"}
    table = {"max_ids": most_rows, "rows": len(frame), "sample_max_ids": most_rows > 1, "patient_id": key}
    table[column] = {"type": "float", "lower": 0.0, "upper": upper}
    metadata = {"": {"hospital": {"visit": table}}}
    reader = from_df(frame, privacy=Privacy(epsilon=EPSILON, delta=DELTA), metadata=metadata)
    columns = reader.get_privacy_cost(sql)[0] / EPSILON
    reader = from_df(frame, privacy=Privacy(epsilon=EPSILON / columns, delta=DELTA), metadata=metadata)
    return float(reader.execute(sql)[1][0])


def of_visits(aggregate, k, upper=20_000.0):
    """An aggregate over visits."""
    return partial(asked, f"SELECT {aggregate} AS a FROM hospital.visit", VISITS, k, upper, "cost")


best("count of visits", {f"{k} rows": of_visits("COUNT(*)", k) for k in ROWS})
clipped = [(k, upper) for k in (5, 10, 20, 50) for upper in COSTS[1:4]]
best("average cost", {f"{k} rows to {upper:g}": of_visits("AVG(cost)", k, upper) for k, upper in clipped})
best("spread of cost", {f"{k} rows to {upper:g}": of_visits("STDDEV(cost)", k, upper) for k, upper in clipped})
best("median cost", {"any": of_visits("MEDIAN(cost)", 20)})
average = "SELECT AVG(n) AS a FROM hospital.visit"
best("visits per patient", {f"n to {k}": partial(asked, average, NUMBERS, 1, float(k), "n") for k in ROWS})
