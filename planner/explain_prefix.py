"""EXPLAIN before a statement: asks what it would do, not for its answer."""

from __future__ import annotations

import re

from planner.errors import UnsupportedSQL

_EXPLAIN = re.compile(r"\s*(EXPLAIN)\b\s*(ANALYZE|ANALYSE|VERBOSE|\(\s*(?!SELECT\b|WITH\b|\())?", re.IGNORECASE)


def explained_statement(sql: str) -> str | None:
    """The statement behind EXPLAIN, blanks in its place so that positions stay; None where there is no EXPLAIN.

    Raises: UnsupportedSQL for the options of EXPLAIN.
    Cost: constant.

    >>> explained_statement("explain SELECT 1"), explained_statement("SELECT 1")
    ('        SELECT 1', None)
    """
    found = _EXPLAIN.match(sql)
    if found is None:
        return None
    if found.group(2) is not None:
        hint = "write EXPLAIN SELECT ...; it is free and runs nothing"
        raise UnsupportedSQL("EXPLAIN takes no options", hint=hint, position=found.start(2) + 1)
    start, end = found.span(1)
    return sql[:start] + " " * (end - start) + sql[end:]
