"""The line of a statement that an error points to, with a caret under the place."""

from __future__ import annotations

from rich.cells import cell_len

WIDTH = 76
_ELLIPSIS = "..."


def excerpt(sql: str, position: int) -> tuple[str, str]:
    """The line that holds the position and a second one with a caret below it.

    Args:
      sql: the statement as it was sent.
      position: 1-based character offset; one past the end points after the last character.
    Returns: two strings that align in a fixed-width font, also below tabs and double-width characters; a long line is
      cut on both sides to at most `WIDTH` characters besides its ellipses.
    """
    offset = min(max(position - 1, 0), len(sql))
    start = sql.rfind("\n", 0, offset) + 1
    end = sql.find("\n", offset)
    line = sql[start : len(sql) if end < 0 else end]
    line, column = _window(line, offset - start)
    visible = "".join(c if c.isprintable() else " " for c in line)
    return visible.rstrip(), " " * cell_len(visible[:column]) + "^"


def _window(line: str, column: int) -> tuple[str, int]:
    """At most `WIDTH` characters of the line around the column, and the column in what is left."""
    if len(line) <= WIDTH:
        return line, column
    first = min(max(column - WIDTH // 2, 0), len(line) - WIDTH)
    before = _ELLIPSIS if first > 0 else ""
    after = _ELLIPSIS if first + WIDTH < len(line) else ""
    return before + line[first : first + WIDTH] + after, len(before) + column - first
