"""Where marks stand: on rows that are far from the truth, and on rows that are near it, at what a mark asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.rows import Row
from tests.benchmarks.trust.questions import DataSet

_EPSILONS = (0.05, 0.2, 0.5, 2.0)
_RELEASES, _QUICK_RELEASES = 24, 6
_FAR, _NEAR = 0.5, 0.05
_OF_FAR, _OF_NEAR = 0.95, 0.1
_CURVE = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Released rows: how far each is from its truth, as a part of it; is it weak; its signal; was it marked?"""

    error: NDArray[np.float64]
    low_precision: NDArray[np.bool_]
    wide: NDArray[np.bool_]
    signal: NDArray[np.float64]
    marked: NDArray[np.bool_]


def marks(data_sets: Sequence[DataSet], quick: bool) -> list[Row]:
    """Of all rows of each data set, at several epsilons, and the trade-off over all."""
    rows, every = [], []
    for data in data_sets:
        found = _joined(list(_released(data, quick)))
        every.append(found)
        rows += _judged(data.name, found, quick)
    if every:
        rows += _trade_off(_joined(every))
    return rows


def _released(data: DataSet, quick: bool) -> Iterable[_Rows]:
    for question in data.questions:
        for epsilon in _EPSILONS:
            asked = question.asked(epsilon)
            truths = asked.truths()
            known = truths > 0
            for _ in range(_QUICK_RELEASES if quick else _RELEASES):
                domain, noisy = asked.release()
                shown = asked.shown(domain, noisy)
                values = noisy.values * asked.plan.releases[0].weight_bound
                error = np.abs(values - truths) / np.where(known, truths, 1.0)
                low_precision = np.array(shown.low_precision)
                wide = noisy.high - noisy.low > np.abs(noisy.values)
                marked = low_precision | np.array(shown.clipped)
                yield _Rows(error[known], low_precision[known], wide[known], noisy.signal[known], marked[known])


def _joined(parts: Sequence[_Rows]) -> _Rows:
    names = _Rows.__dataclass_fields__
    return _Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _judged(case: str, rows: _Rows, quick: bool) -> list[Row]:
    far, near = rows.error > _FAR, rows.error <= _NEAR
    bars = (None, None, None) if quick else (1.0, _OF_FAR, _OF_NEAR)
    return [
        Row(case, "rows, of all, that are off by more than half", float(far.mean()), "1"),
        Row(case, "rows, of all, that are within 5%", float(near.mean()), "1"),
        Row(
            case,
            "marked, of rows whose interval is wider than the value",
            _share(rows.marked, rows.wide),
            "1",
            bars[0],
        ),
        Row(case, "marked, of rows that are off by more than half", _share(rows.marked, far), "1", bars[1]),
        Row(case, "marked, of rows within 5%", _share(rows.marked, near), "1", most=bars[2]),
    ]


def _trade_off(rows: _Rows) -> list[Row]:
    far, near = rows.error > _FAR, rows.error <= _NEAR
    found = []
    for least in _CURVE:
        marked = rows.low_precision | (rows.signal < least)
        case = f"all data, cut below a signal of {least:g}"
        found += [
            Row(case, "marked, of rows that are off by more than half", _share(marked, far), "1"),
            Row(case, "marked, of rows within 5%", _share(marked, near), "1"),
        ]
    return found


def _share(marked: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return float(marked[of].mean()) if of.any() else 1.0
