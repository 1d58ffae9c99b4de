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
    alike = explanation(12.0, 5, relative_errors=[{"column": "n", "typical": 0.00191, "worst": 0.00193}])
    assert told(page, alike)["headline"] == "About 0.19% for a typical row"
    known = explanation(12.0, 5, relative_errors=[{"column": "n", "typical": 0.031, "worst": 0.4}])
    assert told(page, known)["headline"] == "About 3.1% for a typical row, 40% for the smallest"
    public = {"privacy_units": [], "expected_noise": [], "n_groups": 1}
    assert told(page, public)["headline"] == "Exact"


def test_an_accuracy_names_its_whole_price_before_it_runs(page: Page) -> None:
    asked = explanation(12.0, 1, epsilon=0.1, delta=1e-8, most_epsilon=1.0, most_delta=2e-8)
    said = run(page, "question/estimate.js", "m.estimate(a[0], new m.Told(), 0.05)", asked)
    assert said["headline"] == "Right within 5%, if epsilon 1 can do it" and "epsilon 0.1" in said["more"]
    whole = run(page, "question/explanation.js", "m.whole(a[0])", asked)
    assert whole == {"epsilon": 1.0, "delta": 2e-8, "paid": False}
    once = {"epsilon": 0.38, "delta": 0.0, "most_epsilon": None, "most_delta": None, "paid": True}
    assert run(page, "question/explanation.js", "m.whole(a[0])", once) == {
        "epsilon": 0.38,
        "delta": 0.0,
        "paid": True,
    }


@pytest.mark.parametrize(
    ("questions", "like", "words"),
    [
        (0, 6, "not enough for another question like your last 6"),
        (0, 1, "not enough for another question like your last one"),
        (1, 6, "enough for one more question like your last 6"),
        (2, 10, "enough for about 2 more like your last 10"),
    ],
)
def test_how_many_more_reads_well_for_none_and_for_few(page: Page, questions: int, like: int, words: str) -> None:
    assert run(page, "desk/budget.js", "m.more(a[0], a[1])", questions, like) == words


def test_the_tour_says_of_the_budget_what_holds_for_who_takes_it(page: Page) -> None:
    monthly = {"renew": "month", "renews_at_ms": NOW}
    said = run(
        page, "desk/tour.js", "[m.ofBudget(a[0]), m.ofBudget(a[1])]", monthly, {"renew": None, "renews_at_ms": None}
    )
    assert said[0].startswith("Your budget begins anew each month, next on Jan 15, 2027")
    assert said[1].startswith("What you have spent stays spent: your budget does not begin anew")


def one_table(sql: str, **columns: list[str] | None) -> dict[str, Any]:
    return {"sql": sql, "name": sql, "columns": [{"name": name, "domain": found} for name, found in columns.items()]}


WARDS = [
    one_table("patient", ward=["A", "B"], Sex=["f", "m"]),
    one_table("clinic.visit", kind=["in", "out"], cost=None),
]


@pytest.mark.parametrize(
    ("sql", "offered"),
    [
        ("SELECT * FROM patient", {
            "Count by ward": "SELECT ward, count(*)\nFROM patient\nGROUP BY ward",
            "Count by Sex": 'SELECT "Sex", count(*)\nFROM patient\nGROUP BY "Sex"',
            "Count them": "SELECT count(*)\nFROM patient",
        }),
        ("select cost, kind from clinic.visit v where cost > 5 order by cost limit 9;", {
            "Count by kind": "SELECT kind, count(*)\nfrom clinic.visit v where cost > 5\nGROUP BY kind",
            "Count them": "SELECT count(*)\nfrom clinic.visit v where cost > 5",
        }),
        ("SELECT \"Sex\" FROM patient WHERE ward = 'order by'", {
            "Count by Sex": "SELECT \"Sex\", count(*)\nFROM patient WHERE ward = 'order by'\nGROUP BY \"Sex\"",
            "Count by ward": "SELECT ward, count(*)\nFROM patient WHERE ward = 'order by'\nGROUP BY ward",
            "Count them": "SELECT count(*)\nFROM patient WHERE ward = 'order by'",
        }),
        ("SELECT * FROM nowhere", {}),
        ("SELECT * FROM (SELECT * FROM patient) t", {}),
        ("WITH t AS (SELECT 1) SELECT * FROM patient", {}),
        ("SELECT 1; SELECT * FROM patient", {}),
    ],
)  # fmt: skip
def test_rows_that_are_refused_are_offered_as_counts(page: Page, sql: str, offered: dict[str, str]) -> None:
    found = run(page, "question/counting.js", "m.counts(a[0], a[1])", sql, WARDS)
    assert dict(found) == offered and list(dict(found)) == list(offered)


def test_the_charges_of_one_request_are_one_in_the_history(page: Page) -> None:
    charges = [
        {"request_id": request, "epsilon": epsilon}
        for request, epsilon in (("b", 0.25), ("a", 0.146), ("b", 0.25), ("a", 0.1))
    ]
    found = run(page, "desk/history.js", "m.together(a[0])", charges)
    assert [(one["request_id"], one["epsilon"], round(one["whole"], 6)) for one in found] == [
        ("b", 0.25, 0.5),
        ("a", 0.146, 0.246),
    ], "what is opened again is the newest"


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
    early = [
        {"state": "committed", "reserved_at_ms": NOW - hours * DAY_MS // 24, "epsilon": 1.0} for hours in (1, 30)
    ]
    said = run(page, "admin/accounts.js", "m.forecast(a[0], a[1], a[2])", account, early, NOW)
    assert said.startswith("Too early to tell how long it lasts")


@pytest.mark.parametrize(
    ("keys", "covers", "shown"),
    [
        ([2021, 2022], "truth", ["2021", "2022"]),
        ([10115, 80331], "truth", ["10115", "80331"]),
        ([1960, None], "exact", ["1960", "NULL"]),
        ([1_500_000, 2], "exact", ["1,500,000", "2"]),
        ([1234, 56_789], "exact", ["1,234", "56,789"]),
    ],
)
def test_numbers_that_are_keys_have_no_separators(
    page: Page, keys: list[float | None], covers: str, shown: list[str]
) -> None:
    around = None if covers == "exact" else {"low": 1.0, "high": 2000.0}
    body = {
        "columns": [{"name": "key", "type": "int8"}, {"name": "n", "type": "int8"}],
        "rows": [[key, 1234] for key in keys],
        "intervals": [[None, around] for _ in keys],
        "covers": covers,
        "weak": [True] * len(keys),
        "cut": [True, False],
    }
    script = "[...m.table(a[0]).querySelectorAll('tbody tr')].map((row) => [...row.children].map((c) => c.innerText))"
    rows = run(page, "answer/table.js", script, body)
    assert [row[0] for row in rows] == shown
    if covers != "exact":
        assert "1,234" in rows[0][1]
        assert ("○" in rows[0][1], "↑" in rows[0][1]) == (True, True), "weak is not hidden by cut"
        assert ("○" in rows[1][1], "↑" in rows[1][1]) == (True, False)


@pytest.mark.parametrize(
    ("keys", "written"),
    [
        ([2019.0, 2024.0], ["2019", "2024"]),
        ([10115.0, 80331.0], ["10115", "80331"]),
        ([0.0, 20_000.0, 40_000.0], ["0", "20\u00a0k", "40\u00a0k"]),
    ],
)
def test_keys_on_axes_are_plain_unless_a_unit_says_them(page: Page, keys: list[float], written: list[str]) -> None:
    assert run(page, "charts/axes.js", "a[0].map(m.writtenKeys(a[0]))", keys) == written


def test_weeks_are_listed_by_who_spent_most(page: Page) -> None:
    script = """(() => {
      const table = document.body.appendChild(Object.assign(document.createElement("table"), { id: "weeks" }));
      const weeks = new m.Weeks();
      const at = { state: "committed", reserved_at_ms: a[1] };
      for (const [analyst, epsilon] of a[0]) weeks.add({ ...at, analyst, epsilon });
      weeks.draw();
      const found = [...table.querySelectorAll("tbody tr")].map((row) => row.firstChild.innerText);
      table.remove();
      return found;
    })()"""
    charges = [["ada", 1.0], ["zoe", 5.0], ["bob", 1.0], ["ada", 0.5]]
    assert run(page, "admin/charges.js", script, charges, NOW) == ["zoe", "ada", "bob"]


def test_what_became_of_an_accuracy_is_said_and_rows_that_are_cut_do_not_count(page: Page) -> None:
    def said(wide: float, cut: list[bool]) -> str:
        body = {
            "rows": [["A", 100.0], ["B", 10.0]],
            "intervals": [[None, {"low": 96.0, "high": 104.0}], [None, {"low": 10.0 - wide, "high": 10.0 + wide}]],
            "cut": cut,
            "covers": "truncated_full",
        }
        return str(run(page, "answer/answer.js", "m.outcome(a[0], 0.05)", body))

    assert said(0.4, [False, False]) == ": reached"
    assert said(1.0, [False, False]) == ": missed, 10% in the worst row"
    assert said(1.0, [False, True]) == ": reached; 1 row marked cut does not count"
    assert said(1.0, [True, True]) == ": not known, all of it is marked cut"


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
        (
            "grant",
            {"account": "analyst:gus", "nano_epsilon": 1, "atto_delta": 0, "accounting": "basic"},
            "grant",
            "analyst:gus may spend nothing: it asks no questions.",
        ),
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
