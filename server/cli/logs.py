"""Where the running proxy's log goes: stderr, one JSON object per line, or readable lines on a terminal."""

from __future__ import annotations

import logging
from typing import TextIO

import structlog


def log_to(stream: TextIO) -> None:
    """Send the log to a stream, from level info on.

    Times are whole seconds: how long an answer took depends on the data, and a finer time would tell.
    """
    renderer: structlog.typing.Processor
    renderer = structlog.dev.ConsoleRenderer() if stream.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%Y-%m-%dT%H:%M:%SZ", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(stream),
    )
