"""Pieces of several loads, and what was measured now, added up to one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privacy.noisy_answer import NoisyAnswer
from server.answers.released import Released
from server.periods.day_pieces import Piece
from server.reuse.regroup import NOWHERE
from server.reuse.sums import Term, added_up

_FIELDS = ("values", "tau", "noise_scale", "low", "high", "signal")


@dataclass(frozen=True)
class Measured:
    """What was measured now of some days.

    Attributes:
      released: its releases, in the question's order.
      place: (G_part,) the question's group of each of its own.
    """

    released: Released
    place: NDArray[np.int64]


def added(
    pieces: Sequence[Piece], measured: Sequence[Measured], n_releases: int, n_groups: int
) -> tuple[NoisyAnswer, ...]:
    """The question's releases: per group, the sum of all that its pieces and what was measured say of it.

    A group of which one piece says all has just that piece's numbers. Of one confidence, whatever the mechanisms.

    Args:
      pieces: that are kept.
      measured: what was measured of other days.
      n_releases: of the question.
      n_groups: G.
    """
    return tuple(_added(pieces, measured, release, n_groups) for release in range(n_releases))


def _added(pieces: Sequence[Piece], measured: Sequence[Measured], release: int, n_groups: int) -> NoisyAnswer:
    parts = [
        (piece.source.released.noisy[piece.source.releases[release]], piece.rows, piece.place) for piece in pieces
    ]
    parts += [(one.released.noisy[release], np.arange(len(one.place)), one.place) for one in measured]
    taken = [(_rows(noisy, rows), place) for noisy, rows, place in parts]
    places = np.concatenate([place for _, place in taken])
    if len(np.unique(places)) == len(places) == n_groups and len({noisy.noise for noisy, _ in taken}) == 1:
        return _side_by_side([noisy for noisy, _ in taken], places)
    terms = [Term(noisy, np.ones(len(place)), place) for noisy, place in taken]
    return added_up(terms, n_groups)


def _rows(noisy: NoisyAnswer, rows: NDArray[np.int64]) -> NoisyAnswer:
    return _with(noisy, {name: getattr(noisy, name)[rows] for name in _FIELDS})


def _with(noisy: NoisyAnswer, fields: Mapping[str, NDArray[np.float64]]) -> NoisyAnswer:
    return replace(noisy, **cast("dict[str, Any]", fields))


def _side_by_side(noisy: Sequence[NoisyAnswer], places: NDArray[np.int64]) -> NoisyAnswer:
    order = np.argsort(places)
    fields = {name: np.concatenate([getattr(one, name) for one in noisy])[order] for name in _FIELDS}
    return replace(_with(noisy[-1], fields), confidence=min(one.confidence for one in noisy))


def places_of(part: Released, groups: Sequence[tuple[object, ...]]) -> NDArray[np.int64]:
    """(G_part,) the place of each of a part's groups among those of the whole question."""
    known = {group: place for place, group in enumerate(groups)}
    return np.array([known.get(group, NOWHERE) for group in part.domain.groups], np.int64)
