"""The truncated answer as a function of the threshold, evaluated only where a mechanism asks."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder


class TruncatedAnswer(Protocol):
    """v(group, tau) on a ladder, with fbar - g <= v <= fbar for the constant g = gap * tau.

    Private: no repr, no serialisation. All values are int64 units of 2^-30, in [0, MAX_UNITS].
    Sensitivity of v(group, tau): at most (1 + gap) * tau, for each group and threshold; fbar itself only grows when a
    unit comes. Units of relations that have more than tau (`Capacities`) move it by their capacity and gap * tau:
    only who scales noise for the groups that they reach (`GroupLp`) asks for such answers.
    v is a deterministic function of (data, group, tau): the order of questions does not change it.
    """

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        ...

    @property
    def ladder(self) -> Ladder:
        """The thresholds, L of them."""
        ...

    @property
    def gap(self) -> float:
        """eta: 0 for exact values, otherwise the constant of privacy.md section 2, fact 5."""
        ...

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(G, L) lower and (G, L) upper bounds of v, as tight as known so far; equal where v is known."""
        ...

    def sharpen(self, group: int, index: int) -> None:
        """Tighten the bounds of a cell; after a few calls they are equal, as after `solve`.

        For who may decide without the value: it costs less than `solve`, and may tighten other cells too.
        Raises: SolverFailed as `solve`.
        """
        ...

    def solve(self, group: int, index: int) -> int:
        """v(group, ladder.units[index]); the bounds of that cell become equal to it.

        Raises: SolverFailed when no route certifies the gap (a bug, not an outcome).
        """
        ...


@runtime_checkable
class CountedAnswer(TruncatedAnswer, Protocol):
    """A truncated answer of tuples of one owner, which says how many units have more than each threshold."""

    @property
    def exceedances(self) -> NDArray[np.int64] | None:
        """(G, L) how many units of the group have more than the threshold; None where nobody counted."""
        ...
