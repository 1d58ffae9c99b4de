from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from server.http.services import Custody
from server.ledger.charge import Charge, ChargeRecord
from tests.unit.server.http.fakes import FakeKeys, assert_problem, send


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

    def custody(self) -> Custody:
        return cast("Custody", self)


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


@pytest.mark.parametrize(
    "wrong", ["limit=0", "limit=1001", "before=0", "before=x", "limit=1e99", f"before={2**53}", f"before={2**64}"]
)
def test_pages_that_are_none_are_refused(wrong: str) -> None:
    past = Past()
    assert_problem(send("GET", f"/v1/history?{wrong}", ledger=past.custody()), 422, "08P01")
    assert past.asked == []
