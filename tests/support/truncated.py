"""What a backend read, truncated: tuples, or how many units have how much."""

from __future__ import annotations

from privacy.join_tuples import DistinctTuples, JoinTuples, RankedTuples
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.histograms import LengthHistogram, LoadHistogram, LoadsOfSum
from privacy.truncation.truncate import truncate, truncate_distinct
from privacy.truncation.truncated_answer import TruncatedAnswer


def truncated(
    join: JoinTuples | DistinctTuples | RankedTuples | LoadHistogram | LengthHistogram | None,
    row: int,
    ladder: Ladder,
    gap: float,
) -> TruncatedAnswer:
    """One of the sums, or a count of distinct values, as a mechanism gets it."""
    assert join is not None and not isinstance(join, RankedTuples | LengthHistogram)
    if isinstance(join, LoadHistogram):
        return LoadsOfSum(join, row).at(ladder)
    if isinstance(join, DistinctTuples):
        return truncate_distinct(join, ladder, gap)
    return truncate(encode(join), row, ladder, gap)
