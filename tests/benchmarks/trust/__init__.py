"""Do numbers say what people read in them: intervals for the truth, and marks on rows that are far from it.

A generated hospital at three sizes, TPC-H, and a question-and-answer site where its data is; nothing is declared of
how much one person adds. Beside them, the errors with a capacity per kind of unit. CASES="hospital;tpch;travel;kinds"
asks about those alone.
"""

from __future__ import annotations

import os

from tests.benchmarks.rows import Row
from tests.benchmarks.trust.intervals import intervals
from tests.benchmarks.trust.kinds import kinds
from tests.benchmarks.trust.marks import marks
from tests.benchmarks.trust.questions import data_sets


def run(quick: bool) -> list[Row]:
    """Coverage and width of intervals; how often marks stand where they should, and where not; errors by kind."""
    found = data_sets(quick)
    rows = [row for data in found for row in intervals(data, quick)] + marks(found, quick)
    return rows + (kinds(quick) if "kinds" in os.environ.get("CASES", "kinds").split(";") else [])
