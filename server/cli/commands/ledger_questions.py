"""`noisegate ledger questions` and `new-question-key`: what was asked, for whoever holds the custodian's key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from server.cli.commands.open_ledger import After, Limit, PolicyFile, moment, opened, pages
from server.cli.output.listing import Format, Output, Value, show_rows
from server.cli.output.terminal import tell

_QUESTION_COLUMNS = ("charge", "at", "analyst", "epsilon", "state", "question")


def questions(
    policy: PolicyFile,
    key: Annotated[
        Path, typer.Option(help="The file with the keys that questions were sealed with.", dir_okay=False)
    ],
    analyst: Annotated[str | None, typer.Option(help="Only this analyst's.")] = None,
    after: After = 0,
    limit: Limit = 100,
    output: Output = Format.TABLE,
) -> None:
    """List who asked what, at which charge.

    The words of questions are kept where the policy says `[ledger] question_key_file`, sealed with the key of that
    file; charges from before, and those that were sealed with no key of the file, are told apart.

    Example:  noisegate ledger questions --policy policy.toml --key questions.key

    Exit codes: 0 listed, 2 the ledger or the keys cannot be read, or a text is not what was sealed.
    """
    from server.ledger.question_texts import QuestionKeys

    keys = QuestionKeys.read(key)
    rows: list[tuple[Value, ...]] = []
    without = 0
    with opened(policy) as ledger:
        for size in pages(limit):
            page = ledger.charges(analyst, after=after, limit=size)
            for one in page:
                if one.sealed_question is None:
                    without += 1
                    continue
                text = keys.opened(ledger.id, one.number, one.sealed_question).shown
                at = moment(one.shown_reserved_at_ms)
                rows.append((one.number, at, one.charge.analyst, one.charge.epsilon, one.state, text))
            if len(page) < size:
                break
            after = page[-1].number
    show_rows(_QUESTION_COLUMNS, rows, output)
    if without:
        tell(f"{without} charges have no question beside them: it was not kept when they were made.")


def new_question_key(
    file: Annotated[Path, typer.Argument(help="The key file; made where there is none.", dir_okay=False)],
) -> None:
    """Make a key for the words of questions, and put it first in its file: it seals from the next start or reload on.

    Keep the older lines: they open what was sealed with them. Keep a copy elsewhere: nobody opens anything without.

    Example:  noisegate ledger new-question-key questions.key

    Exit codes: 0 made, 2 the file cannot be read or written.
    """
    from server.ledger.question_texts import add_key

    name = add_key(file)
    tell(f"The key {name} is the first of {file}.")
