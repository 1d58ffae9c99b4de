"""A short soak, after which ledger, answers and log say the same; and a comparison that sees where they do not."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from tests.security.soak.__main__ import soak
from tests.security.soak.clients import Analyst
from tests.security.soak.faults import FAULTS, schedule
from tests.security.soak.reconcile import mismatches
from tests.support.charging import reserve
from tests.support.seeds import examples

SECONDS = 30.0
GRANTED = 2.0


@pytest.mark.slow
@pytest.mark.xdist_group("soak")
def test_ledger_answers_and_log_agree_after_faults(tmp_path: Path) -> None:
    outcome = soak(SECONDS, seed=1, folder=tmp_path, every_s=2.0)
    assert outcome.mismatches == ()
    assert outcome.rows["attacks held"] == outcome.rows["attacks tried"]
    assert outcome.rows["faults survived"] == outcome.rows["faults injected"] > 0
    assert outcome.rows["answers released"] > 0 and outcome.rows["charges"] >= 1


def test_a_run_meets_every_kind_of_fault_before_any_again() -> None:
    for seed in range(examples(2, 5)):
        met = list(islice(schedule(random.Random(seed)), 500))
        assert set(met[: len(FAULTS)]) == set(FAULTS)
        later = Counter(met[len(FAULTS) :])
        assert set(later) == set(FAULTS) and later["proxy killed"] == min(later.values()), "by their weights"
        assert met == list(islice(schedule(random.Random(seed)), 500))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """One that has answered two questions and failed one."""
    made = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    made.add_analyst("ada", "0" * 64, GRANTED, 0.0)
    for key in ("key-0", "key-1"):
        made.commit(reserve(made, _charge(key)))
    made.fail(reserve(made, _charge("key-2")))
    made.release(reserve(made, _charge("key-3")))
    yield made
    made.close()


def _charge(key: str) -> Charge:
    return Charge("ada", 0.25, 0.0, f"request-{key}", "policy", "plan", "gem", idempotency_key=key)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """It says of the failure that it is one."""
    path = tmp_path / "proxy.log"
    path.write_text(f"listens\n{_failed('key-2')}\n{{ cut")
    return path


def _failed(key: str) -> str:
    return json.dumps({"event": "failed after its charge", "request_id": f"request-{key}"})


def _agreed() -> Analyst:
    """Who was told what is so."""
    made = Analyst("ada", "", GRANTED, random.Random(1), lambda: None)
    made.told.answers = {"key-0": 0.25, "key-1": 0.25}
    made.told.failures, made.told.refusals = {"key-2"}, {"key-3"}
    return made


CHANGES: dict[str, Callable[[Analyst], object]] = {
    "dearer": lambda ada: ada.told.answers.update({"key-1": 0.2}),
    "unheard of": lambda ada: ada.told.answers.pop("key-1"),
    "without a charge": lambda ada: ada.told.answers.update({"key-9": 0.25}),
    "failed for nothing": lambda ada: ada.told.failures.add("key-9"),
    "refused and charged": lambda ada: ada.told.refusals.add(ada.told.failures.pop()),
    "answered by the wire": lambda ada: setattr(ada.told, "by_wire", 1),
    "failed by the wire": lambda ada: setattr(ada.told, "wire_failures", 1),
    "granted less": lambda ada: setattr(ada, "granted", 0.5),
}


def test_one_thing_that_was_told_otherwise_is_one_mismatch(ledger: Ledger, log: Path) -> None:
    assert list(mismatches(ledger, [_agreed()], log)) == []
    for name, change in CHANGES.items():
        analyst = _agreed()
        change(analyst)
        assert len(list(mismatches(ledger, [analyst], log))) == 1, name
    log.write_text(_failed("key-1"))
    assert len(list(mismatches(ledger, [_agreed()], log))) == 1, "the log says otherwise"


def test_what_was_not_heard_may_have_been_charged(ledger: Ledger, log: Path) -> None:
    analyst = _agreed()
    analyst.told.unknown = {"key-1", "never sent"}
    del analyst.told.answers["key-1"]
    assert list(mismatches(ledger, [analyst], log)) == []


def test_a_charge_that_was_never_settled_is_a_mismatch(ledger: Ledger, log: Path) -> None:
    analyst = _agreed()
    reserve(ledger, _charge("key-4"))
    analyst.told.unknown = {"key-4"}
    assert list(mismatches(ledger, [analyst], log)) == ["1 charges were never settled"]
