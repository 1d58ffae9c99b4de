"""`noisegate data` and `noisegate mirror`: the data version, and the local copy of the tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import Progress, TaskID, TextColumn, TimeElapsedColumn

from server.cli.commands.open_ledger import PolicyFile, Reason, act, opened
from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import Format, Output, printable, show_one, show_rows, tell, write

if TYPE_CHECKING:
    from server.backends.mirror import CurrentMirror
    from server.ledger.ledger import Ledger
    from server.startup.open_services import Prepared


_CHECK = (
    "Then compare the policy with all rows and count declared keys, as `noisegate policy check` does. Exit code 1 "
    "only for what stops answers, such as a shared key."
)
_COLUMNS = ("data_version",)
_CONNECT_TIMEOUT_MS = 10_000
_TOLD = 40
"""At most this many changed periods are listed."""


_REOPEN = (
    "Reopen closed periods whose rows have changed, so that they are measured again. Analysts notice that: `changed` "
    "reopens those, `all` reopens every period, which reveals less. Without it such a change is refused."
)


def version(policy: PolicyFile, output: Output = Format.TABLE) -> None:
    """Print the data version.

    Example:  noisegate data version --policy policy.toml
    """
    with opened(policy) as ledger:
        found = ledger.data_version()
    show_one(_COLUMNS, (found,), output, "", found)


def bump(
    policy: PolicyFile,
    reason: Reason,
    reopen: Annotated[Literal["changed", "all"] | None, typer.Option(help=_REOPEN)] = None,
    check: Annotated[bool, typer.Option("--check", help=_CHECK)] = False,
    output: Output = Format.TABLE,
) -> None:
    """Record a new data version after the data has changed.

    From then on every question is measured and charged again, and cached answers to the old data are not served. Only
    answers about closed periods of append_only tables stay cached, after their rows are compared. Spending stays.
    Running proxies notice at once. If the database is files, they answer again after SIGHUP, which checks the keys of
    the new rows. A mirror that holds contributions is made again.
    Declared keys of a PostgreSQL database are counted with --check, or by `noisegate policy check`.

    Example:  noisegate data bump --policy policy.toml --reason "the data of May"

    Example:  noisegate data bump --check --policy policy.toml --reason "the data of the night"

    Exit codes: 0 written, 1 closed rows have changed, and nothing is written, or --check found what stops answers,
    2 not written, or not checked, for another reason.
    """
    from server.backends.open_custody import open_policy_custody
    from server.cli.commands.policy import checked
    from server.policy.accepted_policy import read_policy
    from server.policy.data_versions import bump_version
    from server.policy.secrets import resolve
    from server.startup.mirror import refresh_mirror

    contract = read_policy(policy)
    if check:  # what cannot be checked afterwards is not begun
        with open_policy_custody(contract, resolve(contract.database_url, policy.parent), _CONNECT_TIMEOUT_MS):
            pass
    with opened(policy) as ledger:
        record = None
        if contract.mirror is not None and contract.mirror.holds == "contributions":
            mirror, prepared = _mirror(policy, ledger)
            parts = mirror, prepared.file.policy, prepared.url, ledger, act(reason)
            record = partial(refresh_mirror, *parts)
        done = bump_version(contract, policy, ledger, act(reason), reopen, record=record)
        tuned = [one.version for one in ledger.tunings() if one.state == "committed"]
    found = done.found
    if found is not None:
        for subject in found.subjects[:_TOLD]:
            tell(f"closed rows have changed: {printable(subject)}")
        if len(found.subjects) > _TOLD:
            tell(f"and {len(found.subjects) - _TOLD} more")
    if done.version is None:
        raise CommandFailed(
            "rows of closed periods have changed, so nothing is written",
            hint="reopening a period reveals to analysts that old rows changed. Use "
            "--reopen changed if they may know that, or --reopen all to reopen every closed period",
            exit_code=ExitCode.REFUSED,
        )
    if found is not None and not done.noted:
        tell("Another data version was recorded meanwhile: closed periods of both are measured again.")
    elif found is not None and found.incomparable:
        tell(
            "Closed periods are recorded for the first time, or with a new key: answers about them are cached"
            " from now on."
        )
    elif found is not None:
        tell(f"Closed periods compared: {found.periods}, changed: {len(found.changed)}.")
    show_one(_COLUMNS, (done.version,), output, "The new data version is:", done.version)
    if tuned:
        tell(
            f"Contributions were last measured in data version {tuned[-1]}. Repeat `noisegate tune`, at a new"
            " epsilon, once the people or their rows have about doubled."
        )
    if needs_reload(policy):
        tell(
            "Next: send SIGHUP (kill -HUP) to each running proxy, which checks the keys of the new files. Until then"
            " it refuses questions."
        )
    if check:
        stopping = [printable(one.subject) for one in checked(policy, None) if one.stops]
        if stopping:
            raise CommandFailed(
                f"this stops answers, or the next start of a proxy: {', '.join(stopping)}",
                hint=f"what is wrong stands above; after the fix, run `noisegate policy check {policy}`",
                exit_code=ExitCode.REFUSED,
            )
        tell("Nothing of that stops answers.")


def needs_reload(policy: Path) -> bool:
    """Whether running proxies must reload before they answer about a new data version: if the database is files."""
    from server.backends.files import CONNECT, FILE_URLS
    from server.errors import ConfigurationInvalid
    from server.policy.accepted_policy import read_policy
    from server.policy.secrets import resolve

    try:
        return resolve(read_policy(policy).database_url, policy.parent).startswith((*FILE_URLS, CONNECT))
    except ConfigurationInvalid:  # a secret that only the proxy has; the data version is recorded already
        return False


_MIRROR_COLUMNS = ("file", "current", "why_not", "copied_at", "table", "rows")


def refresh(policy: PolicyFile, reason: Reason = "a new copy of the tables") -> None:
    """Copy the policy's tables into its mirror, in one snapshot, as a new data version.

    From then on every question is measured and charged again, as after `noisegate data bump`. The old copy answers
    until the new one is complete.

    Example:  noisegate mirror refresh --policy policy.toml

    Exit codes: 0 copied, 2 not copied: the old copy stays.
    """
    from server.startup.mirror import refresh_mirror

    with _opened(policy) as (mirror, prepared, ledger), _progress() as progress:
        tasks: dict[str, TaskID] = {}

        def report(table: str, rows: int) -> None:
            if table not in tasks:
                tasks[table] = progress.add_task(table, total=None)
            progress.update(tasks[table], completed=rows)

        version = refresh_mirror(mirror, prepared.file.policy, prepared.url, ledger, act(reason), report)
    tell("The mirror is a copy of the data version:")
    write(str(version))


def status(policy: PolicyFile, output: Output = Format.TABLE) -> None:
    """Show what the mirror holds, its age, and whether it answers questions now.

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
        write(f"contributions: of {len(stamp.kept)} tables, to {sum(map(len, stamp.kept))} counts and sums")
    if why_not is None:
        write("current: yes; private questions are answered from this copy")
        return
    write(f"current: no: {why_not}; PostgreSQL answers until `noisegate mirror refresh` makes a new copy")
    raise typer.Exit(1)


def age_text(seconds: float) -> str:
    """The age of a copy in words.

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
    with opened(policy) as ledger:
        yield *_mirror(policy, ledger), ledger


def _mirror(policy: Path, ledger: Ledger) -> tuple[CurrentMirror, Prepared]:
    from server.startup.mirror import open_mirror
    from server.startup.open_services import prepare

    prepared = prepare(policy)
    mirror = open_mirror(prepared.file.policy, prepared.schema, prepared.url, policy.parent, ledger)
    if mirror is None:
        raise CommandFailed("the policy has no [mirror]", hint='[mirror]\npath = "noisegate-mirror.duckdb"')
    return mirror, prepared


def _progress() -> Progress:
    from rich.console import Console

    columns = (TextColumn("{task.description}"), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())
