"""Statements that would change something: known by their first word, the same for every way that they come."""

from __future__ import annotations

import re

from planner.errors import ReadOnly, UnsupportedSQL

WRITES_IN_WITH = frozenset({"DELETE", "INSERT", "MERGE", "UPDATE"})
"""Those of them that PostgreSQL also takes inside a WITH, or behind it."""

# fmt: off
WRITES = WRITES_IN_WITH | frozenset(
    {
        "ALTER", "ANALYZE", "CALL", "CHECKPOINT", "CLUSTER", "COMMENT", "CREATE", "DO", "DROP", "GRANT",
        "IMPORT", "LISTEN", "LOAD", "LOCK", "NOTIFY", "REASSIGN", "REFRESH", "REINDEX", "REVOKE",
        "SECURITY", "TRUNCATE", "VACUUM",
    }
)
# fmt: on
"""First words of statements that PostgreSQL has and no client may send."""

_TO_CLIENT = re.compile(r"\bto\s+stdout\b", re.IGNORECASE)

_VIEW = re.compile(
    r"create\s+(or\s+replace\s+)?((global|local)\s+)?(temp|temporary|unlogged)?\s*(recursive\s+)?(materialized\s+)?"
    r"(view|table)\b",
    re.IGNORECASE,
)

_NAMED = "name the query in the statement that reads it: WITH name AS (SELECT ...) SELECT ... FROM name"


def check_reads(word: str, statement: str, position: int) -> None:
    """Refuse a statement that would change something.

    Args:
      word: its first, in upper case.
      statement: from that word on.
      position: of the word.
    Raises: ReadOnly; UnsupportedSQL for a COPY that does not write.
    """
    if word in WRITES:
        hint = _NAMED if word == "CREATE" and _VIEW.match(statement) else None
        raise ReadOnly(f"{word} would change something; only SELECT is answered", hint=hint, position=position)
    if word == "COPY":
        hint = "write one SELECT, or COPY (SELECT ...) TO STDOUT over PostgreSQL's protocol"
        if _TO_CLIENT.search(statement) is None:
            raise ReadOnly("COPY would write to a table or to a file", hint=hint, position=position)
        raise UnsupportedSQL("this COPY is not supported", hint=hint, position=position)
