"""Why an interval has 90%: said of what has several releases, and of nothing else."""

from __future__ import annotations

from server.note import kind_of
from server.results.notes import confidence_notes


def test_less_than_the_usual_confidence_is_explained() -> None:
    for confidence, words in [(0.9, "from 2 noisy numbers"), (0.85, "from 3 noisy numbers")]:
        (note,) = confidence_notes(confidence)
        assert (
            f"{100 * confidence:.0f}% instead of 95%" in note and words in note and kind_of(note) == "confidence"
        ), confidence


def test_the_usual_confidence_needs_no_words() -> None:
    for confidence in [0.95, 0.9499, 1.0]:
        assert list(confidence_notes(confidence)) == [], confidence
