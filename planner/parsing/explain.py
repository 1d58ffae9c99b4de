"""EXPLAIN before a statement, with the options of PostgreSQL's grammar."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.parsing.lexer import Kind, scan

_FLAGS = frozenset(
    {"ANALYZE", "ANALYSE", "VERBOSE", "COSTS", "SETTINGS", "GENERIC_PLAN", "BUFFERS", "WAL", "TIMING", "SUMMARY",
     "MEMORY"}
)  # fmt: skip
_ANALYZE = frozenset({"ANALYZE", "ANALYSE"})
_OFF = frozenset({"OFF", "FALSE", "0"})
_ON = frozenset({"", "ON", "TRUE", "1"})
_BEGINS_A_QUERY = frozenset({"SELECT", "WITH", "TABLE", "VALUES", "("})
_WORDS = frozenset({Kind.WORD, Kind.NAME, Kind.STRING, Kind.NUMBER})
_LONGEST = 80  # pieces of EXPLAIN's options


@dataclass(frozen=True)
class Explained:
    """What EXPLAIN asks for.

    Attributes:
      sql: the statement to explain, with blanks in place of EXPLAIN, so that positions stay.
      format: the format of the explanation: lines of text, or one JSON document.
    """

    sql: str
    format: Literal["text", "json"] = "text"


def explained(sql: str) -> Explained | None:
    """Split EXPLAIN and its options from a statement; None for a text that does not start with EXPLAIN.

    Only FORMAT has an effect. Options that choose details of PostgreSQL's plan are accepted and ignored.
    Raises: UnsupportedSQL for ANALYZE, which would run the statement, and for XML and YAML; InvalidSyntax for an
      unknown option.

    >>> explained("explain SELECT 1"), explained("SELECT 1")
    (Explained(sql='        SELECT 1', format='text'), None)
    >>> explained("EXPLAIN (FORMAT JSON) SELECT 1").format
    'json'
    """
    if next((sql[start:stop].upper() for _, start, stop in scan(sql)), "") != "EXPLAIN":
        return None
    pieces = [(kind, sql[start:stop], start, stop) for kind, start, stop in itertools.islice(scan(sql), _LONGEST)]
    words = [text.strip("'\"").upper() if kind in _WORDS else text for kind, text, _, _ in pieces]
    options: list[tuple[str, str, int]] = []
    place = 1
    if words[1:2] == ["("] and not set(words[2:3]) & _BEGINS_A_QUERY:
        end = words.index(")") if ")" in words else len(words)
        for at, parts in _listed(words, 2, end):
            options.append((parts[0], " ".join(parts[1:]), pieces[at][2]))
        place = end + 1
    else:
        while words[place : place + 1] and words[place] in _ANALYZE | {"VERBOSE"}:
            options.append((words[place], "", pieces[place][2]))
            place += 1
    start, stop = pieces[0][2], pieces[min(place, len(pieces)) - 1][3]
    blank = "".join(character if character == "\n" else " " for character in sql[start:stop])
    return Explained(sql[:start] + blank + sql[stop:], _format(options))


def _listed(words: list[str], start: int, end: int) -> list[tuple[int, list[str]]]:
    """The options within brackets, each with the place where it starts."""
    found: list[tuple[int, list[str]]] = [(start, [])]
    for at in range(start, end):
        if words[at] == ",":
            found.append((at + 1, []))
        else:
            found[-1][1].append(words[at])
    return [(at, parts or [""]) for at, parts in found]


def _format(options: list[tuple[str, str, int]]) -> Literal["text", "json"]:
    chosen: Literal["text", "json"] = "text"
    for name, value, start in options:
        if name == "FORMAT" and value in ("TEXT", "JSON"):
            chosen = "json" if value == "JSON" else "text"
        elif name == "FORMAT":
            raise UnsupportedSQL(
                f"EXPLAIN in the format {value} is not supported", hint="write FORMAT JSON", position=start + 1
            )
        elif name in _ANALYZE and value in _ON:
            hint = "write EXPLAIN SELECT ..., which is free"
            raise UnsupportedSQL(
                "EXPLAIN ANALYZE would run the question and charge for it", hint=hint, position=start + 1
            )
        elif not (name in _FLAGS and value in _ON | _OFF) and name != "SERIALIZE":
            raise InvalidSyntax(
                f"EXPLAIN has no option {name} {value}".rstrip(),
                hint="use FORMAT, VERBOSE or COSTS",
                position=start + 1,
            )
    return chosen
