"""What a backend read, truncated: tuples, or how many units have how much."""

from __future__ import annotations

from privacy.join_tuples import JoinTuples
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.loads.load_histogram import LoadHistogram, LoadsOfSum
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer


def truncated(join: JoinTuples | LoadHistogram | None, row: int, ladder: Ladder, gap: float) -> TruncatedAnswer:
    """One of the sums, as a mechanism gets it."""
    assert join is not None
    if isinstance(join, LoadHistogram):
        return LoadsOfSum(join, row).at(ladder)
    return truncate(encode(join), row, ladder, gap)
