"""`noisegate mirror`: the local copy of the tables, made anew or looked at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import Progress, TextColumn, TimeElapsedColumn

from server.cli.commands.open_ledger import PolicyFile, Reason, act, opened
from server.cli.failure import CommandFailed
from server.cli.output.listing import Format, Output, show_rows
from server.cli.output.terminal import tell, write

if TYPE_CHECKING:
    from server.backends.mirror.current_mirror import CurrentMirror
    from server.ledger.ledger import Ledger
    from server.startup.open_services import Prepared

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
