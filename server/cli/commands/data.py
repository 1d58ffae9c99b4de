"""`noisegate data` and `noisegate mirror`: which load the kept answers are of, and the local copy of the tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from server.cli.commands.open_ledger import PolicyFile, Reason, act, opened
from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import Format, Output, printable, show_one, show_rows, tell, write

if TYPE_CHECKING:
    from server.backends.mirror import CurrentMirror
    from server.ledger.ledger import Ledger
    from server.startup.open_services import Prepared


_COLUMNS = ("data_version",)
_TOLD = 40
"""Changed periods that are listed."""


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
    show_one(_COLUMNS, (found,), output, "", found)


def bump(
    policy: PolicyFile,
    reason: Reason,
    reopen: Annotated[Literal["changed", "all"] | None, typer.Option(help=_REOPEN)] = None,
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
    from server.policy.data_versions import bump_version

    with opened(policy) as ledger:
        done = bump_version(read_policy(policy), policy, ledger, act(reason), reopen)
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
    show_one(_COLUMNS, (done.version,), output, "The data is a new load, of version:", done.version)
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
    from server.backends.files import CONNECT, FILE_URLS
    from server.errors import ConfigurationInvalid
    from server.policy.accepted_policy import read_policy
    from server.policy.secrets import resolve

    try:
        return resolve(read_policy(policy).database_url, policy.parent).startswith((*FILE_URLS, CONNECT))
    except ConfigurationInvalid:  # a secret that only the proxy has; the load is written already
        return False


_MIRROR_COLUMNS = ("file", "current", "why_not", "copied_at", "table", "rows")


def refresh(policy: PolicyFile, reason: Reason = "a new copy of the tables") -> None:
    """Copy the policy's tables into its mirror, in one snapshot, as a new load of the data.

    From now on every question is measured, and charged, anew, as after `noisegate data bump`. The copy before answers
    until the new one is whole.

    Example:  noisegate mirror refresh --policy policy.toml

    Exit codes: 0 copied, 2 not copied: the copy before stays.
    """
    from server.startup.mirror import refresh_mirror

    with _opened(policy) as (mirror, prepared, ledger), _progress() as progress:
        tasks = {table.name: progress.add_task(table.name, total=None, start=False) for table in mirror.tables}

        def report(table: str, rows: int) -> None:
            progress.start_task(tasks[table])
            progress.update(tasks[table], completed=rows)

        version = refresh_mirror(mirror, prepared.file.policy, prepared.url, ledger, act(reason), report)
    tell("The mirror is a copy of the data, of version:")
    write(str(version))


def status(policy: PolicyFile, output: Output = Format.TABLE) -> None:
    """Say what the mirror holds, how old it is, and whether it answers questions now.

    Example:  noisegate mirror status --policy policy.toml

    Exit codes: 0 it is current, 1 it is not.
    """
    import typer

    with _opened(policy) as (mirror, _, _ledger):
        why_not = mirror.why_not()
        stamp = None if not mirror.file.path.exists() else mirror.file.stamp()
    if output is not Format.TABLE:
        copied_at = None if stamp is None else datetime.fromtimestamp(stamp.copied_at, UTC).isoformat()
        tables = {} if stamp is None else stamp.rows
        place = str(mirror.file.path)
        listed = [(place, why_not is None, why_not, copied_at, *one) for one in sorted(tables.items())]
        show_rows(_MIRROR_COLUMNS, listed or [(place, False, why_not, None, None, None)], output)
        raise typer.Exit(0 if why_not is None else 1)
    write(f"file: {mirror.file.path}{' (encrypted)' if mirror.file.key else ''}")
    if stamp is not None:
        copied = datetime.fromtimestamp(stamp.copied_at, UTC)
        write(f"size: {mirror.file.path.stat().st_size / 1e6:.1f} MB")
        write(f"copied: {copied:%Y-%m-%d %H:%M:%S} UTC, {age_text((datetime.now(UTC) - copied).total_seconds())} ago")
        for table, rows in sorted(stamp.rows.items()):
            write(f"table {table}: {rows:,} rows, {len(stamp.columns[table])} columns")
    if why_not is None:
        write("current: yes; private questions are answered from this copy")
        return
    write(f"current: no: {why_not}; PostgreSQL answers until `noisegate mirror refresh` has made a new copy")
    raise typer.Exit(1)


def age_text(seconds: float) -> str:
    """How old a copy is, in the unit that a person would say it in.

    >>> age_text(59), age_text(60), age_text(7_200), age_text(260_000)
    ('less than a minute', '1 minute', '2 hours', '3 days')
    """
    unit, name = next(((size, name) for size, name in _AGES if seconds >= size), (0, ""))
    if not unit:
        return "less than a minute"
    count = int(seconds // unit)
    return f"{count} {name}" + ("" if count == 1 else "s")


_AGES = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


@contextmanager
def _opened(policy: Path) -> Iterator[tuple[CurrentMirror, Prepared, Ledger]]:
    from server.startup.mirror import open_mirror
    from server.startup.open_services import prepare

    with opened(policy) as ledger:
        prepared = prepare(policy)
        mirror = open_mirror(prepared.file.policy, prepared.schema, prepared.url, policy.parent, ledger)
        if mirror is None:
            raise CommandFailed("the policy has no [mirror]", hint='[mirror]\npath = "noisegate-mirror.duckdb"')
        yield mirror, prepared, ledger


def _progress() -> Progress:
    from rich.console import Console

    columns = (TextColumn("{task.description}"), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())
