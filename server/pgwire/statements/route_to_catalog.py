"""A statement that asks: for the pipeline, or for the catalog."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from server.pgwire.statements.commands import Question
from server.pgwire.statements.split_statements import Words

_CATALOGS = frozenset({"pg_catalog", "information_schema"})
_AS_A_TABLE = frozenset({"CURRENT_DATABASE", "VERSION"})
"""Functions of which `SELECT * FROM f()` makes a table; beside tables of the data set they are refused by name."""

_BEFORE_TABLE = frozenset({"(", "EXPLAIN"})

_OF_THE_SESSION = frozenset({"CURRENT_SCHEMAS", "CURRENT_SCHEMA", "CURRENT_SETTING"})
"""Functions that completion reads from as if they were tables: `FROM unnest(current_schemas(true))`."""


def question_of(statement: Words) -> Question:
    """A question; it is for the catalog if it names one, asks for the session, or has nothing to read from.

    The catalog answers from a database that holds no rows and in which no table may be read, so a question
    that is sent there by mistake is refused there, never answered with nothing.
    """
    names = statement.names
    reads = "from" in names or any(word == "TABLE" and before in _BEFORE_TABLE for before, word in _pairs(statement))
    asks = not reads or _asks_for_the_session(statement)
    catalog = _names_a_catalog(names) or (asks and statement.words[0] != "EXPLAIN")
    return Question(statement.text, statement.start, catalog)


def _names_a_catalog(names: frozenset[str]) -> bool:
    return bool(names & _CATALOGS) or any(name.startswith("pg_") for name in names)


def _asks_for_the_session(statement: Words) -> bool:
    triples = zip(_pairs(statement), statement.words[1:], strict=False)
    return any(
        sign == "(" and (word in _OF_THE_SESSION or (word in _AS_A_TABLE and before == "FROM"))
        for (before, word), sign in triples
    )


def _pairs(statement: Words) -> Iterator[tuple[str, str]]:
    """Each word or sign with the one behind it; the first with a bracket before it."""
    return itertools.pairwise(("(", *statement.words))
