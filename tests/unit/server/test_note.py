"""Notes keep their kind wherever answers go: copies, other processes, JSON and back."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

from server.http.answer_body import AnswerBody, json_pieces, without_rows
from server.note import Note, NoteKind, kind_of, one_note
from server.query import Interval, QueryRequest
from tests.unit.server.http.fakes import answer

KINDS: tuple[NoteKind, ...] = ("plain", "confidence", "order", "bound", "groups", "exceeding", "wide")


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
    assert sent["detail_kinds"] == ["plain", *KINDS] and len(sent["details"]) == len(sent["detail_kinds"])
    back = AnswerBody.model_validate(sent).response()
    assert back.notes == told.notes and [kind_of(note) for note in back.notes] == sent["detail_kinds"]


def test_one_sentence_says_what_matters_most() -> None:
    """What may be missing goes before an extreme at its bound, that before noise, and noise before what it covers."""
    bound = Note("Of max: it is the upper end.", "bound")
    told = replace(
        answer(QueryRequest("ada", "SELECT 1")), notes=("Anything.",), low_precision=(), clipped=(), covers="truth"
    )
    expected: list[tuple[dict[str, Any], str]] = [
        (
            {"clipped": (False, True), "low_precision": (True, True), "notes": (bound,)},
            "missing in 1 of 2 rows (clipped): people with",
        ),
        (
            {"clipped": (True,), "rows": ((40.0,),), "intervals": ((Interval(30.0, 80.0),),)},
            "Part of the value may be missing: people with many rows count in part.",
        ),
        (
            {"clipped": (True,), "rows": ((40.0,),), "intervals": ((Interval(30.0, 80.5),),)},
            "Most of the value may be missing: people with many rows count in part.",
        ),
        ({"clipped": (True,), "rows": ((40.0,),), "intervals": ((Interval(30.0, None),),)}, "Most of the value may"),
        ({"intervals": ((None,),)}, "No interval is shown. Noise may determine the values, the shown rows"),
        ({"low_precision": (True,), "notes": ("Anything.", bound)}, "Of max: it is the upper end."),
        (
            {"low_precision": (True, False)},
            "The noise may be as large as the value in 1 of 2 rows (low_precision); the interval covers",
        ),
        ({}, "The interval covers the true value at 95% confidence, if what the policy declares is true."),
        ({"at_most": 30.0}, "if nobody adds more than 30, as you declared."),
        (
            {"covers": "clipped value"},
            "The interval covers the clipped value, in which people with many rows count in part",
        ),
        ({"covers": "smoothed value"}, "covers the smoothed value; the true value may lie outside"),
        ({"covers": "truth from below"}, "at least the interval's lower end"),
        ({"covers": "clipped sample"}, "of the drawn sample"),
    ]
    for changed, words in expected:
        assert words in one_note(replace(told, **changed)), changed
    assert one_note(replace(told, covers="exact")) == "Anything."
    beside = (Note("Rows 1 and 2 may swap.", "order"), Note("Rows whose sex is NULL are left out.", "groups"))
    whole = one_note(replace(told, notes=("Anything.", *beside)))
    chosen = "Noise may have chosen which rows are shown, and their order."
    assert whole == f"{one_note(told)} {chosen} Rows whose sex is NULL are left out."
    offered = Note("With reuse = never it is measured again, with about +-3 instead of +-60.", "wide")
    assert one_note(replace(told, notes=("Anything.", offered))) == f"{one_note(told)} {offered}"
    marked = replace(told, clipped=(True,))
    assert without_rows(marked).note == one_note(marked), "also where the rows, and their marks, are sent apart"
