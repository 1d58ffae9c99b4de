"""Quantiles and extremes: whose rows they may be of, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.errors import UnsupportedSQL
from planner.plan import Release
from planner.sensitivity.provenance import OwnerPosition


def check_ranks(releases: Sequence[Release], owners: Sequence[OwnerPosition]) -> None:
    """Refuse ranks of rows that several units share.

    One unit's rows weigh together at most one threshold because its factor is its own. Of rows with two owners the
    factor of one would change with the rows of the other: nothing bounds what that moves.

    Raises: UnsupportedSQL.
    """
    ranked = next((release for release in releases if release.ranked is not None), None)
    if ranked is None or len(owners) == 1:
        return
    whose = " and ".join(dict.fromkeys(owner.relation for owner in owners))
    message = (
        f"{ranked.label}: each row belongs to several privacy units ({whose}), and such rows have no private rank"
    )
    hint = (
        "ask for rows of one person each: GROUP BY the person's key in a subquery and take the rank of its "
        "aggregates; or count the rows beyond a value"
    )
    raise UnsupportedSQL(message, hint=hint)


def beyond_notes(releases: Sequence[Release]) -> Iterator[str]:
    """Of every extreme, how many people lie beyond it."""
    for release in releases:
        if release.ranked is None or release.ranked.rank.quantile is not None:
            continue
        rank = release.ranked.rank
        above = "above" if rank.highest else "below"
        yield (
            f"{release.label} is nobody's own value: it is drawn so that the values of about {rank.beyond:,} "
            f"privacy units lie {above} it, in each group; of fewer units it is any value."
        )
