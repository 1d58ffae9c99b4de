"""What the console works out by itself: statements, completions, estimates, forecasts, words of entries."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page
from psycopg.conninfo import conninfo_to_dict

from tests.e2e.test_charts import HISTOGRAM, drawn
from tests.support.chromium import chromium, needs_chromium

pytestmark = [needs_chromium, pytest.mark.xdist_group("charts")]

DAY_MS = 86_400_000
NOW = 1_800_000_000_000
TABLES = [
    {"sql": "orders", "columns": [{"name": "o_orderkey", "type": "int"}, {"name": "o_custkey", "type": "int"}]},
    {"sql": "clinic.visit", "columns": [{"name": "ward", "type": "text"}, {"name": "id", "type": "int"}]},
    {"sql": "stay", "columns": [{"name": "ward", "type": "text"}, {"name": "id", "type": "int"}]},
]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as running, drawn(running, HISTOGRAM) as opened:
        yield opened


def run(page: Page, module: str, expression: str, *arguments: Any) -> Any:
    """An expression over a module `m` and arguments `a`."""
    script = f"(a) => import('/console/{module}').then((m) => {expression})"
    return page.evaluate(script, list(arguments))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("-- first\nSELECT 1; -- of the first\nSELECT ';' ; /* none */", ["SELECT 1", "SELECT ';'"]),
        ("SELECT 1 -- a; b\n, 2; SELECT 3 -- end", ["SELECT 1 -- a; b\n, 2", "SELECT 3"]),
        (" ; -- nothing\n;", []),
    ],
)
def test_comments_beside_a_statement_are_not_shown_with_the_next(page: Page, sql: str, expected: list[str]) -> None:
    found = run(page, "question/tokens.js", "m.statements(a[0])", sql)
    assert [one["text"] for one in found] == expected
    assert [sql[one["start"] :].startswith(one["text"]) for one in found] == [True] * len(found)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("SELECT o.", " FROM orders o", ["o_orderkey", "o_custkey"]),
        ("SELECT v.wa", " FROM clinic.visit v JOIN stay s ON v.id = s.id", ["ward"]),
        ("SELECT wa", " FROM clinic.visit v JOIN stay s ON v.id = s.id", ["ward"]),
        ("SELECT x.o_c", "", ["o_custkey"]),
        ("SELECT * FROM cli", "", ["clinic.visit"]),
        ("SELECT * FROM clinic.v", "", ["clinic.visit"]),
        ("SELECT clinic.visit.i", " FROM clinic.visit", ["id"]),
        ("SELECT o_orderkey", " FROM orders", []),
    ],
)
def test_a_word_becomes_what_the_statement_names_and_each_name_once(
    page: Page, before: str, after: str, expected: list[str]
) -> None:
    found = run(
        page, "question/completion.js", "m.completions(a[0], a[1], a[2])", before + after, len(before), TABLES
    )
    assert [one["text"] for one in found["found"]] == expected


def explanation(half: float, groups: int | None, **more: Any) -> dict[str, Any]:
    return {
        "privacy_units": ["patient"],
        "weight_bounds": [["count(*)", 1.0]],
        "expected_noise": [["count(*)", [[1.0, half], [2.0, 2 * half]]]],
        "n_groups": groups,
        "tables": [{"table": "visit"}],
        "reason": "",
        **more,
    }


def told(page: Page, explained: dict[str, Any], rows: list[list[float]] | None = None) -> Any:
    """What is said of it, after an answer of so many rows."""
    body = {
        "columns": [{"name": "n", "type": "int8"}],
        "rows": rows or [],
        "intervals": [[{"low": 0, "high": 1}]] * len(rows or []),
        "taus": [[[1.0]]] * len(rows or []),
        "raw": [],
    }
    expression = "{ const told = new m.Told(); told.learn(a[0], a[1]); return m.estimate(a[0], told); }"
    return run(page, "question/estimate.js", f"(() => {expression})()", explained, body)


def test_the_error_to_expect_is_said_in_parts_of_the_answer(page: Page) -> None:
    said = told(page, explanation(12.0, 5, expected_noise=[["count(*)", [[1.0, 12.0]]]]))
    assert (said["headline"], said["more"]) == (
        "About 12% of 100, 1.2% of 1,000",
        "± 12 in each row, whatever its value.",
    )
    said = told(page, explanation(12.0, 5))  # what people add decides: not the least noise is foretold
    assert said["headline"] == "About 24% of 100, 2.4% of 1,000" and "± 24 if somebody adds 2" in said["more"]
    assert told(page, explanation(12.0, 5), [[4000.0]])["headline"] == "About 1.5% for a typical row"
    known = explanation(12.0, 5, relative_errors=[{"column": "n", "typical": 0.031, "worst": 0.4}])
    assert told(page, known)["headline"] == "About 3.1% for a typical row, 40% for the smallest"
    public = {"privacy_units": [], "expected_noise": [], "n_groups": 1}
    assert told(page, public)["headline"] == "Exact"


def test_a_question_that_can_say_nothing_is_called_so(page: Page) -> None:
    useless = told(page, explanation(43_570.0, 3600))["useless"]
    assert "± 44,000, in each of 3,600 rows" in useless and "160 million" in useless
    assert told(page, explanation(12.0, 5))["useless"] is None
    assert told(page, explanation(400.0, 10), [[1000.0]])["useless"] is not None
    assert told(page, explanation(40.0, 10), [[1000.0]])["useless"] is None


def test_a_forecast_is_the_pace_of_the_last_weeks(page: Page) -> None:
    charges = [
        {"state": "committed", "reserved_at_ms": NOW - days * DAY_MS, "epsilon": 1.0} for days in (1, 4, 10, 13)
    ]
    old = [{"state": "committed", "reserved_at_ms": NOW - 100 * DAY_MS, "epsilon": 50.0}]
    given_back = [{"state": "released", "reserved_at_ms": NOW - DAY_MS, "epsilon": 50.0}]
    account = {"epsilon_left": 8.0, "renews_at_ms": None}
    said = run(page, "admin/accounts.js", "m.forecast(a[0], a[1], a[2])", account, charges + old + given_back, NOW)
    assert said.startswith("Lasts about 26 days, until Feb 10, 2027, at epsilon 0.3077 a day")
    renewed = account | {"renews_at_ms": NOW + 5 * DAY_MS}
    said = run(page, "admin/accounts.js", "m.forecast(a[0], a[1], a[2])", renewed, charges, NOW)
    assert said.startswith("Lasts until it begins anew on Jan 20, 2027")
    said = run(page, "admin/accounts.js", "m.forecast(a[0], a[1], a[2])", account, old, NOW)
    assert said == "Nothing was spent in the last 14 days."


@pytest.mark.parametrize(
    ("kind", "content", "name", "words"),
    [
        ("enabled", {"analyst": "bob", "enabled": 0}, "disabled", "bob may not ask any more."),
        ("disabled", {"analyst": "bob", "enabled": 0}, "disabled", "bob may not ask any more."),
        ("enabled", {"analyst": "bob", "enabled": 1}, "enabled", "bob may ask again."),
        (
            "grant",
            {"account": "analyst:ada", "nano_epsilon": 2_500_000_000, "atto_delta": 10**12, "accounting": "zcdp"},
            "grant",
            "analyst:ada may spend epsilon 2.5, delta 1e-6, counted by zCDP.",
        ),
        ("data", {"version": 4}, "data", "The data is version 4."),
    ],
)
def test_what_custodians_did_stands_in_words_and_units(
    page: Page, kind: str, content: dict[str, Any], name: str, words: str
) -> None:
    found = run(page, "admin/log.js", "[m.named(a[0], a[1]), m.worded(a[0], a[1])]", kind, content)
    assert found == [name, words]


def test_a_workloads_note_names_keys_as_they_were_asked(page: Page) -> None:
    note = 'Estimated together: by "nation_1"."n_name" and "customer_0"."c_acctbal" < 0.'
    asked = [{"text": "SELECT n_name, c.c_acctbal < 0 FROM customer c JOIN nation ON true"}]
    found = run(page, "answer/dashboard.js", "m.worded(a[0], a[1])", note, asked)
    assert found == "Estimated together: by n_name and c.c_acctbal < 0."


def test_what_noise_put_below_nothing_is_shown_as_noise(page: Page) -> None:
    interval = {"low": 0, "high": 4}
    found = run(
        page,
        "answer/table.js",
        "[m.worded(0, -7, 'int8', a[0]), m.worded(-3, null, 'int8', a[0]), m.worded(5, null, 'int8', a[0]),"
        " m.worded(-3, null, 'int8', null), m.exact(0, -7)]",
        interval,
    )
    assert found == ["0 (noise)", "0 (noise)", "5", "-3", "as released: -7"]


@pytest.mark.parametrize("text", ["a'b", "a\\'; evil; '", 'x"$(evil)`evil`', "two\nlines", "\\", "it's \\'fish\\'"])
def test_what_is_copied_is_one_word_for_a_shell(page: Page, text: str) -> None:
    copied = run(
        page, "answer/copies.js", "m.asPsql(a[0], a[1])", {"sql": text, "epsilon": 1}, {"name": text, "dataset": text}
    )
    words = shlex.split(copied.replace("\\\n", " "))
    assert words[-4:] == ["-c", "SET noisegate.epsilon = 1", "-c", text]
    fields = conninfo_to_dict(words[2])
    assert (fields["dbname"], fields["user"]) == (text, text)
    sent = shlex.split(
        run(page, "answer/copies.js", "m.asCurl(a[0])", {"sql": text, "epsilon": 1}).replace("\\\n", " ")
    )
    assert json.loads(sent[-1])["sql"] == text


def test_control_characters_are_no_question_that_a_link_brings(page: Page) -> None:
    for sign in ("\x03", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066"):
        assert not run(page, "common/dom.js", "m.typable(a[0])", f"SELECT 1 /* {sign} */")
    assert run(page, "common/dom.js", "m.typable(a[0])", "SELECT 'é日本💥'\n\t-- and more\r\n")


def test_a_columns_name_is_no_pattern(page: Page) -> None:
    note = run(
        page, "answer/dashboard.js", "m.worded(a[0], a[1])", 'by "t_0"."a(b"', [{"text": 'SELECT "a(b" FROM t'}]
    )
    assert note == 'by "a(b"'
