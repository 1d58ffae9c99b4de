"""What the sessions of one analyst may keep together."""

from __future__ import annotations

import struct
import sys
import tracemalloc

import pytest

from server.errors import WireError
from server.lru_cache import cached_bytes
from server.pgwire.portals import Holding
from server.pgwire.session import Session
from server.pgwire.settings import Settings
from server.pgwire.statements.commands import Question
from server.scheduling.fair_shares import FairShares
from tests.support.scripted_gateway import ScriptedGateway
from tests.support.wire_client import SYNC, bind, execute, message, parse, query
from tests.unit.server.pgwire.test_session import Talk, error

WIDE = "SELECT '" + "\N{GRINNING FACE}" * 60_000 + "' FROM t"


def shared(n: int, most: int) -> list[Talk]:
    """Sessions of one analyst, and one of another as the last."""
    holdings, talks = FairShares(most), [Talk() for _ in range(n + 1)]
    for place, talk in enumerate(talks):
        owner = "ann" if place < n else "bob"
        talk.session = Session(
            ScriptedGateway(), owner, Settings(owner, {}), talk._said.extend, talk._pause, holdings
        )
    return talks


def prepared(talk: Talk, most: int) -> int:
    """How many wide statements can be prepared, up to `most`."""
    for n in range(most):
        said = talk.say(parse(WIDE, f"s{n}"), SYNC)
        if "E" in dict(said):
            assert error(said)["C"] == "53200"
            return n
    return most


def test_wide_statements_count_with_all_their_bytes_over_all_sessions() -> None:
    one, two, other = shared(2, 2 << 20)
    assert prepared(one, 100) == 8
    assert prepared(two, 100) == 0
    assert prepared(other, 100) == 8
    one.say(query("DEALLOCATE s0"))
    assert prepared(two, 100) == 1
    one.session.close()
    assert len(two.say(parse(WIDE, "again"), SYNC)) == 2


def test_what_is_counted_is_what_is_kept() -> None:
    (talk, _) = shared(1, 64 << 20)
    talk.say(parse("SELECT 1 FROM t", "warm"), SYNC)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    assert prepared(talk, 40) == 40
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    counted = talk.session._interpreter._cached_bytes
    assert counted > 40 * 4 * 60_000
    assert kept < 1.1 * counted


def test_everything_else_that_is_kept_counts_too() -> None:
    for how in ["values", "names", "cursors"]:
        _everything_else_that_is_kept_counts_too(how)


def _everything_else_that_is_kept_counts_too(how: str) -> None:
    (talk, _) = shared(1, 2 << 20)
    text = b"s\0SELECT relname FROM pg_class WHERE relname = $1\0" + struct.pack("!hi", 1, 25)
    talk.say(query("BEGIN"), message(b"P", text), SYNC)
    for n in range(100):
        said = talk.say(
            {
                "values": bind((b"1" * 200_000,), portal=f"p{n}", statement="s"),
                "names": parse("SELECT 1 FROM t", f"{n}" + "n" * 200_000),
                "cursors": query(f"DECLARE c{n} CURSOR FOR {WIDE}"),
            }[how],
            SYNC,
        )
        if "E" in dict(said):
            assert error(said)["C"] == "53200"
            assert 6 <= n <= 12
            return
    raise AssertionError("no end")


def test_what_goes_is_counted_no_more() -> None:
    (talk, _) = shared(1, 2 << 20)
    for n in range(50):
        said = talk.say(parse(WIDE), bind(), execute(), SYNC, query("BEGIN"), query(f"DECLARE c CURSOR FOR {WIDE}"))
        assert "E" not in dict(said), n
        assert "E" not in dict(talk.say(query("COMMIT"), query("DISCARD ALL")))


def test_the_bytes_of_a_text_are_those_of_its_widest_character() -> None:
    narrow, wide = (cached_bytes(Question(letter * 1000, False)) for letter in ("a", "\N{GRINNING FACE}"))
    assert narrow > sys.getsizeof("a" * 1000)
    assert 2_900 < wide - narrow < 3_200
    holding = Holding(FairShares(10), "ann")
    with pytest.raises(WireError):
        holding.check(0, 11)
