"""What a refused statement must be told."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import PlannerError

MARK = "^"


@dataclass(frozen=True)
class Refusal:
    """One refused statement.

    Attributes:
      marked: the statement, with MARK where the error must point.
      error: what is raised.
      says: how the message names the construct.
      hints: a part of the hint; None where nothing can be written instead.
      instead: what somebody writes who follows the hint; it must plan.
    """

    marked: str
    error: type[PlannerError]
    says: str
    hints: str | None = None
    instead: str | None = None

    @property
    def sql(self) -> str:
        """What the analyst sends."""
        return self.marked.replace(MARK, "")

    @property
    def position(self) -> int:
        """1-based."""
        return self.marked.index(MARK) + 1
