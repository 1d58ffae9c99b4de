"""The sets of outputs that an audit tries: a tail of scores within a tail of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.audit.outputs import Outputs

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
