"""E at one threshold: bounds proved on all tuples that close until they are at most the gap apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.join_tuples import CompactJoinTuples
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.certificate.certificate_pass import certificate_pass
from privacy.truncation.vector.certificate.dual_point import Line
from privacy.truncation.vector.certificate.shares import WHOLE, in_steps, raised
from privacy.truncation.vector.core import build_core
from privacy.truncation.vector.core_search import CoreSearch
from privacy.truncation.vector.norms import SquaredNorms
from privacy.truncation.vector.pilot import Pilot, everybody, pilot
from privacy.truncation.vector.removal import Removal

_ROUNDS = 50
"""Cores that are tried before giving up; one or two are the rule."""

_DOUBT = 1.0 / 32.0
"""How far off a sample is taken to be when it is decided whether a proof from it is worth a try."""


class Search:
    """Cores that grow until one of them solves the whole program.

    The path is a function of (tuples, release, tau, gap) alone: it starts cold, knows no clock and no other
    threshold, and looking at it (`prove`) does not bend it. Wherever it is left, what it would have ended with
    lies between `lower` and `upper`.

    Attributes:
      lower, upper: bounds on E and on the final `removed` (so upper is the gap above what a proof off the path
        shows for E), in steps of 2^-31 persons.
      done: whether `removal` is final.
    """

    def __init__(
        self,
        tuples: CompactJoinTuples,
        release: int,
        norms: SquaredNorms,
        tau: int,
        gap: int,
        control: Control = QUIET,
    ) -> None:
        self._control = control
        self._tuples, self._release, self._tau, self._gap = tuples, release, tau, gap
        self._over, self._degree = norms.exceed(tau), norms.degree
        self._best = norms.shares(tau)
        self._upper = self.upper = in_steps(self._best)
        self._lower = self.lower = 0
        self._start: Pilot | None = None
        self._search: CoreSearch | None = None
        self._lines: list[Line] = []
        self._rounds = 0
        self._sample_spent = False
        self._inside = False
        self.done = self._upper <= gap

    @property
    def removal(self) -> Removal:
        """The answer. Only of a search that is done."""
        assert self.done
        return Removal(self._upper, self._lower, self._best)

    @property
    def guide(self) -> tuple[float, float]:
        """What the core, or else the sample, believes of E, in steps: unproved."""
        if self._search is not None:
            return self._search.lower * WHOLE, self._search.upper * WHOLE
        if self._start is not None and self._start.sample is not None and not self._sample_spent:
            sample = self._start.sample
            return sample.lower * (1.0 - _DOUBT) * WHOLE, sample.upper * (1.0 + _DOUBT) * WHOLE
        return -math.inf, math.inf

    def lower_at(self, tau: int) -> int:
        """A lower bound on E at another threshold, from what was proved here. In steps."""
        return max((line.at(tau / self._tau) for line in self._lines), default=0)

    def advance(self) -> None:
        """One step on the path: a pilot, a core, a linear program, or a certificate pass.

        Raises: Cancelled; SolverFailed when not even interior points close the gap: a bug, not an outcome.
        """
        if self._start is None:
            self.look()
        elif self._search is None:
            core = build_core(
                self._tuples,
                self._release,
                self._over,
                self._start.columns,
                self._start.guess,
                self._tau,
                self._control,
            )
            self._search = CoreSearch(core, self._control, self._inside)
        elif not self._search.closed(self._gap / WHOLE / 4):
            self._search.step()
        else:
            self._finish_round()

    def look(self) -> float | None:
        """Take a sample if none was taken; what E is by the sample, in steps, or None where there is nothing to say.

        Cost: at most that of a pilot.
        """
        if self._start is None:
            self._start = pilot(self._tuples, self._release, self._over, self._tau, self._control)
        sample = self._start.sample
        return None if sample is None else sample.lower * WHOLE

    def prove(self) -> None:
        """Tighten `lower` and `upper` by what the core, or else the sample, knows. Cost: a certificate pass."""
        if self._search is not None:
            self._measure(self._search)
        elif self._start is not None and self._start.sample is not None:
            self._measure(self._start.sample)
            self._sample_spent = True

    def _measure(self, search: CoreSearch) -> _Measured:
        """Measure a search's shares and multipliers on all tuples, and note what that proves."""
        shares = np.zeros(self._tuples.n_units)
        shares[search.columns] = search.shares
        dual = search.multipliers()
        seen = certificate_pass(
            self._tuples, self._release, self._over, self._degree, shares, dual, self._tau, self._control
        )
        lines = dual.lines(seen.gain, seen.prices)
        self._lines += lines
        lower = max(line.at(1.0) for line in lines)
        measured = _Measured(raised(shares, seen.lengths), lower, (seen.lengths > 1.0) | (seen.prices > 1.0))
        self.lower = max(self.lower, measured.lower)
        self.upper = min(self.upper, in_steps(measured.shares) + self._gap)
        return measured

    def _finish_round(self) -> None:
        """Keep what is proved; if it is not enough, the next core gets what this one lacked."""
        assert self._search is not None
        measured = self._measure(self._search)
        self._lower = max(self._lower, measured.lower)
        if in_steps(measured.shares) < self._upper:
            self._best, self._upper = measured.shares, in_steps(measured.shares)
            self.upper = min(self.upper, self._upper)
        self.done = self._upper - self._lower <= self._gap
        if not self.done:
            self._start = self._larger(measured)
            self._search = None

    def _larger(self, measured: _Measured) -> Pilot:
        """The next start: strictly more columns or tuples, in the end all that can matter, and then with care."""
        assert self._start is not None
        self._rounds += 1
        columns = np.union1d(self._start.columns, np.flatnonzero(measured.matters))
        guess = np.minimum(self._start.guess, measured.shares)
        grown = len(columns) > len(self._start.columns) or bool(np.any(guess < self._start.guess))
        if grown and self._rounds < _ROUNDS:
            return Pilot(columns, guess)
        whole = everybody(self._over)
        columns = np.union1d(columns, whole.columns)
        if self._rounds > _ROUNDS or (len(columns) == len(self._start.columns) and not self._start.guess.any()):
            if self._inside:
                raise SolverFailed("the vector program did not close its gap")
            self._inside = True  # the core was whole, so it was the linear programs that were solved badly
        return Pilot(columns, whole.guess)


@dataclass(frozen=True, eq=False, repr=False)
class _Measured:
    """Feasible shares (n_units,), a lower bound on E in steps, and which units are too long or would help."""

    shares: NDArray[np.float64]
    lower: int
    matters: NDArray[np.bool_]

    def __repr__(self) -> str:
        return "_Measured(<private>)"
