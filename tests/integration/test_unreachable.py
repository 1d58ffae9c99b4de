"""An administrator is told why PostgreSQL cannot be reached, in words that hold nothing of the URL."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from server.backends.postgres import connected
from server.errors import BackendUnavailable


def test_the_reason_is_told_without_the_url(scratch_url: str) -> None:
    parts = urlsplit(scratch_url)
    cases = {
        parts._replace(path="/no_such_database").geturl(): "the server has no such database",
        parts._replace(netloc="nobody_here@127.0.0.1:1", query="").geturl(): "nothing listens on this host and port",
        parts._replace(netloc="nobody_here@no-such-host.invalid", query="").geturl(): "the host is unknown",
    }
    for url, why in cases.items():
        with pytest.raises(BackendUnavailable, match=why) as refused, connected(url, 1_000):
            pass
        assert "no_such" not in refused.value.message and "nobody_here" not in refused.value.message
