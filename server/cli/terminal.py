"""Output: data to stdout as a table, CSV or JSON; messages to stderr, with a caret below errors in SQL."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, TextIO, cast

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from server.cli.failure import CommandFailed

WIDTH = 76
_ELLIPSIS = "..."


def excerpt(sql: str, position: int) -> tuple[str, str]:
    """The line of a position and a second one with a caret below it.

    Args:
      position: 1-based character offset; one past the end points after the last character.
    Returns: two strings that align in a fixed-width font, also after tabs and double-width characters. A long line is
      shortened on both sides to `WIDTH` characters besides its ellipses.
    """
    offset = min(max(position - 1, 0), len(sql))
    start = sql.rfind("\n", 0, offset) + 1
    end = sql.find("\n", offset)
    line = sql[start : len(sql) if end < 0 else end]
    line, column = _window(line, offset - start)
    visible = "".join(c if c.isprintable() else " " for c in line)
    return visible.rstrip(), " " * cell_len(visible[:column]) + "^"


def _window(line: str, column: int) -> tuple[str, int]:
    """At most `WIDTH` characters of the line around the column, and the column in them."""
    if len(line) <= WIDTH:
        return line, column
    first = min(max(column - WIDTH // 2, 0), len(line) - WIDTH)
    before = _ELLIPSIS if first > 0 else ""
    after = _ELLIPSIS if first + WIDTH < len(line) else ""
    return before + line[first : first + WIDTH] + after, len(before) + column - first


def confirmed(question: str) -> bool:
    """Ask for a yes. False if nobody can answer: there is no terminal, and nothing to read."""
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        if sys.stdin.isatty():  # Ctrl-C
            raise
        return False


_UNBOUNDED_COLUMNS = 10_000


class SpareStream:
    """A text stream whose write errors are ignored.

    A log on a full disk, a closed pipe or a missing descriptor must not cost an answer.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write to the stream if possible; returns the number of characters."""
        try:
            return 0 if self._stream is None else self._stream.write(text)
        except (OSError, ValueError):  # ValueError: it is closed, or cannot spell a character
            return 0

    def flush(self) -> None:
        """Flush the stream if possible."""
        try:
            if self._stream is not None:
                self._stream.flush()
        except (OSError, ValueError):
            pass

    def isatty(self) -> bool:
        """Whether the stream is a terminal, so that colours are useful."""
        try:
            return self._stream is not None and self._stream.isatty()
        except (OSError, ValueError):
            return False


def printable(text: str) -> str:
    """Escape every control character, so that no answer can control the terminal. Line ends become spaces."""
    flat = " ".join(text.splitlines())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in flat)


def console(stream: TextIO | SpareStream) -> Console:
    """A console that wraps at a terminal's edge, but never in a pipe or a file."""
    width = None if stream.isatty() else _UNBOUNDED_COLUMNS
    return Console(file=cast(TextIO, stream), width=width, highlight=False, markup=False, emoji=False)


def show(renderable: RenderableType) -> None:
    """Print data for a person to stdout."""
    console(sys.stdout).print(renderable)


def write(text: str) -> None:
    """Write data for a program to stdout unchanged, with one line end."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def tell(message: str, *, style: str = "") -> None:
    """Print a message to stderr. It is never wrapped, so that it can be copied."""
    console(SpareStream(sys.stderr)).print(Text(message, style=style), soft_wrap=True)


def tell_failure(failure: CommandFailed) -> None:
    """Print why a command failed: the message, its place in the statement, and a hint."""
    line = Text.assemble(("error", "bold red"), f" {failure.code}: " if failure.code else ": ")
    line.append("\n  ".join(map(printable, failure.message.splitlines())))
    stderr = console(SpareStream(sys.stderr))
    stderr.print(line, soft_wrap=True)
    if failure.sql is not None and failure.position is not None:
        source, caret = excerpt(failure.sql, failure.position)
        stderr.print(Text("  " + source), soft_wrap=True)
        stderr.print(Text("  " + caret, style="bold red"), soft_wrap=True)
    if failure.hint:
        stderr.print(Text.assemble(("hint: ", "bold"), printable(failure.hint)), soft_wrap=True)


Value = str | int | float | bool | None


class Format(StrEnum):
    """The formats of rows."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Output = Annotated[
    Format,
    typer.Option("--format", help="table for people, csv for a spreadsheet, json (or --json) for programs."),
]


def show_rows(columns: Sequence[str], rows: Sequence[Sequence[Value]], output: Format) -> None:
    """Write rows to stdout."""
    if output is Format.JSON:
        write(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=2, ensure_ascii=False))
    elif output is Format.CSV:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([columns, *rows])
        write(stream.getvalue())
    else:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for index, column in enumerate(columns):
            numeric = any(isinstance(row[index], int | float) and not isinstance(row[index], bool) for row in rows)
            table.add_column(column, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(_text(value)) for value in row))
        show(table)


def show_one(columns: Sequence[str], row: Sequence[Value], output: Format, said: str, value: Value) -> None:
    """Write one row: for a program in the format, for a person as a message and the one value to copy."""
    if output is Format.TABLE:
        if said:
            tell(said)
        write(str(value))
    else:
        show_rows(columns, [row], output)


def _text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(value) if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.12g}"
