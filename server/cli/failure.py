"""How a command fails: a message, a hint and an exit code."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes. Usage errors of the argument parser also exit with 2."""

    OK = 0
    REFUSED = 1  # the query, or the policy that was checked, is not acceptable as it stands
    UNUSABLE = 2  # usage, configuration or connection: the same question may work elsewhere or later
    BUDGET_EXHAUSTED = 3
    CANCELLED = 130  # by Ctrl-C, as shells have it: 128 and the number of the signal


class CommandFailed(Exception):
    """A command cannot do what was asked.

    Attributes:
      message: what is wrong, one sentence.
      hint: what to do, or None.
      exit_code: of the process.
      code: the server's SQLSTATE; None: the failure is the command's own.
      sql: the statement of `position`, or None.
      position: 1-based character offset in `sql`, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        exit_code: ExitCode = ExitCode.UNUSABLE,
        code: str | None = None,
        sql: str | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code
        self.code = code
        self.sql = sql
        self.position = position
