"""The vector program's entry point, and the search at one threshold: cores that grow until one solves the whole.

Bounds of E, proved on all tuples, close until they are at most the gap apart. A regular sample of the tuples guesses
which units will be removed. The guess only helps to start well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacy.errors import InvalidParameter, SolverFailed
from privacy.join_tuples import CompactJoinTuples, Private
from privacy.papers.vector_program.certificate import STEP_BITS, WHOLE, Line, certificate_pass, in_steps, raised
from privacy.papers.vector_program.cutting_planes import CoreSearch
from privacy.papers.vector_program.norms import Removal, SquaredNorms, squared_norms, truncated_sums
from privacy.papers.vector_program.patterns import build_core, contributions_at
from privacy.thresholds import Thresholds
from privacy.units import MAX_UNITS, Bools, Floats, Ints

_SAMPLE = 1 << 18
"""Tuples of the sample. Fewer find the same units, but their multipliers prove less."""

_WORTHWHILE = 16
"""A pilot pays from so many times as many tuples."""

_GAP = 0.05
_NEARLY = 0.8
"""A unit this close to its threshold in the sample may be over it in the whole."""

_TRUST = 0.9
"""How much of a share found in the sample is assumed when tuples are set aside."""


@dataclass(frozen=True, eq=False, repr=False)
class Pilot(Private):
    """Where to start.

    Attributes:
      columns: (C,) int64 units that seem to matter, ascending.
      guess: (n_units,) shares; tuples that they empty may be set aside.
      sample: the search on the sample, whose shares and multipliers may already prove enough; None without one.
    """

    columns: Ints
    guess: Floats
    sample: CoreSearch | None = None


def everybody(over: Bools) -> Pilot:
    """Every unit over the threshold, and every tuple: the fallback of a pilot, and the start of small instances."""
    return Pilot(np.flatnonzero(over), np.zeros(len(over)))


def pilot(tuples: CompactJoinTuples, release: int, over: Bools, tau: int) -> Pilot:
    """Solve a sample roughly, with the threshold scaled down alike. Deterministic: the stride is fixed.

    Cost: nothing below 2^22 tuples, else that of a core of 2^18 tuples.
    """
    stride = len(tuples.group) // _SAMPLE
    start = everybody(over)
    if stride < _WORTHWHILE:
        return start
    sample = _strided(tuples, release, stride)
    core = build_core(sample, 0, over, start.columns, start.guess, max(1, tau // stride))
    search = CoreSearch(core)
    while not search.closed(_GAP):
        search.step()
    norms = core.norms_of(contributions_at(core, search.shares))
    matters = (search.shares > 0.0) | (norms > _NEARLY)
    guess = np.zeros(len(over))
    guess[start.columns] = search.shares * _TRUST
    return Pilot(start.columns[matters], guess, search)


def _strided(tuples: CompactJoinTuples, release: int, stride: int) -> CompactJoinTuples:
    """Tuples 0, stride, 2 stride, ..."""
    firsts, lasts = tuples.indptr[:-1:stride], tuples.indptr[1::stride]
    sizes = lasts - firsts
    indptr = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    entries = np.arange(indptr[-1]) + np.repeat(firsts - indptr[:-1], sizes)
    return CompactJoinTuples(
        indptr,
        tuples.units[entries],
        tuples.n_units,
        tuples.group[::stride].copy(),
        tuples.n_groups,
        tuples.weights[release : release + 1, ::stride].copy(),
    )


_ROUNDS = 50
"""Cores that are tried before giving up; one or two are usual."""

_DOUBT = 1.0 / 32.0
"""How far off a sample is assumed to be when deciding whether to try a proof from it."""


class Search:
    """Cores that grow until one of them solves the whole program.

    The path is a function of (tuples, release, tau, gap) alone. It starts cold, reads no clock and no other
    threshold, and `prove` does not change it. At any time its final result lies between `lower` and `upper`.

    Attributes:
      lower, upper: bounds on E and on the final `removed`, in steps of 2^-31 persons. So upper is the gap above what
        a proof off the path shows for E.
      done: whether `removal` is final.
    """

    def __init__(
        self,
        tuples: CompactJoinTuples,
        release: int,
        norms: SquaredNorms,
        tau: int,
        gap: int,
    ) -> None:
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
        """The answer of a finished search."""
        assert self.done
        return Removal(self._upper, self._lower, self._best)

    @property
    def guide(self) -> tuple[float, float]:
        """The estimate of E by the core, or else the sample, in steps; unproved."""
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

        Raises: SolverFailed if not even interior points close the gap, which is a bug.
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
            )
            self._search = CoreSearch(core, self._inside)
        elif not self._search.closed(self._gap / WHOLE / 4):
            self._search.step()
        else:
            self._finish_round()

    def look(self) -> float | None:
        """Take a sample if none was taken. Returns the sample's estimate of E in steps, or None.

        Cost: at most that of a pilot.
        """
        if self._start is None:
            self._start = pilot(self._tuples, self._release, self._over, self._tau)
        sample = self._start.sample
        return None if sample is None else sample.lower * WHOLE

    def prove(self) -> None:
        """Tighten `lower` and `upper` by the core, or else the sample. Cost: a certificate pass."""
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
        seen = certificate_pass(self._tuples, self._release, self._over, self._degree, shares, dual, self._tau)
        lines = dual.lines(seen.gain, seen.prices)
        self._lines += lines
        lower = max(line.at(1.0) for line in lines)
        measured = _Measured(raised(shares, seen.norms), lower, (seen.norms > 1.0) | (seen.prices > 1.0))
        self.lower = max(self.lower, measured.lower)
        self.upper = min(self.upper, in_steps(measured.shares) + self._gap)
        return measured

    def _finish_round(self) -> None:
        """Keep what is proved. If it is not enough, the next core gets what this one lacked."""
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
                raise SolverFailed("the solver stopped before its result was proved accurate enough")
            self._inside = True  # the core was whole, so it was the linear programs that were solved badly
        return Pilot(columns, whole.guess)


@dataclass(frozen=True, eq=False, repr=False)
class _Measured(Private):
    """Feasible shares (n_units,), a lower bound on E in steps, and which units exceed the norm or would help."""

    shares: Floats
    lower: int
    matters: Bools


GAP_BITS = 13
DEFAULT_GAP = 1 << (STEP_BITS - GAP_BITS)
"""h = 2^-13 persons, in steps: noise pays 0.02% for it."""


class VectorInstance(Private):
    """Minimise sum_u s_u such that no unit's vector over groups has a norm above tau (docs/mathematics.md, section
    11.1).

    E(tau) is the minimum. z_t = max(0, 1 - sum of the shares of its owners) is left of tuple t. E falls in tau and
    grows with the data, by at most 1 with one privacy unit.

    Every answer is a function of (tuples, release, tau, gap). Each threshold starts cold. What one threshold shows
    about another (E is monotone) only decides comparisons whose outcome is already certain.
    """

    def __init__(self, tuples: CompactJoinTuples, release: int = 0, gap: int = DEFAULT_GAP) -> None:
        """Compute all norms.

        Args:
          tuples: m join tuples; equal (group, provenance set) merged, ordered by group.
          gap: the public constant h, in steps of 2^-31 persons, >= 2^10. The sensitivities of `removed` and of the
            truncated sums include it (B = E + 1 + h).
        Cost: one pass over the owners.
        """
        if gap < 1 << 10:
            raise InvalidParameter("a gap below 2^-21 persons is beyond float64")
        if not 0 <= release < len(tuples.weights):
            raise InvalidParameter("no release has this index")
        self._tuples, self._release, self._gap = tuples, release, gap
        self._norms = squared_norms(tuples, release)
        self._searches: dict[int, Search] = {}

    def removal(self, tau: int) -> Removal:
        """The removed units at tau units, 1 <= tau <= MAX_UNITS, with E <= removed <= E + gap proved.

        Raises: InvalidParameter; SolverFailed if the gap cannot be proved.
        """
        search = self._search(tau)
        while not search.done:
            search.advance()
        return search.removal

    def sums(self, tau: int) -> tuple[int, ...]:
        """(d,) what is left of each group at tau: exact integers in 2^-SHARE_BITS units. See truncated_sums."""
        return truncated_sums(self._tuples, self._release, self.removal(tau).shares)

    def select(self, thresholds: Thresholds, stop: Ints) -> int | None:
        """The first level whose `removed` is at most its stop value, or None: the scan of a sparse vector.

        The result equals calling `removal` at every level. But only levels that bounds leave open are searched, from
        the largest down, and only until the comparison is certain.

        Args:
          stop: (L,) steps of 2^-31 persons: threshold minus noise, drawn beforehand.
        Raises: InvalidParameter.
        Cost: on real data two or three searches, the last ones stopped early.
        """
        taus = thresholds.units.tolist()
        if stop.shape != (len(taus),) or stop.dtype != np.int64:
            raise InvalidParameter("stop must have one int64 per threshold")
        limits: list[int] = stop.tolist()
        easy = (level for level, tau in enumerate(taus) if self._easy_upper(tau) <= limits[level])
        first = next(easy, len(taus))
        guessed = self._guessed(taus, limits, first)
        if guessed is not None and self.removal(taus[guessed]).removed <= limits[guessed]:
            first = guessed  # most likely the answer, of which the caller needs all anyway
        searched = first
        for level in reversed(range(first)):
            if self._floor(taus[level]) > limits[level]:
                continue
            # Thresholds in between cost less to search and usually show that this one removes too many.
            for step in reversed(range(level, searched)):
                search = self._settled(taus[step], limits[level], taus[level])
                searched = step
                if max(search.lower, search.lower_at(taus[level])) > limits[level]:
                    break
            if searched == level and search.upper <= limits[level]:
                first = level
        return first if first < len(taus) else None

    def _guessed(self, taus: list[int], limits: list[int], end: int) -> int | None:
        """The first level below `end` that passes according to samples, which are taken from the top downwards.

        As E is convex, two samples bound the next one from below.
        """
        guessed, above, expected = None, math.inf, -math.inf
        for level in reversed(range(end)):
            if expected > limits[level]:
                break
            seen = self._search(taus[level]).look()
            if seen is None:
                break
            if seen <= limits[level]:
                guessed = level
            above, expected = seen, seen + max(0.0, seen - above) / 2
        return guessed

    def _easy_upper(self, tau: int) -> int:
        """A bound on E and on `removed` from the norms alone."""
        return in_steps(self._norms.shares(tau))

    def _floor(self, tau: int) -> int:
        """A lower bound on E at tau from everything proved at larger thresholds. Never part of an answer."""
        return max((search.lower_at(tau) for above, search in self._searches.items() if above >= tau), default=0)

    def _settled(self, tau: int, limit: int, target: int) -> Search:
        """The search at tau, advanced until it knows whether `limit` is exceeded: there, or at `target` <= tau."""
        search = self._search(tau)
        proofs = 0
        while not search.done and search.upper > limit >= max(search.lower, search.lower_at(target)):
            low, high = search.guide
            margin = (1 << proofs) * WHOLE / 64  # each failed proof doubles the margin of the next
            if low > limit + margin or high < limit - margin:
                proofs += 1
                search.prove()
            else:
                search.advance()
        return search

    def _search(self, tau: int) -> Search:
        if not 1 <= tau <= MAX_UNITS:
            raise InvalidParameter("a threshold must be between 1 and MAX_UNITS units")
        if tau not in self._searches:
            self._searches[tau] = Search(self._tuples, self._release, self._norms, tau, self._gap)
        return self._searches[tau]
