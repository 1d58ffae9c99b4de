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

The custodian answers four questions (`init`) and has a running proxy; or writes a policy (`policy init`,
`policy check`), gives analysts a budget (`analyst add`) and starts the proxy (`serve`). The custodian looks after
budgets (`admin`), the data's version (`data`), a copy of it (`mirror`) and the ledger (`ledger`), and may compare the
solvers behind an answer (`verify`). Analysts ask questions (`query`, many at once in a `workload`, or one after
another in a `shell`), look at their price first (`explain`) and see what is left (`budget`).

Example:  noisegate query "SELECT count(*) FROM orders"
"""


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version as installed

        typer.echo(f"noisegate {installed('noisegate')}")
        raise typer.Exit


_COMMANDS = "server.cli.commands"


class _Noisegate(LazyGroup):
    functions: ClassVar = {
        "init": f"{_COMMANDS}.first_proxy:init",
        "serve": f"{_COMMANDS}.serve:serve",
        "query": f"{_COMMANDS}.ask:query",
        "explain": f"{_COMMANDS}.ask:explain",
        "workload": "server.cli.shell.workload:workload",
        "shell": "server.cli.shell.command:shell",
        "budget": f"{_COMMANDS}.budget:budget",
        "verify": f"{_COMMANDS}.verify:verify",
    }


class _Policy(LazyGroup):
    functions: ClassVar = {
        "init": f"{_COMMANDS}.policy:init",
        "check": f"{_COMMANDS}.policy:check",
        "accept": f"{_COMMANDS}.accept_policy:accept",
    }


class _Analyst(LazyGroup):
    functions: ClassVar = {
        "add": f"{_COMMANDS}.analyst:add",
        "list": f"{_COMMANDS}.analyst:listed",
        "rotate-key": f"{_COMMANDS}.analyst:rotate_key",
        "disable": f"{_COMMANDS}.analyst:disable",
        "enable": f"{_COMMANDS}.analyst:enable",
        "set-role": f"{_COMMANDS}.analyst:set_role",
        "set-group": f"{_COMMANDS}.analyst:set_group",
    }


class _Admin(LazyGroup):
    functions: ClassVar = {
        "accounts": f"{_COMMANDS}.admin:accounts",
        "grant": f"{_COMMANDS}.admin:grant",
        "top-up": f"{_COMMANDS}.admin:top_up",
        "charges": f"{_COMMANDS}.admin:charges",
        "log": f"{_COMMANDS}.admin:log",
    }


class _Ledger(LazyGroup):
    functions: ClassVar = {
        "verify": f"{_COMMANDS}.ledger:verify",
        "export": f"{_COMMANDS}.ledger:export",
        "backup": f"{_COMMANDS}.ledger_backup:backup",
        "restore": f"{_COMMANDS}.ledger_backup:restore",
        "questions": f"{_COMMANDS}.ledger_questions:questions",
        "new-question-key": f"{_COMMANDS}.ledger_questions:new_question_key",
    }


class _Mirror(LazyGroup):
    functions: ClassVar = {
        "refresh": f"{_COMMANDS}.mirror:refresh",
        "status": f"{_COMMANDS}.mirror:status",
    }


class _Data(LazyGroup):
    functions: ClassVar = {
        "version": f"{_COMMANDS}.data:version",
        "bump": f"{_COMMANDS}.data:bump",
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
