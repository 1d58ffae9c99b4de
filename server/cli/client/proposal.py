"""Showing a proposal, and asking whether it is worth it."""

from __future__ import annotations

from collections.abc import Mapping

import typer
from pydantic import TypeAdapter, ValidationError

from server.cli.client.client import ask, not_ours
from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.answer_view import privacy_text
from server.cli.output.terminal import printable, tell
from server.proposals.accuracy import Proposal


def proposed_epsilon(url: str, key: str, body: Mapping[str, object], sql: str, *, yes: bool) -> float:
    """The epsilon that an accuracy needs, once the person at the terminal agrees.

    Args:
      yes: agree without asking.
    Raises: CommandFailed when there is no proposal, or it is declined.
    """
    try:
        proposal = TypeAdapter(Proposal).validate_json(ask(url, "/v1/propose", key, body, sql=sql))
    except ValidationError as error:
        raise not_ours(url) from error
    width = f"{proposal.interval_width:,.4g}"
    tell(f"An interval of width {width} needs {_price(proposal)} ({printable(proposal.reason)}).")
    if proposal.charge > proposal.epsilon_left:
        raise CommandFailed(
            f"only epsilon {proposal.epsilon_left:g} is left",
            hint="ask for less accuracy",
            exit_code=ExitCode.BUDGET_EXHAUSTED,
        )
    if not yes and not typer.confirm("Ask?", err=True):
        raise CommandFailed("not asked; nothing was charged", exit_code=ExitCode.REFUSED)
    return proposal.epsilon


def _price(proposal: Proposal) -> str:
    price = privacy_text(proposal.epsilon, proposal.delta)
    return f"{price}, which is free" if proposal.charge == 0 else f"{price} of the {proposal.epsilon_left:g} left"
