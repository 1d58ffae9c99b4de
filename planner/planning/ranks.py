"""Quantiles and extremes: how many people lie beyond an extreme, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.plan import GroupDomain, Release
from privacy.mechanisms.ranks.default_beyond import default_beyond

_GROUPS = 10
"""With more groups than this, some of their extremes are values of the empty end of the grid: then ask for a k."""


def told_beyond(
    releases: Sequence[Release], domains: Sequence[GroupDomain], owners: int, groups_per_unit: int | None
) -> tuple[Release, ...]:
    """The releases, of which each extreme says how many units lie beyond it, where the question does not.

    Args:
      domains: of the group keys; of one that is counted only when it is read, `_GROUPS` are taken for granted.
      owners: owner positions of a join tuple.
      groups_per_unit: L0, or None when only the number of groups bounds it.
    """
    times = 1
    if domains and groups_per_unit != 1:
        groups = math.prod(_GROUPS if domain.values is None else len(domain.values) for domain in domains)
        times = 2 if owners == 1 else max(1, groups if groups_per_unit is None else min(groups_per_unit, groups))
    return tuple(_told(release, times) for release in releases)


def _told(release: Release, times: int) -> Release:
    ranked = release.ranked
    if ranked is None or ranked.rank.quantile is not None or ranked.rank.beyond is not None:
        return release
    beyond = default_beyond(release.epsilon, ranked.grid.n_codes, times)
    return replace(release, ranked=replace(ranked, rank=replace(ranked.rank, beyond=beyond)))


def beyond_notes(releases: Sequence[Release], owners: int) -> Iterator[str]:
    """Of every extreme, how many people lie beyond it.

    Args:
      owners: owner positions of a join tuple: of rows with several the people who own all of them are counted.
    """
    for release in releases:
        if release.ranked is None or release.ranked.rank.quantile is not None:
            continue
        rank = release.ranked.rank
        above = "above" if rank.highest else "below"
        if owners == 1:
            beyond = f"the values of about {rank.beyond:,} privacy units lie {above} it"
        else:
            takes = f"it takes about {rank.beyond:,} privacy units, or up to {owners} times as many"
            beyond = f"{takes}, to own all rows {above} it"
        yield (
            f"{release.label} is nobody's own value: it is drawn so that {beyond}, in each group; of fewer units it "
            "is any value."
        )
