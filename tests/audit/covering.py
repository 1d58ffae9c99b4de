"""How often intervals cover what they name, over many runs, against what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from privacy.audit.coverage import coverage_upper_bound
from privacy.ladder import Ladder
from privacy.noisy_answer import NoisyAnswer
from tests.audit.auditing import FAILURE_PROBABILITY, goes

RUNS = 20_000
"""Of each test of coverage; more in an audit at length."""

Truth = NDArray[np.float64]
"""(L,) or (runs, L), in normalised weight: what an interval at each threshold is to cover."""


class Coverage:
    """How many of the intervals covered.

    Attributes:
      runs, hits: how many there were, and how many covered.
      confidence: what the intervals say.
    """

    def __init__(self, release: Callable[[int], tuple[NoisyAnswer, Truth]], ladder: Ladder) -> None:
        """Ask for 20,000 intervals or more, some at a time.

        Args:
          release: so many independent runs, one per group, and what their intervals name.
          ladder: the thresholds that `Truth` is for.
        """
        self.runs = self.hits = 0
        for size in goes(RUNS):
            answer, truth = release(size)
            at = np.broadcast_to(truth, (size, len(ladder)))[np.arange(size), _index(answer, ladder)]
            self.hits += int(((answer.low <= at) & (at <= answer.high)).sum())
            self.runs += size
            self.confidence = answer.confidence

    @property
    def share(self) -> float:
        """Of the runs that covered."""
        return self.hits / self.runs

    @property
    def refuted(self) -> bool:
        """The intervals cover less often than they say: wrong of a true claim once in ten million."""
        return coverage_upper_bound(self.hits, self.runs, FAILURE_PROBABILITY) < self.confidence


def mean_sampled(loads: Sequence[int], rate: float, ladder: Ladder) -> Truth:
    """(L,) sum_u E[min(tau, Binomial(load_u, rate))] / rate: of units that share no tuple, scaled up."""
    taus, total = ladder.taus, np.zeros(len(ladder))
    for load, people in zip(*np.unique(loads, return_counts=True), strict=True):
        k = np.arange(load + 1)
        total += people * (np.minimum(k, taus[:, None]) * binom.pmf(k, load, rate)).sum(axis=1)
    return total / rate


def joined(parts: Sequence[NoisyAnswer]) -> NoisyAnswer:
    """Runs that were made in several goes, at least one."""

    def column(name: str) -> NDArray[np.float64]:
        return np.concatenate([getattr(part, name) for part in parts])

    return replace(
        parts[0],
        values=column("values"),
        tau=column("tau"),
        noise_scale=column("noise_scale"),
        low=column("low"),
        high=column("high"),
        signal=column("signal"),
    )


def _index(answer: NoisyAnswer, ladder: Ladder) -> NDArray[np.int64]:
    """Which threshold each interval is for: the published one, which may be scaled up; 0 where there is none."""
    return np.clip(np.searchsorted(ladder.taus, answer.tau), 0, len(ladder) - 1)
