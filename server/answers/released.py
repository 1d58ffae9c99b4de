"""What one measurement released: all that an answer is made from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from planner.reuse.outline import Outline, outline
from privacy.noisy_answer import NoisyAnswer
from server.backends.columns import Domain
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


_LARGE_VALUES = 50_000
_large = threading.RLock()

_VALUE_BYTES = 48  # six doubles
_KEY_BYTES = 64  # of a short text or a number, as an object


@dataclass(frozen=True)
class Released:
    """The public groups and one noisy answer per release. All of it may be published, and may be kept.

    An answer follows from it and the plan by post-processing. So what is kept is this, and not the rows that one
    client was shown: the same releases sorted or cut differently cost nothing.

    Attributes:
      domain: the groups.
      noisy: one per release.
      outline: of the question, by which later ones are seen to follow; None where none may, or an older version kept
        it.
    """

    domain: Domain
    noisy: tuple[NoisyAnswer, ...]
    outline: Outline | None = None

    @property
    def n_values(self) -> int:
        """The number of released values: groups times releases."""
        return len(self.domain) * len(self.noisy)

    @property
    def n_bytes(self) -> int:
        """What it takes in memory, about."""
        keys = sum(map(len, self.domain.keys))
        return _VALUE_BYTES * self.n_values + _KEY_BYTES * keys + self.domain.text


@contextmanager
def alone_if_large(n_values: int) -> Iterator[None]:
    """Do one large thing at a time, of all threads: on its way an answer takes several times the memory of its end.

    Each takes less than a second, which others would take from it anyway.
    """
    if n_values <= _LARGE_VALUES:
        yield
        return
    with _large:
        yield
