"""Notes keep their kind wherever answers go: copies, other processes, JSON and back."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

from server.http.answer_body import AnswerBody, json_pieces
from server.note import Note, NoteKind, kind_of
from server.query import QueryRequest
from tests.unit.server.http.fakes import answer

KINDS: tuple[NoteKind, ...] = ("plain", "confidence", "missing", "order")


def test_a_note_is_its_text_and_keeps_its_kind() -> None:
    for kind in KINDS:
        note = Note("What is said.", kind)
        for same in (note, copy.copy(note), copy.deepcopy(note), pickle.loads(pickle.dumps(note))):
            assert same == "What is said." and kind_of(same) == kind, kind
        assert kind_of(str(note)) == "plain", "its words alone say nothing of its kind"


def test_kinds_are_sent_beside_the_notes_and_read_back() -> None:
    notes = ("Anything.", *(Note(f"Of {kind}.", kind) for kind in KINDS))
    told = replace(answer(QueryRequest("ada", "SELECT 1")), notes=notes)
    sent = json.loads(b"".join(json_pieces(told)))
    assert sent["note_kinds"] == ["plain", *KINDS] and len(sent["notes"]) == len(sent["note_kinds"])
    back = AnswerBody.model_validate(sent).response()
    assert back.notes == told.notes and [kind_of(note) for note in back.notes] == sent["note_kinds"]
