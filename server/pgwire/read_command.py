"""From one statement to its command."""

from __future__ import annotations

from planner.errors import ReadOnly, UnsupportedSQL
from server.pgwire.chatter import READERS
from server.pgwire.commands import Command
from server.pgwire.questions import question_of
from server.pgwire.split import Words
from server.pgwire.word_cursor import WordCursor

# fmt: off
_WRITES = frozenset(
    {
        "ALTER", "ANALYZE", "CALL", "CHECKPOINT", "CLUSTER", "COMMENT", "CREATE", "DELETE", "DO", "DROP", "GRANT",
        "IMPORT", "INSERT", "LISTEN", "LOAD", "LOCK", "MERGE", "NOTIFY", "REASSIGN", "REFRESH", "REINDEX", "REVOKE",
        "SECURITY", "TRUNCATE", "UPDATE", "VACUUM",
    }
)
# fmt: on
_ASKS = frozenset({"SELECT", "WITH", "EXPLAIN", "VALUES", "TABLE", "("})


def command_of(statement: Words) -> Command:
    """The command of a statement. Questions are not looked into: whether one can be answered the planner says.

    Raises: ReadOnly for what would write; InvalidSyntax and UnsupportedSQL for what is not understood.
    """
    first = statement.words[0]
    if first in _WRITES:
        raise ReadOnly(f"{first} would change something; this proxy only reads", position=statement.start + 1)
    if first in READERS:
        return READERS[first](WordCursor(statement))
    if first in _ASKS:
        return question_of(statement)
    word = first if first.isalpha() else "a statement that starts like this"
    raise UnsupportedSQL(f"{word} is not supported", hint="write one SELECT", position=statement.start + 1)
