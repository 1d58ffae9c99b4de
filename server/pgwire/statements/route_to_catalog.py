"""A statement that asks: for the pipeline, or for the catalog."""

from __future__ import annotations

import itertools

from server.pgwire.statements.commands import Question
from server.pgwire.statements.split_statements import Words

_CATALOGS = frozenset({"pg_catalog", "information_schema"})
_OF_THE_SESSION = frozenset({"CURRENT_SCHEMAS", "CURRENT_SCHEMA", "CURRENT_SETTING"})
"""Functions that completion reads from as if they were tables: `FROM unnest(current_schemas(true))`."""


def question_of(statement: Words) -> Question:
    """A question; it is for the catalog if it names one, asks for the session, or has nothing to read from.

    The catalog answers from a database that holds no rows and in which no table may be read, so a question
    that is sent there by mistake is refused there, never answered with nothing.
    """
    names = statement.names
    catalog = _names_a_catalog(names) or "from" not in names or _asks_for_the_session(statement)
    return Question(statement.text, statement.start, catalog and statement.words[0] != "EXPLAIN")


def names_catalog(names: frozenset[str]) -> bool:
    """Do the names of a statement have to do with catalogs, their roles or privileges on what they list?"""
    return _names_a_catalog(names) or any(name.startswith("has_") for name in names)


def _names_a_catalog(names: frozenset[str]) -> bool:
    return bool(names & _CATALOGS) or any(name.startswith("pg_") for name in names)


def _asks_for_the_session(statement: Words) -> bool:
    return any(word in _OF_THE_SESSION and sign == "(" for word, sign in itertools.pairwise(statement.words))
