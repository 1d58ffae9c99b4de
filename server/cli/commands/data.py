"""`noisegate data`: which load of the data the kept answers are of."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.commands.open_ledger import PolicyFile, Reason, act, opened
from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.listing import Format, Output, show_rows
from server.cli.output.terminal import printable, tell, write

if TYPE_CHECKING:
    from server.policy.closed_periods import Reopen

_COLUMNS = ("data_version",)
_TOLD = 40
"""Changed periods that are listed."""


class Reopening(StrEnum):
    """What becomes of closed periods whose rows have changed."""

    CHANGED = "changed"
    ALL = "all"


_REOPEN = (
    "Closed periods that have changed since the load before are asked anew, which analysts notice: `changed` reopens "
    "those, `all` every one alike, which tells less. Without it a load that changes one is refused."
)


def version(policy: PolicyFile, output: Output = Format.TABLE) -> None:
    """Print the version of the data.

    Example:  noisegate data version --policy policy.toml
    """
    with opened(policy) as ledger:
        found = ledger.data_version()
    if output is Format.TABLE:
        write(str(found))
    else:
        show_rows(_COLUMNS, [(found,)], output)


def bump(
    policy: PolicyFile,
    reason: Reason,
    reopen: Annotated[Reopening | None, typer.Option(help=_REOPEN)] = None,
    output: Output = Format.TABLE,
) -> None:
    """Say that the data is a new load.

    From now on every question is measured, and charged, anew; kept answers to the old data are served no more. Only
    those about closed periods of tables that the policy calls append_only are, and their rows are compared now. No
    budget is given back: what was learned stays learned. Proxies that run notice at once; where the database is files
    they answer again after SIGHUP, which counts the keys of the new rows. Where the policy declares keys of a
    PostgreSQL, `noisegate policy check` counts them.

    Example:  noisegate data bump --policy policy.toml --reason "the load of May"

    Exit codes: 0 written, 1 closed rows have changed, and nothing is written, 2 not written for another reason.
    """
    from server.policy.accepted_policy import read_policy
    from server.policy.loads import bump_load

    with opened(policy) as ledger:
        word: Reopen | None = None if reopen is None else "all" if reopen is Reopening.ALL else "changed"
        done = bump_load(read_policy(policy), policy, ledger, act(reason), word)
        tuned = [one.version for one in ledger.tunings() if one.state == "committed"]
    found = done.found
    if found is not None:
        for subject in found.subjects[:_TOLD]:
            tell(f"changed since the load before, though closed: {printable(subject)}")
        if len(found.subjects) > _TOLD:
            tell(f"and {len(found.subjects) - _TOLD} more")
    if done.version is None:
        raise CommandFailed(
            "rows of closed periods have changed, so nothing is written",
            hint="analysts notice that a period is reopened, which may tell that somebody's old rows came or went: "
            "--reopen changed if they may know, --reopen all to reopen every closed period alike",
            exit_code=ExitCode.REFUSED,
        )
    if found is not None and not done.noted:
        tell("Another load was written meanwhile: closed periods were not noted of either, and are asked anew.")
    elif found is not None and found.incomparable:
        tell("Closed periods are noted for the first time, or with another key: answers to them count from now on.")
    elif found is not None:
        tell(f"Closed periods that were compared: {found.periods}, changed: {len(found.changed)}.")
    tell("The data is a new load, of version:")
    if output is Format.TABLE:
        write(str(done.version))
    else:
        show_rows(_COLUMNS, [(done.version,)], output)
    if tuned:
        tell(
            f"What people have was last counted in version {tuned[-1]}: `noisegate tune` is worth repeating, at a new"
            " epsilon, once people or their rows have about doubled."
        )
    if needs_reload(policy):
        tell("Next: SIGHUP (kill -HUP) to each proxy that runs, which reads the files and counts their keys.")
        tell("Until then it answers nothing.")


def needs_reload(policy: Path) -> bool:
    """Do proxies answer nothing after a new load until they have read the policy anew? Where files are read."""
    from server.backends.custody.file_urls import CONNECT, FILE_URLS
    from server.errors import ConfigurationInvalid
    from server.policy.accepted_policy import read_policy
    from server.policy.secrets import resolve

    try:
        return resolve(read_policy(policy).database_url, policy.parent).startswith((*FILE_URLS, CONNECT))
    except ConfigurationInvalid:  # a secret that only the proxy has; the load is written already
        return False
