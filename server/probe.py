"""What the custodian's check counts and what it finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from psycopg import sql

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that the custodian should know.

    Attributes:
      severity: `error`: what the policy declares is not so, and answers rest on it; `warning`: they are sound,
        but less accurate.
      subject: the table, and the column if it is about one.
      message: what is so, and what follows from it.
      rows: how many rows, exactly; a private number, so it is in no repr. None for a matter of structure.
    """

    severity: Severity
    subject: str
    message: str
    rows: int | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Probe:
    """A statement that counts the rows of one finding; zero rows are no finding."""

    severity: Severity
    subject: str
    message: str
    count: sql.Composed | bytes
