"""The shell without a terminal: statements from standard input, one after another."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from tests.unit.server.cli.answers import BUDGET, EXPLANATION, GROUPED, SCALAR, refusal
from tests.unit.server.cli.conftest import FakeProxy
from tests.unit.server.cli.conftest import proxy as proxy
from tests.unit.server.cli.conftest import run as run
from tests.unit.server.cli.schemas import SCHEMA

Shell = Callable[..., int]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def shell(run: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> Shell:
    def fed(text: str, *options: str) -> int:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return run("shell", *options)

    return fed


def asked(proxy: FakeProxy) -> list[dict[str, object]]:
    return [body for path, _, body in proxy.requests if path in ("/v1/query", "/v1/explain")]


def test_statements_end_with_semicolons_and_may_span_lines(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.answer(SCALAR)
    assert shell("SELECT\n  count(*) -- ;\nFROM t;SELECT ';';\nSELECT 3") == 0
    assert [body["sql"] for body in asked(proxy)] == ["SELECT\n  count(*) -- ;\nFROM t", "SELECT ';'", "SELECT 3"]
    out = capsys.readouterr().out
    assert out.count("1,234,567") == 3
    assert "\x1b" not in out


def test_it_stops_at_the_first_failure_with_its_code(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.next = {"/v1/query": [(403, refusal("PD001", "nothing is left")), (200, SCALAR)]}
    assert shell("SELECT 1; SELECT 2;") == 3
    assert len(asked(proxy)) == 1
    assert "nothing is left" in capsys.readouterr().err


def test_it_can_go_on_and_still_fails(proxy: FakeProxy, shell: Shell) -> None:
    proxy.next = {"/v1/query": [(422, refusal("0A000", "no")), (200, SCALAR)]}
    assert shell("SELECT 1; SELECT 2;", "--keep-going") == 1
    assert len(asked(proxy)) == 2


def test_epsilon_is_set_and_left_to_the_policy_again(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.answer(SCALAR)
    assert shell("SELECT 1;\n\\epsilon 0.25\nSELECT 2;\n\\epsilon default\nSELECT 3;", "--epsilon", "2") == 0
    assert [body.get("epsilon") for body in asked(proxy)] == [2, 0.25, None]
    assert "Each question spends epsilon 0.25." in capsys.readouterr().err


def test_what_is_no_epsilon_is_refused(proxy: FakeProxy, shell: Shell) -> None:
    for wrong in ["0", "-1", "nan", "inf", "much"]:
        assert shell(f"\\epsilon {wrong}\nSELECT 1;") == 1, wrong
        assert proxy.requests == [], wrong


def test_explaining_is_free_in_every_spelling(proxy: FakeProxy, shell: Shell) -> None:
    proxy.bodies = {"/v1/query": json.dumps(SCALAR), "/v1/explain": json.dumps(EXPLANATION)}
    assert shell("explain\nSELECT 1;\n\\explain SELECT 2\nSELECT 3;\n\\explain\n") == 0
    sent = [(path, body["sql"]) for path, _, body in proxy.requests]
    assert sent == [
        ("/v1/explain", "SELECT 1"),
        ("/v1/explain", "SELECT 2"),
        ("/v1/query", "SELECT 3"),
        ("/v1/explain", "SELECT 3"),
    ]


def test_there_must_be_something_to_explain(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    assert shell("\\explain") == 1
    assert "nothing to explain yet" in capsys.readouterr().err
    assert proxy.requests == []


def test_tables_and_columns_are_described(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.bodies = {"/v1/schema": json.dumps(SCHEMA)}
    assert shell("\\dt\n\\d ORDERS\n\\d customer\n") == 0
    out = capsys.readouterr().out
    assert "(o_custkey) references customer (c_custkey)" in out
    assert "-1000 to 10000" in out and "not null" in out
    assert "each row is a protected person" in out
    assert len(proxy.requests) == 1, "the schema is looked up once"


def test_unknown_tables_and_commands_are_said_to_be(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.bodies = {"/v1/schema": json.dumps(SCHEMA)}
    assert shell("\\d nowhere\n\\frobnicate\n", "--keep-going") == 1
    err = capsys.readouterr().err
    assert "there is no table nowhere" in err
    assert "there is no command \\frobnicate" in err


def test_the_budget_is_shown(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.bodies = {"/v1/budget": json.dumps(BUDGET)}
    assert shell("\\budget\n") == 0
    out = capsys.readouterr().out
    assert "Left: epsilon 8.5 of epsilon 10." in out
    assert "Guarantee: epsilon 10 per month;" in out
    assert "About 17 more questions like your last 10 fit." in out


def test_an_accuracy_stands_in_place_of_an_epsilon(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.answer(SCALAR)
    assert shell("\\accuracy 0.05\nSELECT 1;\n\\accuracy default\nSELECT 2;\n\\accuracy much\n", "--keep-going") == 1
    err = capsys.readouterr().err
    assert "for a relative error of at most 0.05" in err
    assert "max_relative_error is a number above 0" in err
    asked = [body.get("max_relative_error") for path, _, body in proxy.requests if path == "/v1/query"]
    assert asked == [0.05, None]


def test_expanded_display_gives_each_cell_a_line(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.answer(GROUPED)
    assert shell("\\x\nSELECT 1;\n\\x off\n") == 0
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert ["n_name", "FRANCE"] in lines
    assert ["revenue", "-3.5", "-10.0", "to", "3.0"] in lines
    assert "\x1b" not in out, "no answer drives the terminal"
    assert "Expanded display is on." in err and "Expanded display is off." in err


def test_timing_is_said_on_request(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.answer(SCALAR)
    assert shell("SELECT 1;\n\\timing\nSELECT 2;") == 0
    assert capsys.readouterr().err.count("Time: ") == 1


def test_leaving_ends_a_script(proxy: FakeProxy, shell: Shell) -> None:
    assert shell("\\q\nSELECT 1;") == 0
    assert proxy.requests == []


def test_help_names_every_command(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    assert shell("\\?") == 0
    out = capsys.readouterr().out
    for name in (
        "\\d",
        "\\dt",
        "\\budget",
        "\\explain",
        "\\epsilon",
        "\\at_most",
        "\\accuracy",
        "\\timing",
        "\\x",
        "\\q",
    ):
        assert f"  {name} " in out


def test_what_nobody_adds_more_than_goes_with_each_question(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    proxy.answer(SCALAR)
    name = "\\at_most"
    assert shell(f"SELECT 1;\n{name} 30\nSELECT 2;\n{name}\n{name} off\nSELECT 3;") == 0
    assert [body.get("at_most") for _, _, body in proxy.requests] == [None, 30.0, None]
    told = capsys.readouterr().err
    assert told.count("Nobody adds more than 30 to a group") == 2 and "No bound on what one person adds" in told


def test_what_nobody_can_add_is_refused(proxy: FakeProxy, shell: Shell, capsys: Capture) -> None:
    for wrong in ["0", "-1", "nan", "inf", "much"]:
        assert shell(f"\\at_most {wrong}\nSELECT 1;") == 1, wrong
        assert "at_most is a number above 0" in capsys.readouterr().err, wrong
        assert proxy.requests == [], wrong
