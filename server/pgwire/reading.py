"""A session's texts cut into statements and understood, without holding up other sessions."""

from __future__ import annotations

import asyncio

from planner.limits import check_length
from server.pgwire.commands import Command
from server.pgwire.read_command import command_of
from server.pgwire.split import Words, split

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
