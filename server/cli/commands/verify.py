"""`noisegate verify`: compare both solvers on a question, for administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from server.cli.commands.open_ledger import PolicyFile
from server.cli.failure import ExitCode
from server.cli.terminal import printable, show, tell

if TYPE_CHECKING:
    from server.policy.verify_solvers import Compared

_CATALOG_TIMEOUT_MS = 10_000


def verify(
    sql: Annotated[str, typer.Argument(help="One SELECT of sums and counts, in quotes.", metavar="SQL")],
    policy: PolicyFile,
    vector: Annotated[
        bool, typer.Option("--vector", help="Compare the program of all groups together, of pmsja and s4s_vector.")
    ] = False,
) -> None:
    """Solve a question's truncation programs with both solvers, the certified one and cvxpy, and compare the values.

    For administrators only: it reads the database and prints exact values, which no analyst may see. It releases
    nothing and charges no budget.

    Example:  noisegate verify "SELECT count(*) FROM orders" --policy policy.toml

    Exit codes: 0 they agree within the certificate's gap at every threshold, 1 they do not, 2 not verified.
    """
    from planner.policy.declared import with_declared_keys
    from planner.policy.validate import validate
    from server.backends.open_custody import open_policy_custody
    from server.policy.accepted_policy import read_policy
    from server.policy.secrets import resolve
    from server.policy.verify_solvers import verify_solvers

    contract = read_policy(policy)
    url = resolve(contract.database_url, policy.parent)
    with open_policy_custody(contract, url, _CATALOG_TIMEOUT_MS) as custody:
        schema = custody.schema(contract.namespaces).declaring(contract.tables)
        backend = custody.backend
    validate(contract, schema)
    schema = with_declared_keys(schema, contract)
    compared = list(verify_solvers(sql, contract, schema, backend, vector))
    show(_table(compared))
    wrong = sum(not one.at.agrees for one in compared)
    unsolved = sum(one.at.reference is None for one in compared)
    largest = max((one.at.difference * one.weight_bound for one in compared), default=0.0)
    tell(f"thresholds {len(compared)}, beyond the gap {wrong}, too large for cvxpy {unsolved}")
    tell(f"largest difference of a group: {largest:,.6g}")
    if wrong:
        raise typer.Exit(ExitCode.REFUSED)


def _table(compared: list[Compared]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("release", overflow="fold")
    for name in ("tau", "certified", "s", "cvxpy", "s", "difference", "allowed"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("")
    for one in compared:
        at, unit = one.at, one.weight_bound
        solved = at.reference is not None
        table.add_row(
            Text(printable(one.label)),
            f"{at.tau * unit:,.6g}",
            f"{at.certified * unit:,.6f}",
            f"{at.certified_s:.3f}",
            "too large" if at.reference is None else f"{at.reference * unit:,.6f}",
            f"{at.reference_s:.3f}" if solved else "",
            f"{at.difference * unit:,.3g}" if solved else "",
            f"{at.allowed * unit:,.3g}",
            Text("") if at.agrees else Text("beyond the gap", style="bold red"),
        )
    return table
