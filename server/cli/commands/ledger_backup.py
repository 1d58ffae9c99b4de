"""`noisegate ledger backup` and `restore`: a copy while the proxy runs, and the way back to one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.commands.open_ledger import PolicyFile, Reason, act
from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.listing import Format, Output, show_rows
from server.cli.output.terminal import tell, write

if TYPE_CHECKING:
    from server.ledger.sqlite.backup import Place

_COLUMNS = ("entries", "head", "copy")


def backup(
    policy: PolicyFile,
    directory: Annotated[Path, typer.Argument(help="A new folder for the copy.", file_okay=False)],
    output: Output = Format.TABLE,
) -> None:
    """Copy the ledger and its marker, whole and fitting each other, also while the proxy runs.

    The hash of the copy's last entry is printed; with it `ledger verify --head` proves the ledger later.

    Example:  noisegate ledger backup --policy policy.toml backups/monday

    Exit codes: 0 done, 1 the ledger does not hold, 2 it cannot be read or the copy not written.
    """
    from server.errors import LedgerInvalid
    from server.ledger.sqlite.backup import back_up

    here = _place(policy)
    try:
        last = back_up(here, _copy_in(directory, here))
    except LedgerInvalid as error:
        raise CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.REFUSED) from error
    if output is not Format.TABLE:
        show_rows(_COLUMNS, [(last.number, last.hash.hex(), str(directory))], output)
        return
    tell(f"{last.number} entries are in {directory}. The hash of the last one:")
    write(last.hash.hex())


def restore(
    policy: PolicyFile,
    directory: Annotated[Path, typer.Argument(help="The folder of the copy.", exists=True, file_okay=False)],
    reason: Reason,
    forget_charges: Annotated[
        bool,
        typer.Option(
            "--forget-charges",
            help="Take a copy that lacks entries: all of them are undone. What charges spent can be spent again, on"
            " the same people; keys that were rotated and analysts who were disabled since open again.",
        ),
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Put a copy in the ledger's place. The proxy must be stopped; the ledger that was there is kept beside it.

    The copy may be one of `ledger backup`, or a ledger file with its -wal that was copied by other means. One that
    lacks entries which the marker or the ledger in place knows is refused without --forget-charges; what is undone is
    named. Who restored, why and how much was forgotten stands in the ledger for good.

    Example:  noisegate ledger restore --policy policy.toml backups/monday --reason "the disk was lost"

    Exit codes: 0 done, 1 refused, 2 it cannot be read or written.
    """
    from server.errors import LedgerInvalid
    from server.ledger.sqlite.backup import restore as put_back

    here = _place(policy)
    try:
        done = put_back(_copy_in(directory, here).ledger, here, act(reason), forget=forget_charges)
    except LedgerInvalid as error:
        raise CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.REFUSED) from error
    last, told = done.head, done.undone.told
    if told:
        tell(
            f"warning: undone since the copy: {told}. Rotate and disable again what is named before you start the"
            " proxy; after a load of the data, `noisegate data bump` again.",
            style="yellow",
        )
    elif done.missing != 0:
        tell(
            "warning: nothing in place tells what was done since the copy: look through keys, analysts and budgets"
            " before you start the proxy.",
            style="yellow",
        )
    if output is not Format.TABLE:
        show_rows(_COLUMNS, [(last.number, last.hash.hex(), str(directory))], output)
        return
    tell(f"The ledger has {last.number} entries again. The hash of the last one:")
    write(last.hash.hex())


def _place(path: Path) -> Place:
    """Where the policy's ledger lies. Raises CommandFailed for one in a database."""
    from server.ledger.sqlite.backup import Place
    from server.policy.accepted_policy import read_policy
    from server.policy.open_ledger_of_policy import ledger_paths

    policy = read_policy(path)
    if policy.ledger_is_shared:
        raise CommandFailed(
            "the ledger is in a database", hint="pg_dump --schema=noisegate_ledger copies it while the proxies run"
        )
    return Place(*ledger_paths(policy, path))


def _copy_in(directory: Path, here: Place) -> Place:
    """Where the copy lies in a folder: both files beside each other, under their own names."""
    from server.ledger.sqlite.backup import Place

    return Place(directory / here.ledger.name, directory / here.marker.name)
