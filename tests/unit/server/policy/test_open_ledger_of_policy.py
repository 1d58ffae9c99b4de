"""A policy names its ledger: a file or a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import PolicyInvalid
from planner.policy.policy import Policy, parse_policy
from server.errors import ConfigurationInvalid, LedgerMissing
from server.policy.open_ledger_of_policy import ledger_name, open_or_create, open_policy_ledger
from tests.support.planning import DEMO_POLICY

TEXT = DEMO_POLICY.read_text()


def policy(ledger: str) -> Policy:
    return parse_policy(TEXT.replace('path = "ledger.sqlite"', ledger))


def test_a_file_is_made_once_and_then_opened(tmp_path: Path) -> None:
    here = tmp_path / "policy.toml"
    named = policy('path = "state/ledger.sqlite"')
    with pytest.raises(LedgerMissing):
        open_policy_ledger(named, here)
    first, made = open_or_create(named, here)
    first.close()
    again, made_again = open_or_create(named, here)
    again.close()
    assert (made, made_again, first.id) == (True, False, again.id)
    (tmp_path / "state" / "ledger.sqlite").unlink()
    with pytest.raises(LedgerMissing, match="gone"):
        open_or_create(named, here)


def test_a_database_is_named_by_reference_and_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = policy('url = "env:LEDGER_URL"')
    assert named.ledger_is_shared
    monkeypatch.setenv("LEDGER_URL", "")
    with pytest.raises(ConfigurationInvalid, match="env:LEDGER_URL"):
        open_policy_ledger(named, tmp_path / "policy.toml")
    monkeypatch.setenv("LEDGER_URL", "postgresql://ada:hidden@/none")
    assert ledger_name(named, tmp_path) == "in the database of env:LEDGER_URL"


def test_what_is_neither_or_both_is_refused() -> None:
    for ledger in [
        'path = "env:LEDGER_URL"',
        'url = "ledger.sqlite"',
        'url = "https://example.org"',
        'url = "postgresql://ada:hidden@/none"',
        'path = "ledger.sqlite"\nurl = "env:LEDGER_URL"',
    ]:
        with pytest.raises(PolicyInvalid, match="ledger") as refused:
            policy(ledger)
        assert "hidden" not in str(refused.value), ledger
