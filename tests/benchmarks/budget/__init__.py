"""How long a budget lasts: recorded dashboards over data that grow day by day, with and without each lever.

Within 5% means: of a chart's worst column, the half-width of the median 95% interval is at most 5% of the median
value, both as they were released (`typical_error.py`); how far a typical cell is from the truth is a row beside it.
Questions that no permitted epsilon brings there are left out by public numbers (`reach.py`); those of which it turns
out with the first answers are counted, and left out of every figure. A lever that the product has no switch for is a
row that says so (`levers.py`), and what is measured of all is measured of those that are there.

CASES="dashboards;roll-ups;pooled;race" asks for those alone, LOADS=5 for fewer loads, DASHBOARDS=6 for all ten
instead of two of each data set. A full run takes an hour: RESUME=x takes up a run of the same x that was broken off,
dashboard by dashboard.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from tests.benchmarks.budget.figures import dashboards
from tests.benchmarks.budget.passes import reading_workers
from tests.benchmarks.budget.pooled import pooled
from tests.benchmarks.budget.racing import racing
from tests.benchmarks.budget.rollups import rollups
from tests.benchmarks.rows import Row

CASES = ("dashboards", "roll-ups", "pooled", "race")


def run(quick: bool) -> list[Row]:
    """Epsilon of ten dashboards with and without each lever; answers that follow from others; pooling; racing.

    A quick run is too short for bars of what is saved, not for those of what is exact.
    """
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name] or list(CASES)
    assert set(wanted) <= set(CASES), f"CASES names some of: {'; '.join(CASES)}"
    rows: list[Row] = []
    with reading_workers() as workers:
        sections: dict[str, Callable[[], list[Row]]] = {
            "dashboards": lambda: dashboards(quick),
            "roll-ups": lambda: rollups(workers, quick),
            "pooled": lambda: pooled(workers),
            "race": lambda: racing(workers, quick),
        }
        for name in wanted:
            found = sections[name]()
            rows += [replace(row, least=None, most=None) for row in found] if quick and name == CASES[0] else found
    return rows
