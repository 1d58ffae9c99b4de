"""A statement that asks: for the pipeline, or for the catalog."""

from __future__ import annotations

import itertools

from server.pgwire.commands import Question
from server.pgwire.split import Words

_CATALOGS = frozenset({"pg_catalog", "information_schema"})
_OF_THE_SESSION = frozenset({"CURRENT_SCHEMAS", "CURRENT_SCHEMA", "CURRENT_SETTING"})
"""Functions that completion reads from as if they were tables: `FROM unnest(current_schemas(true))`."""


def question_of(statement: Words) -> Question:
    """A question; it is for the catalog if it names one, asks for the session, or has nothing to read from.

    The catalog answers from a database that holds no rows and in which no table may be read, so a question
    that is sent there by mistake is refused there, never answered with nothing.
    """
    names = statement.names
    named = bool(names & _CATALOGS) or any(name.startswith("pg_") for name in names)
    catalog = named or "from" not in names or _asks_for_the_session(statement)
    return Question(statement.text, statement.start, catalog and statement.words[0] != "EXPLAIN")


def _asks_for_the_session(statement: Words) -> bool:
    return any(word in _OF_THE_SESSION and sign == "(" for word, sign in itertools.pairwise(statement.words))
