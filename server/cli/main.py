"""The entry point of the `noisegate` command. Each command is imported when it is called.

So `noisegate --help` and a quick command do not wait for the others. What a group lists of a command, its docstring's
first sentence, is read from the source, which is not run.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from planner.errors import PlannerError
from server.cli.failure import CommandFailed, ExitCode
from server.errors import ServerError

SHORT_OF = ("--format", "json")
"""What `--json` is short for."""

_SPACING = 6
"""Columns of a list that are neither name nor help: twice an indentation of two, and a gap."""


class AlsoJson(TyperCommand):
    """A command that takes `--json` for `--format json`, where it has a format."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As the base class, with the short form written out; what stands behind `--` is none of ours."""
        if any(SHORT_OF[0] in option.opts for option in self.params):
            end = args.index("--") if "--" in args else len(args)
            options = [part for one in args[:end] for part in (SHORT_OF if one == "--json" else (one,))]
            args = [*options, *args[end:]]
        return super().parse_args(ctx, args)


class LazyGroup(TyperGroup):
    """A group of commands, each of which is imported when it is called.

    Attributes:
      functions: by the command's name, the function that is it, as `module:function`.
    """

    functions: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        stubs = {name: TyperCommand(name, rich_markup_mode=None) for name in self.functions}
        self.commands = {**stubs, **self.commands}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; None for an unknown name."""
        target = self.functions.get(cmd_name)
        if target is None:
            return super().get_command(ctx, cmd_name)
        module, _, function = target.partition(":")
        one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        one.command(cmd_name, cls=AlsoJson)(getattr(import_module(module), function))
        return get_command(one)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands in a help text, for which none is imported."""
        for name, target in self.functions.items():
            self.commands[name].help = _docstring(target)
        room = formatter.width - _SPACING - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(room)) for name, one in self.commands.items()])


def _docstring(target: str) -> str:
    """The docstring of `module:function`, from its source."""
    module, _, function = target.partition(":")
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, target
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return inspect.cleandoc(ast.get_docstring(node) or "")
    raise LookupError(target)


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
        "workload": "server.cli.commands.workload:workload",
        "shell": "server.cli.commands.shell:shell",
        "budget": "server.cli.commands.ask:budget",
        "tune": "server.cli.commands.tune:tune",
        "verify": "server.cli.commands.verify:verify",
    }


class _Policy(LazyGroup):
    functions: ClassVar = {
        "init": "server.cli.commands.policy:init",
        "check": "server.cli.commands.policy:check",
        "accept": "server.cli.commands.policy:accept",
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
        "backup": "server.cli.commands.ledger:backup",
        "restore": "server.cli.commands.ledger:restore",
        "questions": "server.cli.commands.ledger:questions",
        "new-question-key": "server.cli.commands.ledger:new_question_key",
    }


class _Mirror(LazyGroup):
    functions: ClassVar = {
        "refresh": "server.cli.commands.data:refresh",
        "status": "server.cli.commands.data:status",
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

    Raises: SystemExit, always.
    """
    try:
        app(args=None if arguments is None else list(arguments), prog_name="noisegate")
    except CommandFailed as failure:
        _fail(failure)
    except (ServerError, PlannerError) as error:
        _fail(CommandFailed(error.message, hint=error.hint, exit_code=ExitCode.UNUSABLE))


def _fail(failure: CommandFailed) -> NoReturn:
    from server.cli.terminal import tell_failure  # rich, for which no other call waits

    tell_failure(failure)
    sys.exit(failure.exit_code)


if __name__ == "__main__":
    main()
