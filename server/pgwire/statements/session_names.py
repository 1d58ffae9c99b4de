"""`SELECT current_user`: who asks is the analyst, whatever role the catalog is read as."""

from __future__ import annotations

from planner.parsing.syntax.scanner import Kind, scan
from server.pgwire.statements.commands import Question
from server.pgwire.statements.route_to_catalog import names_catalog
from server.pgwire.statements.split_statements import split

_NAMES = frozenset({"current_user", "session_user", "user", "current_role"})


def as_analyst(question: Question, analyst: str) -> str:
    """The SQL of a question to the catalog, the analyst's name written where it asks who its session is.

    A statement that names catalogs or asks for privileges compares the user with the catalog's own roles, of which
    the analyst is none: it stays as it is, and sees the role that it is read as.

    >>> print(as_analyst(Question("SELECT current_user, 'user' AS user", 0, True), "o'hara"))
    SELECT (SELECT 'o''hara'::pg_catalog.name AS "current_user"), 'user' AS user
    """
    (statement,) = split(question.sql)
    if not _NAMES & statement.names or names_catalog(statement.names):
        return question.sql
    literal = "'" + analyst.replace("'", "''") + "'"
    written, place, before = [], 0, ""
    for kind, start, end in scan(question.sql):
        word = question.sql[start:end]
        asks = kind is Kind.WORD and word.lower() in _NAMES
        if asks and before not in (".", "AS") and question.sql[end:].lstrip()[:1] not in (".", "("):
            written += [question.sql[place:start], f'(SELECT {literal}::pg_catalog.name AS "{word.lower()}")']
            place = end
        before = word.upper()
    return "".join([*written, question.sql[place:]])
