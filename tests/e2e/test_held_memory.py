"""What an analyst's sessions may make the proxy keep, as the operating system sees it."""

from __future__ import annotations

from contextlib import ExitStack, closing

import psycopg
import pytest
from psycopg import pq

from server.pgwire.portals import MOST_OF_ONE
from tests.e2e.test_silent_flood import resident_bytes
from tests.support.wire_proxy import WireProxy

WIDE = "\N{GRINNING FACE}" * 64_000
SLACK_BYTES = 64 << 20
"""Of the messages under way, and of an allocator that gives nothing back."""


@pytest.mark.slow
def test_prepared_statements_of_wide_characters(wire: WireProxy) -> None:
    """Eight sessions, a thousand statements each, of a quarter of a megabyte."""
    conninfo = wire.conninfo(*wire.analyst(1.0))
    sql = f"SELECT count(*) FROM region WHERE r_name = '{WIDE}'".encode()
    with ExitStack() as stack:
        sessions = [stack.enter_context(closing(psycopg.connect(conninfo, autocommit=True))).pgconn for _ in range(8)]
        sessions[0].prepare(b"warm", sql)
        before, kept = resident_bytes(wire.process), 0
        for session in sessions:
            for n in range(1_000):
                told = session.prepare(b"s%d" % n, sql)
                if told.status != pq.ExecStatus.COMMAND_OK:
                    assert told.error_field(pq.DiagnosticField.SQLSTATE) == b"53200"
                    break
                kept += 1
            else:
                raise AssertionError("a session keeps as many as it likes")
        assert kept > 0.9 * MOST_OF_ONE / (4 * 64_000)
        assert resident_bytes(wire.process) - before < MOST_OF_ONE + SLACK_BYTES
        assert sessions[0].exec_(b"DEALLOCATE ALL").status == pq.ExecStatus.COMMAND_OK
        assert sessions[1].prepare(b"now", sql).status == pq.ExecStatus.COMMAND_OK
