"""The truncation program as the papers' code states it: a variable per tuple, no presolve, cold LPs."""

from __future__ import annotations

import time
from dataclasses import dataclass

import highspy
import numpy as np

from privacy.join_tuples import JoinTuples


@dataclass(frozen=True)
class PlainThresholds:
    """What one ladder of cold LPs took.

    Attributes:
      seconds: until the end or the limit.
      values: normalised optimum per threshold, of those that were finished.
      finished: whether all were.
    """

    seconds: float
    values: tuple[float, ...]
    finished: bool


def plain_thresholds(tuples: JoinTuples, taus: list[float], limit_s: float) -> PlainThresholds:
    """Solve max sum x_t, 0 <= x_t <= 1, load of every unit <= tau, for each threshold from the largest down.

    Args:
      tuples: tuples of weight 1 whose owners are of one relation.
      taus: thresholds in normalised weight.
      limit_s: seconds for all of them together.
    """
    highs = highspy.Highs()
    for option, value in {"output_flag": False, "threads": 1, "presolve": "off"}.items():
        highs.setOptionValue(option, value)
    started, values = time.perf_counter(), []
    for tau in sorted(taus, reverse=True):
        left = limit_s - (time.perf_counter() - started)
        if left <= 0:
            break
        highs.setOptionValue("time_limit", left + highs.getRunTime())
        highs.passModel(_model(tuples, tau))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        values.append(-highs.getInfo().objective_function_value)
    return PlainThresholds(time.perf_counter() - started, tuple(values), len(values) == len(taus))


def _model(tuples: JoinTuples, tau: float) -> highspy.HighsLp:
    keys = np.stack([owner.keys for owner in tuples.owners], axis=1)
    _, unit = np.unique(keys, return_inverse=True)
    size, owners = keys.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = size, int(unit.max(initial=-1)) + 1
    model.col_cost_, model.col_lower_, model.col_upper_ = np.full(size, -1.0), np.zeros(size), np.ones(size)
    model.row_lower_ = np.full(model.num_row_, -highspy.kHighsInf)
    model.row_upper_ = np.full(model.num_row_, tau)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.num_col_, model.a_matrix_.num_row_ = model.num_col_, model.num_row_
    model.a_matrix_.start_ = np.arange(0, size * owners + 1, owners, dtype=np.int32)
    model.a_matrix_.index_ = unit.ravel().astype(np.int32)
    model.a_matrix_.value_ = np.ones(size * owners)
    return model
