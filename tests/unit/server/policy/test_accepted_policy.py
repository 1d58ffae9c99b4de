"""A policy that protects less is confirmed before it is in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from planner.policy.ownership import ownership
from planner.schema import Schema
from server.errors import ConfigurationInvalid, PolicyWeakened
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.policy.accepted_policy import (
    Change,
    PolicyChanges,
    PolicyFile,
    accept,
    accepted_copy,
    copy_before,
    policy_changes,
)
from tests.support.planning import DEMO_POLICY
from tests.support.tpch_schema import tpch_schema

TEXT = DEMO_POLICY.read_text()
WEAKER = TEXT.replace("max_epsilon = 4.0", "max_epsilon = 8.0")
SCHEMA = tpch_schema()
STRONGER = TEXT.replace("max_epsilon = 4.0", "max_epsilon = 2.0")


@dataclass
class Acceptances:
    """Remembers what was accepted."""

    accepted: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    ownership: tuple[str, ...] | None = None

    def accepted_policy(self) -> str | None:
        return self.accepted[-1][0] if self.accepted else None

    def accepted_ownership(self) -> tuple[str, ...] | None:
        return self.ownership

    def accept_policy(
        self,
        policy_hash: str,
        ownership: Sequence[str],
        weakens: Sequence[str],
        act: Act,
        acknowledged: Sequence[str] = (),
    ) -> None:
        assert act.by == "ada"
        self.acknowledged = tuple(acknowledged)
        self.ownership = tuple(ownership)
        self.accepted.append((policy_hash, tuple(weakens)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


def taken(
    path: Path, text: str, ledger: Acceptances, confirmed: str | None = None, schema: Schema = SCHEMA
) -> tuple[str, ...]:
    path.write_text(text)
    return accept(
        Change.to(PolicyFile.read(path), schema, cast(Ledger, ledger)), cast(Ledger, ledger), Act("ada"), confirmed
    )


def test_the_first_policy_is_accepted_and_kept(path: Path) -> None:
    ledger = Acceptances()
    assert taken(path, TEXT, ledger) == ()
    assert ledger.accepted == [(PolicyFile.read(path).policy.hash, ())]
    assert (path.parent / "policy.accepted.toml").read_text() == TEXT


def test_the_same_policy_is_accepted_once(path: Path) -> None:
    ledger = Acceptances()
    taken(path, TEXT, ledger)
    taken(path, TEXT + "\n# a comment\n", ledger)
    assert len(ledger.accepted) == 1


def test_a_stronger_policy_needs_nobody(path: Path) -> None:
    ledger = Acceptances()
    taken(path, TEXT, ledger)
    assert taken(path, STRONGER, ledger) == ()
    assert len(ledger.accepted) == 2


def test_a_weaker_policy_is_refused_with_what_is_weaker_and_accepted_once_confirmed(path: Path) -> None:
    ledger = Acceptances()
    taken(path, TEXT, ledger)
    with pytest.raises(PolicyWeakened, match="max_epsilon: raised") as refused:
        taken(path, WEAKER, ledger)
    new = PolicyFile.read(path).policy.hash
    assert refused.value.hint is not None and new in refused.value.hint
    assert len(ledger.accepted) == 1
    assert taken(path, WEAKER, ledger, confirmed=new) == ("privacy.max_epsilon: raised",)
    assert ledger.accepted[-1] == (new, ("privacy.max_epsilon: raised",))
    assert taken(path, WEAKER, ledger) == ()


def test_confirming_another_policy_confirms_nothing(path: Path) -> None:
    ledger = Acceptances()
    taken(path, TEXT, ledger)
    old = PolicyFile.read(path).policy.hash
    with pytest.raises(PolicyWeakened):
        taken(path, WEAKER, ledger, confirmed=old)


def test_without_a_true_copy_every_change_is_confirmed(path: Path) -> None:
    """A copy that somebody has edited must not make a weaker policy look like the old one."""
    cases: list[str | bytes | None] = [None, WEAKER, "no = policy", b"\xff\xfe"]
    for copy in cases:
        ledger = Acceptances()
        taken(path, TEXT, ledger)
        kept = PolicyFile.read(path).copy
        if copy is None:
            kept.unlink()
        else:
            kept.write_bytes(copy if isinstance(copy, bytes) else copy.encode())
        with pytest.raises(PolicyWeakened, match="is missing or was edited"):
            taken(path, STRONGER, ledger)


def test_the_policy_in_force_is_no_weaker_than_itself(path: Path) -> None:
    path.write_text(TEXT)
    file = PolicyFile.read(path)
    ledger = Acceptances([(file.policy.hash, ())], ownership(SCHEMA, file.policy).paths())
    change = Change.to(file, SCHEMA, cast(Ledger, ledger))
    assert (change.weaker, change.is_new, change.hash) == ((), False, file.policy.hash)


ORDERS = SCHEMA.tables["orders"]
UNOWNED = Schema({**SCHEMA.tables, "orders": replace(ORDERS, foreign_keys=())})


def test_a_foreign_key_that_the_database_has_lost_is_confirmed(path: Path) -> None:
    """The policy's text is the same, and protects nobody through it any more."""
    ledger = Acceptances()
    taken(path, TEXT, ledger)
    policy_hash = PolicyFile.read(path).policy.hash
    with pytest.raises(PolicyWeakened, match=r"orders \(o_custkey\): owned through customer, no longer") as refused:
        taken(path, TEXT, ledger, confirmed=policy_hash, schema=UNOWNED)
    change = Change.to(PolicyFile.read(path), UNOWNED, cast(Ledger, ledger))
    assert refused.value.hint is not None and change.hash in refused.value.hint
    assert taken(path, TEXT, ledger, confirmed=change.hash, schema=UNOWNED) == change.weaker
    assert taken(path, TEXT, ledger, schema=UNOWNED) == ()
    assert taken(path, TEXT, ledger) == (), "that it is back weakens nothing"
    with pytest.raises(PolicyWeakened):
        taken(path, TEXT, ledger, schema=UNOWNED)


def test_where_ownership_was_not_noted_it_is_from_now_on(path: Path) -> None:
    path.write_text(TEXT)
    file = PolicyFile.read(path)
    ledger = Acceptances([(file.policy.hash, ())])
    assert taken(path, TEXT, ledger) == ()
    assert ledger.ownership == ownership(SCHEMA, file.policy).paths() and len(ledger.accepted) == 2


def test_no_file_no_policy(path: Path) -> None:
    with pytest.raises(ConfigurationInvalid):
        PolicyFile.read(path)


def test_what_changed_is_told_line_by_line_and_no_address(path: Path) -> None:
    ledger = Acceptances()
    assert policy_changes(path) == PolicyChanges()
    taken(path, TEXT, ledger)
    assert policy_changes(path) == PolicyChanges()
    moved = STRONGER.replace('url = "env:NOISEGATE_DATABASE_URL"', 'url = "env:ANOTHER_URL"')
    assert moved != STRONGER
    path.write_text(moved)
    pending = policy_changes(path).pending
    assert any(line.startswith("-max_epsilon = 4.0") for line in pending)
    assert any(line.startswith("+max_epsilon = 2.0") for line in pending)
    assert not any("_URL" in line for line in pending), "where the database is is no auditor's to know"
    taken(path, moved, ledger, PolicyFile.read(path).policy.hash)
    assert policy_changes(path) == PolicyChanges(last=pending)
    assert policy_changes(path).last[0].startswith("@@")


def test_no_secret_is_told_wherever_it_is_written(path: Path) -> None:
    """An address that has been commented out, or goes over several lines, is one still."""
    for lines in [
        "# was: postgresql://noisegate:hunter2@db/hospital",
        "# the password is hunter2",
        'url = """\npostgresql://noisegate@db/x?sslkey=/hunter2"""',
        "url = '''\nenv:A\nhunter2\n'''",
        '"url" = "hunter2"',
        '"\\u0075rl" = "hunter2"',
        'url = "env:A\u2028hunter2"',
        'ledger = { url = "hunter2" }',
        "# postgresql://a:hunter2@db: url = it",
    ]:
        taken(path, TEXT, Acceptances())
        path.write_text(f"{TEXT}\n{lines}\nlast = 1\n")
        pending = policy_changes(path).pending
        assert "+last = 1" in pending, lines
        assert "hunter2" not in "\n".join(pending), lines


def test_copies_are_no_more_open_than_the_policy(path: Path) -> None:
    ledger = Acceptances()
    path.touch(mode=0o600)
    taken(path, TEXT, ledger)
    taken(path, STRONGER, ledger)
    copies = accepted_copy(path), copy_before(path)
    assert [copy.stat().st_mode & 0o777 for copy in copies] == [0o600, 0o600]
    path.chmod(0o640)
    taken(path, f"{STRONGER}\n# more\n", ledger)
    assert accepted_copy(path).stat().st_mode & 0o777 == 0o640
