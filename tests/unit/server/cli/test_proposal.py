"""`query --interval-width`: the price first, then the question; and `budget`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from tests.unit.server.cli.answers import BUDGET, SCALAR
from tests.unit.server.cli.conftest import FakeProxy

Run = Callable[..., int]
Capture = pytest.CaptureFixture[str]
COUNT = "SELECT count(*) FROM orders"
PROPOSAL = {
    "epsilon": 0.25,
    "delta": 0.0,
    "charge": 0.25,
    "epsilon_left": 9.0,
    "interval_width": 480.0,
    "relative_error": None,
    "basis": "public",
    "reason": "holds for all data",
}


def told(proxy: FakeProxy, **changes: object) -> None:
    proxy.answer(SCALAR)
    proxy.bodies["/v1/propose"] = json.dumps(PROPOSAL | changes)


def test_what_is_proposed_is_asked_once_agreed(
    proxy: FakeProxy, run: Run, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(proxy)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert run("query", COUNT, "--interval-width", "500") == 0
    (proposed, _, wanted), (asked, _, question) = proxy.requests
    assert (proposed, wanted) == ("/v1/propose", {"sql": COUNT, "interval_width": 500.0})
    assert (asked, question["epsilon"]) == ("/v1/query", 0.25)
    assert "epsilon 0.25 of the 9 left" in capsys.readouterr().err


def test_nothing_is_asked_when_declined(proxy: FakeProxy, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told(proxy)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run("query", COUNT, "--max-relative-error", "0.05") == 1
    assert [path for path, _, _ in proxy.requests] == ["/v1/propose"]


def test_a_script_agrees_beforehand(proxy: FakeProxy, run: Run) -> None:
    told(proxy)
    assert run("query", COUNT, "--interval-width", "500", "--yes") == 0
    assert len(proxy.requests) == 2


def test_an_error_is_asked_by_where_a_script_agrees(proxy: FakeProxy, run: Run) -> None:
    """The proxy spends the least that will do, also where a first release has to tell what that is."""
    told(proxy)
    assert run("query", COUNT, "--max-relative-error", "0.05", "--epsilon", "0.5", "--yes") == 0
    ((path, _, asked),) = proxy.requests
    assert (path, asked) == ("/v1/query", {"sql": COUNT, "max_relative_error": 0.05, "epsilon": 0.5, "reuse": "auto"})
    assert run("query", COUNT, "--max-relative-error", "0.05", "--epsilon", "0.5") == 2, "nobody agreed"


def test_what_the_budget_cannot_pay_is_not_asked(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    told(proxy, epsilon_left=0.1)
    assert run("query", COUNT, "--interval-width", "500", "--yes") == 3
    assert "only epsilon 0.1 is left" in capsys.readouterr().err
    assert len(proxy.requests) == 1


def test_an_accuracy_excludes_an_epsilon(proxy: FakeProxy, run: Run) -> None:
    told(proxy)
    assert run("query", COUNT, "--interval-width", "500", "--epsilon", "1") == 2
    assert proxy.requests == []


def test_an_idempotency_key_is_sent_along(proxy: FakeProxy, run: Run) -> None:
    proxy.answer(SCALAR)
    assert run("query", COUNT, "--idempotency-key", "order-7") == 0
    assert proxy.idempotency_keys == ["order-7"]


def test_a_kept_answer_says_that_it_was_free(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer({**SCALAR, "cached": True, "charge": {"epsilon": 0.0, "delta": 0.0}})
    assert run("query", COUNT) == 0
    assert "Nothing was charged: this is the cached answer" in capsys.readouterr().out


def test_the_budget_is_shown(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.answer(BUDGET | {"epsilon_left": 2.5})
    assert run("budget", "--format", "json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["epsilon_left"], row["questions_left"], row["limited_by"]) == (2.5, 17, "analyst:ada")
    assert row["protects"].endswith("at most epsilon 50 in total, where renewal stops")
    assert run("budget") == 0
    assert "2.5" in capsys.readouterr().out
    proxy.answer({"something": "else"})
    assert run("budget") == 2
