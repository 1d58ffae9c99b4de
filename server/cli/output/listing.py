"""Rows for a person (a table), a spreadsheet (csv) or a program (json)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from server.cli.output.terminal import printable, show, write

Value = str | int | float | bool | None


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Output = Annotated[
    Format,
    typer.Option("--format", help="A table to read, csv for a spreadsheet, json (or --json) for a program."),
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


def _text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(value) if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.12g}"
