"""What the Tab key offers: commands, tables, columns, words of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from planner.parsing.syntax.scanner import Kind, Piece, scan
from server.cli.shell.commands import COMMANDS
from server.http.bodies.schema_body import SchemaBody

_WORDS = (
    "SELECT", "FROM", "WHERE", "JOIN", "LEFT JOIN", "ON", "USING", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AS",
    "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS NULL", "IS NOT NULL", "CASE", "WHEN", "THEN", "ELSE", "END",
    "COUNT", "SUM", "AVG", "DISTINCT", "EXPLAIN", "WITH", "DATE", "INTERVAL",
)  # fmt: skip
_DESCRIBED = re.compile(r"\\dt?\s+([\w.\"]*)\Z")
_BEFORE_TABLE = frozenset({"FROM", "JOIN"})


class SqlCompleter(Completer):
    """Completes from what may be asked.

    Args:
      schema: its tables and columns.
    """

    def __init__(self, schema: SchemaBody) -> None:
        self._columns = {table.sql: [column.name for column in table.columns] for table in schema.tables}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What may follow the text before the cursor."""
        del complete_event
        before = document.text_before_cursor
        typed, offered = self._offered(before, document.text)
        seen: set[str] = set()
        for word in offered:
            if word.lower().startswith(typed.lower()) and word not in seen:
                seen.add(word)
                yield Completion(word, -len(typed))

    def _offered(self, before: str, text: str) -> tuple[str, Iterator[str]]:
        """The word that is being typed, and all that might stand in its place."""
        if (described := _DESCRIBED.search(before)) is not None:
            return described[1], iter(self._columns)
        if before.startswith("\\") and " " not in before:
            return before, iter(COMMANDS)
        pieces = list(scan(before))
        if pieces and pieces[-1][0].is_open:
            return "", iter(())
        word = before[pieces.pop()[1] :] if pieces and pieces[-1][0] is Kind.WORD and _ends(pieces, before) else ""
        written = [before[start:stop] for _, start, stop in pieces]
        if written[-1:] == ["."]:
            dotted = _dotted(written)[-1]
            inside = [name.removeprefix(dotted) for name in self._columns if name.startswith(dotted)]
            return word, iter(inside or self._columns.get(self._table(dotted[:-1], text), []))
        if written and written[-1].upper() in _BEFORE_TABLE:
            return word, iter(self._columns)
        return word, self._anything(text) if word else iter(())

    def _table(self, name: str, text: str) -> str:
        """The table that a name stands for in the statement."""
        words = [word for word in _words(text) if word != "as"]
        triples = zip(words, words[1:], words[2:], strict=False)
        aliases = {alias: table for before, table, alias in triples if before in ("from", "join", ",")}
        found = aliases.get(name.lower(), name.lower())
        known = [table for table in self._columns if table.endswith(f".{found}") and table in words]
        return found if found in self._columns or not known else known[0]

    def _anything(self, text: str) -> Iterator[str]:
        """Columns of the tables that the statement names come first, then tables, words and other columns."""
        named = set(_words(text))
        for table, columns in self._columns.items():
            if table in named:
                yield from columns
        yield from self._columns
        yield from _WORDS
        for columns in self._columns.values():
            yield from columns


def _words(text: str) -> list[str]:
    """In lower case; names with dots in them are one word."""
    return _dotted([text[start:stop].lower() for _, start, stop in scan(text)])


def _dotted(words: list[str]) -> list[str]:
    """Words with those that a dot joins put together; one at the end stays with the word before it."""
    joined: list[str] = []
    for word in words:
        if joined and (word == "." or joined[-1].endswith(".")):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _ends(pieces: list[Piece], text: str) -> bool:
    """Does the text end with the last piece: is the word still being typed?"""
    return pieces[-1][2] == len(text)
