"""What the custodian's check counts and what it finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from psycopg import sql

Severity = Literal["error", "warning", "accepted"]


@dataclass(frozen=True)
class Finding:
    """One thing that the custodian should know.

    Attributes:
      severity: `error`: what the policy declares is not so, and answers rest on it; `warning`: they are sound,
        but less accurate; `accepted`: so many rows that the custodian has acknowledged.
      subject: the table, and the column if it is about one.
      message: what is so, and what follows from it.
      rows: how many rows, exactly; a private number, so it is in no repr. None for a matter of structure.
      next_step: what the custodian does about it, to the letter; it may hold the number. None: nothing in general.
    """

    severity: Severity
    subject: str
    message: str
    rows: int | None = field(default=None, repr=False)
    next_step: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Probe:
    """A statement that counts the rows of one finding; zero rows are no finding.

    Attributes:
      accepted: up to how many the custodian has acknowledged; None: nothing was said.
      next_step: what to do about them; `{rows}` stands for their number.
    """

    severity: Severity
    subject: str
    message: str
    count: sql.Composed | bytes
    accepted: int | None = None
    next_step: str | None = None

    def finding(self, rows: int) -> Finding:
        """What so many rows mean; `rows` is above 0."""
        step = None if self.next_step is None else self.next_step.replace("{rows}", str(rows))
        if self.accepted is None:
            return Finding(self.severity, self.subject, self.message, rows, step)
        if rows <= self.accepted:
            return Finding("accepted", self.subject, f"{self.message}; up to {self.accepted} are acknowledged", rows)
        return Finding(
            self.severity, self.subject, f"{self.message}; only {self.accepted} are acknowledged", rows, step
        )
