"""`noisegate ledger`: verify, export, back up and restore the ledger, and list encrypted questions."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from server.cli.commands.open_ledger import After, Limit, PolicyFile, Reason, act, moment, opened, paged
from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import Format, Output, Value, show_one, show_rows, tell, write

if TYPE_CHECKING:
    from server.ledger.ledger import Ledger
    from server.ledger.sqlite_backup import Place


_HASH = re.compile(r"[0-9a-f]{64}")


def verify(
    policy: PolicyFile,
    head: Annotated[
        str | None, typer.Option(help="A hash that was noted earlier; the ledger must contain it.", metavar="HASH")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Verify every entry's hash, and that all totals follow from the entries.

    Note the printed hash elsewhere: with it, nobody can replace the whole ledger unnoticed.

    Example:  noisegate ledger verify --policy policy.toml

    Exit codes: 0 valid, 1 it was tampered with, 2 it cannot be opened.
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
        more = f"and {wrong}" if wrong else f"its own {found.entries} entries are valid"
        wrong = (
            f"no entry has the hash {noted[:8] if noted else ''}...: this is another ledger or an older copy; {more}"
        )
    if wrong is not None:
        raise CommandFailed(wrong, hint="restore the newest valid copy", exit_code=ExitCode.REFUSED)
    among = "" if noted is None else ", including the noted one"
    said = f"{found.entries} entries are valid{among}. The hash of the last one:"
    show_one(("entries", "head"), (found.entries, found.head), output, said, found.head)


def export(
    policy: PolicyFile,
    output: Annotated[
        Literal["csv", "json"],
        typer.Option("--format", help="csv: the charges; json: every entry with its hash, one object per line."),
    ] = "json",
) -> None:
    """Write the ledger to standard output.

    Example:  noisegate ledger export --policy policy.toml --format csv > charges.csv
    """
    from server.ledger.export import EXPORTS

    with opened(policy) as ledger:
        for part in EXPORTS[output](ledger):
            write(part)


def _holds(ledger: Ledger, head: str) -> bool:
    """Is it the hash of an entry?"""
    return any(entry.hash.hex() == head for entry in paged(ledger.entries, 0, sys.maxsize))


_COLUMNS = ("entries", "head", "copy")


def backup(
    policy: PolicyFile,
    directory: Annotated[Path, typer.Argument(help="A new folder for the copy.", file_okay=False)],
    output: Output = Format.TABLE,
) -> None:
    """Copy the ledger and its marker consistently, also while the proxy runs.

    The hash of the copy's last entry is printed. With it, `ledger verify --head` proves the ledger later.

    Example:  noisegate ledger backup --policy policy.toml backups/monday

    Exit codes: 0 done, 1 the ledger is invalid, 2 it cannot be read or the copy not written.
    """
    from server.errors import LedgerInvalid
    from server.ledger.sqlite_backup import back_up

    here = _place(policy)
    try:
        last = back_up(here, _copy_in(directory, here))
    except LedgerInvalid as error:
        raise CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.REFUSED) from error
    said, head = f"{last.number} entries are in {directory}. The hash of the last one:", last.hash.hex()
    show_one(_COLUMNS, (last.number, head, str(directory)), output, said, head)


def restore(
    policy: PolicyFile,
    directory: Annotated[Path, typer.Argument(help="The folder of the copy.", exists=True, file_okay=False)],
    reason: Reason,
    forget_charges: Annotated[
        bool,
        typer.Option(
            "--forget-charges",
            help="Accept a copy that lacks entries, which are undone. Their charges can be spent again on"
            " the same people; rotated keys and disabled analysts work again.",
        ),
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Replace the ledger with a copy. Stop the proxy first; the replaced ledger is kept beside it.

    The copy comes from `ledger backup`, or is a ledger file with its -wal that was copied otherwise. A copy that
    lacks known entries is refused without --forget-charges, and the message names what it would undo. The ledger
    records who restored it, why, and how many entries were lost.

    Example:  noisegate ledger restore --policy policy.toml backups/monday --reason "the disk was lost"

    Exit codes: 0 done, 1 refused, 2 it cannot be read or written.
    """
    from server.errors import LedgerInvalid
    from server.ledger.sqlite_backup import restore as put_back

    here = _place(policy)
    try:
        done = put_back(_copy_in(directory, here).ledger, here, act(reason), forget=forget_charges)
    except LedgerInvalid as error:
        raise CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.REFUSED) from error
    last, undone = done.head, done.undone.summary
    if undone:
        tell(
            f"warning: undone since the copy: {undone}. Repeat the rotations and disablings before you start the"
            " proxy, and `noisegate data bump` for new data.",
            style="yellow",
        )
    elif done.missing != 0:
        tell(
            "warning: it is unknown what was done since the copy: review keys, analysts and budgets"
            " before you start the proxy.",
            style="yellow",
        )
    if done.missing != 0:
        tell("If the policy changed since the copy, run `noisegate policy accept` before you start the proxy.")
    said, head = f"The ledger has {last.number} entries again. The hash of the last one:", last.hash.hex()
    show_one(_COLUMNS, (last.number, head, str(directory)), output, said, head)


def _place(path: Path) -> Place:
    """The paths of the policy's ledger. Raises CommandFailed for a ledger in a database."""
    from server.ledger.sqlite_backup import Place
    from server.policy.accepted_policy import read_policy
    from server.policy.open_ledger_of_policy import ledger_paths

    policy = read_policy(path)
    if policy.ledger_is_shared:
        raise CommandFailed(
            "the ledger is in a database",
            hint="copy it with pg_dump --schema=noisegate_ledger, also while proxies run",
        )
    return Place(*ledger_paths(policy, path))


def _copy_in(directory: Path, here: Place) -> Place:
    """The paths of a copy in a folder."""
    from server.ledger.sqlite_backup import Place

    return Place(directory / here.ledger.name, directory / here.marker.name)


_QUESTION_COLUMNS = ("charge", "at", "analyst", "epsilon", "state", "question")


def questions(
    policy: PolicyFile,
    key: Annotated[Path, typer.Option(help="The file with the keys that encrypted the questions.", dir_okay=False)],
    analyst: Annotated[str | None, typer.Option(help="Only this analyst's.")] = None,
    after: After = 0,
    limit: Limit = 100,
    output: Output = Format.TABLE,
) -> None:
    """List who asked what, by charge.

    Question texts are stored if the policy sets `[ledger] question_key_file`, encrypted with a key of that file.
    Charges without a text are counted separately.

    Example:  noisegate ledger questions --policy policy.toml --key questions.key

    Exit codes: 0 listed, 2 the ledger or the keys cannot be read, or a text was altered.
    """
    from server.ledger.question_texts import QuestionKeys

    keys = QuestionKeys.read(key)
    rows: list[tuple[Value, ...]] = []
    without = 0
    with opened(policy) as ledger:
        for one in paged(partial(ledger.charges, analyst), after, limit):
            if one.sealed_question is None:
                without += 1
                continue
            text = keys.decrypted(ledger.id, one.number, one.sealed_question).shown
            at = moment(one.shown_reserved_at_ms)
            rows.append((one.number, at, one.charge.analyst, one.charge.epsilon, one.state, text))
    show_rows(_QUESTION_COLUMNS, rows, output)
    if without:
        tell(f"{without} charges have no question text: it was not stored.")


def new_question_key(
    file: Annotated[Path, typer.Argument(help="The key file; made where there is none.", dir_okay=False)],
) -> None:
    """Make a key for question texts and put it first in its file. It is used from the next start or reload on.

    Keep the older lines: they decrypt older texts. Keep a copy elsewhere: without its key no text can be decrypted.

    Example:  noisegate ledger new-question-key questions.key

    Exit codes: 0 made, 2 the file cannot be read or written.
    """
    from server.ledger.question_texts import add_key

    name = add_key(file)
    tell(f"The key {name} is now the first of {file}.")
