"""`noisegate policy init`, `check` and `accept`: from a draft to a verified policy."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.status import Status
from rich.table import Table
from rich.text import Text

from server.cli.commands.open_ledger import PolicyArgument, Reason, act, opened
from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import Format, Output, confirmed, console, printable, show, show_rows, tell

if TYPE_CHECKING:
    from planner.policy.policy import Policy
    from planner.schema import Schema
    from server.backends.custody import Custody
    from server.ledger.ledger import Ledger
    from server.policy.verified_keys import Finding


_DRAFTED_URL = "env:NOISEGATE_DATABASE_URL"  # what a draft names
_STYLES = {"error": "bold red", "warning": "yellow", "accepted": "dim"}
_FINDINGS = ("severity", "subject", "rows", "message", "next_step")
_CATALOG_TIMEOUT_MS = 10_000
_NO_TIMEOUT_MS = 0  # counting rows takes as long as the tables are large; Ctrl-C ends it


def init(
    url: Annotated[
        str,
        typer.Option(
            help="Where the database's URL is: env:NAME or file:PATH, never the URL itself; or duckdb:///FILE, "
            "parquet:///FOLDER and spark+local:///FOLDER, which need no password."
        ),
    ] = _DRAFTED_URL,
    name: Annotated[
        str | None, typer.Option(help="The dataset's name, which clients connect to. The database's if left out.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The file to write.", dir_okay=False)] = Path("policy.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    from_statistics: Annotated[
        bool,
        typer.Option(
            "--from-statistics",
            help="Propose ranges, domains and lookup tables from the database's statistics of its rows, each in a "
            "comment. They come from the data: decide whether each may be public.",
        ),
    ] = False,
) -> None:
    """Write a first policy from the live catalog: everything private, with comments that list the decisions to make.

    Only the structure is read (tables, columns, keys), never a row. With --from-statistics the database's statistics
    are read too. They describe the rows: treat the file as confidential until you have decided on each proposal.

    Example:  noisegate policy init --url env:NOISEGATE_DATABASE_URL --name shop --output policy.toml

    Example:  noisegate policy init --url parquet:///lake

    Example:  noisegate policy init --from-statistics

    Exit codes: 0 written, 2 not written.
    """
    from planner.policy.draft import Estimates, draft, extent
    from server.backends.files import FILE_URLS
    from server.backends.open_custody import open_custody
    from server.policy.secrets import resolve

    if url.startswith("csv:") or url.endswith(".csv"):
        raise CommandFailed(
            "CSV files have no types, so they are not served",
            hint="write them as Parquet, for example with DuckDB: COPY (FROM 'visit.csv') TO 'visit.parquet'; "
            "then use --url parquet:///FOLDER",
        )
    if not url.startswith(("env:", "file:", *FILE_URLS)):
        raise CommandFailed(
            "--url must name where the database's URL is, so that the policy contains no password",
            hint="export NOISEGATE_DATABASE_URL=postgresql://ROLE:PASSWORD@HOST/DATABASE and leave --url out",
        )
    if output.exists() and not force:
        raise CommandFailed(f"{output} exists already", hint="choose another --output, or replace it with --force")
    with open_custody(resolve(url, output.parent), (), _CATALOG_TIMEOUT_MS) as custody:
        namespaces = custody.namespaces()
        schema = custody.schema(namespaces)
        left_out = custody.left_out(namespaces)
        grants = custody.grants(namespaces)
        dataset = dataset_name(custody.name) if name is None else name
        today = datetime.now(UTC).date()
        estimates = custody.estimates(schema, today) if from_statistics else Estimates(today=today)
    if not schema.tables:
        raise no_table(grants)
    try:
        text = draft(schema, dataset, estimates, left_out=left_out)
        text = text.replace(json.dumps(_DRAFTED_URL), json.dumps(url), 1)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{output} cannot be written: {error.strerror}") from error
    drafted, omitted = extent(text)
    why = f", left out: {omitted}, for the reasons at its end" if omitted else ""
    tell(f"Wrote {output}; tables in it: {drafted}{why}. Decide what its comments ask, then run")
    tell(f"  noisegate policy check {output}")


def no_table(grants: str) -> CommandFailed:
    """The failure for a role that can read no table, with the grants that it needs."""
    if not grants:
        hint = (
            "is it the database of the rows, by its URL? A folder needs .parquet files; DuckDB can make them of CSV"
        )
        return CommandFailed("the database has no tables", hint=hint)
    return CommandFailed("the role can read no table", hint=f"as the database's owner: {printable(grants)}")


def dataset_name(database: str) -> str:
    """A dataset name from a database's name, which needs no quotes anywhere.

    >>> dataset_name("St. Mary's")
    'St__Mary_s'
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", database)


def check(
    policy: Annotated[Path, typer.Argument(help="The policy file.", metavar="POLICY")],
    output: Output = Format.TABLE,
) -> None:
    """Compare a policy with the catalog, every row and the accounts: ranges, keys, orphans, cycles, deltas.

    For administrators only: it prints exact row counts, which no analyst may see. A proxy does not start if the
    policy contradicts the catalog, and does not answer while rows share a declared key. It ignores the other
    findings.

    Example:  noisegate policy check policy.toml

    Exit codes: 0 no error (there may be warnings), 1 an error was found, 2 the check could not be made.
    """
    findings = checked(policy, output)
    if any(one.severity == "error" for one in findings):
        if any(one.severity == "error" and not one.stops for one in findings):
            tell("`noisegate serve` checks only declared keys; it starts despite the other errors")
        raise typer.Exit(ExitCode.REFUSED)


def checked(policy: Path, output: Format | None) -> Sequence[Finding]:
    """Compare a policy with the catalog, every row and the accounts, show what is found, and record unique keys.

    Args:
      output: of the findings on stdout; None: stdout has something else, and they are messages.
    """
    from planner.policy.declared import with_declared_keys
    from server.backends.open_custody import open_policy_custody
    from server.policy.accepted_policy import Change, PolicyFile
    from server.policy.check_data import check_policy, probes
    from server.policy.dataset_budget import dataset_budget, missing_deltas
    from server.policy.secrets import resolve

    file = PolicyFile.read(policy)
    contract = file.policy
    weaker: tuple[str, ...] = ()
    url = resolve(contract.database_url, policy.parent)
    with ExitStack() as stack:
        ledger = _ledger_at_hand(contract, policy)
        version = None if ledger is None else stack.enter_context(closing(ledger)).data_version()
        opened = open_policy_custody(contract, url, _NO_TIMEOUT_MS)
        custody = stack.enter_context(opened)  # its snapshot is younger than the version
        status = stack.enter_context(console(sys.stderr).status("Reading the catalog"))
        schema = custody.schema(contract.namespaces).declaring(contract.tables)
        findings = [
            *_question_keys(contract, policy),
            *check_policy(custody, contract, schema, _progress(status)),
        ]
        if ledger is not None and version is not None:
            findings += missing_deltas(contract, ledger.accounts(), ledger.analysts())
            findings += [one for one in (dataset_budget(contract, ledger.accounts()),) if one is not None]
            declared = with_declared_keys(schema, contract)
            weaker = Change.to(file, declared, ledger).weaker
            _record_keys(findings, declared, ledger, version)
            if not any(finding.severity == "error" for finding in findings):
                findings += _periods(contract, policy, custody, ledger)
        proposal = None if any(one.severity == "error" for one in findings) else _mirror(contract, custody, schema)
    counted = len(probes(contract, schema))
    number = Counter(finding.severity for finding in findings)
    if output is None:
        for one in findings:
            count = "" if one.rows is None else f"{one.rows:,} "
            tell(f"{one.severity}: {printable(one.subject)}: {count}{printable(one.message)}")
    elif output is not Format.TABLE:
        show_rows(_FINDINGS, [tuple(getattr(one, name) for name in _FINDINGS) for one in findings], output)
    elif findings:
        show(_findings_table(findings))
    for finding in findings:
        if finding.next_step is not None:
            tell(f"next, for {printable(finding.subject)}: {printable(finding.next_step)}")
    accepted = f", acknowledged {number['accepted']}" if number["accepted"] else ""
    said = f"errors {number['error']}, warnings {number['warning']}{accepted}"
    tell(f"{policy}: {said}; declarations compared with the rows: {counted}")
    if weaker:
        tell(f"It protects less than the policy in force: {printable('; '.join(weaker))}")
        tell(f"No proxy applies it before `noisegate policy accept {policy} --reason WHY`.")
    if proposal is not None:
        tell(proposal)
    return findings


def _question_keys(contract: Policy, path: Path) -> list[Finding]:
    """A warning if the question key file cannot be used; no proxy starts without it."""
    from server.errors import ConfigurationInvalid
    from server.policy.verified_keys import Finding
    from server.startup.open_services import question_keys

    try:
        question_keys(contract, path.parent)
    except ConfigurationInvalid as error:
        message = f"{error.message} No proxy starts without it."
        return [Finding("warning", "question_key_file", message, next_step=error.hint)]
    return []


def _ledger_at_hand(contract: Policy, path: Path) -> Ledger | None:
    """The ledger of a policy; None if there is none yet, or it cannot be reached."""
    from server.errors import ConfigurationInvalid, LedgerMissing, LedgerUnavailable
    from server.policy.open_ledger_of_policy import open_policy_ledger

    try:
        return open_policy_ledger(contract, path)
    except (ConfigurationInvalid, LedgerMissing, LedgerUnavailable):
        return None


def _record_keys(findings: Sequence[Finding], schema: Schema, ledger: Ledger, version: int) -> None:
    """Record in the ledger which declared keys are unique; the proxy answers what rests on these."""
    from server.policy.verified_keys import unshared

    held = unshared(schema, {finding.subject for finding in findings if finding.severity == "error"})
    if held:
        ledger.note_checked(version, schema.fingerprint, held, act("policy check"))
        tell(f"Recorded in the ledger for data version {version}: {', '.join(map(printable, held))} are unique.")


def _periods(contract: Policy, path: Path, custody: Custody, ledger: Ledger) -> list[Finding]:
    """Closed rows that have changed since the last data version. A version without a record is recorded now."""
    from server.policy.data_versions import compare_version, note_first
    from server.policy.verified_keys import Finding

    found = compare_version(contract, path, custody, ledger)
    if note_first(contract, path, ledger, act("policy check")):
        tell("Recorded which periods are closed: answers about them are cached from this data version on.")
    message = "rows of a closed period have changed since the last data version; the next `data bump` asks about it"
    return [Finding("warning", subject, message) for subject in (() if found is None else found.subjects)]


_LARGE = 1_000_000
"""The rows from which on a mirror of contributions is proposed: grouping them by person takes half a second."""


def _mirror(contract: Policy, custody: Custody, schema: Schema) -> str | None:
    """A proposal to keep contributions, if they would make questions over a large table faster."""
    from planner.kept_contributions import kept_contributions
    from planner.policy.declared import with_declared_keys

    if contract.mirror is not None:
        return None
    rows = custody.estimates(schema, datetime.now(UTC).date()).rows  # none for files, which have no mirror
    large = {name for name, count in rows.items() if count >= _LARGE}
    kept = kept_contributions(with_declared_keys(schema, contract), contract) if large else ()
    names = [printable(one.table) for one in kept if one.table in large]
    return (
        f"Counts and sums over all rows of {', '.join(names)} can be several times faster: write [mirror] with"
        ' path = "mirror.duckdb" and holds = "contributions", and run `noisegate mirror refresh`.'
        if names
        else None
    )


def _progress(status: Status) -> Callable[[str], None]:
    """Show what is being counted, on a terminal."""
    return lambda subject: status.update(Text(printable(subject)))


def _findings_table(findings: Sequence[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("finding")
    table.add_column("where", overflow="fold")
    table.add_column("rows", justify="right", overflow="fold")
    table.add_column("what", overflow="fold")
    for finding in findings:
        style = _STYLES[finding.severity]
        rows = "" if finding.rows is None else f"{finding.rows:,}"
        table.add_row(
            Text(finding.severity, style=style), *map(Text, map(printable, (finding.subject, rows, finding.message)))
        )
    return table


def accept(
    policy: PolicyArgument,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
) -> None:
    """Put a policy in force that protects less, after showing what it weakens. The ledger records who did it and why.

    A running proxy applies it at the next SIGHUP or reload. A policy that protects as much as the one before needs no
    confirmation. A policy also protects less if the database has lost a foreign key through which rows are owned.

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
        if change.weaker and not yes and not confirmed("Put it in force?"):
            hint = "in a script, add --yes"
            message = "not confirmed; the old policy stays in force"
            raise CommandFailed(message, hint=hint, exit_code=ExitCode.REFUSED)
        put_in_force(change, ledger, act(reason), confirmed=change.hash)
    tell(
        f"The policy {prepared.file.policy.hash} is accepted. A running proxy applies it at SIGHUP or a reload. "
        "Where it says something else of a question's tables or people, the question is measured and charged again."
    )
