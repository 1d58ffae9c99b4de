"""Where the running proxy's log goes: stderr, one JSON object per line, or readable lines on a terminal."""

from __future__ import annotations

import logging
import os
from typing import TextIO, cast

import structlog

from server.cli.output.terminal import SpareStream


def log_to(stream: TextIO | None) -> None:
    """Send the log to a stream, from level info on; a line that cannot be written is lost.

    Times are whole seconds: how long an answer took depends on the data, and a finer time would tell.
    """
    spare = SpareStream(stream)
    renderer: structlog.typing.Processor
    renderer = structlog.dev.ConsoleRenderer() if spare.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%Y-%m-%dT%H:%M:%SZ", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, spare)),  # it writes and flushes, no more
    )


def keep_standard_streams() -> None:
    """Open what is closed of descriptors 0 to 2, so that no socket and no file is ever taken for one of them."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.dup(descriptor)
    os.close(descriptor)
