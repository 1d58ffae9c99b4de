"""Coverage and width of intervals: of noise as everywhere, and of the truth where it is said what nobody exceeds."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmarks.rows import Row
from tests.benchmarks.trust.questions import Asked, DataSet, Question

_EPSILON = 0.5
_CELLS, _QUICK_CELLS = 2_000, 400
"""Intervals of one question at the least: at 2,000 the share that covers is known to half a per cent."""
_RELEASES, _QUICK_RELEASES = 150, 40
_TIMES = (1, 2, 4)
_COVERAGE = 0.94
_OF_RATIO, _NEAR, _OF_NEAR = 1.2, 2.0, 2.5


def intervals(data: DataSet, quick: bool) -> list[Row]:
    """Rows of one data set."""
    rows, covered = [], []
    for question in data.questions:
        noise = _Found(question.asked(_EPSILON), quick)
        covered.append(noise.covers_cut)
        case = f"{data.name}, {question.name}"
        rows += [
            Row(case, "noise interval: covers the truth", noise.covers_truth, "1"),
            Row(case, "what may be missing above, as the answer says it, of the value", noise.missing, "1"),
            Row(case, "noise interval with what may be missing above: covers the truth", noise.covers_missing, "1"),
            Row(case, "noise interval: tau, median", noise.tau, "1"),
            Row(case, "noise interval: width, median", noise.width, "1"),
        ]
        for times in _TIMES:
            rows += _for_the_truth(case, question, times, noise, quick)
    share = float(np.concatenate(covered).mean())
    rows.append(Row(data.name, "noise interval: covers the answer that was cut", share, "1", 0.94, 0.96))
    return rows


def _least_above(most: float, confidence: float) -> float:
    """What an interval for the truth has above it at the least, whatever releases it (`nobody_adds_more`)."""
    return confidence * most / math.expm1(_EPSILON)


def _for_the_truth(case: str, question: Question, times: int, noise: _Found, quick: bool) -> list[Row]:
    most = times * question.largest
    found = _Found(question.asked(_EPSILON, most), quick)
    ratio, beyond = found.width / noise.width, most * noise.cells_of_tau / noise.tau
    bar = min(_OF_RATIO * beyond, _OF_NEAR) if beyond <= _NEAR else _OF_RATIO * beyond
    least = _least_above(most, found.confidence)
    named = f"truth interval, X {times} times the largest load"
    return [
        Row(case, f"{named}: covers the truth", found.covers_truth, "1", None if quick else _COVERAGE),
        Row(case, f"{named}: width, of the noise interval's", ratio, "1", most=bar),
        Row(case, f"{named}: width above the value, of the least possible", found.width / 2 / least, "1"),
    ]


class _Found:
    """What many releases say of a question.

    Attributes:
      covers_truth: the share of intervals that hold the true value.
      covers_cut: (n,) bool, does each hold the value after cutting to its tau?
      missing: the most that a doubling of tau adds to all cells together, of their value; the median.
      covers_missing: the share of releases whose intervals, all cells together, hold the truth if it is added.
      width: of an interval, in the unit of the answer; the median.
      tau: the median.
      cells_of_tau: how many cells' amounts of one person tau bounds together; X bounds each.
    """

    def __init__(self, asked: Asked, quick: bool) -> None:
        truths, cells = asked.truths(), len(asked.cells)
        least = (_QUICK_RELEASES if quick else _RELEASES), (_QUICK_CELLS if quick else _CELLS) // cells
        (release,) = asked.plan.releases
        holds, held_cut, widths, taus, missing, held_missing = [], [], [], [], [], []
        for _ in range(max(least)):
            _, noisy = asked.release()
            low, high, tau = (release.weight_bound * one for one in (noisy.low, noisy.high, noisy.tau))
            cut = asked.truths(tau)
            holds.append((low <= truths) & (truths <= high))
            held_cut.append((low <= cut) & (cut <= high))
            share = 1 / (4 * max(float(np.median(noisy.signal)), 1e-9))
            value = release.weight_bound * float(noisy.values.sum())
            missing.append(share)
            held_missing.append(truths.sum() <= high.sum() + share * max(0.0, value))
            widths.append(high - low)
            taus.append(tau)
        self.covers_truth = float(np.mean(holds))
        self.covers_cut = np.concatenate(held_cut)
        self.missing, self.covers_missing = float(np.median(missing)), float(np.mean(held_missing))
        self.confidence = noisy.confidence
        self.cells_of_tau = cells if noisy.mechanism == "l1_clip" and asked.plan.bounds.groups is None else 1
        self.width, self.tau = float(np.median(widths)), float(np.median(taus))
