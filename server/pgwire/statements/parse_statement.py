"""A session's texts cut into statements and each read as a command, without holding up other sessions."""

from __future__ import annotations

import asyncio

from planner.errors import UnsupportedSQL
from planner.limits import check_length
from planner.parsing.reading_only import check_reads
from planner.parsing.syntax.lexer import check_blanks
from server.pgwire.statements.backend_functions import backend_call_of
from server.pgwire.statements.commands import Command
from server.pgwire.statements.configuration_functions import configure_of
from server.pgwire.statements.route_to_catalog import question_of
from server.pgwire.statements.split_statements import Words, split
from server.pgwire.statements.utility_statements import READERS
from server.pgwire.statements.word_cursor import WordCursor

_ASKS = frozenset({"SELECT", "WITH", "EXPLAIN", "VALUES", "TABLE", "("})


def command_of(statement: Words) -> Command:
    """The command of a statement. Questions are not looked into: whether one can be answered the planner says.

    Raises: ReadOnly for what would write; InvalidSyntax and UnsupportedSQL for what is not understood.
    """
    first = statement.words[0]
    if first in READERS:
        return READERS[first](WordCursor(statement))
    if (configure := configure_of(statement)) is not None:
        return configure
    if (call := backend_call_of(statement)) is not None:
        return call
    check_reads(first, statement.text, statement.start + 1)
    if first in _ASKS:
        return question_of(statement)
    check_blanks(first, statement.start)
    word = first if first.isalpha() else "a statement that starts like this"
    raise UnsupportedSQL(f"{word} is not supported", hint="write one SELECT", position=statement.start + 1)


LONG = 2_048
"""Characters of a text that a thread looks at: it takes milliseconds, in which nobody else would be answered."""


async def cut(sql: str) -> list[Words]:
    """The statements of a text. Raises: StatementTooLong, before anything else is looked at."""
    check_length(sql)
    return split(sql) if len(sql) <= LONG else await asyncio.to_thread(split, sql)


async def read(statement: Words) -> Command:
    """What a statement wants. Raises: as `command_of`."""
    if len(statement.text) <= LONG:
        return command_of(statement)
    return await asyncio.to_thread(command_of, statement)
