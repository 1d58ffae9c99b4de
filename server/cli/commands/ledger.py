"""`noisegate ledger`: check the whole of it, or take it elsewhere."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.commands.open_ledger import PolicyFile, opened
from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.terminal import tell, write

if TYPE_CHECKING:
    from server.ledger.ledger import Records


class ExportFormat(StrEnum):
    """The format of `ledger export`: charges as CSV, or all entries as JSON lines."""

    CSV = "csv"
    JSON = "json"


def verify(
    policy: PolicyFile,
    head: Annotated[
        str | None, typer.Option(help="A hash that was noted before; the ledger must still hold it.", metavar="HASH")
    ] = None,
) -> None:
    """Check every entry's hash, and that all totals follow from the entries.

    Note the hash that is printed somewhere else: with it, nobody can replace the whole ledger unseen.

    Example:  noisegate ledger verify --policy policy.toml

    Exit codes: 0 it holds, 1 it was tampered with, 2 it cannot be opened.
    """
    from server.errors import LedgerInvalid

    try:
        with opened(policy) as ledger:
            found = ledger.verify()
            known = head is None or found.fault is not None or _holds(ledger, head)
    except LedgerInvalid as error:  # so plainly that it does not even open
        raise CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.REFUSED) from error
    if found.fault is not None:
        raise CommandFailed(
            f"the ledger was tampered with after entry {found.entries}: {found.fault}",
            hint="restore the newest copy that holds",
            exit_code=ExitCode.REFUSED,
        )
    if not known:
        raise CommandFailed(
            "the ledger does not hold that hash: it is another ledger, or an older copy",
            hint="restore the newest copy that holds",
            exit_code=ExitCode.REFUSED,
        )
    tell(f"{found.entries} entries hold. The hash of the last one:")
    write(found.head)


def export(
    policy: PolicyFile,
    output: Annotated[
        ExportFormat,
        typer.Option("--format", help="csv: the charges; json: every entry with its hash, one object per line."),
    ] = ExportFormat.JSON,
) -> None:
    """Write the ledger to standard output.

    Example:  noisegate ledger export --policy policy.toml --format csv > charges.csv
    """
    from server.ledger.export import EXPORTS

    with opened(policy) as ledger:
        for part in EXPORTS[output.value](ledger):
            write(part)


def _holds(ledger: Records, head: str) -> bool:
    """Is it the hash of some entry?"""
    after = 0
    while page := ledger.entries(after=after):
        if any(entry.hash.hex() == head for entry in page):
            return True
        after = page[-1].number
    return False
