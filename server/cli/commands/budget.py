"""`noisegate budget`: what an analyst has left."""

from __future__ import annotations

from pydantic import ValidationError

from server.cli.client.client import fetch, not_ours
from server.cli.client.key import read_key
from server.cli.commands.ask import DEFAULT_URL, URL, KeyFile
from server.cli.output.listing import Format, Output, show_rows
from server.http.bodies.budget_body import OutlookBody

_COLUMNS = ("epsilon", "epsilon_left", "delta", "delta_left", "questions_left", "limited_by", "tuning", "protects")


def budget(url: URL = DEFAULT_URL, output: Output = Format.TABLE, key_file: KeyFile = None) -> None:
    """Show your budget, what is left of it, and at what it protects people, per period and in total.

    `tuning`: what `noisegate tune` has told everybody of the people in the data; it adds to what you have spent.
    `questions_left`: how many more questions like your last ten fit, and whose account is short first.

    Your key is read from the variable NOISEGATE_KEY or from --key-file, never from an argument.

    Example:  noisegate budget

    Exit codes: 0 shown, 2 usage, configuration or connection.
    """
    try:
        body = OutlookBody.model_validate_json(fetch(url, "/v1/budget", read_key(key_file)))
    except ValidationError as error:
        raise not_ours(url) from error
    amounts = (body.epsilon, body.epsilon_left, body.delta, body.delta_left)
    show_rows(
        _COLUMNS, [(*amounts, body.questions_left, body.limited_by, body.tuning_epsilon, body.guarantee)], output
    )
