"""The line editor of the shell: prompt, history, completion, and statements over several lines."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import has_completions, is_searching
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.shortcuts import CompleteStyle
from pygments.lexers.sql import PostgresLexer

from planner.parsing.lexer import Kind, Piece, scan
from server.cli.shell_session import COMMANDS, is_complete
from server.cli.terminal import printable
from server.explain.catalog import Catalog

_WORDS = (
    "SELECT", "FROM", "WHERE", "JOIN", "LEFT JOIN", "ON", "USING", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AS",
    "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS NULL", "IS NOT NULL", "CASE", "WHEN", "THEN", "ELSE", "END",
    "COUNT", "SUM", "AVG", "DISTINCT", "EXPLAIN", "WITH", "DATE", "INTERVAL",
)  # fmt: skip
_DESCRIBED = re.compile(r"\\dt?\s+([\w.\"]*)\Z")
_BEFORE_TABLE = frozenset({"FROM", "JOIN"})


class SqlCompleter(Completer):
    """Completes names of the catalog."""

    def __init__(self, schema: Catalog) -> None:
        self._columns = {table.sql: [column.name for column in table.columns] for table in schema.tables}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The completions of the text before the cursor."""
        del complete_event
        before = document.text_before_cursor
        typed, offered = self._offered(before, document.text)
        seen: set[str] = set()
        for word in offered:
            if word.lower().startswith(typed.lower()) and word not in seen:
                seen.add(word)
                yield Completion(word, -len(typed))

    def _offered(self, before: str, text: str) -> tuple[str, Iterator[str]]:
        """The word at the cursor, and the candidates for it."""
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
        """All candidates: columns of the statement's tables first, then tables, words and other columns."""
        named = set(_words(text))
        for table, columns in self._columns.items():
            if table in named:
                yield from columns
        yield from self._columns
        yield from _WORDS
        for columns in self._columns.values():
            yield from columns


def _words(text: str) -> list[str]:
    """The words of a statement in lower case; dotted names are one word."""
    return _dotted([text[start:stop].lower() for _, start, stop in scan(text)])


def _dotted(words: list[str]) -> list[str]:
    """Join words around dots; a trailing dot stays with the word before it."""
    joined: list[str] = []
    for word in words:
        if joined and (word == "." or joined[-1].endswith(".")):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _ends(pieces: list[Piece], text: str) -> bool:
    """Does the text end with the last piece, so that its word is still being typed?"""
    return pieces[-1][2] == len(text)


HISTORY_VARIABLE = "NOISEGATE_HISTORY"


def typed(name: str, completer: Completer) -> Iterator[str]:
    """Yield what is typed, one statement or command at a time, until Ctrl-D. Ctrl-C drops the current input."""
    session: PromptSession[str] = PromptSession(
        multiline=True,
        key_bindings=_keys(),
        prompt_continuation=_continued(len(printable(name))),
        history=FileHistory(str(history_file())),
        completer=completer,
        complete_while_typing=False,
        complete_style=CompleteStyle.READLINE_LIKE,
        lexer=PygmentsLexer(PostgresLexer),
        enable_open_in_editor=False,
    )
    while True:
        try:
            yield session.prompt(f"{printable(name)}=> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def history_file() -> Path:
    """The file of past statements, readable by this user only, since questions can reveal as much as answers.

    The variable NOISEGATE_HISTORY names another file.
    """
    named = os.environ.get(HISTORY_VARIABLE)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = Path(named) if named else state / "noisegate" / "history"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    return path


def _keys() -> KeyBindings:
    """Enter ends a complete statement, and continues an incomplete one on the next line."""
    keys = KeyBindings()

    @keys.add("enter", filter=~is_searching & ~has_completions)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


def _continued(width: int) -> Callable[[int, int, int], str]:
    """The prompt of continuation lines, as wide as the first prompt."""
    return lambda _width, _line, _wrapped: f"{'':{width}}-> "
