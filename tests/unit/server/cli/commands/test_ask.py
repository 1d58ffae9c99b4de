"""`query` and `explain` against a stand-in for the proxy: what is sent, what is printed, how the command leaves."""

import csv
import io
import json
from collections.abc import Callable

import pytest

from tests.unit.server.cli.answers import EXACT, EXPLANATION, GROUPED, SCALAR, refusal
from tests.unit.server.cli.conftest import KEY, FakeProxy

Run = Callable[..., int]
Capture = pytest.CaptureFixture[str]


def test_the_key_travels_in_the_header_only(proxy: FakeProxy, run: Run) -> None:
    proxy.answer(SCALAR)
    assert run("query", "SELECT count(*) FROM orders", "--epsilon", "0.5", "--mechanism", "r2t") == 0
    assert proxy.requests == [
        (
            "/v1/query",
            f"Bearer {KEY}",
            {"sql": "SELECT count(*) FROM orders", "epsilon": 0.5, "mechanism": "r2t", "reuse": "auto"},
        )
    ]


def test_whether_an_answer_may_follow_from_others_is_sent(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(SCALAR | {"cached": True, "charge": {"epsilon": 0.0, "delta": 0.0}, "derived_from": [3, 4]})
    assert run("query", "SELECT count(*) FROM orders", "--reuse", "only") == 0
    assert run("query", "SELECT count(*) FROM orders", "--reuse", "auto") == 0
    bodies = [body for _, _, body in proxy.requests]
    assert bodies == [{"sql": "SELECT count(*) FROM orders", "reuse": reuse} for reuse in ("only", "auto")]
    assert "Nothing was charged: this is derived from answers that you paid for before." in capsys.readouterr().out
    assert run("query", "SELECT count(*) FROM orders", "--reuse", "always") == 2


def test_the_table_shows_value_interval_charge_and_what_is_left(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(SCALAR)
    assert run("query", "SELECT count(*) FROM orders") == 0
    out, err = capsys.readouterr()
    for part in (
        "1,234,567",
        "1,234,000 to 1,235,134",
        "95% interval (clipped value)",
        "the true value may lie outside",
        "Charged epsilon 1 with gem",
    ):
        assert part in out
    assert "Left: epsilon 8.5 of epsilon 10." in out
    assert "bias of cutting" not in out, "details are for those who ask for them"
    assert err == ""
    assert "\x1b" not in out, "no colours when the output is not a terminal"


def test_an_exact_answer_has_all_its_digits_and_no_charge(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(EXACT)
    assert run("query", "SELECT n_name, avg(x) AS mean FROM t GROUP BY 1") == 0
    out = capsys.readouterr().out
    assert "1,048,576.123456789" in out
    assert "Nothing was charged. Left: epsilon 8.5 of epsilon 10." in out
    assert "exact and free" in out
    assert "interval" not in out


def test_text_of_an_answer_drives_neither_the_terminal_nor_the_markup(
    proxy: FakeProxy, run: Run, capsys: Capture
) -> None:
    proxy.answer(GROUPED)
    run("query", "SELECT n_name, sum(x) FROM t GROUP BY n_name")
    out = capsys.readouterr().out
    assert "[red]\\x1b[31m" in out
    assert "at least 1,048,000" in out


def test_csv_holds_the_answer_and_stderr_the_rest(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(GROUPED | {"low_precision": [False, True]})
    assert run("query", "SELECT 1", "--format", "csv") == 0
    out, err = capsys.readouterr()
    rows = list(csv.reader(io.StringIO(out)))
    assert rows[0] == ["n_name", "revenue", "revenue_lo", "revenue_hi", "low_precision", "clipped"]
    assert rows[1] == ["FRANCE", "1048576.25", "1048000", "", "false", "false"]
    assert rows[2][-2:] == ["true", "false"]
    assert len(rows) == 3
    assert "Left: epsilon 8.5" in err


def test_no_text_of_csv_is_a_formula(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(GROUPED | {"rows": [["=1+1", -2.0], ["@x", -3.5]]})
    assert run("query", "SELECT 1", "--format", "csv") == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [row[:2] for row in rows[1:]] == [["'=1+1", "-2"], ["'@x", "-3.5"]]


def test_json_is_the_servers_body(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(GROUPED)
    assert run("query", "SELECT 1", "--format", "json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == GROUPED
    assert err == ""


def test_the_statement_can_come_from_standard_input(
    proxy: FakeProxy, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT count(*)\nFROM t\n"))
    proxy.answer(SCALAR)
    assert run("query", "-") == 0
    assert proxy.requests[0][2]["sql"] == "SELECT count(*)\nFROM t\n"


def test_explain_shows_the_facts(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(EXPLANATION)
    assert run("explain", "SELECT count(*) FROM orders") == 0
    out = capsys.readouterr().out
    assert proxy.requests[0][0] == "/v1/explain"
    for part in (
        "customer: orders.o_custkey",
        "one owner per tuple",
        "FROM orders",
        "would charge",
        "within 6 times",
    ):
        assert part in out


def test_noise_that_is_no_multiple_of_the_bound_is_a_table(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(EXPLANATION | {"expected_noise": [["count(*)", [[1.0, 6.0], [2.0, 7000.5]]]]})
    assert run("explain", "SELECT count(*) FROM orders") == 0
    assert "7,000.5" in capsys.readouterr().out


def test_an_error_is_underlined_where_it_is(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    sql = "SELECT count(*) FROM orders LIMIT 3"
    proxy.answer(refusal("0A000", "LIMIT is not supported", position=29, hint="leave it out"), 422)
    assert run("query", sql) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error 0A000: LIMIT is not supported",
        "  " + sql,
        "  " + " " * 28 + "^",
        "hint: leave it out",
    ]


def test_a_refusals_code_decides_the_exit_code(proxy: FakeProxy, run: Run) -> None:
    for status, code, exit_code in [
        (400, "42601", 1),
        (422, "PD002", 1),
        (401, "28P01", 2),
        (404, "42704", 2),
        (413, "54000", 1),
        (500, "XX000", 2),
        (503, "08006", 2),
        (504, "57014", 2),
        (403, "PD001", 3),
    ]:
        proxy.answer(refusal(code, "no"), status)
        assert run("query", "SELECT 1") == exit_code, status


def test_a_key_that_opens_nothing_is_put_where_the_command_reads_it(
    proxy: FakeProxy, run: Run, capsys: Capture
) -> None:
    for code, hint in [("28P01", "NOISEGATE_KEY"), ("28000", "Ask the administrator.")]:
        said = {"28P01": "Send `Authorization: Bearer ng_...`.", "28000": "Ask the administrator."}[code]
        proxy.answer(refusal(code, "no", hint=said), 401)
        assert run("query", "SELECT 1") == 2, code
        told = capsys.readouterr().err
        assert hint in told, code
        assert "Authorization" not in told, code


def test_what_is_not_noisegate_is_said_in_one_line(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    for body in ["<html>busy</html>", "[]", '{"detail": "x"}', '{"message": 3}']:
        for status in [200, 404, 502]:
            for output in ["table", "csv"]:
                proxy.status, proxy.body = status, body
                assert run("query", "SELECT 1", "--format", output) == 2, (body, status, output)
                out, err = capsys.readouterr()
                assert out == "", (body, status, output)
                assert err.startswith("error: ") and len(err.splitlines()) == 2, (body, status, output)


def test_an_address_where_nothing_listens_is_named_without_the_key(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("NOISEGATE_KEY", KEY)
    assert run("query", "SELECT 1", "--url", "http://127.0.0.1:1") == 2
    err = capsys.readouterr().err
    assert "nothing answers at http://127.0.0.1:1" in err and KEY not in err


def test_what_is_no_address_is_refused(run: Run, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ["127.0.0.1:8432", "ftp://x", "http://", "http://x:port"]:
        monkeypatch.setenv("NOISEGATE_KEY", KEY)
        assert run("query", "SELECT 1", "--url", url) == 2, url
        assert "address" in capsys.readouterr().err, url


def test_a_user_name_in_the_address_would_replace_the_key(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(SCALAR)
    assert run("query", "SELECT 1", "--url", proxy.url.replace("//", "//ada:secret@")) == 2
    assert proxy.requests == []
    assert "secret" not in capsys.readouterr().err


def test_there_is_no_option_for_the_key(proxy: FakeProxy, run: Run) -> None:
    assert run("query", "SELECT 1", "--key", KEY) == 2
    assert proxy.requests == []


def test_help_names_an_example(run: Run, capsys: Capture) -> None:
    cases: list[tuple[str, ...]] = [(), ("query",), ("explain",), ("serve",), ("policy",), ("analyst", "add")]
    for arguments in cases:
        assert run(*arguments, "--help") == 0, arguments
        if arguments != ("policy",):
            assert "Example:  noisegate " in capsys.readouterr().out, arguments


def test_each_example_stands_on_a_line_of_its_own(run: Run, capsys: Capture) -> None:
    cases: list[tuple[str, ...]] = [("query",), ("shell",), ("analyst", "add"), ("admin", "top-up")]
    for arguments in cases:
        run(*arguments, "--help")
        lines = [line.strip() for line in capsys.readouterr().out.splitlines() if "Example:" in line]
        assert len(lines) > 1, arguments
        assert all(line.startswith("Example:") and line.count("Example:") == 1 for line in lines), arguments


def test_every_line_of_a_longer_message_is_shown(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(refusal("22023", "two things:\n- one\n- an\x1bother"), 422)
    assert run("query", "SELECT 1") == 1
    assert capsys.readouterr().err.splitlines() == ["error 22023: two things:", "  - one", "  - an\\x1bother"]


def test_values_of_placeholders_are_sent_in_order(proxy: FakeProxy, run: Run) -> None:
    proxy.answer(SCALAR)
    values = ["A", "100", "1.5", "true", "null", "[1]", "NaN", "1995-01-01"]
    assert run("query", "SELECT 1", *(part for value in values for part in ("--param", value))) == 0
    (request,) = proxy.requests
    assert request[2]["parameters"] == ["A", 100, 1.5, True, None, "[1]", "NaN", "1995-01-01"]
