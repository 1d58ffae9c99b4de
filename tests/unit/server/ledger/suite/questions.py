"""Words of questions in the entries of their charges, sealed."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.ledger.ledger import Ledger
from server.ledger.question_texts import AskedText, QuestionKeys, add_key
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import charge
from tests.unit.server.ledger.suite.ledger_case import LedgerCase, Reopen


class Questions(LedgerCase):
    @pytest.fixture
    def keys(self, tmp_path: Path) -> QuestionKeys:
        add_key(tmp_path / "questions.key")
        return QuestionKeys.read(tmp_path / "questions.key")

    def test_what_was_asked_is_kept_with_its_charge(self, ledger: Ledger, keys: QuestionKeys, reopen: Reopen) -> None:
        texts = [AskedText(f"SELECT {number}", (number,)) for number in range(3)]
        reserve(ledger, charge(0.1))
        for text in texts:
            ledger.commit(reserve(ledger, charge(0.1, sealing=keys.sealing(ledger.id, text))))
        again = reopen()
        records = again.charges()
        assert records[0].sealed_question is None
        opened = [
            keys.decrypted(again.id, one.number, one.sealed_question) for one in records[1:] if one.sealed_question
        ]
        assert opened == texts
        assert [one.sealed_question for one in again.newest_charges("ada")] == [
            one.sealed_question for one in reversed(records)
        ]

    def test_together_reserved_ones_have_their_own(self, ledger: Ledger, keys: QuestionKeys) -> None:
        text = AskedText("SELECT both")
        asked = [charge(0.1, answer_key=key, sealing=keys.sealing(ledger.id, text)) for key in ("one", "other")]
        taken = ledger.claim_all(asked)
        assert taken is not None
        for one in ledger.charges():
            assert one.sealed_question is not None
            assert keys.decrypted(ledger.id, one.number, one.sealed_question) == text
