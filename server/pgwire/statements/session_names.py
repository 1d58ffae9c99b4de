"""What a statement to the catalog asks of its session: of the client's, not of the one that the catalog is read by.

`SELECT current_user, pg_backend_pid()` asks who asks, and in which session; `pg_database` which databases there are.
"""

from __future__ import annotations

from planner.parsing.syntax.scanner import Kind, scan
from server.pgwire.statements.commands import Question
from server.pgwire.statements.split_statements import split

DATABASES = "pg_datasets"
"""The view that stands for `pg_database` and is as long, so that errors keep their places."""

_NAMES = frozenset({"current_user", "session_user", "user", "current_role"})
_PID = "pg_backend_pid"
_NO_CATALOG = frozenset({"pg_catalog", _PID, "pg_is_in_recovery", "pg_postmaster_start_time", "pg_typeof"})
"""Names with `pg_` that have to do with no role of the catalog."""


def as_client(question: Question, analyst: str, number: int) -> str:
    """The SQL of a question to the catalog, with what its client's session is where it asks for that.

    A statement that names catalogs or asks for privileges compares the user with the catalog's own roles, of which
    the analyst is none: only a column of its own is the analyst there.

    Args:
      number: of the session.

    >>> print(as_client(Question("SELECT current_user, 'user' AS user", 0, True), "o'hara", 7))
    SELECT (SELECT 'o''hara'::pg_catalog.name AS "current_user"), 'user' AS user
    >>> print(as_client(Question("SELECT user FROM pg_database WHERE datdba = user", 0, True), "ann", 7))
    SELECT (SELECT 'ann'::pg_catalog.name AS "user") FROM pg_datasets WHERE datdba = user
    """
    (statement,) = split(question.sql)
    if not (_NAMES | {_PID, "pg_database"}) & statement.names:
        return question.sql
    sql = question.sql
    pieces = [(kind, sql[start:end], start, end) for kind, start, end in scan(sql)]
    words = ["", "", *(text.upper() for _, text, _, _ in pieces), "", "", ""]
    compares = _compares_roles(statement.names)
    literal = "'" + analyst.replace("'", "''") + "'"
    written, place, depth = [], 0, 0
    for at, (kind, text, start, end) in enumerate(pieces, 2):
        depth += {"(": 1, ")": -1}.get(text, 0)
        name = text.lower()
        if kind is not Kind.WORD or name not in _NAMES | {_PID, "pg_database"}:
            continue
        calls = words[at + 1 : at + 3] == ["(", ")"]
        behind = words[at + 3] if calls else words[at + 1]
        shown = not compares or (
            depth == 0 and words[at - 1] in ("SELECT", ",") and behind in (",", "FROM", "AS", "")
        )
        if name == "pg_database":
            instead = DATABASES
        elif name == _PID and calls and shown:
            after_schema = words[at - 2 : at] == ["PG_CATALOG", "."]
            start, end = pieces[at - 4][2] if after_schema else start, pieces[at][3]
            instead = f'(SELECT {number}::pg_catalog.int4 AS "{name}")'
        elif name in _NAMES and shown and words[at - 1] not in (".", "AS") and words[at + 1] not in (".", "("):
            instead = f'(SELECT {literal}::pg_catalog.name AS "{name}")'
        else:
            continue
        written += [sql[place:start], instead]
        place = end
    return "".join([*written, sql[place:]])


def _compares_roles(names: frozenset[str]) -> bool:
    """Has a statement to do with catalogs, or with privileges on what they list?"""
    return "information_schema" in names or any(name.startswith(("pg_", "has_")) for name in names - _NO_CATALOG)
