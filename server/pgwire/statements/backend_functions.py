"""`SELECT pg_backend_pid()`, `pg_cancel_backend(n)` and `pg_terminate_backend(n)`: how tools stop one another.

dbt ends by the last what runs when it is interrupted; Superset asks the first for the number, and stops what runs by
`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid='n'`. The catalog has sessions of its own with other
numbers, so it could only say what is wrong.
"""

from __future__ import annotations

import re

from server.pgwire.statements.commands import BackendCall
from server.pgwire.statements.split_statements import Words, unquoted

_NUMBER = r"(?:'?([0-9]{1,10})'?|\$1)(?: :: (?:INT|INT4|INTEGER))?"
_ALIAS = r'(?: AS ("[^"]+"|[A-Z_]\w*))?'
_STOPS = r"SELECT (?:PG_CATALOG \. )?(PG_CANCEL_BACKEND|PG_TERMINATE_BACKEND) \("
_OWN = re.compile(rf"SELECT (?:PG_CATALOG \. )?(PG_BACKEND_PID) \( \){_ALIAS}")
_NAMED = re.compile(rf"{_STOPS} {_NUMBER} \){_ALIAS}")
_LISTED = re.compile(rf"{_STOPS} PID \){_ALIAS} FROM (?:PG_CATALOG \. )?PG_STAT_ACTIVITY WHERE PID = {_NUMBER}")


def backend_call_of(statement: Words) -> BackendCall | None:
    """The call that a statement is and nothing else; None: it is something else."""
    words = " ".join(statement.words)
    if (own := _OWN.fullmatch(words)) is not None:
        return BackendCall(own[1].lower(), _column(own[2], own[1]))
    if (named := _NAMED.fullmatch(words)) is not None:
        function, number, alias = named.groups()
    elif (listed := _LISTED.fullmatch(words)) is not None:
        function, alias, number = listed.groups()
    else:
        return None
    return BackendCall(function.lower(), _column(alias, function), None if number is None else int(number))


def _column(alias: str | None, function: str) -> str:
    written = alias or function
    return unquoted(written) if written.startswith('"') else written.lower()
