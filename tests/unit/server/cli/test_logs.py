"""The log is JSON on what is no terminal, without fractions of seconds."""

import io
import json
from collections.abc import Iterator

import pytest
import structlog

from server.cli.logs import log_to


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
