"""`noisegate query`, `explain` and `budget`: ask a running proxy."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from privacy.registry import why_not_served
from server.answers.proposals.accuracy import Proposal
from server.cli.answer_view import answer_table, explanation_view, summary
from server.cli.client import answered, ask, fetch, read_body, read_key
from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import Format, Output, confirmed, printable, show, show_rows, tell, write
from server.http.answer_body import AnswerBody
from server.http.budget_body import RemainingQuestionsBody
from server.query import OLD_NAMES, SETTINGS, Explanation, Setting, privacy_text


def proposed_epsilon(url: str, key: str, body: Mapping[str, object], sql: str, *, yes: bool) -> float:
    """Get the epsilon for an accuracy target and ask for consent.

    Raises: CommandFailed if there is no proposal, or it is declined.
    """
    proposal = read_body(Proposal, ask(url, "/v1/propose", key, body, sql=sql), url)
    width = f"{proposal.interval_width:,.4g}"
    tell(f"An interval of width {width} needs {_price(proposal)} ({printable(proposal.reason)}).")
    if proposal.charge > proposal.epsilon_left:
        raise CommandFailed(
            f"only epsilon {proposal.epsilon_left:g} is left",
            hint="ask for less accuracy",
            exit_code=ExitCode.BUDGET_EXHAUSTED,
        )
    if not yes and not confirmed("Ask?"):
        hint = "in a script, add --yes"
        raise CommandFailed("not asked; nothing was charged", hint=hint, exit_code=ExitCode.REFUSED)
    return proposal.epsilon


def _price(proposal: Proposal) -> str:
    price = privacy_text(proposal.epsilon, proposal.delta)
    return f"{price}, which is free" if proposal.charge == 0 else f"{price} of the {proposal.epsilon_left:g} left"


DEFAULT_URL = "http://127.0.0.1:8432"


SQL = Annotated[str, typer.Argument(help="One SELECT in quotes, or - to read it from standard input.", metavar="SQL")]
URL = Annotated[str, typer.Option(help="Where the proxy listens.", envvar="NOISEGATE_URL")]


def _finite(value: float | None) -> float | None:
    """Refuse NaN and infinity, which JSON lacks and which are no budget."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("must be a finite number")
    return value


def _word(setting: Setting, text: str) -> str:
    """One of a setting's words; for a mechanism that the server does not run, the reason."""
    try:
        return str(setting.read(text))
    except ValueError as error:
        reason = why_not_served(text)
        raise typer.BadParameter(f"must be {error}{'' if reason is None else f'; {reason}'}") from None


def option(name: str, about: str | None = None) -> Any:
    """The command line option of a request setting (`server.query.SETTINGS`). Args: about: replaces its
    description.
    """
    setting = SETTINGS[name]
    read = (
        {"parser": partial(_word, setting), "metavar": f"[{'|'.join(setting.words)}]"}
        if setting.words
        else {"callback": _finite}
    )
    names = [name, *(old for old, new in OLD_NAMES.items() if new == name)]
    return typer.Option(*(f"--{one.replace('_', '-')}" for one in names), help=about or setting.about, **read)


Epsilon = Annotated[float | None, option("epsilon")]
Delta = Annotated[float | None, option("delta")]
MechanismChoice = Annotated[str | None, option("mechanism")]
AddsAtMost = Annotated[float | None, option("at_most")]
Reusing = Annotated[str, option("reuse")]
Practising = Annotated[
    bool, typer.Option("--practice", help="Ask the practice database: made-up rows, free of charge.")
]
KeyFile = Annotated[
    Path | None, typer.Option(help="A file with your key, instead of NOISEGATE_KEY in the environment.")
]


def _value(text: str) -> str | int | float | bool | None:
    """A parameter's value: a JSON number, true, false or null, or else the text itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    plain = value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
    return value if plain else text


Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", help="The value of $1, then of $2, ...: a number, true, false, null, or a text."),
]


def query(
    sql: SQL,
    url: URL = DEFAULT_URL,
    epsilon: Epsilon = None,
    delta: Delta = None,
    mechanism: MechanismChoice = None,
    output: Output = Format.TABLE,
    key_file: KeyFile = None,
    parameters: Parameters = None,
    interval_width: Annotated[
        float | None, typer.Option(help="Instead of --epsilon: the widest interval that suffices.", callback=_finite)
    ] = None,
    max_relative_error: Annotated[
        float | None,
        option("max_relative_error", "Instead of --epsilon: the accuracy target, 0.05 for 5% around the value."),
    ] = None,
    max_absolute_error: Annotated[
        float | None, option("max_absolute_error", "Instead of --epsilon: the accuracy target in the answer's unit.")
    ] = None,
    at_most: AddsAtMost = None,
    reuse: Reusing = "auto",
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Spend the epsilon of an accuracy target without asking. If it is unknown, two releases are made and"
            " charged.",
        ),
    ] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Your name for this request: if sent again, it is charged once.")
    ] = None,
    practice: Practising = False,
) -> None:
    """Ask a question. Its noisy answer is charged to your budget.

    The same question gets the same answer for free, until the data version changes. With an accuracy target instead
    of an epsilon, the proxy first proposes the smallest epsilon, from public quantities and your earlier answers.
    With --yes it spends that, at most --epsilon. If the epsilon is unknown, a small release comes first and is
    charged as well.

    Your key is read from the variable NOISEGATE_KEY or from --key-file, never from an argument.

    Example:  noisegate query "SELECT count(*) FROM orders" --epsilon 0.5

    Example:  noisegate query 'SELECT count(*) FROM orders WHERE status = $1' --param open

    Example:  noisegate query "SELECT count(*) FROM orders" --interval-width 500

    A question that takes longer than a second shows its time; Ctrl-C cancels it.

    Exit codes: 0 answered, 1 the query was refused, 2 usage, configuration or connection, 3 budget exhausted,
    130 cancelled.
    """
    sql = _statement(sql)
    values = None if parameters is None else [_value(text) for text in parameters]
    key = read_key(key_file)
    asked: dict[str, object] = {"sql": sql, "delta": delta, "parameters": values, "practice": practice or None}
    asked["at_most"] = at_most
    errors: dict[str, object] = {"max_relative_error": max_relative_error, "max_absolute_error": max_absolute_error}
    by_error = any(one is not None for one in errors.values())
    if interval_width is not None or by_error:
        if mechanism is not None or (epsilon is not None and not (yes and by_error)):
            raise CommandFailed("an accuracy target replaces --epsilon and --mechanism", hint="leave them out")
        if interval_width is not None or not yes:
            wanted = asked | errors | {"interval_width": interval_width}
            epsilon, errors = proposed_epsilon(url, key, wanted, sql, yes=yes), {}
    body = asked | errors | {"epsilon": epsilon, "mechanism": mechanism, "reuse": reuse}
    text = answered(url, key, body, sql=sql, idempotency_key=idempotency_key)
    if output is Format.JSON:
        write(_indented(text, url))
        return
    response = read_body(AnswerBody, text, url).response()
    if output is Format.TABLE:
        show(answer_table(response))
        return
    from server.results.flat_table import csv_text  # with the parser of SQL, for which nobody else waits

    write(csv_text(response, end="\n"))
    for line in summary(response):
        tell(line)


def explain(
    sql: SQL,
    url: URL = DEFAULT_URL,
    epsilon: Epsilon = None,
    delta: Delta = None,
    mechanism: MechanismChoice = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("--format", help="table for people, json (or --json) for programs.")
    ] = "table",
    key_file: KeyFile = None,
    parameters: Parameters = None,
    at_most: AddsAtMost = None,
    reuse: Reusing = "auto",
    practice: Practising = False,
) -> None:
    """Show what a query would do and cost, without asking it.

    Explaining is free and reads no private row.

    Example:  noisegate explain "SELECT count(*) FROM orders"

    Exit codes: 0 explained, 1 the query would be refused, 2 usage, configuration or connection.
    """
    sql = _statement(sql)
    values = None if parameters is None else [_value(text) for text in parameters]
    body = {"sql": sql, "epsilon": epsilon, "delta": delta, "mechanism": mechanism, "parameters": values}
    body |= {"at_most": at_most, "reuse": reuse, "practice": practice or None}
    text = ask(url, "/v1/explain", read_key(key_file), body, sql=sql)
    if output == "json":
        write(_indented(text, url))
        return
    show(explanation_view(read_body(Explanation, text, url)))


def _statement(argument: str) -> str:
    """The argument, or standard input for a dash."""
    sql = sys.stdin.read() if argument == "-" else argument
    if not sql.strip():
        raise CommandFailed("there is no statement", hint='for example noisegate query "SELECT count(*) FROM orders"')
    return sql


def _indented(text: str, url: str) -> str:
    """Indent a JSON text."""
    return json.dumps(read_body(dict[str, object], text, url), indent=2)


_COLUMNS = ("epsilon", "epsilon_left", "delta", "delta_left", "questions_left", "limited_by", "tuning", "protects")


def budget(url: URL = DEFAULT_URL, output: Output = Format.TABLE, key_file: KeyFile = None) -> None:
    """Show your budget, what is left, and the guarantee per period and in total.

    `tuning` is the epsilon of `noisegate tune`, which adds to your spending. `questions_left` estimates the remaining
    questions at the price of your last ten, and `limited_by` names the account that runs out first.

    Your key is read from the variable NOISEGATE_KEY or from --key-file, never from an argument.

    Example:  noisegate budget

    Exit codes: 0 shown, 2 usage, configuration or connection.
    """
    body = read_body(RemainingQuestionsBody, fetch(url, "/v1/budget", read_key(key_file)), url)
    amounts = (body.epsilon, body.epsilon_left, body.delta, body.delta_left)
    show_rows(
        _COLUMNS, [(*amounts, body.questions_left, body.limited_by, body.tuning_epsilon, body.guarantee)], output
    )
