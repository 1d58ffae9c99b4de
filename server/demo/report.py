"""What the demonstration prints: the questions, and a table of noisy answers beside the truth."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from server.demo.asking import Answer
from server.demo.queries import DemoQuery

_LARGE = 1e8


def print_questions(console: Console, queries: tuple[DemoQuery, ...]) -> None:
    """Each question with its number and whom it protects."""
    for number, query in enumerate(queries, 1):
        console.print(f"\n[bold]{number}. {query.name}[/bold] (protects {query.protects})", highlight=False)
        for line in query.sql.splitlines():
            console.print(f"   {line}", style="cyan", highlight=False, markup=False)


def print_answers(console: Console, answers: list[tuple[DemoQuery, Answer]]) -> None:
    """One row per question; a question with groups shows the group of median error."""
    table = Table(title="Answers", title_justify="left")
    table.add_column("query")
    for heading in ("noisy answer", "95% interval", "charge", "left", "true value*", "error*", "time"):
        table.add_column(heading, justify="right")
    for query, answer in answers:
        table.add_row(*_row(query, answer))
    console.print()
    console.print(table)
    covers = sorted({answer.body["covers"] for _, answer in answers})
    console.print(f"The intervals cover: {', '.join(covers)}.", highlight=False)
    bodies = [answer.body for _, answer in answers]
    told = {pair for body in bodies for pair in zip(body["notes"], body["note_kinds"], strict=True)}
    for note in sorted(note for note, kind in told if kind != "missing"):  # of those each is of one answer
        console.print(note, highlight=False, soft_wrap=True)
    console.print("A question with groups is shown by the group whose error is the median one.", highlight=False)
    console.print(
        "* For the demonstration only: read by the demonstration itself as the database's owner. "
        "The proxy never shows it.",
        highlight=False,
        soft_wrap=True,
    )


def _row(query: DemoQuery, answer: Answer) -> tuple[str, ...]:
    body = answer.body
    row = _median_row(answer)
    low_high = body["intervals"][row][-1]
    key = body["rows"][row][0] if len(body["columns"]) == 2 else None
    name = query.name if key is None else f"{query.name} ({str(key).title()})"
    value = body["rows"][row][-1]
    return (
        name,
        _number(value, value),
        f"{_number(low_high['low'], value, unit=False)} to {_number(low_high['high'], value)}",
        f"ε {body['charge']['epsilon']:g}",
        f"ε {body['budget']['epsilon_left']:g}",
        _number(answer.truth[key], value),
        f"{answer.error:.2%}",
        f"{answer.seconds:.2f} s",
    )


def _median_row(answer: Answer) -> int:
    """The row whose error is the median one, so that one group can stand for all."""
    keys = list(answer.truth)
    ranked = sorted(range(len(keys)), key=lambda index: answer.errors[index])
    key = keys[ranked[(len(ranked) - 1) // 2]]
    names = [row[0] if len(row) == 2 else None for row in answer.body["rows"]]
    return names.index(key)


def _number(value: float | None, beside: float, *, unit: bool = True) -> str:
    """A figure in millions when the answer that it stands beside is that large; None is an interval's open end."""
    if value is None:
        return "unbounded"
    if abs(beside) < _LARGE:
        return f"{value:,.0f}"
    return f"{value / 1e6:,.1f}" + (" M" if unit else "")
