"""What administrators see and change over HTTP, in a real ledger."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from server.errors import InvalidRequest
from server.ledger.analyst import PREFIX, Act, key_hash
from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from tests.support.charging import reserve
from tests.unit.server.http.fakes import FakePipeline, assert_problem, send

Send = Callable[..., httpx.Response]
WHY = {"reason": "the study begins"}
CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/analysts", {"name": "grace", "epsilon": 1.0, **WHY}),
    ("POST", "/analysts/ada/key", WHY),
    ("PATCH", "/analysts/ada", {"enabled": False, **WHY}),
    ("PUT", "/accounts/dataset", {"epsilon": 5.0, **WHY}),
    ("POST", "/accounts/analyst:ada/top-up", {"epsilon": 1.0, **WHY}),
    ("POST", "/policy/reload", WHY),
    ("POST", "/data/bump", WHY),
]
READS = [
    *("/holder", "/analysts", "/analysts/ada", "/accounts", "/charges", "/entries", "/ledger/export", "/dataset"),
    *("/schema", "/policy/changes"),
]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    for role in ("analyst", "auditor", "admin"):
        made.add_analyst(role, key_hash(f"ng_{role}"), 1.0, 0.0, role=role)
    made.add_analyst("ada", key_hash("ng_nobody"), 2.0, 0.0)
    yield made
    made.close()


@pytest.fixture
def ask(ledger: Ledger) -> Send:
    def sent(method: str, path: str, role: str = "admin", **request: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer ng_{role}"}
        return send(method, f"/v1/admin{path}", ledger=ledger, headers=headers, **request)

    return sent


def test_what_is_misspelt_is_told_with_what_was_meant(ask: Send) -> None:
    cases: list[tuple[str, str, dict[str, Any], str]] = [
        (
            "POST",
            "/analysts",
            {"name": "grace", "epsilom": 1.0, **WHY},
            "body.epsilom: there is no such field; did you",
        ),
        ("POST", "/analysts", {"name": "grace", "epsilon": 1.0, "role": "admn", **WHY}, "did you mean admin?"),
        ("PUT", "/accounts/dataset", {"epsilon": 5.0, "accounting": "zdcp", **WHY}, "did you mean zcdp?"),
        ("PUT", "/accounts/dataset", {"epsilon": 5.0, "window": 9, **WHY}, "did you mean window_s?"),
        ("POST", "/policy/reload", {"confrm": "0" * 64, **WHY}, "did you mean confirm?"),
    ]
    for method, path, body, meant in cases:
        problem = assert_problem(ask(method, path, json=body), 422, "08P01")
        assert meant in problem["message"], method


def test_a_delta_alone_can_be_added(ask: Send) -> None:
    body = ask("POST", "/accounts/analyst:ada/top-up", json={"delta": 1e-6, **WHY}).json()
    assert (body["epsilon"], body["delta"]) == (2.0, 1e-6)
    assert_problem(ask("POST", "/accounts/analyst:ada/top-up", json=WHY), 422, "22023")


def test_a_new_groups_delta_is_the_policys_and_the_datasets_is_named_or_none(ask: Send) -> None:
    delta = FakePipeline().policy.delta_of_analyst
    assert delta > 0
    made = ask("PUT", "/accounts/group:lab", json={"epsilon": 2.0, **WHY}).json()
    assert (made["delta"], made["delta_left"]) == (delta, delta)
    assert ask("PUT", "/accounts/group:pure", json={"epsilon": 2.0, "delta": 0.0, **WHY}).json()["delta"] == 0.0
    assert ask("PUT", "/accounts/group:pure", json={"epsilon": 3.0, **WHY}).json()["delta"] == 0.0, "as it was"
    assert ask("PUT", "/accounts/dataset", json={"epsilon": 9.0, **WHY}).json()["delta"] == 0.0


def spend(ledger: Ledger, analyst: str = "ada", epsilon: float = 0.5) -> None:
    ledger.commit(reserve(ledger, Charge(analyst, epsilon, 0.0, "request-1", "policy", "plan", "gem")))


def test_only_admins_change_anything(ask: Send, ledger: Ledger) -> None:
    for method, path, body in CHANGES:
        for role in ["analyst", "auditor"]:
            before = len(ledger.entries())
            assert_problem(ask(method, path, role, json=body), 403, "42501")
            assert len(ledger.entries()) == before, (method, role)


def test_auditors_and_admins_read_and_analysts_do_not(ask: Send) -> None:
    for path in READS:
        assert ask("GET", path, "auditor").status_code == ask("GET", path, "admin").status_code == 200, path
        assert_problem(ask("GET", path, "analyst"), 403, "42501")


def test_every_change_says_who_and_why(ask: Send, ledger: Ledger) -> None:
    for method, path, body in CHANGES:
        refused = assert_problem(ask(method, path, json={**body, "reason": ""}), 422, "08P01")
        assert "reason" in refused["message"], method
        assert ask(method, path, json=body).is_success, method
        if "reload" not in path:  # of which the pipeline writes the entry
            said = json.dumps(dict(ledger.entries()[-1].content))
            assert "the study begins" in said and '"admin"' in said, method


def test_a_new_analysts_key_is_shown_once_and_opens_the_door(ask: Send, ledger: Ledger) -> None:
    reply = ask("POST", "/analysts", json={"name": "grace", "epsilon": 3.0, "group": None, **WHY})
    assert reply.status_code == 201
    key = reply.json()["key"]
    assert key.startswith(PREFIX)
    assert ledger.analyst_by_key(key_hash(key)) == "grace"
    assert (ledger.scram_verifier("grace") or "").startswith("SCRAM-SHA-256$4096:")
    assert ledger.budget("grace").epsilon_left == 3.0
    assert key not in ask("GET", "/entries").text
    assert_problem(ask("POST", "/analysts", json={"name": "grace", "epsilon": 3.0, **WHY}), 409, "42710")


def test_a_rotated_key_replaces_the_old_one(ask: Send, ledger: Ledger) -> None:
    key = ask("POST", "/analysts/ada/key", json=WHY).json()["key"]
    assert ledger.analyst_by_key(key_hash("ng_nobody")) is None
    assert ledger.analyst_by_key(key_hash(key)) == "ada"


def test_an_analyst_is_disabled_and_moved(ask: Send, ledger: Ledger) -> None:
    ask("PUT", "/accounts/group:lab", json={"epsilon": 2.0, **WHY})
    changed = ask("PATCH", "/analysts/ada", json={"enabled": False, "group": "lab", "role": "auditor", **WHY}).json()
    assert changed == {"name": "ada", "role": "auditor", "group": "lab", "enabled": False}
    assert ledger.analyst_by_key(key_hash("ng_nobody")) is None
    assert ask("PATCH", "/analysts/ada", json={"group": None, **WHY}).json()["group"] is None
    assert_problem(ask("PATCH", "/analysts/ada", json=WHY), 422, "08P01")
    assert_problem(ask("PATCH", "/analysts/nobody", json={"enabled": True, **WHY}), 404, "42704")


def test_budgets_are_set_and_topped_up(ask: Send, ledger: Ledger) -> None:
    spend(ledger)
    body = ask("POST", "/accounts/analyst:ada/top-up", json={"epsilon": 0.25, **WHY}).json()
    assert (body["account"], body["epsilon"], body["epsilon_left"]) == ("analyst:ada", 2.25, 1.75)
    grant = {"epsilon": 1.0, "delta": 1e-6, "accounting": "zcdp", "window_s": 86_400, "per_query_epsilon": 0.5}
    body = ask("PUT", "/accounts/group:lab", json={**grant, **WHY}).json()
    assert {name: body[name] for name in grant} == grant
    assert body["renews_at_ms"] is not None
    assert [one["account"] for one in ask("GET", "/accounts", params={"analyst": "ada"}).json()] == ["analyst:ada"]
    assert_problem(ask("POST", "/accounts/group:nobody/top-up", json={"epsilon": 1.0, **WHY}), 404, "42704")


def test_a_grant_by_the_calendar_says_up_to_which_total(ask: Send) -> None:
    monthly = {"epsilon": 2.0, "renew": "month"}
    assert_problem(ask("PUT", "/accounts/analyst:ada", json={**monthly, **WHY}), 422, "22023")
    assert_problem(ask("PUT", "/accounts/nobody", json={"epsilon": 1.0, **WHY}), 404, "42704")
    assert ask("POST", "/accounts/ada/top-up", json={"epsilon": 0.5, **WHY}).json()["account"] == "analyst:ada"
    body = ask("PUT", "/accounts/analyst:ada", json={**monthly, "most_in_total": 9.0, **WHY}).json()
    assert (body["renew"], body["most_in_total"], body["total_epsilon"], body["past_epsilon"]) == (
        "month",
        9.0,
        2.0,
        0,
    )
    body = ask("PUT", "/accounts/analyst:ada", json={**monthly, "most_in_total": "unlimited", **WHY}).json()
    assert body["most_in_total"] == "unlimited" and "k periods are k budgets" in body["guarantee"]
    assert_problem(ask("PUT", "/accounts/analyst:ada", json={**monthly, "most_in_total": "all", **WHY}), 422, "08P01")


def test_a_grant_leaves_renewal_and_cap_as_they_are_unless_it_names_them(ask: Send) -> None:
    said = {"epsilon": 2.0, "renew": "month", "most_in_total": 9.0, "per_query_epsilon": 1.0}
    ask("PUT", "/accounts/analyst:ada", json={**said, **WHY})
    body = ask("PUT", "/accounts/analyst:ada", json={"epsilon": 3.0, **WHY}).json()
    assert {name: body[name] for name in said} == {**said, "epsilon": 3.0}
    ask("PUT", "/accounts/group:lab", json={"epsilon": 3.0, "window_s": 86_400, **WHY})
    assert ask("PUT", "/accounts/group:lab", json={"epsilon": 4.0, **WHY}).json()["window_s"] == 86_400
    assert_problem(ask("PUT", "/accounts/group:lab", json={**said, **WHY}), 422, "22023")
    ended = {"epsilon": 3.0, "renew": "never", "per_query_epsilon": "unlimited", **WHY}
    body = ask("PUT", "/accounts/analyst:ada", json=ended).json()
    assert (body["renew"], body["window_s"], body["per_query_epsilon"]) == (None, None, None)


def test_an_analyst_is_added_in_another_accounting(ask: Send) -> None:
    new = {"name": "eve", "epsilon": 1.0, "delta": 1e-6, "accounting": "zcdp", **WHY}
    assert ask("POST", "/analysts", json=new).status_code == 201
    (account,) = ask("GET", "/accounts", params={"analyst": "eve"}).json()
    assert (account["accounting"], account["epsilon_left_basic"]) == ("zcdp", 1.0)


def test_a_grant_that_names_no_delta_leaves_it_as_it_is(ask: Send) -> None:
    assert ask("PUT", "/accounts/dataset", json={"epsilon": 1.0, "delta": 1e-6, **WHY}).json()["delta"] == 1e-6
    assert ask("PUT", "/accounts/dataset", json={"epsilon": 2.0, **WHY}).json()["delta"] == 1e-6
    assert ask("PUT", "/accounts/dataset", json={"epsilon": 2.0, "delta": 0.0, **WHY}).json()["delta"] == 0.0


def test_what_is_no_grant_is_refused(ask: Send) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("/accounts/analyst:ada", {"epsilon": 0.0}),
        ("/accounts/analyst:ada", {"epsilon": 1.0, "delta": 1.0}),
        ("/accounts/analyst:ada", {"epsilon": 1.0, "accounting": "pld"}),
        ("/accounts/analyst:ada", {"epsilon": 1.0, "window_s": 5}),
        ("/accounts/somebody:ada", {"epsilon": 1.0}),
        ("/accounts/analyst:ada", {"epsilon": 1.0, "unknown": 1}),
    ]
    for path, body in cases:
        assert_problem(ask("PUT", path, json={**body, **WHY}), 422, "08P01")


def test_charges_are_listed_page_by_page(ask: Send, ledger: Ledger) -> None:
    for _ in range(3):
        spend(ledger)
    spend(ledger, "analyst")
    first = ask("GET", "/charges", params={"limit": 2, "analyst": "ada"}).json()
    assert [(one["number"], one["analyst"], one["state"], one["epsilon"]) for one in first] == [
        (1, "ada", "committed", 0.5),
        (2, "ada", "committed", 0.5),
    ]
    rest = ask("GET", "/charges", params={"after": 2}).json()
    assert [one["number"] for one in rest] == [3, 4]
    assert_problem(ask("GET", "/charges", params={"limit": 5000}), 422, "08P01")


def test_the_audit_log_leaves_the_charges_out(ask: Send, ledger: Ledger) -> None:
    spend(ledger)
    kinds = {one["kind"] for one in ask("GET", "/entries", params={"acts_only": True}).json()}
    assert "analyst" in kinds and not kinds & {"reserved", "committed"}


def test_the_ledger_is_verified_and_exported(ask: Send, ledger: Ledger) -> None:
    spend(ledger)
    found = ask("POST", "/ledger/verify", "auditor").json()
    lines = ask("GET", "/ledger/export").text.splitlines()
    assert found == {"entries": len(lines), "head": json.loads(lines[-1])["hash"], "fault": None}
    rows = list(csv.DictReader(io.StringIO(ask("GET", "/ledger/export", params={"format": "csv"}).text)))
    assert [(row["analyst"], row["epsilon"], row["state"], row["accounts"]) for row in rows] == [
        ("ada", "0.5", "committed", "analyst:ada")
    ]


def test_a_bump_of_the_data_is_a_decision_and_gives_nothing_back(ask: Send, ledger: Ledger) -> None:
    spend(ledger)
    assert ask("POST", "/data/bump", json=WHY).json()["data_version"] == 2
    assert ask("GET", "/dataset").json() == {
        "policy_hash": "0" * 64,
        "accepted_policy_hash": None,
        "data_version": 2,
        "keeps_questions": False,
    }
    assert ledger.budget("ada").epsilon_left == 1.5


def test_an_auditor_reads_what_the_policy_lets_analysts_ask(ask: Send) -> None:
    body = ask("GET", "/schema", role="auditor").json()
    assert (body["dataset"], body["epsilon"], body["max_epsilon"]) == ("demo", 1.0, 5.0)


def test_a_reload_names_the_admin_and_the_hash_that_was_confirmed(ledger: Ledger) -> None:
    pipeline = FakePipeline()
    headers = {"Authorization": "Bearer ng_admin"}
    body = send(
        "POST",
        "/v1/admin/policy/reload",
        ledger=ledger,
        pipeline=pipeline,
        headers=headers,
        json={"confirm": "a" * 64, **WHY},
    ).json()
    ((act, confirmed),) = pipeline.reloads
    assert (act.by, act.reason, confirmed) == ("admin", "the study begins", "a" * 64)
    assert body["weaker"] == ["privacy.max_epsilon: raised"]


def test_numbers_that_no_entry_can_have_are_refused(ask: Send) -> None:
    for number in [2**53, 2**63, 10**30]:
        for path in ["/charges", "/entries"]:
            assert_problem(ask("GET", f"{path}?after={number}"), 422, "08P01")
            assert ask("GET", f"{path}?after={2**53 - 1}").json() == [], (number, path)


def test_who_looks_is_told_which_role_it_is(ask: Send) -> None:
    for role in ["auditor", "admin"]:
        assert ask("GET", "/holder", role).json() == {"name": role, "role": role}, role


def test_the_disabled_are_told_so_once_the_key_is_right(ask: Send, ledger: Ledger) -> None:
    ledger.set_enabled("auditor", False, Act("admin", "a test"))
    refused = ask("GET", "/holder", "auditor")
    assert (refused.status_code, refused.json()["code"]) == (401, "28000")
    assert "disabled" in refused.text
    assert "disabled" not in ask("GET", "/holder", "auditors").text
    assert ledger.entries()[-1].kind == "disabled"
    ledger.set_enabled("auditor", True, Act("admin", "a test"))
    assert ask("GET", "/holder", "auditor").status_code == 200
    assert ledger.entries()[-1].kind == "enabled"


def test_a_name_is_a_plain_segment_of_a_path(ask: Send, ledger: Ledger) -> None:
    for name in [".", "..", "...", ".ada", "-ada", "@ada", "", "a da", "ada\n", "a/b", "\u0430da", "a" * 65]:
        assert ask("POST", "/analysts", json={"name": name, "epsilon": 1.0, **WHY}).status_code == 422, name
        with pytest.raises(InvalidRequest):
            ledger.add_analyst(name, key_hash("ng_new"), 1.0, 0.0)
        assert ask("PUT", f"/accounts/group:{quote(name)}", json={"epsilon": 5.0, **WHY}).status_code in (404, 422), (
            name
        )
        assert len(ledger.analysts()) == 4, name


def test_when_questions_are_put_and_settled_is_shown_to_the_hour(ledger: Ledger, ask: Send) -> None:
    """An auditor who subtracts the two would read how long each took, which depends on the data."""
    charge = Charge("ada", epsilon=0.1, delta=0.0, request_id="1", policy_hash="p", plan_hash="q", mechanism="gem")
    ledger.commit(reserve(ledger, charge))
    ledger.fail(reserve(ledger, charge))
    hour = 3_600_000
    exact = [moment for one in ledger.charges() for moment in (one.reserved_at_ms, one.settled_at_ms)]
    assert any(moment is not None and moment % hour for moment in exact)
    charges = ask("GET", "/charges", role="auditor").json()
    rows = list(csv.DictReader(io.StringIO(ask("GET", "/ledger/export?format=csv", role="auditor").text)))
    assert len(charges) == len(rows) == 2
    for one in (*charges, *rows):
        assert int(one["reserved_at_ms"]) % hour == int(one["settled_at_ms"]) % hour == 0
    lines = ask("GET", "/ledger/export", role="auditor").text.splitlines()
    for entries in (ask("GET", "/entries", role="auditor").json(), list(map(json.loads, lines))):
        asked = [entry for entry in entries if entry["kind"] in ("reserved", "committed", "failed")]
        assert len(asked) == 4
        assert all(entry["at_ms"] % hour == 0 for entry in asked)
        assert any(entry["at_ms"] % hour for entry in entries if entry["kind"] == "analyst")


def test_a_new_analyst_has_the_policys_delta_unless_one_is_named(ask: Send, ledger: Ledger) -> None:
    cases: list[tuple[dict[str, Any], float]] = [
        ({}, 1e-7),
        ({"delta": 0.0}, 0.0),
        ({"role": "auditor"}, 0.0),
        ({"delta": 1e-9}, 1e-9),
    ]
    for number, (given, granted) in enumerate(cases):
        new = {"name": f"eve{number}", "epsilon": 1.0, **WHY, **given}
        assert ask("POST", "/analysts", json=new).status_code == 201, given
        (account,) = (one for one in ledger.accounts() if one.name == f"analyst:eve{number}")
        assert account.grant.delta == granted, given
