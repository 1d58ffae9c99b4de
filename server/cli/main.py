"""The entry point of the `noisegate` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from planner.errors import PlannerError
from server.cli.commands import (
    accept_policy,
    admin,
    analyst,
    ask,
    budget,
    data,
    first_proxy,
    ledger,
    ledger_backup,
    ledger_questions,
    mirror,
    policy,
    serve,
    verify,
)
from server.cli.failure import CommandFailed, ExitCode
from server.cli.output.terminal import tell_failure
from server.cli.shell.command import shell
from server.cli.shell.workload import workload
from server.errors import ServerError

_HELP = """
SQL answers that protect people: a differentially private proxy in front of a database.

The custodian answers four questions (`init`) and has a running proxy; or writes a policy (`policy init`,
`policy check`), gives analysts a budget (`analyst add`) and starts the proxy (`serve`). The custodian looks after
budgets (`admin`), the data's version (`data`), a copy of it (`mirror`) and the ledger (`ledger`), and may compare the
solvers behind an answer (`verify`). Analysts ask questions (`query`, many at once in a `workload`, or one after
another in a `shell`), look at their price first (`explain`) and see what is left (`budget`).

Example:  noisegate query "SELECT count(*) FROM orders"
"""

app = typer.Typer(
    name="noisegate",
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a traceback with local variables could show secrets
    context_settings={"help_option_names": ["-h", "--help"]},
)
policy_app = typer.Typer(
    help="Write a first policy, check one against the database, confirm a weaker one.", no_args_is_help=True
)
analyst_app = typer.Typer(help="Give people keys and budgets.", no_args_is_help=True)

admin_app = typer.Typer(help="Budgets, charges, and what custodians did.", no_args_is_help=True)
ledger_app = typer.Typer(help="Verify, export, back up or restore the ledger.", no_args_is_help=True)
data_app = typer.Typer(help="Say that the data is a new load.", no_args_is_help=True)

app.command()(first_proxy.init)
app.command()(serve.serve)
app.command()(ask.query)
app.command()(ask.explain)
app.command()(workload)
app.command()(shell)
app.command()(budget.budget)
app.command()(verify.verify)
app.add_typer(policy_app, name="policy")
policy_app.command("init")(policy.init)
policy_app.command("check")(policy.check)
policy_app.command("accept")(accept_policy.accept)
app.add_typer(analyst_app, name="analyst")
analyst_app.command("add")(analyst.add)
analyst_app.command("list")(analyst.listed)
analyst_app.command("rotate-key")(analyst.rotate_key)
analyst_app.command("disable")(analyst.disable)
analyst_app.command("enable")(analyst.enable)
analyst_app.command("set-role")(analyst.set_role)
analyst_app.command("set-group")(analyst.set_group)
app.add_typer(admin_app, name="admin")
admin_app.command("accounts")(admin.accounts)
admin_app.command("grant")(admin.grant)
admin_app.command("top-up")(admin.top_up)
admin_app.command("charges")(admin.charges)
admin_app.command("log")(admin.log)
app.add_typer(ledger_app, name="ledger")
ledger_app.command("verify")(ledger.verify)
ledger_app.command("export")(ledger.export)
ledger_app.command("backup")(ledger_backup.backup)
ledger_app.command("restore")(ledger_backup.restore)
ledger_app.command("questions")(ledger_questions.questions)
ledger_app.command("new-question-key")(ledger_questions.new_question_key)
mirror_app = typer.Typer(help="Copy the tables into a local file, where questions run quicker.", no_args_is_help=True)
app.add_typer(mirror_app, name="mirror")
mirror_app.command("refresh")(mirror.refresh)
mirror_app.command("status")(mirror.status)
app.add_typer(data_app, name="data")
data_app.command("version")(data.version)
data_app.command("bump")(data.bump)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; our own errors become one line and a hint.

    Args:
      arguments: what follows the program's name; None takes the process's own.
    Raises: SystemExit, always.
    """
    try:
        app(args=None if arguments is None else list(arguments), prog_name="noisegate")
    except CommandFailed as failure:
        tell_failure(failure)
        sys.exit(failure.exit_code)
    except (ServerError, PlannerError) as error:
        tell_failure(CommandFailed(error.message, hint=error.hint))
        sys.exit(ExitCode.UNUSABLE)


if __name__ == "__main__":
    main()
