"""Questions that take long: the proxy names a job, which is followed, or cancelled."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.unit.server.cli.answers import SCALAR, refusal
from tests.unit.server.cli.conftest import FakeProxy

Run = Callable[..., int]
Capture = pytest.CaptureFixture[str]

JOB = "/v1/jobs/j1"


def running(state: str = "running") -> tuple[int, object]:
    return 200, {"id": "j1", "state": state, "elapsed_s": 1.0}


def press_at(proxy: FakeProxy, *looks: int) -> None:
    """Press Ctrl-C while the client waits for one of its looks at the job: then its handler is there for certain."""
    seen: list[str] = []

    def press(path: str) -> None:
        seen.append(path)
        if path == JOB and seen.count(JOB) in looks:
            os.kill(os.getpid(), signal.SIGINT)

    proxy.before_reply = press


def paths(proxy: FakeProxy) -> list[str]:
    return [path for path, _, _ in proxy.requests]


def test_a_long_question_is_followed_to_its_answer(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.next = {
        "/v1/query": [(202, running()[1])],
        JOB: [running(), running("done")],
        f"{JOB}/result": [(200, SCALAR)],
    }
    assert run("query", "SELECT count(*) FROM orders") == 0
    out, err = capsys.readouterr()
    assert "1,234,567" in out
    assert "\x1b" not in err, "progress is for terminals"
    assert paths(proxy) == ["/v1/query", JOB, JOB, f"{JOB}/result"]


def test_its_failure_is_the_questions(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.next = {
        "/v1/query": [(202, running()[1])],
        JOB: [running("done")],
        f"{JOB}/result": [(403, refusal("PD001", "only epsilon 0.25 is left"))],
    }
    assert run("query", "SELECT count(*) FROM orders") == 3
    assert "only epsilon 0.25 is left" in capsys.readouterr().err


def test_an_interrupt_cancels_it_once(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.next = {
        "/v1/query": [(202, running()[1])],
        JOB: [running(), running(), running("cancelling"), running("cancelling"), running("done")],
        f"{JOB}/result": [(504, refusal("57014", "cancelled; the charge stands"))],
    }
    press_at(proxy, 2)
    before = signal.getsignal(signal.SIGINT)
    assert run("query", "SELECT count(*) FROM orders") == 130
    assert "the charge stands" in capsys.readouterr().err
    assert paths(proxy).count(f"DELETE {JOB}") == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_leaves_at_once(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    proxy.next = {"/v1/query": [(202, running()[1])], JOB: [running("cancelling")]}
    press_at(proxy, 1, 3)
    assert run("query", "SELECT count(*) FROM orders") == 130
    assert "stopped waiting" in capsys.readouterr().err


def test_what_is_no_job_is_not_ours(proxy: FakeProxy, run: Run, capsys: Capture) -> None:
    cases: list[object] = [{"id": 7}, [], {"state": "running"}]
    for body in cases:
        proxy.next = {"/v1/query": [(202, body)]}
        assert run("query", "SELECT 1") == 2, body
        assert "did not answer as this version" in capsys.readouterr().err, body
