"""What a backend read, truncated: tuples, or how many units have how much."""

from __future__ import annotations

from privacy.join_tuples import DistinctTuples, JoinTuples, RankedTuples
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.histograms import ContributionHistogram, ContributionsOfSum, NormHistogram
from privacy.truncation.truncate import truncate, truncate_distinct
from privacy.truncation.truncated_answer import TruncatedAnswer


def truncated(
    join: JoinTuples | DistinctTuples | RankedTuples | ContributionHistogram | NormHistogram | None,
    row: int,
    thresholds: Thresholds,
    gap: float,
) -> TruncatedAnswer:
    """One of the sums, or a count of distinct values, as a mechanism gets it."""
    assert join is not None and not isinstance(join, RankedTuples | NormHistogram)
    if isinstance(join, ContributionHistogram):
        return ContributionsOfSum(join, row).at(thresholds)
    if isinstance(join, DistinctTuples):
        return truncate_distinct(join, thresholds, gap)
    return truncate(encode(join), row, thresholds, gap)
