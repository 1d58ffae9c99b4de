"""`noisegate workload`: ask many questions of a file at once, under one budget."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from server.answers.workload.workload import WorkloadSummary
from server.cli.answer_view import answer_table
from server.cli.client import ask, read_body, read_key
from server.cli.commands.ask import DEFAULT_URL, URL, AddsAtMost, Epsilon, KeyFile, option
from server.cli.failure import CommandFailed
from server.cli.shell_session import units
from server.cli.terminal import Format, printable, show, write
from server.http.workload_body import WorkloadAnswerBody, WorkloadExplanationBody


def workload(
    file: Annotated[Path, typer.Argument(help="A file of SELECTs, each ended by `;`; - reads standard input.")],
    url: URL = DEFAULT_URL,
    epsilon: Epsilon = None,
    max_relative_error: Annotated[
        float | None,
        option("max_relative_error", "Instead of --epsilon: the accuracy target, 0.05 for 5% around every value."),
    ] = None,
    at_most: AddsAtMost = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the price without asking.")] = False,
    output: Annotated[
        Format, typer.Option("--format", help="table, or json (or --json) for a program.")
    ] = Format.TABLE,
    key_file: KeyFile = None,
) -> None:
    """Ask many questions at once: all are answered, or none.

    Questions that count the same rows by different keys are estimated together, which makes them more accurate at the
    same total. The same file gets the same answers for free, until the data version changes.

    Example:  noisegate workload dashboard.sql --epsilon 1

    Example:  noisegate workload dashboard.sql --epsilon 1 --explain

    Exit codes: as `noisegate query`.
    """
    if output is Format.CSV:
        raise CommandFailed(
            "several answers do not fit into one CSV file", hint="use --format json, or ask them one by one"
        )
    text = sys.stdin.read() if str(file) == "-" else _text(file)
    statements = list(units(text.splitlines()))
    if not statements:
        raise CommandFailed("there is no statement", hint="write SELECTs into the file, each ended by `;`")
    body = {
        "queries": [{"sql": statement} for statement in statements],
        "epsilon": epsilon,
        "max_relative_error": max_relative_error,
        "at_most": at_most,
    }
    path = "/v1/workload/explain" if explain else "/v1/workload"
    answered = ask(url, path, read_key(key_file), body, sql="")
    if output is Format.JSON:
        write(json.dumps(json.loads(answered), indent=2))
        return
    if explain:
        _show_summary(read_body(WorkloadExplanationBody, answered, url).summary)
        return
    whole = read_body(WorkloadAnswerBody, answered, url)
    for statement, answer in zip(statements, whole.answers, strict=True):
        show(Text(printable(" ".join(statement.split())), style="bold"))
        show(answer_table(answer.response()))
    _show_summary(whole.summary)


def _show_summary(summary: WorkloadSummary) -> None:
    show(Text(printable(summary.strategy)))
    for part in summary.measured:
        keys = ", ".join(part.keys) or "no key"
        queries = ", ".join(map(str, part.queries))
        words = f"epsilon {part.epsilon:g} by {keys}, for question {queries}"
        show(Text(printable(words if part.charged else f"{words}: cached or not yet charged")))


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"{file} cannot be read", hint="name a file of SELECTs") from error
