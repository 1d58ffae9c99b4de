"""How much privacy a mechanism loses at least, and how often an interval holds at most, from its outputs.

What an auditor sees of a mechanism: many independent outputs on one input.

How often an interval covers what it names, at most: a claimed confidence above that is refuted.

The sets of outputs that an audit tries: a tail of scores within a tail of labels.

Lower bounds on epsilon, and on delta at an epsilon, from a mechanism's outputs alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from privacy.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Outputs:
    """n independent outputs of a mechanism on the same input, each reduced to a label and a score.

    Any function of an output may serve: it is post-processing, and can only hide a loss, not invent one.

    Attributes:
      score: (n,) float64, for example the released value.
      label: (n,) int64 in a small range, for example the chosen threshold; or all zero.
    """

    score: NDArray[np.float64]
    label: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.score.ndim != 1 or self.score.shape != self.label.shape or len(self.score) < 2:
            raise InvalidParameter("outputs are two columns of the same length, at least two rows")
        if np.isnan(self.score).any():
            raise InvalidParameter("a score must be a number")

    def __len__(self) -> int:
        return len(self.score)

    @classmethod
    def joined(cls, parts: Sequence[Outputs]) -> Outputs:
        """Runs that were made in several goes, at least one."""
        return cls(np.concatenate([part.score for part in parts]), np.concatenate([part.label for part in parts]))

    def halves(self) -> tuple[Outputs, Outputs]:
        """The first and the second half of the runs."""
        middle = len(self) // 2
        return (
            Outputs(self.score[:middle], self.label[:middle]),
            Outputs(self.score[middle:], self.label[middle:]),
        )


def coverage_upper_bound(hits: int, runs: int, failure_probability: float) -> float:
    """Bound from above the probability that an interval covers.

    Args:
      hits: in how many of the runs it did, independently.
      runs: >= 1.
      failure_probability: in (0, 1).
    Returns: a number that is below the true probability with probability at most `failure_probability`
      (Clopper-Pearson, one-sided).
    Raises: InvalidParameter for counts or a probability out of range.
    Source: Clopper and Pearson (1934).
    """
    if not (0 <= hits <= runs and runs >= 1):
        raise InvalidParameter("an interval covers in some of the runs")
    if not 0 < failure_probability < 1:
        raise InvalidParameter("a failure probability lies between 0 and 1")
    return 1.0 if hits == runs else float(beta.isf(failure_probability, hits + 1, runs - hits))


_SCORE_CUTS = 96


@dataclass(frozen=True)
class Event:
    """All outputs whose score and label both lie on the given sides of two cuts.

    Attributes:
      score_cut, score_above: score >= cut, or score < cut.
      label_low, label_high: label_low <= label <= label_high.
    """

    score_cut: float
    score_above: bool
    label_low: int
    label_high: int

    def count(self, outputs: Outputs) -> int:
        """How many of the outputs are in the event."""
        scores = outputs.score >= self.score_cut if self.score_above else outputs.score < self.score_cut
        return int((scores & (outputs.label >= self.label_low) & (outputs.label <= self.label_high)).sum())


@dataclass(frozen=True)
class EventFamily:
    """Every event over a set of score cuts and the occurring labels.

    Attributes:
      cuts: (C,) ascending score cuts.
      labels: (B,) ascending labels.
    """

    cuts: NDArray[np.float64]
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, first: Outputs, second: Outputs) -> EventFamily:
        """Cuts at quantiles of both sets of outputs, far into the tails."""
        tail = np.geomspace(1e-5, 0.5, _SCORE_CUTS // 2)
        levels = np.concatenate([tail, 1 - tail])
        cuts = [np.quantile(outputs.score, levels, method="nearest") for outputs in (first, second)]
        return cls(
            np.unique(np.concatenate([*cuts, [-np.inf]])),
            np.unique(np.concatenate([first.label, second.label])),
        )

    def events(self) -> list[Event]:
        """All events: for each label both tails and the label alone, for each cut both sides."""
        low, high = int(self.labels[0]), int(self.labels[-1])
        spans = {(label, label) for label in self.labels.tolist()}
        spans |= {(low, label) for label in self.labels.tolist()} | {(label, high) for label in self.labels.tolist()}
        return [
            Event(cut, above, *span)
            for span in sorted(spans)
            for cut in self.cuts.tolist()
            for above in (True, False)
        ]

    def counts(self, outputs: Outputs) -> NDArray[np.int64]:
        """How many outputs are in each event, in the order of `events`. Cost: one sort, not one per event."""
        cell = np.searchsorted(self.cuts, outputs.score, side="right") - 1
        row = np.searchsorted(self.labels, outputs.label)
        shape = (len(self.labels), len(self.cuts))
        table = np.bincount(row * shape[1] + cell, minlength=shape[0] * shape[1]).reshape(shape)
        above = np.zeros((shape[0] + 1, shape[1]), np.int64)
        above[1:] = table[:, ::-1].cumsum(axis=1)[:, ::-1].cumsum(axis=0)
        position = {label: i for i, label in enumerate(self.labels.tolist())}
        column = {cut: i for i, cut in enumerate(self.cuts.tolist())}
        counts = []
        for event in self.events():
            span = above[position[event.label_high] + 1] - above[position[event.label_low]]
            inside = span[column[event.score_cut]]
            counts.append(inside if event.score_above else span[0] - inside)
        return np.array(counts, np.int64)


Gain = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""What events show whose probabilities are at least the first on one input and at most the second on the other."""


def epsilon_lower_bound(first: Outputs, second: Outputs, failure_probability: float, delta: float = 0.0) -> float:
    """Bound from below the epsilon at which a mechanism is (epsilon, delta)-private: ln((P(E) - delta) / P'(E)).

    One event, and which of the inputs it favours, is chosen on the first half of the runs. The second half,
    which had no say in it, counts the event; Clopper-Pearson bounds its two probabilities, each
    with half of the failure probability.

    Args:
      first, second: outputs on two neighbouring inputs, independent runs.
      failure_probability: in (0, 1).
      delta: in [0, 1), what the mechanism claims beside epsilon. Only events that are seen in many more than
        delta of the runs show anything.
    Returns: a number that exceeds the true epsilon with probability at most `failure_probability`; 0 or more.
    Raises: InvalidParameter for a failure probability or a delta out of range.
    Cost: sorting, and a few thousand beta quantiles.
    """
    if not 0 <= delta < 1:
        raise InvalidParameter("delta is a probability below 1")

    def log_ratio(likely: NDArray[np.float64], unlikely: NDArray[np.float64]) -> NDArray[np.float64]:
        shown = np.maximum(likely - delta, 0.0)
        return np.where(shown > 0, np.log(np.maximum(shown, math.ulp(0.0))) - np.log(unlikely), -np.inf)

    return _shown(first, second, failure_probability, log_ratio)


def delta_lower_bound(first: Outputs, second: Outputs, failure_probability: float, epsilon: float) -> float:
    """Bound from below the privacy profile at epsilon: the largest P(E) - e^epsilon P'(E) over events, both ways.

    As `epsilon_lower_bound`, of which it is the inverse: a claim of (epsilon, delta) is refuted by a bound above
    delta.

    Args:
      epsilon: where the profile is bounded, >= 0 and finite.
    Returns: a number that exceeds the true delta with probability at most `failure_probability`; 0 or more.
    Raises: InvalidParameter for a failure probability or an epsilon out of range.
    """
    if not 0 <= epsilon < math.inf:
        raise InvalidParameter("epsilon is finite and not negative")
    return _shown(first, second, failure_probability, lambda likely, unlikely: likely - math.exp(epsilon) * unlikely)


def _shown(first: Outputs, second: Outputs, failure_probability: float, gain: Gain) -> float:
    """The gain of the event that the first half of the runs picks, on the second half; at least 0."""
    if not 0 < failure_probability < 1:
        raise InvalidParameter("a failure probability lies between 0 and 1")
    training, testing = zip(first.halves(), second.halves(), strict=True)
    event, swapped = _most_telling(*training, failure_probability, gain)
    likely, unlikely = reversed(testing) if swapped else testing
    hits, rare_hits = (np.array([event.count(outputs)]) for outputs in (likely, unlikely))
    low, high = _bounds(hits, rare_hits, len(likely), len(unlikely), failure_probability)
    return max(0.0, float(gain(low, high)[0]))


def _most_telling(first: Outputs, second: Outputs, failure_probability: float, gain: Gain) -> tuple[Event, bool]:
    """The event with the largest gain on these runs, and whether it favours the second input."""
    family = EventFamily.of(first, second)
    counts = family.counts(first), family.counts(second)
    forward = gain(*_bounds(*counts, len(first), len(second), failure_probability))
    backward = gain(*_bounds(*counts[::-1], len(second), len(first), failure_probability))
    swapped = bool(backward.max() > forward.max())
    return family.events()[int(np.argmax(backward if swapped else forward))], swapped


def _bounds(
    hits: NDArray[np.int64], rare_hits: NDArray[np.int64], runs: int, rare_runs: int, failure_probability: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One probability bounded from below and one from above, each failing with half of the probability."""
    half = failure_probability / 2
    # With no hit the lower limit is 0, with nothing but hits the upper one is 1; the quantile is undefined there.
    low = np.where(hits == 0, 0.0, beta.ppf(half, np.maximum(hits, 1), runs - hits + 1))
    high = np.where(rare_hits == rare_runs, 1.0, beta.isf(half, rare_hits + 1, np.maximum(rare_runs - rare_hits, 1)))
    return low, high
