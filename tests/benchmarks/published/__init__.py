"""Mechanisms of papers on the papers' own questions, beside our default: counts by many keys, medians, samples.

The counts are of badges and of votes per post of a question-and-answer site and of genres of users, where their data
are (NOISEGATE_SHARED_DATA), and of inputs that are made up; the medians are of the populations of the paper; the
subgraphs are those of a part of a social network. CASES="exploring;grouping;centre;stability" runs those alone. A
picture per paper goes beside the results.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.benchmarks.published.centre import centre
from tests.benchmarks.published.exploring import exploring
from tests.benchmarks.published.grouping import grouping
from tests.benchmarks.published.stability import stability
from tests.benchmarks.rows import Row

CASES = {"exploring": exploring, "grouping": grouping, "centre": centre, "stability": stability}
_FOLDER = Path(__file__).parents[1] / "results"


def run(quick: bool) -> list[Row]:
    """Errors, with bars where a paper's finding or a promise of ours has one."""
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name] or list(CASES)
    assert set(wanted) <= set(CASES), f"CASES names some of: {'; '.join(CASES)}"
    folder = Path(".noisegate") / "benchmarks" if quick or len(wanted) < len(CASES) else _FOLDER
    return [row for name in wanted for row in CASES[name](quick, folder)]
