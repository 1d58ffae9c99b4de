"""Messages in, bytes out: the state machine of one session."""

from __future__ import annotations

import asyncio
import itertools
import struct
import time
from dataclasses import replace

import pytest

from server.connections import Outgoing
from server.explain.explanation_text import EXPLANATION
from server.pgwire.client_messages import Decoder, Query
from server.pgwire.portals import MOST_OF_ONE
from server.pgwire.session import Session
from server.pgwire.settings import Settings
from server.pgwire.wire_values import Field
from server.scheduling.fair_shares import FairShares
from tests.support.scripted_gateway import ScriptedGateway
from tests.support.wire_client import (
    SYNC,
    bind,
    cells_of,
    describe,
    execute,
    fields_of,
    message,
    parse,
    query,
    replies,
)
from tests.unit.server.test_outgoing_bytes import large

ROWS = [[b"FRANCE", b"12"], [b"PERU", b"7"], [b"CHINA", b"-1"]]


class Talk:
    """A session and what it says."""

    def __init__(self, most: int = MOST_OF_ONE) -> None:
        self.gateway = ScriptedGateway()
        self.pauses: list[int] = []
        self._said = bytearray()
        self.session = Session(
            self.gateway, "ann", Settings("ann", {}), self._said.extend, self._pause, FairShares(most)
        )

    async def _pause(self) -> None:
        self.pauses.append(len(self._said))

    def say(self, *raw: bytes) -> list[tuple[str, bytes]]:
        decoder = Decoder(1 << 20)
        decoder._started = True
        decoder.authenticated()
        decoder.feed(b"".join(raw))

        async def answer() -> None:
            while (got := decoder.next()) is not None:
                await self.session.handle(got)

        asyncio.run(answer())
        said = replies(bytes(self._said))
        self._said.clear()
        return said

    def kinds(self, *raw: bytes) -> str:
        return "".join(kind for kind, _ in self.say(*raw))


def rows(said: list[tuple[str, bytes]]) -> list[list[bytes | None]]:
    return [cells_of(body) for kind, body in said if kind == "D"]


def error(said: list[tuple[str, bytes]]) -> dict[str, str]:
    (found,) = [fields_of(body) for kind, body in said if kind == "E"]
    return found


def test_a_simple_query() -> None:
    said = Talk().say(query("SELECT nation, count(*) FROM t GROUP BY nation"))
    assert "".join(kind for kind, _ in said) == "NTDDDCZ"
    assert rows(said) == ROWS
    assert said[-1] == ("Z", b"I")
    assert dict(said)["C"] == b"SELECT 3\0"
    assert "9 of 10 left" in fields_of(said[0][1])["M"]


def test_a_text_of_many_statements_lets_others_go_on_and_waits_for_a_slow_client() -> None:
    talk = Talk()
    talk.say(query("SHOW search_path;" * 100))
    assert len(talk.pauses) == 100
    assert max(b - a for a, b in zip(talk.pauses, talk.pauses[1:], strict=False)) < 200


def test_many_rows_let_others_go_on_and_wait_for_a_slow_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.scripted_gateway.ROWS", (("FRANCE", 12),) * 10_000)
    for raw in (query("SELECT 1 FROM t"), query("COPY (SELECT 1 FROM t) TO STDOUT")):
        talk = Talk()
        talk.say(raw)
        assert max(b - a for a, b in zip(talk.pauses, talk.pauses[1:], strict=False)) < 20_000


def test_a_large_answer_for_which_there_is_no_room_is_refused_by_name() -> None:
    for sql in ["SELECT 1 FROM t", "COPY (SELECT 1 FROM t) TO STDOUT"]:
        _a_large_answer_for_which_there_is_no_room_is_refused_by_name(sql)


def _a_large_answer_for_which_there_is_no_room_is_refused_by_name(sql: str) -> None:
    talk = Talk()
    talk.gateway.outgoing = Outgoing(0)
    somebody_else = talk.gateway.outgoing.hold("grace", large())
    talk.gateway.made = lambda: large()
    refused = error(talk.say(query(sql)))
    assert (refused["C"], "free" in refused["H"]) == ("53200", True)
    somebody_else.close()
    talk.gateway.made = lambda: large(10_000)
    assert "E" not in talk.kinds(query(sql))
    assert talk.gateway.outgoing.n_bytes == 0, "it lets go when all is sent"


def test_what_a_cursor_holds_is_let_go_with_it() -> None:
    talk = Talk()
    talk.gateway.made = lambda: large(10_000)
    talk.say(query("BEGIN; DECLARE c CURSOR FOR SELECT 1 FROM t; FETCH 3 FROM c"))
    assert talk.gateway.outgoing.n_bytes == 80_000
    talk.say(query("COMMIT"))
    assert talk.gateway.outgoing.n_bytes == 0


def test_a_cancelled_statement_sends_no_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk()
    talk.gateway.made = lambda: large(10_000)

    pauses = itertools.count()

    async def cancel() -> None:
        if next(pauses):  # the first is before the statement begins
            talk.session.cancel()

    monkeypatch.setattr(talk.session, "_pause", cancel)
    said = talk.say(query("SELECT 1 FROM t"))
    assert error(said)["C"] == "57014"
    assert 0 < sum(kind == "D" for kind, _ in said) < 1_000


def test_a_cancellation_is_of_all_statements_of_a_text_and_of_no_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk()
    pauses = itertools.count()

    async def cancel() -> None:
        if next(pauses) == 1:  # between the two, when nothing runs
            talk.session.cancel()

    monkeypatch.setattr(talk.session, "_pause", cancel)
    said = talk.say(query("SHOW search_path; SELECT nation, count(*) FROM t GROUP BY nation"))
    assert [kind for kind, _ in said] == ["T", "D", "C", "E", "Z"]
    assert error(said)["C"] == "57014"
    assert talk.gateway.asked == []
    assert rows(talk.say(query("SELECT nation, count(*) FROM t GROUP BY nation"))) == ROWS


def test_a_long_text_lets_others_go_on() -> None:
    talk, ticks = Talk(), list[float]()

    async def others() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0)

    async def both() -> None:
        watching = asyncio.ensure_future(others())
        await talk.session.handle(Query("SELECT 1 FROM t WHERE " + "(" * 65_000))
        watching.cancel()

    asyncio.run(both())
    assert len(ticks) > 20


def test_a_text_that_is_too_long_is_not_cut() -> None:
    for raw in [query("COMMIT;" * 10_000), parse("SELECT 1 " + "+" * 65_536)]:
        talk = Talk()
        assert error(talk.say(raw, SYNC))["C"] == "54000", raw
        assert not talk.pauses, raw


def test_a_session_does_not_hold_answers_without_end() -> None:
    for sql in ("SELECT 1 FROM t", "SELECT relname FROM pg_class"):
        talk, names = Talk(most=20_000), [f"p{n}" for n in range(100)]
        opened = [part for name in names for part in (bind(portal=name, statement="s"), execute(name, 1))]
        said = talk.say(query("BEGIN"), parse(sql, "s"), *opened, SYNC)
        assert error(said)["C"] == "53200"
        assert 1 < len(talk.gateway.asked or talk.gateway.catalog_asked) < 100


def test_the_unnamed_portal_gives_way_to_the_next() -> None:
    talk = Talk(most=20_000)
    text = b"s\0SELECT relname FROM pg_class WHERE relname = $1\0" + struct.pack("!hi", 1, 25)
    again = [part for _ in range(5) for part in (bind((b"1" * 9_000,), statement="s"), execute())]
    assert "E" not in [kind for kind, _ in talk.say(message(b"P", text), *again, SYNC)]


def test_several_statements_up_to_the_first_error() -> None:
    talk = Talk()
    said = talk.say(query("SELECT 1 FROM t; SELECT 2 FROM nowhere; SELECT 3 FROM t"))
    assert error(said)["C"] == "42P01"
    assert error(said)["P"] == str(len("SELECT 1 FROM t; SELECT 2 FROM ") + 1)
    assert len(talk.gateway.asked) == 1
    assert Talk().kinds(query(" ; ")) == "IZ"


def test_the_extended_protocol_describes_before_anything_is_asked() -> None:
    talk = Talk()
    said = talk.say(parse("SELECT nation, count(*) FROM t WHERE x = $1", "s"), describe("s", portal=False), SYNC)
    assert "".join(kind for kind, _ in said) == "1tTZ"
    assert not talk.gateway.asked
    said = talk.say(bind((b"5",), statement="s"), execute(), SYNC)
    assert "".join(kind for kind, _ in said) == "2NDDDCZ"
    assert talk.gateway.asked[0].parameters == (5,)


def test_binary_results_are_sent_where_they_are_asked_for() -> None:
    said = Talk().say(parse("SELECT count(*) FROM t"), bind(result_format=1), execute(), SYNC)
    assert rows(said)[0] == [b"FRANCE", (12).to_bytes(8, "big")]


def test_rows_in_portions_are_asked_for_once() -> None:
    talk = Talk()
    assert talk.kinds(query("BEGIN")) == "CZ"
    said = talk.say(parse("SELECT count(*) FROM t"), bind(portal="p"), execute("p", 2), execute("p", 2), SYNC)
    assert "".join(kind for kind, _ in said) == "12NDDsDCZ"
    assert rows(said) == ROWS
    assert len(talk.gateway.asked) == 1


def test_a_portal_ends_with_its_implicit_transaction() -> None:
    talk = Talk()
    talk.say(parse("SELECT count(*) FROM t"), bind(portal="p"), SYNC)
    assert error(talk.say(execute("p"), SYNC))["C"] == "34000"


def test_after_an_error_nothing_is_heard_up_to_sync() -> None:
    talk = Talk()
    said = talk.say(parse("SELECT 1 FROM nowhere"), bind(), execute(), parse("SELECT 1 FROM t"), SYNC, query(""))
    assert "".join(kind for kind, _ in said) == "EZIZ"


def test_a_failed_transaction_refuses_until_it_ends() -> None:
    talk = Talk()
    talk.say(query("BEGIN"))
    assert talk.say(query("SELECT 1 FROM nowhere"))[-1] == ("Z", b"E")
    assert error(talk.say(query("SELECT 1 FROM t")))["C"] == "25P02"
    said = talk.say(query("COMMIT"))
    assert (dict(said)["C"], said[-1]) == (b"ROLLBACK\0", ("Z", b"I"))


def test_a_savepoint_mends_a_transaction() -> None:
    talk = Talk()
    talk.say(query("BEGIN; SAVEPOINT a"), query("SELECT 1 FROM nowhere"))
    assert talk.say(query("ROLLBACK TO a"))[-1] == ("Z", b"T")
    assert rows(talk.say(query("SELECT 1 FROM t"))) == ROWS


def test_errors_have_their_sqlstate_and_quote_nothing() -> None:
    for sql, code in [
        ("DELETE FROM t", "25006"),
        ("SELECT 1 FROM dear", "PD001"),
        ("SELECT 1 FROM foreign_table", "XX000"),
        ("FETCH c", "34000"),
        ("DECLARE c CURSOR FOR SELECT 1 FROM t", "25P01"),
        ("SAVEPOINT a", "25P01"),
        ("DEALLOCATE nothing", "26000"),
        ("SHOW nothing", "22023"),
        ("SET noisegate.epsilon = 'x'", "22023"),
        ("COPY (SELECT 1 FROM t) TO STDOUT BINARY HEADER", "42601"),
    ]:
        talk = Talk()
        said = talk.say(query(sql))
        assert error(said)["C"] == code, sql
        assert "zebra" not in str(said), sql
        assert not talk.gateway.asked, sql


def test_a_cursor_is_described_before_it_runs_and_runs_once() -> None:
    talk = Talk()
    talk.say(query("BEGIN; DECLARE c CURSOR FOR SELECT nation, count(*) FROM t"))
    assert talk.kinds(describe("c"), SYNC) == "TZ"
    assert not talk.gateway.asked
    assert rows(talk.say(query("FETCH 2 FROM c"))) == ROWS[:2]
    assert rows(talk.say(parse("FETCH ALL FROM c"), bind(), describe(), execute(), SYNC)) == ROWS[2:]
    assert dict(talk.say(query("FETCH c")))["C"] == b"FETCH 0\0"
    assert len(talk.gateway.asked) == 1
    assert error(talk.say(query("COMMIT"), query("FETCH c")))["C"] == "34000"


def test_settings_reach_the_question() -> None:
    talk = Talk()
    sets = "SET noisegate.epsilon = 0.5; SET noisegate.mechanism = 'r2t'; SET noisegate.sampling_rate TO 0.25;"
    sets += " SET noisegate.at_most = 30; SET noisegate.max_relative_error = 0.05;"
    sets += " SET noisegate.reuse = 'Never'"
    talk.say(query(sets), query("SELECT count(*) FROM t"))
    asked = talk.gateway.asked[0]
    assert (asked.analyst, asked.epsilon, asked.mechanism, asked.sampling_rate) == ("ann", 0.5, "r2t", 0.25)
    assert (asked.at_most, asked.max_relative_error, asked.max_absolute_error) == (30.0, 0.05, None)
    assert asked.reuse == "never"
    assert error(talk.say(query("SET noisegate.reuse = 'always'")))["C"] == "22023"


def test_intervals_are_columns_of_their_own() -> None:
    talk = Talk()
    said = talk.say(query("SET noisegate.intervals = on"), query("SELECT nation, count(*) FROM t"))
    assert rows(said)[0] == [b"FRANCE", b"12", b"10", None, b"f", b"f"]
    (described,) = [body for kind, body in said if kind == "T"]
    assert b"count_lo" in described
    assert b"nation_lo" not in described
    said = talk.say(parse("SELECT nation, count(*) FROM t"), bind(), describe(), execute(), SYNC)
    assert len(rows(said)[0]) == 6


def types_of(said: list[tuple[str, bytes]]) -> list[tuple[int, ...]]:
    """OID, length and modifier of each column that was described."""
    body = dict(said)["T"][2:]
    found = []
    while body:
        _, _, body = body.partition(b"\0")
        found.append(struct.unpack("!ihi", body[6:16]))
        body = body[18:]
    return found


def test_answers_are_sent_as_the_types_that_postgresql_gives_their_columns() -> None:
    talk = Talk()
    talk.gateway.types = (Field("nation", 1043, -1, 29), Field("count", 23, 4))
    simple = talk.say(query("SELECT 1 FROM t"))
    extended = talk.say(parse("SELECT 1 FROM t"), bind(result_format=1), describe(), execute(), SYNC)
    assert types_of(simple) == types_of(extended) == [(1043, -1, 29), (23, 4, -1)]
    assert rows(simple) == ROWS
    assert rows(extended)[2] == [b"CHINA", struct.pack("!i", -1)]
    talk.say(query("SET noisegate.intervals = on"))
    assert [oid for oid, _, _ in types_of(talk.say(query("SELECT 1 FROM t")))] == [1043, 23, 701, 701, 16, 16]


def test_a_type_that_cannot_hold_the_cells_is_not_told() -> None:
    talk = Talk()
    talk.gateway.types = (Field("nation", 23, 4), Field("count", 25))
    said = talk.say(query("SELECT 1 FROM t"))
    assert types_of(said) == [(25, -1, -1), (20, 8, -1)]
    assert rows(said) == ROWS


def test_marked_rows_are_counted_in_the_notice_and_marked_beside_the_intervals() -> None:
    talk = Talk()
    talk.gateway.low_precision, talk.gateway.clipped = (False, True, True), (True, False, False)
    for asked in (query("SELECT nation, count(*) FROM t"), query("COPY (SELECT nation, count(*) FROM t) TO STDOUT")):
        (told,) = [fields_of(body) for kind, body in talk.say(asked) if kind == "N"]
        assert told["S"] == "NOTICE" and "missing in 1 of 3 rows (clipped): people" in told["M"]
        assert "SET noisegate.intervals = on shows which" in told["M"] and "\n" not in told["M"]
    talk.say(query("SET noisegate.intervals = on"))
    said = talk.say(query("SELECT nation, count(*) FROM t"))
    assert [row[-2:] for row in rows(said)] == [[b"f", b"t"], [b"t", b"f"], [b"t", b"f"]]
    (words,) = notices(said)
    assert "1 of 3 rows (clipped)" in words and "noisegate.intervals" not in words
    said = talk.say(query("COPY (SELECT nation, count(*) FROM t) TO STDOUT (FORMAT csv, HEADER)"))
    assert [body for kind, body in said if kind == "d"][:2] == [
        b"nation,count,count_lo,count_hi,low_precision,clipped\n",
        b"FRANCE,12,10,,f,t\n",
    ]


def test_a_dry_run_explains() -> None:
    talk = Talk()
    talk.say(query("SET noisegate.dry_run = on"), query("SELECT count(*) FROM t"))
    assert talk.gateway.asked[0].sql == "EXPLAIN SELECT count(*) FROM t"


def test_an_explanation_in_json_is_told_as_json() -> None:
    talk = Talk()
    talk.gateway.made = lambda: replace(large(1), columns=EXPLANATION, rows=(("[]",),))
    assert types_of(talk.say(query("EXPLAIN (FORMAT JSON) SELECT 1 FROM t"))) == [(114, -1, -1)]
    assert types_of(talk.say(query("EXPLAIN SELECT 1 FROM t"))) == [(25, -1, -1)]


def test_the_budget_is_shown() -> None:
    assert rows(Talk().say(query("SHOW noisegate.budget"))) == [
        [b"10", b"0", b"9", b"0", b"18", b"epsilon 10 in total"]
    ]


def test_all_settings_are_shown_ours_first() -> None:
    talk = Talk()
    talk.say(query("SET noisegate.epsilon = 0.25"))
    shown = rows(talk.say(query("SHOW ALL")))
    assert {len(row) for row in shown} == {3}
    assert [b"noisegate.epsilon", b"0.25"] in [row[:2] for row in shown]
    assert (shown[0][0] or b"").startswith(b"noisegate.")
    assert b"timezone" in [row[0] for row in shown]
    assert dict(talk.say(query("show all")))["C"] == b"SHOW\0"


def test_changed_settings_are_reported() -> None:
    said = Talk().say(query("SET application_name = 'tool'"))
    assert ("S", b"application_name\0tool\0") in said
    assert "no effect" in fields_of(Talk().say(query("SET jit = off"))[0][1])["M"]


def test_an_answer_comes_with_one_short_line_and_its_details_are_told_when_asked_for() -> None:
    talk = Talk()
    notes = ("a note that is longer than a line of a terminal. " * 3, "another")
    talk.gateway.made = lambda: replace(large(1), notes=notes)
    assert notices(talk.say(query("SELECT 1 FROM t"))) == ["free. SHOW noisegate.details explains it."]
    assert rows(talk.say(query("SHOW noisegate.details"))) == [[note.encode()] for note in notes]
    assert rows(talk.say(query("DISCARD ALL"), query("SHOW noisegate.details"))) == []


def notices(said: list[tuple[str, bytes]]) -> list[str]:
    return [fields_of(body)["M"] for kind, body in said if kind == "N"]


def test_notices_can_be_silenced() -> None:
    talk = Talk()
    talk.say(query("SET client_min_messages = warning"))
    assert talk.kinds(query("SELECT 1 FROM t")) == "TDDDCZ"


def test_copy_to_stdout_sends_the_rows_as_csv() -> None:
    said = Talk().say(query("COPY (SELECT nation, count(*) FROM t) TO STDOUT (FORMAT csv, HEADER)"))
    assert "".join(kind for kind, _ in said) == "NHddddcCZ"
    assert b"".join(body for kind, body in said if kind == "d") == b"nation,count\nFRANCE,12\nPERU,7\nCHINA,-1\n"


def test_the_catalog_answers_with_its_own_bytes() -> None:
    talk = Talk()
    assert rows(talk.say(query("SELECT relname FROM pg_class"))) == [[b"orders"]]
    assert talk.gateway.catalog_asked == ["SELECT relname FROM pg_class"]
    assert not talk.gateway.asked


def test_a_cursor_over_catalogs_is_read_as_text() -> None:
    talk = Talk()
    talk.say(query("BEGIN; DECLARE c CURSOR FOR SELECT relname FROM pg_class"))
    assert rows(talk.say(query("FETCH 1 FROM c"))) == [[b"orders"]]
    said = talk.say(parse("FETCH 1 FROM c"), bind(result_format=1), execute(), SYNC)
    assert error(said)["C"] == "0A000"


def test_a_statement_that_runs_too_long_is_cancelled() -> None:
    talk = Talk()
    talk.say(query("SET statement_timeout = '50ms'"))
    assert error(talk.say(query("SELECT 1 FROM slow")))["C"] == "57014"
    assert not talk.gateway.asked


def test_prepare_and_execute_share_the_names_of_the_protocols_statements() -> None:
    talk = Talk()
    assert talk.kinds(query("PREPARE a (int) AS SELECT 1 FROM t WHERE x = $1")) == "CZ"
    assert rows(talk.say(query("EXECUTE a (7)"))) == ROWS
    assert rows(talk.say(bind((b"8",), statement="a"), execute(), SYNC)) == ROWS
    assert rows(talk.say(parse("EXECUTE a ('9')"), bind(), describe(), execute(), SYNC)) == ROWS
    assert [asked.parameters for asked in talk.gateway.asked] == [(7,), (8,), (9,)]
    for sql, code in [
        ("PREPARE a AS SELECT 1 FROM t", "42P05"),
        ("EXECUTE a", "42601"),
        ("EXECUTE a ('x')", "22P02"),
        ("EXECUTE b", "26000"),
        ("DEALLOCATE a; EXECUTE a (1)", "26000"),
    ]:
        assert error(talk.say(query(sql)))["C"] == code, sql
    talk.say(query("PREPARE c AS SELECT relname FROM pg_class WHERE relname = $1"))
    assert rows(talk.say(parse("EXECUTE c"), SYNC)) == []
    talk.say(query("BEGIN"), parse("BEGIN", "begin"), SYNC)
    assert error(talk.say(query("EXECUTE begin")))["C"] == "0A000"


def test_prepared_statements_have_names_of_their_own() -> None:
    talk = Talk()
    talk.say(parse("SELECT 1 FROM t", "a"), SYNC)
    assert error(talk.say(parse("SELECT 2 FROM t", "a"), SYNC))["C"] == "42P05"
    assert talk.kinds(message(b"C", b"Sa\0"), parse("SELECT 2 FROM t", "a"), SYNC) == "31Z"
    assert error(talk.say(bind(statement="b"), SYNC))["C"] == "26000"
    assert error(talk.say(bind((b"1",), statement="a"), SYNC))["C"] == "08P01"
    assert error(talk.say(message(b"F", b"\0\0\0\0"), SYNC))["C"] == "0A000"


def test_private_rows_are_refused_unless_only_their_columns_are_wanted() -> None:
    talk = Talk()
    assert error(talk.say(query("SELECT name FROM each")))["C"] == "0A000"
    assert error(talk.say(parse("SELECT name FROM each"), SYNC))["C"] == "0A000"
    talk.say(query("SET noisegate.empty_rows = on"))
    said = talk.say(query("SELECT name FROM each LIMIT 1"))
    assert "".join(kind for kind, _ in said) == "NTCZ"
    assert fields_of(said[0][1])["S"] == "WARNING"
    assert b"relname" in dict(said)["T"]
    assert dict(said)["C"] == b"SELECT 0\0"
    said = talk.say(parse("SELECT name FROM each", "s"), bind(statement="s"), describe(), execute(), SYNC)
    assert "".join(kind for kind, _ in said) == "12TNCZ"
    assert talk.kinds(query("COPY (SELECT name FROM each) TO STDOUT")) == "NHcCZ"
    assert not talk.gateway.catalog_asked
    assert not talk.gateway.asked
    assert error(talk.say(query("SELECT 2 FROM nowhere")))["C"] == "42P01"
