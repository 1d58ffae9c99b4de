"""`noisegate ledger`: check the whole of it, or take it elsewhere."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.commands.open_ledger import PolicyFile, opened
from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.listing import Format, Output, show_rows
from server.cli.output.terminal import tell, write

if TYPE_CHECKING:
    from server.ledger.ledger import Records


_HASH = re.compile(r"[0-9a-f]{64}")


class ExportFormat(StrEnum):
    """The format of `ledger export`: charges as CSV, or all entries as JSON lines."""

    CSV = "csv"
    JSON = "json"


def verify(
    policy: PolicyFile,
    head: Annotated[
        str | None, typer.Option(help="A hash that was noted before; the ledger must still hold it.", metavar="HASH")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Check every entry's hash, and that all totals follow from the entries.

    Note the hash that is printed somewhere else: with it, nobody can replace the whole ledger unseen.

    Example:  noisegate ledger verify --policy policy.toml

    Exit codes: 0 it holds, 1 it was tampered with, 2 it cannot be opened.
    """
    from server.errors import LedgerInvalid

    noted = None if head is None else head.strip().lower()
    if noted is not None and not _HASH.fullmatch(noted):
        raise typer.BadParameter("a hash is 64 hexadecimal digits", param_hint="--head")
    try:
        with opened(policy) as ledger:
            found = ledger.verify()
            known = noted is None or _holds(ledger, noted)
    except LedgerInvalid as error:  # so plainly that it does not even open
        raise CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.REFUSED) from error
    wrong = (
        None if found.fault is None else f"the ledger was tampered with after entry {found.entries}: {found.fault}"
    )
    if not known:  # first of all: whatever the entries say of one another, it is not the ledger that was noted
        more = f"and {wrong}" if wrong else f"its own {found.entries} entries fit one another"
        wrong = (
            f"no entry has the head {noted[:8] if noted else ''}...: this is another ledger, or an older copy; {more}"
        )
    if wrong is not None:
        raise CommandFailed(wrong, hint="restore the newest copy that holds", exit_code=ExitCode.REFUSED)
    if output is not Format.TABLE:
        show_rows(("entries", "head"), [(found.entries, found.head)], output)
        return
    among = "" if noted is None else ", the noted one among them"
    tell(f"{found.entries} entries hold{among}. The hash of the last one:")
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
