from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from server.ledger.charge import Charge, ChargeRecord
from server.ledger.ledger import Ledger
from server.ledger.question_texts import AskedText
from tests.unit.server.http.fakes import FakeKeys, FakePipeline, assert_problem, send


def record(number: int) -> ChargeRecord:
    charge = Charge("ada", 0.5, 0.0, f"request-{number}", "policy", "plan", "gem")
    return ChargeRecord(number, charge, "committed", ("analyst:ada",), 1_700_000_000_000, None)


@dataclass
class Past(FakeKeys):
    asked: list[tuple[str, int | None, int]] = field(default_factory=list)
    role: Any = "analyst"

    def newest_charges(self, analyst: str, *, before: int | None, limit: int) -> list[ChargeRecord]:
        self.asked.append((analyst, before, limit))
        return [record(9), record(8)]

    def custody(self) -> Ledger:
        return cast("Ledger", self)


def test_only_ones_own_charges_are_listed() -> None:
    past = Past()
    body = send("GET", "/v1/history", ledger=past.custody()).json()
    assert past.asked == [("ada", None, 50)]
    assert [charge["number"] for charge in body["charges"]] == [9, 8]
    assert body["charges"][0] == {
        "number": 9,
        "at": "2023-11-14T22:13:20Z",
        "epsilon": 0.5,
        "delta": 0.0,
        "state": "committed",
        "mechanism": "gem",
        "request_id": "request-9",
        "plan_hash": "plan",
        "sql": None,
        "parameters": [],
    }


def test_the_words_are_there_where_the_ledger_keeps_them() -> None:
    class Kept(Past):
        def newest_charges(self, analyst: str, *, before: int | None, limit: int) -> list[ChargeRecord]:
            return [replace(record(9), sealed_question="1.key.text")]

    (charge,) = send("GET", "/v1/history", ledger=Kept().custody()).json()["charges"]
    assert (charge["sql"], charge["parameters"]) == ("SELECT count(*) FROM t WHERE x = $1", [7])


def test_pages_go_back() -> None:
    past = Past()
    assert send("GET", "/v1/history?before=8&limit=2", ledger=past.custody()).status_code == 200
    assert past.asked == [("ada", 8, 2)]


def test_a_page_of_long_words_ends_early_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Long(Past):
        def newest_charges(self, analyst: str, *, before: int | None, limit: int) -> list[ChargeRecord]:
            assert threading.current_thread() is not threading.main_thread(), "the event loop has others to serve"
            super().newest_charges(analyst, before=before, limit=limit)
            first = 500 if before is None else before - 1
            return [replace(record(n), sealed_question="1.key.text") for n in range(first, max(0, first - limit), -1)]

    monkeypatch.setattr(FakePipeline, "words", lambda *_: AskedText("\N{CAT FACE}" * 2_500, ()))
    past, numbers, before = Long(), [], ""
    while True:
        sent = send("GET", f"/v1/history?limit=1000{before}", ledger=past.custody())
        assert len(sent.content) < 1.1 * (1 << 20)
        if not sent.json()["charges"]:
            break
        numbers += [charge["number"] for charge in sent.json()["charges"]]
        before = f"&before={numbers[-1]}"
    assert numbers == list(range(500, 0, -1))
    assert len(past.asked) < 20 and {limit for _, _, limit in past.asked} == {50}


def test_pages_that_are_none_are_refused() -> None:
    for wrong in [
        "limit=0",
        "limit=1001",
        "before=0",
        "before=x",
        "limit=1e99",
        f"before={2**53}",
        f"before={2**64}",
    ]:
        past = Past()
        assert_problem(send("GET", f"/v1/history?{wrong}", ledger=past.custody()), 422, "08P01")
        assert past.asked == [], wrong
