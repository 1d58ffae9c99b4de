from __future__ import annotations

from typing import get_args

from server.ledger import store
from server.ledger.charge import ChargeState
from server.ledger.entry import EntryContent, EntryKind


def test_every_kind_has_one_class() -> None:
    assert sorted(one.kind for one in get_args(EntryContent)) == sorted(EntryKind)


def test_a_charge_is_in_the_state_of_its_last_entry() -> None:
    assert get_args(ChargeState) == tuple(kind for kind in EntryKind if not kind.is_act)


def test_the_conditions_of_indexes_are_word_for_word_what_ledgers_were_made_with() -> None:
    assert store.CHARGE_KINDS == "('reserved', 'committed', 'failed', 'released', 'crashed')"
    assert store.FAILURES == """kind IN ('failed', 'crashed') AND substr(content, 1, 11) = '{"analyst":'"""
