"""`noisegate policy init` and `noisegate policy check`: the custodian's contract, from draft to verified."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.status import Status
from rich.table import Table
from rich.text import Text

from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import console, printable, show, tell

if TYPE_CHECKING:
    from planner.policy import Policy
    from server.probe import Finding

_DRAFTED_URL = "env:NOISEGATE_DATABASE_URL"  # what a draft names
_CATALOG_TIMEOUT_MS = 10_000
_NO_TIMEOUT_MS = 0  # counting rows takes as long as the tables are large; Ctrl-C ends it


def init(
    url: Annotated[
        str, typer.Option(help="Where the database's URL is: env:NAME or file:PATH; never the URL itself.")
    ] = _DRAFTED_URL,
    name: Annotated[str, typer.Option(help="The dataset's name.")] = "noisegate",
    output: Annotated[Path, typer.Option(help="The file to write.", dir_okay=False)] = Path("policy.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Write a first policy from the live catalog: everything private, with comments that say what to decide.

    Only the structure is read (tables, columns, keys), never a row.

    Example:  noisegate policy init --url env:NOISEGATE_DATABASE_URL --name shop --output policy.toml

    Exit codes: 0 written, 2 not written.
    """
    from planner.policy_draft import draft
    from server.backends.catalog import read_schema
    from server.backends.postgres import connected
    from server.secrets import resolve

    if not url.startswith(("env:", "file:")):
        raise CommandFailed(
            "--url names where the database's URL is, so that no password gets into the policy",
            hint="export NOISEGATE_DATABASE_URL=postgresql://ROLE:PASSWORD@HOST/DATABASE and leave --url out",
        )
    if output.exists() and not force:
        raise CommandFailed(f"{output} is already there", hint="choose another --output, or replace it with --force")
    with connected(resolve(url, output.parent), _CATALOG_TIMEOUT_MS) as connection:
        schema = read_schema(connection)
    if not schema.tables:
        raise CommandFailed(
            "the role can read no table", hint="GRANT SELECT ON ALL TABLES IN SCHEMA public TO the proxy's role"
        )
    try:
        text = draft(schema, name).replace(json.dumps(_DRAFTED_URL), json.dumps(url), 1)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{output} cannot be written: {error.strerror}") from error
    tell(f"Wrote {output} with {len(schema.tables)} tables. Decide what its comments ask, then run")
    tell(f"  noisegate policy check {output}")


def check(
    policy: Annotated[Path, typer.Argument(help="The policy file.", metavar="POLICY")],
) -> None:
    """Compare a policy with the catalog, with every row and with the accounts: ranges, keys, orphans, cycles, deltas.

    For the custodian only: it prints exact numbers of rows, which no analyst may see.

    Example:  noisegate policy check policy.toml

    Exit codes: 0 no error (there may be warnings), 1 an error was found, 2 the check could not be made.
    """
    from server.backends.catalog import read_schema
    from server.backends.postgres import connected
    from server.policy_check import check_policy, probes
    from server.secrets import resolve
    from server.services import read_policy

    contract = read_policy(policy)
    url = resolve(contract.database_url, policy.parent)
    with connected(url, _NO_TIMEOUT_MS) as connection, console(sys.stderr).status("Reading the catalog") as status:
        schema = read_schema(connection)
        findings = [*check_policy(connection, contract, schema, _progress(status)), *_of_accounts(contract, policy)]
    counted = len(probes(contract, schema))
    errors = sum(finding.severity == "error" for finding in findings)
    if findings:
        show(_findings_table(findings))
    warnings = len(findings) - errors
    tell(f"{policy}: errors {errors}, warnings {warnings}; declarations compared with the rows: {counted}")
    if errors:
        raise typer.Exit(ExitCode.REFUSED)


def _of_accounts(contract: Policy, path: Path) -> tuple[Finding, ...]:
    """What is missing in the accounts that there are; nothing where no ledger is at hand."""
    from server.errors import ConfigurationInvalid, LedgerMissing, LedgerUnavailable
    from server.missing_deltas import missing_deltas
    from server.policy_ledger import open_policy_ledger

    try:
        with closing(open_policy_ledger(contract, path)) as ledger:
            return tuple(missing_deltas(contract, ledger))
    except (ConfigurationInvalid, LedgerMissing, LedgerUnavailable):
        return ()


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
        style = "bold red" if finding.severity == "error" else "yellow"
        rows = "" if finding.rows is None else f"{finding.rows:,}"
        table.add_row(
            Text(finding.severity, style=style), *map(Text, map(printable, (finding.subject, rows, finding.message)))
        )
    return table
