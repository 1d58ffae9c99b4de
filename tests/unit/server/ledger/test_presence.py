from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.ledger.presence import Presence


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Presence]:
    presence = Presence(tmp_path / "ledger.sqlite")
    yield presence
    presence.close()


@pytest.fixture
def second(tmp_path: Path, first: Presence) -> Iterator[Presence]:
    presence = Presence(tmp_path / "ledger.sqlite")
    yield presence
    presence.close()


def test_one_is_alone(first: Presence) -> None:
    with first.alone() as alone:
        assert alone


def test_two_are_not(first: Presence, second: Presence) -> None:
    with first.alone() as alone:
        assert not alone


def test_who_was_refused_is_still_present(first: Presence, second: Presence) -> None:
    with first.alone() as alone:
        assert not alone
    with second.alone() as alone:
        assert not alone


def test_who_was_alone_lets_others_in_again(first: Presence, tmp_path: Path) -> None:
    with first.alone():
        pass
    Presence(tmp_path / "ledger.sqlite").close()


def test_who_left_is_not_present(first: Presence, second: Presence) -> None:
    second.close()
    second.close()
    with first.alone() as alone:
        assert alone
