"""Where words go: data to stdout, messages to stderr, colours to terminals only."""

from __future__ import annotations

import sys
from typing import TextIO, cast

from rich.console import Console, RenderableType
from rich.text import Text

from server.cli.failure import CommandFailed
from server.cli.output.excerpt import excerpt

_UNBOUNDED_COLUMNS = 10_000


class SpareStream:
    """A text stream that is written where it can be: what cannot is lost, and nobody who writes hears of it.

    A log on a full disk, behind a closed pipe or without a descriptor must not cost anybody an answer.

    Args:
      stream: where to; None: nowhere.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write to the stream, or to nowhere once it is closed or gone; returns the number of characters."""
        try:
            return 0 if self._stream is None else self._stream.write(text)
        except (OSError, ValueError):  # ValueError: it is closed, or cannot spell a character
            return 0

    def flush(self) -> None:
        """Flush the stream, if it is still there."""
        try:
            if self._stream is not None:
                self._stream.flush()
        except (OSError, ValueError):
            pass

    def isatty(self) -> bool:
        """Whether the stream is a terminal, and so colours are of use."""
        try:
            return self._stream is not None and self._stream.isatty()
        except (OSError, ValueError):
            return False


def printable(text: str) -> str:
    """The text with every control character spelled out, so that no answer can drive the terminal.

    Line ends become spaces: what comes from elsewhere never starts a line of its own.
    """
    flat = " ".join(text.splitlines())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in flat)


def console(stream: TextIO | SpareStream) -> Console:
    """A console that folds at a terminal's edge and never in a pipe or a file."""
    width = None if stream.isatty() else _UNBOUNDED_COLUMNS
    return Console(file=cast(TextIO, stream), width=width, highlight=False, markup=False, emoji=False)


def show(renderable: RenderableType) -> None:
    """Print data: a table, or lines for a person, on stdout."""
    console(sys.stdout).print(renderable)


def write(text: str) -> None:
    """Write data for a machine to stdout exactly as it is, ended by one line end."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def tell(message: str, *, style: str = "") -> None:
    """Print a message for the person at the terminal on stderr; it is never folded, so it can be copied."""
    console(SpareStream(sys.stderr)).print(Text(message, style=style), soft_wrap=True)


def tell_failure(failure: CommandFailed) -> None:
    """Print why a command failed: what (more lines if it lists things), where in the statement, one hint."""
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
