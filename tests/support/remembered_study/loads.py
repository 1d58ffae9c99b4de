"""What people add to sums of real data: TPC-H's revenue, and a question-and-answer site's votes and comments."""

from __future__ import annotations

import duckdb
import numpy as np

from privacy.units import ONE
from tests.support.remembered_study.worlds import Loads
from tests.support.scalar_study.tpch_totals import revenue_tuples
from tests.support.shared_data import shared_data

_SCALE = 0.1


def real_loads() -> dict[str, Loads]:
    """By name: (n,) what each person adds, in normalised weight; the site's only where its data is."""
    tuples = revenue_tuples(_SCALE)["Q3"]
    added = np.bincount(np.unique(tuples.owners[0].keys, return_inverse=True)[1], tuples.weights[0] / ONE)
    found = {"TPC-H Q3 revenue": np.asarray(added, np.float64)}
    folder = shared_data("stackexchange_travel")
    if folder.is_dir():
        for table, owner in (("posts", "OwnerUserId"), ("comments", "UserId")):
            sql = f"SELECT count(*) FROM '{folder / table}.parquet' WHERE {owner} IS NOT NULL GROUP BY {owner}"
            with duckdb.connect() as connection:
                counted = connection.execute(sql).fetchnumpy()["count_star()"]
            found[f"Stack Exchange Travel, {table}"] = np.asarray(counted, np.float64)
    return found
