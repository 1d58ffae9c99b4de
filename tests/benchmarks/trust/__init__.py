"""Do numbers say what people read in them, and does every answer come: intervals, marks, and dense graphs.

A generated hospital at three sizes, TPC-H, and a question-and-answer site where its data is; nothing is declared of
how much one person adds. And generated graphs whose programs are large. CASES="hospital;tpch;travel;dense" asks about
those alone.
"""

from __future__ import annotations

import os

from tests.benchmarks.rows import Row
from tests.benchmarks.trust.dense_graphs import dense_graphs
from tests.benchmarks.trust.intervals import intervals
from tests.benchmarks.trust.marks import marks
from tests.benchmarks.trust.questions import data_sets


def run(quick: bool) -> list[Row]:
    """Coverage and width of intervals; how often marks stand where they should, and where not; solving times."""
    found = data_sets(quick)
    rows = [row for data in found for row in intervals(data, quick)] + marks(found, quick)
    if "dense" in os.environ.get("CASES", "dense").split(";"):
        rows += dense_graphs(quick)
    return rows
