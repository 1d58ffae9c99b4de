"""The line editor of a terminal: prompt, history, completion, statements over several lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import has_completions, is_searching
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.shortcuts import CompleteStyle
from pygments.lexers.sql import PostgresLexer

from server.cli.output.terminal import printable
from server.cli.shell.statements import is_complete

HISTORY_VARIABLE = "NOISEGATE_HISTORY"


def typed(name: str, completer: Completer) -> Iterator[str]:
    """What is typed, one statement or command at a time, until Ctrl-D; Ctrl-C forgets what is being typed.

    Args:
      name: of the dataset, for the prompt.
    """
    session: PromptSession[str] = PromptSession(
        multiline=True,
        key_bindings=_keys(),
        prompt_continuation=_continued(len(printable(name))),
        history=FileHistory(str(history_file())),
        completer=completer,
        complete_while_typing=False,
        complete_style=CompleteStyle.READLINE_LIKE,
        lexer=PygmentsLexer(PostgresLexer),
        enable_open_in_editor=False,
    )
    while True:
        try:
            yield session.prompt(f"{printable(name)}=> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def history_file() -> Path:
    """Where past statements are kept, for this person's eyes only: what was asked can say as much as an answer.

    The variable NOISEGATE_HISTORY names another place.
    """
    named = os.environ.get(HISTORY_VARIABLE)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = Path(named) if named else state / "noisegate" / "history"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    return path


def _keys() -> KeyBindings:
    """Enter ends what is complete, and begins another line of what is not."""
    keys = KeyBindings()

    @keys.add("enter", filter=~is_searching & ~has_completions)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


def _continued(width: int) -> Callable[[int, int, int], str]:
    """The prompt of the second line and of those after it, as wide as the first one's."""
    return lambda _width, _line, _wrapped: f"{'':{width}}-> "
