"""The vector program prepared once, and asked at the thresholds that a mechanism wants."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples
from privacy.ladder import Ladder
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.certificate.shares import STEP_BITS, WHOLE, in_steps
from privacy.truncation.vector.norms import squared_norms
from privacy.truncation.vector.removal import Removal, truncated_sums
from privacy.truncation.vector.search import Search
from privacy.units import MAX_UNITS

GAP_BITS = 13
DEFAULT_GAP = 1 << (STEP_BITS - GAP_BITS)
"""h = 2^-13 persons, in steps: noise pays 0.02% for it."""


class VectorInstance:
    """Minimise sum_u s_u such that nobody's vector over groups is longer than tau (privacy.md section 5).

    E(tau) is the minimum; what is left of tuple t is z_t = max(0, 1 - sum of the shares of its owners). E falls
    in tau and grows with the data, by at most 1 with one privacy unit.

    Every answer is a function of (tuples, release, tau, gap): each threshold starts cold, and what one threshold
    says about another (E is monotone) only ever decides a comparison whose outcome is already certain.
    """

    def __init__(
        self, tuples: CompactJoinTuples, release: int = 0, gap: int = DEFAULT_GAP, control: Control = QUIET
    ) -> None:
        """Prepare.

        Args:
          tuples: m join tuples; equal (group, provenance set) merged, ordered by group.
          release: row of tuples.weights.
          gap: the public constant h, in steps of 2^-31 persons, >= 2^10; the sensitivities of `removed` and of the
            truncated sums have to pay for it (B = E + 1 + h).
          control: watches and stops every question; a cancelled question may be asked again.
        Cost: one pass over the owners.
        """
        if gap < 1 << 10:
            raise InvalidParameter("a gap below 2^-21 persons is beyond float64")
        if not 0 <= release < len(tuples.weights):
            raise InvalidParameter("no such release")
        self._tuples, self._release, self._gap = tuples, release, gap
        self._control = control
        self._norms = squared_norms(tuples, release, control)
        self._searches: dict[int, Search] = {}

    def __repr__(self) -> str:
        return "VectorInstance(<private>)"

    def removal(self, tau: int) -> Removal:
        """Who is removed at tau units, 1 <= tau <= MAX_UNITS, with E <= removed <= E + gap proved.

        Raises: InvalidParameter; SolverFailed when the gap cannot be proved (its text never reaches a client).
        """
        search = self._search(tau)
        while not search.done:
            search.advance()
        return search.removal

    def sums(self, tau: int) -> tuple[int, ...]:
        """(d,) what is left of each group at tau: exact integers in 2^-SHARE_BITS units. See truncated_sums."""
        return truncated_sums(self._tuples, self._release, self.removal(tau).shares)

    def select(self, ladder: Ladder, stop: NDArray[np.int64]) -> int | None:
        """The first rung whose `removed` is at most its stop value, or None: what a sparse vector's scan returns.

        The same as calling `removal` at every rung, but only rungs that bounds leave open are searched, from the
        largest down, and only until the comparison is certain.

        Args:
          stop: (L,) steps of 2^-31 persons: threshold minus noise, drawn beforehand.
        Raises: InvalidParameter.
        Cost: on real data two or three searches, the last ones cut short.
        """
        taus = ladder.units.tolist()
        if stop.shape != (len(taus),) or stop.dtype != np.int64:
            raise InvalidParameter("stop is one int64 per rung")
        limits: list[int] = stop.tolist()
        easy = (rung for rung, tau in enumerate(taus) if self._easy_upper(tau) <= limits[rung])
        first = next(easy, len(taus))
        guessed = self._guessed(taus, limits, first)
        if guessed is not None and self.removal(taus[guessed]).removed <= limits[guessed]:
            first = guessed  # most likely the answer, of which the caller needs all anyway
        searched = first
        for rung in reversed(range(first)):
            if self._floor(taus[rung]) > limits[rung]:
                continue
            # Thresholds in between cost less to search and usually show that this one removes too many.
            for step in reversed(range(rung, searched)):
                search = self._settled(taus[step], limits[rung], taus[rung])
                searched = step
                if max(search.lower, search.lower_at(taus[rung])) > limits[rung]:
                    break
            if searched == rung and search.upper <= limits[rung]:
                first = rung
        return first if first < len(taus) else None

    def _guessed(self, taus: list[int], limits: list[int], end: int) -> int | None:
        """The first rung below `end` that passes according to samples, which are taken from the top downwards.

        Two samples say how large the next one is at least, E being convex.
        """
        guessed, above, expected = None, math.inf, -math.inf
        for rung in reversed(range(end)):
            if expected > limits[rung]:
                break
            seen = self._search(taus[rung]).look()
            if seen is None:
                break
            if seen <= limits[rung]:
                guessed = rung
            above, expected = seen, seen + max(0.0, seen - above) / 2
        return guessed

    def _easy_upper(self, tau: int) -> int:
        """A bound on E and on `removed` that costs one look at the norms."""
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
            margin = (1 << proofs) * WHOLE / 64  # each proof in vain doubles what the next must promise
            if low > limit + margin or high < limit - margin:
                proofs += 1
                search.prove()
            else:
                search.advance()
        return search

    def _search(self, tau: int) -> Search:
        if not 1 <= tau <= MAX_UNITS:
            raise InvalidParameter("a threshold is between 1 and MAX_UNITS units")
        if tau not in self._searches:
            self._searches[tau] = Search(self._tuples, self._release, self._norms, tau, self._gap, self._control)
        return self._searches[tau]
