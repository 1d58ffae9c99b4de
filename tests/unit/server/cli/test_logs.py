"""The log is JSON on what is no terminal, without fractions of seconds."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest
import structlog

from server.cli.commands.serve import log_to
from server.cli.failure import CommandFailed
from server.cli.terminal import tell, tell_failure


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_one_json_object_per_line() -> None:
    stream = io.StringIO()
    log_to(stream)
    structlog.get_logger("noisegate.test").info("request", code="00000")
    structlog.get_logger("noisegate.test").debug("not shown")
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert entry.pop("timestamp")[-4:-1].isdigit() is False, "whole seconds: `:05Z`, not `.123Z`"
    assert entry == {"event": "request", "level": "info", "code": "00000"}


def _full() -> TextIO:
    return Path("/dev/full").open("w", encoding="utf-8", buffering=1)


def _broken() -> TextIO:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w", buffering=1)


def _closed() -> TextIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_log_that_cannot_be_written_harms_nobody() -> None:
    cases: list[Callable[[], TextIO | None]] = [_full, _broken, _closed, lambda: None]
    for stream in cases:
        to = stream()
        log_to(to)
        for _ in range(3):
            structlog.get_logger("noisegate.test").error("failed", kind="x" * 10_000)
        tell_to(to)
        if to is not None:
            with contextlib.suppress(OSError):
                to.close()


def tell_to(stream: TextIO | None) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        tell("a message")
        tell_failure(CommandFailed("wrong", hint="right"))


def test_no_socket_takes_the_place_of_a_closed_standard_stream() -> None:
    program = (
        "import os, socket\n"
        "from server.cli.commands.serve import keep_standard_streams\n"
        "keep_standard_streams()\n"
        "with socket.socket() as one: assert one.fileno() > 2\n"
        "assert os.write(2, b'lost') == 4\n"
    )
    command = f'exec "{sys.executable}" -c "$0" 0<&- 1>&- 2>&-'
    assert subprocess.run(["sh", "-c", command, program], timeout=60, check=False).returncode == 0
