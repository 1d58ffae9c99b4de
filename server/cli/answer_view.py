"""Show an answer or an explanation to a person: tables, intervals, the charge, and no more digits than the noise
allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.sql.sql_types import NUMBERS
from server.cli.terminal import printable
from server.explain.explanation_text import REFUSED, explanation_facts
from server.note import one_note
from server.query import Budget, Cell, Explanation, Interval, QueryResponse, privacy_text

_MAX_DECIMALS = 9


def decimals(interval: Interval | None) -> int:
    """The decimals that show two significant digits of an interval's half-width, at most 9."""
    if interval is None or interval.low is None or interval.high is None:
        return 2
    half_width = (interval.high - interval.low) / 2
    if not math.isfinite(half_width) or half_width <= 0:
        return 2
    return min(max(1 - math.floor(math.log10(half_width)), 0), _MAX_DECIMALS)


def cell_text(value: Cell, interval: Interval | None = None, *, exact: bool = False) -> str:
    """A cell of an answer as text; exact numbers keep all digits."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,}" if exact else f"{value:,.{decimals(interval)}f}"
    return value


def interval_text(interval: Interval | None, *, whole: bool) -> str:
    """An interval as text.

    Args:
      interval: None (a group key) gives an empty text.
      whole: the value is a whole number, so the ends are rounded outwards to whole numbers.
    """
    if interval is None:
        return ""
    digits = 0 if whole else decimals(interval)
    low, high = _end(interval.low, digits, ROUND_FLOOR), _end(interval.high, digits, ROUND_CEILING)
    if low is None and high is None:
        return "unbounded"
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def _end(value: float | None, digits: int, rounding: str) -> str | None:
    """One end of an interval, rounded away from the other end."""
    if value is None:
        return None
    return f"{Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), rounding=rounding):,}"


def explanation_view(explanation: Explanation) -> RenderableType:
    """All facts, and the statements for the database."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold")
    facts.add_column(overflow="fold")
    for name, value in explanation_facts(explanation):
        facts.add_row(Text(printable(name)), Text(printable(value), style="bold red" if name == REFUSED else ""))
    statements = (Text("  " + printable(line)) for line in explanation.rewritten_sql.splitlines())
    return Group(facts, Text("\nThe database would get"), *statements)


def answer_table(response: QueryResponse) -> RenderableType:
    """The answer as a table with intervals, and below it the note and the charge."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    aggregates = _aggregates(response)
    for index, column in enumerate(response.columns):
        numeric = column.type in NUMBERS
        table.add_column(Text(printable(column.name)), justify="right" if numeric else "left", overflow="fold")
        if aggregates[index]:
            table.add_column(f"{_percent(response)} interval ({response.covers})", overflow="fold")
    marked = any(map(any, response.marks.values()))
    if marked:
        table.add_column("")
    for index, (cells, intervals) in enumerate(zip(response.rows, response.intervals, strict=True)):
        mark = [Text(_mark(response, index), style="bold red")] if marked else []
        table.add_row(*_table_row(cells, intervals, aggregates, exact=response.covers == "exact"), *mark)
    return Group(table, *map(Text, summary(response)))


def _mark(response: QueryResponse, row: int) -> str:
    """The marks of a row."""
    return ", ".join(name for name, rows in response.marks.items() if rows and rows[row])


def expanded_answer(response: QueryResponse) -> RenderableType:
    """Each row as a block of names, cells and intervals, and below them the note and the charge."""
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
    """The note, the charge and the rest of the budget."""
    if note := one_note(response):
        yield note
    if response.covers == "exact":
        yield f"Nothing was charged. {left(response.budget)}"
        return
    yield f"{_price(response)} {left(response.budget)}"


def _price(response: QueryResponse) -> str:
    """The charge of this request, and its reason."""
    mechanism = printable(response.mechanism)
    if not response.cached:
        return f"Charged {privacy_text(response.epsilon, response.delta)} with {mechanism}."
    if response.derived_from and not response.epsilon:
        return "Nothing was charged: this is derived from answers that you paid for before."
    if response.epsilon:
        return f"Charged {privacy_text(response.epsilon, response.delta)} for a cached answer of {mechanism}."
    return f"Nothing was charged: this is the cached answer of {mechanism} that you paid for before."


def left(budget: Budget) -> str:
    """The rest of a budget as a sentence."""
    granted = privacy_text(budget.epsilon, budget.delta)
    return f"Left: {privacy_text(budget.epsilon_left, budget.delta_left)} of {granted}."


def _percent(response: QueryResponse) -> str:
    """The confidence of the intervals, such as `95%`."""
    return f"{100 * response.confidence:.4g}%"


def _aggregates(response: QueryResponse) -> list[bool]:
    """Which columns have intervals."""
    return [any(row[index] is not None for row in response.intervals) for index in range(len(response.columns))]


def _table_row(
    cells: tuple[Cell, ...], intervals: tuple[Interval | None, ...], aggregates: list[bool], *, exact: bool
) -> Iterator[Text]:
    """The texts of one row."""
    for cell, interval, aggregate in zip(cells, intervals, aggregates, strict=True):
        yield Text(printable(cell_text(cell, interval, exact=exact)), style="bold" if aggregate else "")
        if aggregate:
            yield Text(interval_text(interval, whole=isinstance(cell, int)), style="dim")
