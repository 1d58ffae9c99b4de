"""Errors that only this protocol knows; all others come from the error table."""

from __future__ import annotations

from dataclasses import replace

from server.error_table import Problem, problem
from server.errors import WireError


class ProtocolViolation(WireError):
    """Bytes that are not the protocol. The connection ends: where the next message begins is not known."""

    def __init__(self, message: str, *, code: str = "08P01") -> None:
        super().__init__(message, code)


class CatalogRefused(WireError):
    """What the shadow database said no to; it holds no rows, so its words may be passed on."""


def no_transaction(what: str) -> WireError:
    """Something that only a transaction has."""
    return WireError(f"{what} needs a transaction", "25P01", hint="BEGIN opens one")


def unknown_portal(name: str) -> WireError:
    """A portal or cursor that is not there."""
    return WireError(f'there is no cursor or portal "{name}"', "34000", hint="it ended with its transaction")


def told(error: BaseException, start: int = 0) -> Problem:
    """What the client is told of an error.

    Args:
      start: 0-based offset of the statement in the text that the client sent.
    """
    found = problem(error)
    if found.position is None or start == 0:
        return found
    return replace(found, position=max(1, found.position + start))
