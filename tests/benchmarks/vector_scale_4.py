"""As `vector`, of TPC-H at scale 4: ten minutes, and 4 GB of memory."""

from __future__ import annotations

from tests.benchmarks.rows import Row
from tests.benchmarks.vector import at_scale, folder_of
from tests.support.vector_study.tpch_groups import QUERIES

_SCALE, _QUICK_SCALE = 4.0, 0.4


def run(quick: bool) -> list[Row]:
    """The four queries."""
    wanted = [f"TPC-H {query.name}" for query in (QUERIES[:1] if quick else QUERIES)]
    return at_scale(wanted, _QUICK_SCALE if quick else _SCALE, quick, folder_of(quick))
