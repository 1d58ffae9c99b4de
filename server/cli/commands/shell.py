"""The command `noisegate shell`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from server.cli.client import read_key
from server.cli.commands.ask import DEFAULT_URL, URL, Epsilon, KeyFile
from server.cli.failure import CommandFailed, ExitCode
from server.cli.shell_session import Session, is_command, run_command, units
from server.cli.terminal import tell, tell_failure


def shell(
    url: URL = DEFAULT_URL,
    epsilon: Epsilon = None,
    key_file: KeyFile = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="In a script, continue after a statement that fails.")
    ] = False,
) -> None:
    r"""Ask one question after another. A statement ends with a semicolon; \? lists the commands.

    On a terminal it has a history (~/.local/state/noisegate/history, or NOISEGATE_HISTORY) and completes by Tab.
    Ctrl-C cancels a running question and Ctrl-D leaves. From a pipe or a file it runs statements until one fails.

    Your key is read from the variable NOISEGATE_KEY or from --key-file, never from an argument.

    Example:  noisegate shell --epsilon 0.5

    Example:  noisegate shell < questions.sql

    Exit codes: 0 left, or all answered; for a script, the code of the statement that failed, as for `query`.
    """
    session = Session(url, read_key(key_file), {"epsilon": epsilon})
    if sys.stdin.isatty() and sys.stdout.isatty():
        _converse(session)
        return
    code = _run(session, units(sys.stdin), keep_going=keep_going)
    if code:
        raise typer.Exit(code)


def _converse(session: Session) -> None:
    """Run the interactive shell."""
    from server.cli.shell_editor import (
        SqlCompleter,  # what a script does without
        typed,
    )

    schema = session.schema
    tell(rf"{schema.dataset}: questions end with a semicolon, \? lists commands, \q leaves.")
    for text in typed(schema.dataset, SqlCompleter(schema)):
        _run(session, units(text.splitlines(keepends=True)), keep_going=True)
        if session.over:
            return


def _run(session: Session, found: Iterable[str], *, keep_going: bool) -> int:
    """Run statements and commands; returns the exit code of the first failure.

    Args:
      keep_going: continue after a failure.
    """
    first = ExitCode.OK
    for unit in found:
        code = _run_one(session, unit)
        first = first or code
        if session.over or (code and not keep_going):
            break
    return first


def _run_one(session: Session, unit: str) -> ExitCode:
    try:
        if is_command(unit):
            run_command(session, unit)
        else:
            session.ask(unit)
    except CommandFailed as failure:
        tell_failure(failure)
        return failure.exit_code
    except KeyboardInterrupt:
        tell("Stopped waiting; the question may have been charged.", style="yellow")
        return ExitCode.CANCELLED
    return ExitCode.OK
