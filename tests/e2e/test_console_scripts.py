"""What the console works out by itself: statements, completions, estimates, forecasts, words of entries."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright._impl._driver import compute_driver_executable
from psycopg.conninfo import conninfo_to_dict

STATIC = (Path(__file__).parents[2] / "server" / "console" / "static").resolve()
PROGRAM = """
const nothing = new Proxy(() => nothing, { get: (_, name) => (name === Symbol.toPrimitive ? () => "" : nothing) });
const location = new URL("https://noisegate.test/");
Object.assign(globalThis, { document: nothing, window: globalThis, Plot: nothing, d3: nothing, location });
for await (const line of (await import("node:readline")).createInterface({ input: process.stdin })) {
  const [module, expression, a] = JSON.parse(line);
  const m = await import(module);
  console.log(JSON.stringify(new Function("m", "a", `return ${expression}`)(m, a)) ?? "null");
}
"""
"""The scripts without a page: what they ask of one is nothing. An expression of a module `m` and of arguments `a`."""

DAY_MS = 86_400_000
NOW = 1_800_000_000_000
TABLES = [
    {"sql": "orders", "columns": [{"name": "o_orderkey", "type": "int"}, {"name": "o_custkey", "type": "int"}]},
    {"sql": "clinic.visit", "columns": [{"name": "ward", "type": "text"}, {"name": "id", "type": "int"}]},
    {"sql": "stay", "columns": [{"name": "ward", "type": "text"}, {"name": "id", "type": "int"}]},
]


class Node:
    """The JavaScript that playwright brings with it: the same everywhere, and no browser."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, module: str, expression: str, *arguments: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(STATIC / module), expression, arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    command = [compute_driver_executable()[0], "--no-warnings", "--input-type=module", "-e", PROGRAM]
    place = {**os.environ, "TZ": "America/New_York", "LC_ALL": "en_US.UTF-8"}
    with subprocess.Popen(command, text=True, env=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Node(process)
        process.kill()


def test_comments_beside_a_statement_are_not_shown_with_the_next(node: Node) -> None:
    for sql, expected in [
        ("SELECT 1", ["SELECT 1"]),
        ("-- first\nSELECT 1; -- of the first\nSELECT ';' ; /* none */", ["SELECT 1", "SELECT ';'"]),
        ("SELECT 1 -- a; b\n, 2; SELECT 3 -- end", ["SELECT 1 -- a; b\n, 2", "SELECT 3"]),
        (" ; -- nothing\n;", []),
    ]:
        found = node.run("question/tokens.js", "m.statements(a[0])", sql)
        assert [one["text"] for one in found] == expected
        assert [sql[one["start"] :].startswith(one["text"]) for one in found] == [True] * len(found)


def test_a_word_becomes_what_the_statement_names_and_each_name_once(node: Node) -> None:
    for before, after, expected in [
        ("SELECT o.", " FROM orders o", ["o_orderkey", "o_custkey"]),
        ("SELECT v.wa", " FROM clinic.visit v JOIN stay s ON v.id = s.id", ["ward"]),
        ("SELECT wa", " FROM clinic.visit v JOIN stay s ON v.id = s.id", ["ward"]),
        ("SELECT x.o_c", "", ["o_custkey"]),
        ("SELECT * FROM cli", "", ["clinic.visit"]),
        ("SELECT * FROM clinic.v", "", ["clinic.visit"]),
        ("SELECT clinic.visit.i", " FROM clinic.visit", ["id"]),
        ("SELECT o_orderkey", " FROM orders", []),
    ]:
        found = node.run(
            "question/completion.js", "m.completions(a[0], a[1], a[2])", before + after, len(before), TABLES
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


def told(node: Node, explained: dict[str, Any]) -> Any:
    """What is said of it."""
    return node.run("question/estimate.js", "m.estimate(a[0])", explained)


def test_the_error_to_expect_is_said_in_parts_of_the_answer(node: Node) -> None:
    said = told(node, explanation(12.0, 5, expected_noise=[["count(*)", [[1.0, 12.0]]]]))
    assert (said["headline"], said["more"]) == ("± 12 in each row", "± 12 in each row, whatever its value.")
    alike = explanation(
        12.0, 5, relative_errors=[{"column": "n", "typical": 0.00191, "most": 0.00193, "worst": 0.002}]
    )
    assert told(node, alike)["headline"] == "About 0.19% for a typical row"
    known = explanation(12.0, 5, relative_errors=[{"column": "n", "typical": 0.031, "most": 0.062, "worst": 0.4}])
    assert told(node, known)["headline"] == "3.1% to 6.2% for a typical row"
    assert "The smallest row: 40% or more." in told(node, known)["more"]
    public = {"privacy_units": [], "expected_noise": [], "n_groups": 1}
    assert told(node, public)["headline"] == "Exact"


def test_where_nothing_is_known_it_is_said_and_a_test_is_offered(node: Node) -> None:
    """What other questions told of the same tables says nothing of the bound that this one will have."""
    said = told(node, explanation(12.0, 5, epsilon=0.5))
    assert said["headline"] == "Not known yet: ± 12 or more in each row" and "± 24 if up to 2" in said["more"]
    assert said["test"] == pytest.approx(0.05)


def test_an_accuracy_names_its_whole_price_before_it_runs(node: Node) -> None:
    asked = explanation(12.0, 1, epsilon=0.1, delta=1e-8, most_epsilon=1.0, most_delta=2e-8)
    said = node.run("question/estimate.js", "m.estimate(a[0], 0.05)", asked)
    assert said["headline"] == "Right within 5%, if epsilon 1 can do it" and "epsilon 0.1" in said["more"]
    whole = node.run("question/explanation.js", "m.whole(a[0])", asked)
    assert whole == {"epsilon": 1.0, "delta": 2e-8, "paid": False}
    once = {"epsilon": 0.38, "delta": 0.0, "most_epsilon": None, "most_delta": None, "paid": True}
    assert node.run("question/explanation.js", "m.whole(a[0])", once) == {
        "epsilon": 0.38,
        "delta": 0.0,
        "paid": True,
    }


def test_how_many_more_reads_well_for_none_and_for_few(node: Node) -> None:
    for questions, like, words in [
        (0, 6, "not enough for another question like your last 6"),
        (0, 1, "not enough for another question like your last one"),
        (1, 6, "enough for one more question like your last 6"),
        (2, 10, "enough for about 2 more like your last 10"),
    ]:
        assert node.run("desk/budget.js", "m.more(a[0], a[1])", questions, like) == words


def test_the_tour_says_of_the_budget_what_holds_for_who_takes_it(node: Node) -> None:
    monthly = {"renew": "month", "renews_at_ms": NOW}
    said = node.run(
        "desk/tour.js", "[m.ofBudget(a[0]), m.ofBudget(a[1])]", monthly, {"renew": None, "renews_at_ms": None}
    )
    assert said[0].startswith("Your budget begins again each month, next on Jan 15, 2027")
    assert said[1].startswith("What you have spent stays spent: your budget does not begin again")


def one_table(sql: str, **columns: list[str] | None) -> dict[str, Any]:
    return {"sql": sql, "name": sql, "columns": [{"name": name, "domain": found} for name, found in columns.items()]}


WARDS = [
    one_table("patient", ward=["A", "B"], Sex=["f", "m"]),
    one_table("clinic.visit", kind=["in", "out"], cost=None),
]


def test_rows_that_are_refused_are_offered_as_counts(node: Node) -> None:
    for sql, offered in [
        (
            "SELECT * FROM patient",
            {
                "Count by ward": "SELECT ward, count(*)\nFROM patient\nGROUP BY ward",
                "Count by Sex": 'SELECT "Sex", count(*)\nFROM patient\nGROUP BY "Sex"',
                "Count them": "SELECT count(*)\nFROM patient",
            },
        ),
        (
            "select cost, kind from clinic.visit v where cost > 5 order by cost limit 9;",
            {
                "Count by kind": "SELECT kind, count(*)\nfrom clinic.visit v where cost > 5\nGROUP BY kind",
                "Count them": "SELECT count(*)\nfrom clinic.visit v where cost > 5",
            },
        ),
        (
            "SELECT \"Sex\" FROM patient WHERE ward = 'order by'",
            {
                "Count by Sex": 'SELECT "Sex", count(*)\nFROM patient WHERE ward = \'order by\'\nGROUP BY "Sex"',
                "Count by ward": "SELECT ward, count(*)\nFROM patient WHERE ward = 'order by'\nGROUP BY ward",
                "Count them": "SELECT count(*)\nFROM patient WHERE ward = 'order by'",
            },
        ),
        ("SELECT * FROM nowhere", {}),
        ("SELECT * FROM (SELECT * FROM patient) t", {}),
        ("WITH t AS (SELECT 1) SELECT * FROM patient", {}),
        ("SELECT 1; SELECT * FROM patient", {}),
    ]:
        found = node.run("question/counting.js", "m.counts(a[0], a[1])", sql, WARDS)
        assert dict(found) == offered and list(dict(found)) == list(offered)


def test_the_charges_of_one_request_are_one_in_the_history(node: Node) -> None:
    charges = [
        {"request_id": request, "epsilon": epsilon}
        for request, epsilon in (("b", 0.25), ("a", 0.146), ("b", 0.25), ("a", 0.1))
    ]
    found = node.run("desk/history.js", "m.together(a[0])", charges)
    assert [(one["request_id"], one["epsilon"], round(one["whole"], 6)) for one in found] == [
        ("b", 0.25, 0.5),
        ("a", 0.146, 0.246),
    ], "what is opened again is the newest"


def test_a_question_that_can_say_nothing_is_called_so(node: Node) -> None:
    useless = told(node, explanation(43_570.0, 3600))["useless"]
    assert "± 44,000, in each of 3,600 rows" in useless and "160 million" in useless
    assert told(node, explanation(12.0, 5))["useless"] is None
    hidden = [{"column": "n", "typical": 4.0, "most": 8.0, "worst": None}]
    assert told(node, explanation(400.0, 10, relative_errors=hidden))["useless"] is not None
    seen = [{"column": "n", "typical": 0.4, "most": 0.8, "worst": None}]
    assert told(node, explanation(40.0, 10, relative_errors=seen))["useless"] is None


def test_a_forecast_is_the_pace_of_the_last_weeks(node: Node) -> None:
    charges = [
        {"state": "committed", "reserved_at_ms": NOW - days * DAY_MS, "epsilon": 1.0} for days in (1, 4, 10, 13)
    ]
    old = [{"state": "committed", "reserved_at_ms": NOW - 100 * DAY_MS, "epsilon": 50.0}]
    given_back = [{"state": "released", "reserved_at_ms": NOW - DAY_MS, "epsilon": 50.0}]
    account = {"epsilon_left": 8.0, "renews_at_ms": None}
    said = node.run("admin/accounts.js", "m.forecast(a[0], a[1], a[2])", account, charges + old + given_back, NOW)
    assert said.startswith("Lasts about 26 days, until Feb 10, 2027, at epsilon 0.3077 a day")
    renewed = account | {"renews_at_ms": NOW + 5 * DAY_MS}
    said = node.run("admin/accounts.js", "m.forecast(a[0], a[1], a[2])", renewed, charges, NOW)
    assert said.startswith("Lasts until it begins again on Jan 20, 2027")
    said = node.run("admin/accounts.js", "m.forecast(a[0], a[1], a[2])", account, old, NOW)
    assert said == "Nothing was spent in the last 14 days."
    early = [
        {"state": "committed", "reserved_at_ms": NOW - hours * DAY_MS // 24, "epsilon": 1.0} for hours in (1, 30)
    ]
    said = node.run("admin/accounts.js", "m.forecast(a[0], a[1], a[2])", account, early, NOW)
    assert said.startswith("Too early to tell how long it lasts")


def test_the_pace_counts_all_charges_of_an_account_by_hour(node: Node) -> None:
    charges = [
        {"accounts": [*who, "dataset"], "state": state, "reserved_at_ms": NOW - days * DAY_MS, "epsilon": 0.5}
        for who, state, days in (
            *(((["analyst:ada"], "committed", 1),) * 3),
            (["analyst:ada"], "released", 1),
            (["analyst:ada"], "failed", 4),
            (["analyst:bob"], "reserved", 4),
        )
    ]
    added = "(() => { const all = new m.Spending(); a[0].forEach((one) => all.add(one)); return all; })()"
    ada, dataset, eve = (
        node.run("admin/charges.js", f"{added}.of(a[1])", charges, account)
        for account in ("analyst:ada", "dataset", "analyst:eve")
    )
    assert [(one["reserved_at_ms"], one["epsilon"]) for one in ada] == [
        (NOW - 4 * DAY_MS, 0.5),
        (NOW - DAY_MS, 1.5),
    ]
    assert [one["epsilon"] for one in dataset] == [1.0, 1.5] and eve == []


def test_keys_on_axes_are_plain_unless_a_unit_says_them(node: Node) -> None:
    for keys, written in [
        ([2019.0, 2024.0], ["2019", "2024"]),
        ([10115.0, 80331.0], ["10115", "80331"]),
        ([0.0, 20_000.0, 40_000.0], ["0", "20\u00a0k", "40\u00a0k"]),
    ]:
        assert node.run("charts/axes.js", "a[0].map(m.writtenKeys(a[0]))", keys) == written


def test_what_became_of_an_accuracy_is_said_and_rows_that_are_clipped_do_not_count(node: Node) -> None:
    def said(wide: float, clipped: list[bool]) -> str:
        body = {
            "rows": [["A", 100.0], ["B", 10.0]],
            "intervals": [[None, {"low": 96.0, "high": 104.0}], [None, {"low": 10.0 - wide, "high": 10.0 + wide}]],
            "clipped": clipped,
            "covers": "clipped value",
        }
        return str(node.run("answer/answer.js", "m.outcome(a[0], 0.05)", body))

    assert said(0.4, [False, False]) == ": reached"
    assert said(1.0, [False, False]) == ": missed, 10% in the worst row"
    assert said(1.0, [False, True]) == ": reached; 1 row marked clipped does not count"
    assert said(1.0, [True, True]) == ": not known, every row is marked clipped"


def test_what_administrators_did_stands_in_words_and_units(node: Node) -> None:
    for kind, content, name, words in [
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
    ]:
        found = node.run("admin/log.js", "[m.named(a[0], a[1]), m.worded(a[0], a[1])]", kind, content)
        assert found == [name, words]


def test_a_workloads_note_names_keys_as_they_were_asked(node: Node) -> None:
    note = 'Estimated together: by "nation_1"."n_name" and "customer_0"."c_acctbal" < 0.'
    asked = [{"text": "SELECT n_name, c.c_acctbal < 0 FROM customer c JOIN nation ON true"}]
    found = node.run("answer/dashboard.js", "m.worded(a[0], a[1])", note, asked)
    assert found == "Estimated together: by n_name and c.c_acctbal < 0."


def test_what_noise_put_below_nothing_is_shown_as_noise(node: Node) -> None:
    interval = {"low": 0, "high": 4}
    found = node.run(
        "answer/table.js",
        "[m.worded(0, -7, 'int8', a[0]), m.worded(-3, null, 'int8', a[0]), m.worded(5, null, 'int8', a[0]),"
        " m.worded(-3, null, 'int8', null), m.exact(0, -7)]",
        interval,
    )
    assert found == ["0 (noise)", "0 (noise)", "5", "-3", "as released: -7"]


def test_what_is_copied_is_one_word_for_a_shell(node: Node) -> None:
    for text in ["a'b", "a\\'; evil; '", 'x"$(evil)`evil`', "two\nlines", "\\", "it's \\'fish\\'"]:
        copied = node.run(
            "answer/copies.js",
            "m.asPsql(a[0], a[1])",
            {"sql": text, "epsilon": 1},
            {"name": text, "dataset": text},
        )
        words = shlex.split(copied.replace("\\\n", " "))
        assert words[-4:] == ["-c", "SET noisegate.epsilon = 1", "-c", text]
        fields = conninfo_to_dict(words[2])
        assert (fields["dbname"], fields["user"]) == (text, text)
        sent = shlex.split(
            node.run("answer/copies.js", "m.asCurl(a[0])", {"sql": text, "epsilon": 1}).replace("\\\n", " ")
        )
        assert json.loads(sent[-1])["sql"] == text


def test_control_characters_are_no_question_that_a_link_brings(node: Node) -> None:
    for sign in ("\x03", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066"):
        assert not node.run("common/dom.js", "m.typable(a[0])", f"SELECT 1 /* {sign} */")
    assert node.run("common/dom.js", "m.typable(a[0])", "SELECT 'é日本💥'\n\t-- and more\r\n")


def test_a_columns_name_is_no_pattern(node: Node) -> None:
    note = node.run(
        "answer/dashboard.js", "m.worded(a[0], a[1])", 'by "t_0"."a(b"', [{"text": 'SELECT "a(b" FROM t'}]
    )
    assert note == 'by "a(b"'
