"""The analyst's key: from the environment or a file, never from an argument, where `ps` and the history show it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from server.cli.failure import CommandFailed
from server.cli.output.terminal import tell

VARIABLE = "NOISEGATE_KEY"


def read_key(key_file: Path | None) -> str:
    """The key from the file if one is named, else from the environment.

    Raises: CommandFailed when there is none, or the file cannot be read or holds anything but one word.
    """
    if key_file is not None:
        return _one_word(_file_text(key_file), f"the file {key_file}")
    value = os.environ.get(VARIABLE)
    if not value:
        raise CommandFailed(
            "no key to ask with",
            hint=f"export {VARIABLE}=... or give --key-file PATH; `noisegate analyst add` prints a key once",
        )
    return _one_word(value, f"the variable {VARIABLE}")


def _file_text(path: Path) -> str:
    """The file's text; says so on stderr when others may read it too."""
    try:
        text = path.read_text(encoding="utf-8")
        mode = path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(
            f"the key file {path} cannot be read", hint="name a text file that you may read"
        ) from error
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        tell(f"warning: others can read {path}; `chmod 600 {path}` keeps the key yours", style="yellow")
    return text


def _one_word(text: str, where: str) -> str:
    """The only word of a text. The text itself never enters a message."""
    words = text.split()
    if len(words) != 1 or not words[0].isascii() or not words[0].isprintable():
        raise CommandFailed(f"{where} does not hold a key", hint="a key is one word, as `analyst add` printed it")
    return words[0]
