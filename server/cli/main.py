"""The entry point of `noisegate`. A command is imported only when it is called.

So `noisegate --help` and quick commands do not wait for others. A group lists the first sentence of each command's
docstring, which is read from the source without importing it.
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
"""`--json` is short for this."""

_SPACING = 6
"""Columns of a list besides name and help: twice an indentation of two, and a gap."""


class AlsoJson(TyperCommand):
    """A command that accepts `--json` for `--format json`, if it has a format."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As the base class, with `--json` expanded before `--`."""
        if any(SHORT_OF[0] in option.opts for option in self.params):
            end = args.index("--") if "--" in args else len(args)
            options = [part for one in args[:end] for part in (SHORT_OF if one == "--json" else (one,))]
            args = [*options, *args[end:]]
        return super().parse_args(ctx, args)


class LazyGroup(TyperGroup):
    """A group of commands that are imported when they are called.

    Attributes:
      functions: by the command's name, its function as `module:function`.
    """

    functions: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        stubs = {name: TyperCommand(name, rich_markup_mode=None) for name in self.functions}
        self.commands = {**stubs, **self.commands}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the command; None for an unknown name."""
        target = self.functions.get(cmd_name)
        if target is None:
            return super().get_command(ctx, cmd_name)
        module, _, function = target.partition(":")
        one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        one.command(cmd_name, cls=AlsoJson)(getattr(import_module(module), function))
        return get_command(one)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in a help text, without importing them."""
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

Administrators answer four questions (`init`) to get a running proxy. Or they write a policy (`policy init`,
`policy check`), give analysts a budget (`analyst add`) and start the proxy (`serve`). They manage
budgets (`admin`), the data version (`data`), a copy of the data (`mirror`) and the ledger (`ledger`). They measure
contributions to choose clipping thresholds (`tune`) and compare the solvers (`verify`). Analysts ask questions
(`query`, many at once in a `workload`, or one after another in a `shell`), see the price first (`explain`) and
check what is left (`budget`).

Example:  noisegate query "SELECT count(*) FROM orders"
"""


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version as installed

        typer.echo(f"noisegate {installed('noisegate')}")
        raise typer.Exit


def _of(module: str, *functions: str) -> dict[str, str]:
    """Commands of a module that are named as their functions."""
    return {name.replace("_", "-"): f"server.cli.commands.{module}:{name}" for name in functions}


GROUPS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "policy": (
        "Write a first policy, check it against the database, confirm a weaker one.",
        _of("policy", "init", "check", "accept"),
    ),
    "analyst": (
        "Give people keys and budgets.",
        _of("analyst", "add")
        | {"list": "server.cli.commands.analyst:listed"}
        | _of("analyst", "rotate_key", "disable", "enable", "set_role", "set_group"),
    ),
    "admin": (
        "Budgets, charges, and the log of administrators.",
        _of("admin", "accounts", "grant", "top_up", "charges", "log"),
    ),
    "ledger": (
        "Verify, export, back up or restore the ledger.",
        _of("ledger", "verify", "export", "backup", "restore", "questions", "new_question_key"),
    ),
    "mirror": (
        "Copy the tables into a local file, where questions run faster.",
        _of("data", "refresh", "status"),
    ),
    "data": ("Record a new data version.", _of("data", "version", "bump")),
}
"""By name: the purpose of a group, and its commands."""

COMMANDS: Mapping[str, str] = {
    "demo": "server.demo.command:demo",
    **_of("first_proxy", "init"),
    **_of("serve", "serve"),
    **_of("ask", "query", "explain"),
    **_of("workload", "workload"),
    **_of("shell", "shell"),
    **_of("ask", "budget"),
    **_of("tune", "tune"),
    **_of("verify", "verify"),
}
"""The commands outside of groups."""


def _lazy(functions: Mapping[str, str]) -> type[LazyGroup]:
    return type("LazyGroup", (LazyGroup,), {"functions": functions})


app = typer.Typer(
    name="noisegate",
    cls=_lazy(COMMANDS),
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # a traceback with local variables could show secrets
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, (_about, _functions) in GROUPS.items():
    _group = typer.Typer(cls=_lazy(_functions), help=_about, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(_group, name=_name)


@app.callback(invoke_without_command=False)
def _noisegate(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code. Known errors become a message and a hint.

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
