"""The released values of one measurement, from which its answer is made."""

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
    """Outline a measured question; None where nothing else can be derived from it, as where it reads released values.

    The answer is charged by now. An error leaves it without an outline, and its kind is logged.
    """
    if question.tables:
        return None
    shown = released.domain.selected is None and not released.domain.withheld
    measured = [(one.mechanism, one.noise) for one in released.noisy]
    try:
        n_groups, columns = len(released.domain), question.day_columns
        return outline(question.plan, question.data_version, n_groups, shown, measured, columns)
    except Exception as error:
        _log.error("an answer is cached without an outline", kind=type(error).__name__)
        return None


_LARGE_VALUES = 50_000
_large = threading.RLock()

_VALUE_BYTES = 48  # six doubles
_KEY_BYTES = 64  # of a short text or a number, as an object


@dataclass(frozen=True)
class Released:
    """Public groups and one noisy answer per release. All of it may be published.

    The answer is post-processing of these and the plan. Because these are cached, the same releases sorted or
    shortened differently are free.

    Attributes:
      domain: the groups.
      noisy: one per release.
      outline: of the question; None where no other answer can be derived from it.
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
        """The approximate size in memory."""
        keys = sum(map(len, self.domain.keys))
        return _VALUE_BYTES * self.n_values + _KEY_BYTES * keys + self.domain.text


@contextmanager
def alone_if_large(n_values: int) -> Iterator[None]:
    """Process one large answer at a time over all threads, because each needs several times its size in memory."""
    if n_values <= _LARGE_VALUES:
        yield
        return
    with _large:
        yield
