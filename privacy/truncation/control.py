"""How a caller watches a long solve, stops it, and bounds what it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Literal

from privacy.errors import Cancelled, InvalidParameter, TooLarge

Progress = Callable[[str, int], None]
"""Called with the name of a stage and how many of its steps are done."""

SolverName = Literal["certified", "reference"]
"""Which solver is asked first: the fast ones, or cvxpy's. Every point is certified alike, whoever found it."""


@dataclass(frozen=True, eq=False)
class Control:
    """Threaded through every solve that can take long. It never changes a value: a solve ends with it or by an error.

    There is deliberately no time limit: which method answers would then depend on how busy the machine is, and
    with it the value. Work is limited by counts; whoever has a deadline calls `cancel` when it passes.

    Attributes:
      threads: how many threads a solve may use.
      memory_limit: bytes that a solve may take on top of its input; None for no limit.
      progress: called between steps, from the thread that solves. It learns the stage and a number of steps,
        never a bound, a gap or a fraction done; but how long a stage takes depends on private data all the
        same, so what it hears is for the operator, not for the analyst.
    """

    threads: int = 1
    memory_limit: int | None = None
    progress: Progress | None = None
    _stop: Event = field(default_factory=Event, repr=False)

    def __post_init__(self) -> None:
        if self.threads < 1 or (self.memory_limit is not None and self.memory_limit < 0):
            raise InvalidParameter("a solve needs a thread, and a memory limit that is not negative")

    def cancel(self) -> None:
        """Make the solves under this control raise Cancelled, within a second. From any thread; not undone."""
        self._stop.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._stop.is_set()

    def check(self, stage: str, steps: int = 0) -> None:
        """Report a step and stop here if asked to. Raises: Cancelled."""
        if self.cancelled:
            raise Cancelled("the solve was cancelled")
        if self.progress is not None:
            self.progress(stage, steps)

    def reserve(self, n_bytes: int) -> None:
        """Refuse work that needs more memory than is allowed, before any of it is taken. Raises: TooLarge."""
        if self.memory_limit is not None and n_bytes > self.memory_limit:
            raise TooLarge("the truncation program needs more memory than the limit")


QUIET = Control()
"""One thread, no limits, nobody listening. Never cancelled: whoever wants to cancel makes a Control."""
