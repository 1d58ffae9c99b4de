"""`noisegate budget`: what an analyst has left."""

from __future__ import annotations

from pydantic import ValidationError

from server.cli.client.client import fetch, not_ours
from server.cli.client.key import read_key
from server.cli.commands.ask import DEFAULT_URL, URL, KeyFile
from server.cli.output.listing import Format, Output, show_rows
from server.http.bodies.answer_body import BudgetBody

_COLUMNS = ("epsilon", "epsilon_left", "delta", "delta_left")


def budget(url: URL = DEFAULT_URL, output: Output = Format.TABLE, key_file: KeyFile = None) -> None:
    """Show your budget and what is left of it.

    Your key is read from the variable NOISEGATE_KEY or from --key-file, never from an argument.

    Example:  noisegate budget

    Exit codes: 0 shown, 2 usage, configuration or connection.
    """
    try:
        body = BudgetBody.model_validate_json(fetch(url, "/v1/budget", read_key(key_file)))
    except ValidationError as error:
        raise not_ours(url) from error
    show_rows(_COLUMNS, [(body.epsilon, body.epsilon_left, body.delta, body.delta_left)], output)
