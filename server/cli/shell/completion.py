"""What the Tab key offers: commands, tables, columns, words of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from server.cli.shell.commands import COMMANDS
from server.http.schema_body import SchemaBody

_WORDS = (
    "SELECT", "FROM", "WHERE", "JOIN", "LEFT JOIN", "ON", "USING", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AS",
    "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS NULL", "IS NOT NULL", "CASE", "WHEN", "THEN", "ELSE", "END",
    "COUNT", "SUM", "AVG", "DISTINCT", "EXPLAIN", "WITH", "DATE", "INTERVAL",
)  # fmt: skip
_TYPED = re.compile(r"(?:([^\W\d]\w*)\.)?([^\W\d]\w*)?\Z")
_BEFORE_TABLE = re.compile(r"\b(?:from|join)\s+\w*\Z", re.IGNORECASE)
_DESCRIBED = re.compile(r"\\dt?\s+(\w*)\Z")
_CORRELATION = re.compile(r"\b(?:from|join|,)\s+(\w+)\s+(?:as\s+)?(\w+)", re.IGNORECASE)


class SqlCompleter(Completer):
    """Completes from what may be asked.

    Args:
      schema: its tables and columns.
    """

    def __init__(self, schema: SchemaBody) -> None:
        self._columns = {table.name: [column.name for column in table.columns] for table in schema.tables}

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
        typed = _TYPED.search(before)
        assert typed is not None, "it matches the empty text"
        table, word = typed[1], typed[2] or ""
        if table is not None:
            return word, iter(self._columns.get(self._table(table, text), ()))
        if _BEFORE_TABLE.search(before):
            return word, iter(self._columns)
        return word, self._anything(text) if word else iter(())

    def _table(self, name: str, text: str) -> str:
        """The table that a name stands for in the statement."""
        aliases: dict[str, str] = {alias.lower(): table.lower() for table, alias in _CORRELATION.findall(text)}
        return aliases.get(name.lower(), name.lower())

    def _anything(self, text: str) -> Iterator[str]:
        """Columns of the tables that the statement names come first, then tables, words and other columns."""
        named = {word.lower() for word in re.findall(r"\w+", text)}
        for table, columns in self._columns.items():
            if table in named:
                yield from columns
        yield from self._columns
        yield from _WORDS
        for columns in self._columns.values():
            yield from columns
