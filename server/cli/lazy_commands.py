"""Commands that are imported when they are called: `noisegate --help` and a quick command do not wait for the others.

What a group lists of a command, its docstring's first sentence, is read from the source, which is not run.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

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
