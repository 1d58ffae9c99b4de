"""The outline of a question with its releases: what is kept with an answer, so that others may follow from it."""

from __future__ import annotations

import structlog

from planner.reuse.outline import Outline, outline
from server.answers.released import Released
from server.question import Question

_log = structlog.get_logger("noisegate.answers")


def outline_of(question: Question, released: Released) -> Outline | None:
    """The outline; None where nothing but this very answer may follow (`planner.reuse.outline.outline`).

    The answer is charged by now: whatever goes wrong here leaves it without an outline, and is logged by its kind.

    Args:
      question: that was measured.
      released: what was released for it.
    """
    shown = released.domain.selected is None and not released.domain.withheld
    measured = [(one.mechanism, one.noise) for one in released.noisy]
    try:
        n_groups, columns = len(released.domain), question.day_columns
        return outline(question.plan, question.data_version, n_groups, shown, measured, columns)
    except Exception as error:
        _log.error("an answer is kept without an outline", kind=type(error).__name__)
        return None
