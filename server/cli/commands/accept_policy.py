"""`noisegate policy accept`: confirm a policy that protects less than the one in force."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from server.cli.commands.open_ledger import Reason, act, opened
from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.terminal import printable, tell


def accept(
    policy: Annotated[Path, typer.Argument(help="The policy file.", exists=True, dir_okay=False, metavar="POLICY")],
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
) -> None:
    """Put a policy in force that protects less, after showing in what. The ledger keeps who did it, and why.

    A running proxy takes it over at the next SIGHUP or reload, one that refused to start can start now. A policy that
    protects as much as the one before needs no confirmation. Less is protected, too, when the database has lost a
    foreign key through which rows were owned.

    Example:  noisegate policy accept policy.toml --reason "the board raised the limit"

    Exit codes: 0 accepted, 1 not confirmed, 2 invalid, or there is no ledger or no database.
    """
    from server.policy.accepted_policy import Change
    from server.policy.accepted_policy import accept as put_in_force
    from server.startup.open_services import prepare

    prepared = prepare(policy)
    with opened(policy) as ledger:
        change = Change.to(prepared.file, prepared.schema, ledger)
        for line in change.weaker:
            tell(f"weaker: {printable(line)}", style="yellow")
        if change.weaker and not yes and not typer.confirm("Put it in force?", err=True):
            raise CommandFailed("not confirmed; the policy before stays in force", exit_code=ExitCode.REFUSED)
        put_in_force(change, ledger, act(reason), confirmed=change.hash)
    tell(
        f"The policy {prepared.file.policy.hash} is accepted; a proxy that runs takes it over at SIGHUP or a reload."
    )
