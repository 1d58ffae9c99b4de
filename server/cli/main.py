"""The entry point of the `noisegate` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from planner.errors import PlannerError
from server.cli import analyst, ask, policy, serve
from server.cli.failure import CommandFailed, ExitCode
from server.cli.terminal import tell_failure
from server.errors import ServerError

_HELP = """
SQL answers that protect people: a differentially private proxy in front of PostgreSQL.

The custodian writes a policy (`policy init`, `policy check`), gives analysts a budget (`analyst add`) and starts the
proxy (`serve`). Analysts ask questions (`query`) and look at their price first (`explain`).

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
policy_app = typer.Typer(help="Write a first policy, or check one against the database.", no_args_is_help=True)
analyst_app = typer.Typer(help="Give people keys and budgets.", no_args_is_help=True)

app.command()(serve.serve)
app.command()(ask.query)
app.command()(ask.explain)
app.add_typer(policy_app, name="policy")
policy_app.command("init")(policy.init)
policy_app.command("check")(policy.check)
app.add_typer(analyst_app, name="analyst")
analyst_app.command("add")(analyst.add)


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
