"""Errors of this protocol; all others come from the error table."""

from __future__ import annotations

from dataclasses import replace

from server.error_table import Problem, problem
from server.errors import WireError


class ProtocolViolation(WireError):
    """Bytes that violate the protocol. The connection ends, because the start of the next message is unknown."""

    def __init__(self, message: str, *, code: str = "08P01") -> None:
        super().__init__(message, code)


class CatalogRefused(WireError):
    """An error of the shadow catalog. It holds no rows, so its own message may be shown."""


def no_transaction(what: str) -> WireError:
    """The error for a command that needs a transaction."""
    return WireError(f"{what} needs a transaction", "25P01", hint="start one with BEGIN")


def unknown_portal(name: str) -> WireError:
    """The error for a missing portal or cursor."""
    return WireError(f'there is no cursor or portal "{name}"', "34000", hint="cursors end with their transaction")


def client_problem(error: BaseException, start: int = 0) -> Problem:
    """The error as the client sees it.

    Args:
      start: 0-based offset of the statement in the client's text.
    """
    found = problem(error)
    if found.position is None or start == 0:
        return found
    return replace(found, position=max(1, found.position + start))
