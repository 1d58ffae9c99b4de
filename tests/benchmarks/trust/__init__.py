"""Do numbers say what people read in them: intervals for the truth, marks on rows that are far from it, no outliers.

A generated hospital at three sizes, TPC-H, and a question-and-answer site where its data is; nothing is declared of
how much one person adds. CASES="hospital;tpch;travel;tail" asks about those alone; `tail` is the demonstration's.
"""

from __future__ import annotations

import os

from tests.benchmarks.rows import Row
from tests.benchmarks.trust.far_tail import far_tail
from tests.benchmarks.trust.intervals import intervals
from tests.benchmarks.trust.marks import marks
from tests.benchmarks.trust.questions import data_sets

CASES = ("hospital", "tpch", "travel", "tail")


def run(quick: bool) -> list[Row]:
    """Coverage and width of intervals; where marks stand and where they should not; how large an error gets."""
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name] or list(CASES)
    assert set(wanted) <= set(CASES), f"CASES names some of: {'; '.join(CASES)}"
    found = data_sets(quick, wanted)
    rows = [row for data in found for row in intervals(data, quick)] + marks(found, quick)
    return rows + (far_tail(quick) if "tail" in wanted else [])
