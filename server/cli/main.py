"""The entry point of the `noisegate` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, ClassVar, NoReturn

import typer

from planner.errors import PlannerError
from server.cli.failure import CommandFailed, ExitCode
from server.cli.lazy_commands import LazyGroup
from server.errors import ServerError

_HELP = """
SQL answers that protect people: a differentially private proxy in front of a database.

A demonstration on generated data shows what that means (`demo`).

The custodian answers four questions (`init`) and has a running proxy; or writes a policy (`policy init`,
`policy check`), gives analysts a budget (`analyst add`) and starts the proxy (`serve`). The custodian looks after
budgets (`admin`), the data's version (`data`), a copy of it (`mirror`) and the ledger (`ledger`), finds where to clip
what one person adds (`tune`), and may compare the solvers behind an answer (`verify`). Analysts ask questions
(`query`, many at once in a `workload`, or one after another in a `shell`), look at their price first (`explain`) and
see what is left (`budget`).

Example:  noisegate query "SELECT count(*) FROM orders"
"""


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version as installed

        typer.echo(f"noisegate {installed('noisegate')}")
        raise typer.Exit


class _Noisegate(LazyGroup):
    functions: ClassVar = {
        "demo": "server.demo.command:demo",
        "init": "server.cli.commands.first_proxy:init",
        "serve": "server.cli.commands.serve:serve",
        "query": "server.cli.commands.ask:query",
        "explain": "server.cli.commands.ask:explain",
        "workload": "server.cli.shell.workload:workload",
        "shell": "server.cli.shell.command:shell",
        "budget": "server.cli.commands.budget:budget",
        "tune": "server.cli.tuning.command:tune",
        "verify": "server.cli.commands.verify:verify",
    }


class _Policy(LazyGroup):
    functions: ClassVar = {
        "init": "server.cli.commands.policy:init",
        "check": "server.cli.commands.policy:check",
        "accept": "server.cli.commands.accept_policy:accept",
    }


class _Analyst(LazyGroup):
    functions: ClassVar = {
        "add": "server.cli.commands.analyst:add",
        "list": "server.cli.commands.analyst:listed",
        "rotate-key": "server.cli.commands.analyst:rotate_key",
        "disable": "server.cli.commands.analyst:disable",
        "enable": "server.cli.commands.analyst:enable",
        "set-role": "server.cli.commands.analyst:set_role",
        "set-group": "server.cli.commands.analyst:set_group",
    }


class _Admin(LazyGroup):
    functions: ClassVar = {
        "accounts": "server.cli.commands.admin:accounts",
        "grant": "server.cli.commands.admin:grant",
        "top-up": "server.cli.commands.admin:top_up",
        "charges": "server.cli.commands.admin:charges",
        "log": "server.cli.commands.admin:log",
    }


class _Ledger(LazyGroup):
    functions: ClassVar = {
        "verify": "server.cli.commands.ledger:verify",
        "export": "server.cli.commands.ledger:export",
        "backup": "server.cli.commands.ledger_backup:backup",
        "restore": "server.cli.commands.ledger_backup:restore",
        "questions": "server.cli.commands.ledger_questions:questions",
        "new-question-key": "server.cli.commands.ledger_questions:new_question_key",
    }


class _Mirror(LazyGroup):
    functions: ClassVar = {
        "refresh": "server.cli.commands.mirror:refresh",
        "status": "server.cli.commands.mirror:status",
    }


class _Data(LazyGroup):
    functions: ClassVar = {
        "version": "server.cli.commands.data:version",
        "bump": "server.cli.commands.data:bump",
    }


app = typer.Typer(
    name="noisegate",
    cls=_Noisegate,
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a traceback with local variables could show secrets
    context_settings={"help_option_names": ["-h", "--help"]},
)
_GROUPS: tuple[tuple[str, type[LazyGroup], str], ...] = (
    ("policy", _Policy, "Write a first policy, check one against the database, confirm a weaker one."),
    ("analyst", _Analyst, "Give people keys and budgets."),
    ("admin", _Admin, "Budgets, charges, and what custodians did."),
    ("ledger", _Ledger, "Verify, export, back up or restore the ledger."),
    ("mirror", _Mirror, "Copy the tables into a local file, where questions run quicker."),
    ("data", _Data, "Say that the data is a new load."),
)
for _name, _group, _help in _GROUPS:
    app.add_typer(typer.Typer(cls=_group, help=_help, no_args_is_help=True, rich_markup_mode=None), name=_name)


@app.callback(invoke_without_command=False)
def _noisegate(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; our own errors become one line and a hint.

    Args:
      arguments: what follows the program's name; None takes the process's own.
    Raises: SystemExit, always.
    """
    try:
        app(args=None if arguments is None else list(arguments), prog_name="noisegate")
    except CommandFailed as failure:
        _fail(failure)
    except (ServerError, PlannerError) as error:
        _fail(CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.UNUSABLE))


def _fail(failure: CommandFailed) -> NoReturn:
    from server.cli.output.terminal import tell_failure  # rich, for which no other call waits

    tell_failure(failure)
    sys.exit(failure.exit_code)


if __name__ == "__main__":
    main()
