"""A statement that asks: for the pipeline, or for the catalog."""

from __future__ import annotations

from server.pgwire.commands import Question
from server.pgwire.split import Words

_CATALOGS = frozenset({"pg_catalog", "information_schema"})


def question_of(statement: Words) -> Question:
    """A question; it is for the catalog if it names one, or nothing at all to read from.

    The catalog answers from a database that holds no rows and in which no table may be read, so a question
    that is sent there by mistake is refused there, never answered with nothing.
    """
    names = statement.names
    catalog = "from" not in names or bool(names & _CATALOGS) or any(name.startswith("pg_") for name in names)
    return Question(statement.text, statement.start, catalog and statement.words[0] != "EXPLAIN")
