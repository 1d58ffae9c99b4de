"""What was typed, cut to statements and commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from server.pgwire.statements import split_statements
from server.pgwire.statements.split_statements import split


def is_command(text: str) -> bool:
    r"""Is it one of the shell's own commands, which a line end completes?

    >>> is_command(r" \d orders"), is_command("SELECT 1;")
    (True, False)
    """
    return text.lstrip().startswith("\\")


def is_complete(text: str) -> bool:
    """Does nothing remain open: no statement without its `;`, no quote, no comment?

    >>> is_complete("SELECT 1;"), is_complete("SELECT ';"), is_complete("SELECT 1 /* ; "), is_complete(" ")
    (True, False, False, True)
    """
    return is_command(text) or split_statements.is_complete(text)


def units(lines: Iterable[str]) -> Iterator[str]:
    r"""Statements and commands, one after another; the last statement needs no `;`.

    >>> list(units(["SELECT 1;", r"\timing", "SELECT", "  2; SELECT 3"]))
    ['SELECT 1', '\\timing', 'SELECT\n  2', 'SELECT 3']
    """
    pending = ""
    for line in lines:
        if not pending.strip() and is_command(line):
            yield line.strip()
            continue
        pending += line if line.endswith("\n") else f"{line}\n"
        if is_complete(pending):
            yield from (found.text for found in split(pending))
            pending = ""
    yield from (found.text for found in split(pending))
