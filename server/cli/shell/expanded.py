r"""An answer with one line per cell, for rows that are wider than the terminal: `\x`."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from server.cli.answer_view import summary
from server.cli.figures import cell_text, interval_text
from server.cli.terminal import printable
from server.query import QueryResponse


def expanded_answer(response: QueryResponse) -> RenderableType:
    """Each row under a heading: names, cells, intervals; below all what it cost."""
    parts: list[RenderableType] = []
    exact = response.covers == "exact"
    for number, (cells, intervals) in enumerate(zip(response.rows, response.intervals, strict=True), 1):
        grid = Table.grid(padding=(0, 2))
        for column, cell, interval in zip(response.columns, cells, intervals, strict=True):
            value = Text(printable(cell_text(cell, interval, exact=exact)))
            ends = Text(interval_text(interval, whole=isinstance(cell, int)), style="dim")
            grid.add_row(Text(printable(column.name), style="bold"), value, ends)
        parts += [Text(f"row {number}", style="dim"), grid]
    return Group(*parts, *map(Text, summary(response)))
