"""A released answer for a person: as a table, or with one line per cell; what it cost below it."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.sql.result_names import NUMBERS
from server.cli.output.figures import cell_text, epsilon_text, interval_text
from server.cli.output.terminal import printable
from server.query import Budget, Cell, Interval, QueryResponse


def answer_table(response: QueryResponse) -> RenderableType:
    """The answer as a table, intervals beside each aggregate, and below it what they cover and what it cost."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    aggregates = _aggregates(response)
    for index, column in enumerate(response.columns):
        numeric = column.type in NUMBERS
        table.add_column(Text(printable(column.name)), justify="right" if numeric else "left", overflow="fold")
        if aggregates[index]:
            table.add_column(
                f"{_percent(response)} {_INTERVALS.get(response.covers, 'noise')} interval", overflow="fold"
            )
    marked = any(response.weak) or any(response.cut)
    if marked:
        table.add_column("")
    for index, (cells, intervals) in enumerate(zip(response.rows, response.intervals, strict=True)):
        mark = [Text(_mark(response, index), style="bold red")] if marked else []
        table.add_row(*_table_row(cells, intervals, aggregates, exact=response.covers == "exact"), *mark)
    return Group(table, *map(Text, summary(response)))


_INTERVALS = {"truth": "truth", "smoothed value": "noise and smoothing"}


def _mark(response: QueryResponse, row: int) -> str:
    """`weak`, where the noise is as large as the value; else `cut`, where more may be missing."""
    marks = (("weak", response.weak), ("cut", response.cut))
    return next((name for name, of_rows in marks if of_rows and of_rows[row]), "")


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


def summary(response: QueryResponse) -> Iterator[str]:
    """Lines that say what the intervals cover and which rows say little, what was charged and what is left."""
    yield from (printable(note) for note in response.notes)
    if response.covers == "exact":
        yield f"Nothing was charged. {left(response.budget)}"
        return
    yield f"{_price(response)} {left(response.budget)}"


def _price(response: QueryResponse) -> str:
    """What this request was charged, and for what."""
    mechanism = printable(response.mechanism)
    if not response.cached:
        return f"Charged {privacy_text(response.epsilon, response.delta)} with {mechanism}."
    if response.derived_from and not response.epsilon:
        return "Nothing was charged: this follows from kept answers that you paid for before."
    if response.epsilon:
        return f"Charged {privacy_text(response.epsilon, response.delta)} for a kept answer of {mechanism}."
    return f"Nothing was charged: this is the kept answer of {mechanism} that you paid for before."


def left(budget: Budget) -> str:
    """What is left of a budget, as a sentence."""
    granted = privacy_text(budget.epsilon, budget.delta)
    return f"Left: {privacy_text(budget.epsilon_left, budget.delta_left)} of {granted}."


def privacy_text(epsilon: float, delta: float) -> str:
    """`epsilon 1` or `epsilon 1, delta 1e-07`."""
    text = f"epsilon {epsilon_text(epsilon)}"
    return f"{text}, delta {epsilon_text(delta)}" if delta else text


def _percent(response: QueryResponse) -> str:
    """The intervals' confidence: `95%`."""
    return f"{100 * response.confidence:.4g}%"


def _aggregates(response: QueryResponse) -> list[bool]:
    """Which columns carry intervals."""
    return [any(row[index] is not None for row in response.intervals) for index in range(len(response.columns))]


def _table_row(
    cells: tuple[Cell, ...], intervals: tuple[Interval | None, ...], aggregates: list[bool], *, exact: bool
) -> Iterator[Text]:
    """The texts of one row."""
    for cell, interval, aggregate in zip(cells, intervals, aggregates, strict=True):
        yield Text(printable(cell_text(cell, interval, exact=exact)), style="bold" if aggregate else "")
        if aggregate:
            yield Text(interval_text(interval, whole=isinstance(cell, int)), style="dim")
