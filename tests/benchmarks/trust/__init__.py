"""Do numbers say what people read in them, and does every answer come: intervals, marks, outliers, dense graphs.

A generated hospital at three sizes, TPC-H, and a question-and-answer site where its data is; nothing is declared of
how much one person adds. The demonstration's questions, 100,000 releases each (`tail`). Generated graphs whose
programs are large (`dense`). Errors with a capacity per kind of unit (`kinds`).
CASES="hospital;tpch;travel;tail;dense;kinds" asks about those alone.
"""

from __future__ import annotations

import os

from tests.benchmarks.rows import Row
from tests.benchmarks.trust.dense_graphs import dense_graphs
from tests.benchmarks.trust.far_tail import far_tail
from tests.benchmarks.trust.intervals import intervals
from tests.benchmarks.trust.kinds import kinds
from tests.benchmarks.trust.marks import marks
from tests.benchmarks.trust.questions import data_sets

CASES = ("hospital", "tpch", "travel", "tail", "dense", "kinds")


def run(quick: bool) -> list[Row]:
    """Coverage and width of intervals; where marks stand and where not; the largest errors; solving times; kinds."""
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name] or list(CASES)
    assert set(wanted) <= set(CASES), f"CASES names some of: {'; '.join(CASES)}"
    found = data_sets(quick, wanted)
    rows = [row for data in found for row in intervals(data, quick)] + marks(found, quick)
    if "tail" in wanted:
        rows += far_tail(quick)
    if "dense" in wanted:
        rows += dense_graphs(quick)
    if "kinds" in wanted:
        rows += kinds(quick)
    return rows
