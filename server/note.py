"""Sentences beside an answer: the one that all interfaces show unasked, and the details, told apart by their kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from server.query import QueryResponse

NoteKind = Literal["plain", "confidence", "order", "bound"]
"""Anything; why intervals are of less confidence; which neighbours in an order the noise does not tell apart; which
extremes are an end of their declared range."""


class Note(str):
    """A sentence for people that is of a kind.

    >>> said = Note("These intervals have 90%.", "confidence")
    >>> said, kind_of(said), kind_of("Any other sentence.")
    ('These intervals have 90%.', 'confidence', 'plain')
    """

    kind: NoteKind

    def __new__(cls, text: str, kind: NoteKind) -> Note:
        """The sentence, which is a text as any."""
        made = super().__new__(cls, text)
        made.kind = kind
        return made

    def __reduce__(self) -> tuple[type[Note], tuple[str, NoteKind]]:
        """For copies, also in other processes."""
        return Note, (str(self), self.kind)


def kind_of(note: str) -> NoteKind:
    """Of a sentence of an answer; most are of none in particular."""
    return note.kind if isinstance(note, Note) else "plain"


_COVERS = {
    "clipped value": "the interval is for the clipped value, where people with many rows count in part, and the true "
    "value may lie outside",
    "clipped sample": "the interval is for the clipped value of the sample that was drawn; the true value may lie "
    "outside",
    "smoothed value": "the interval is for the smoothed value, and the true value may lie outside",
    "truth from below": "at {percent} confidence the true value is not below the interval's lower end",
    "truth": "the true value lies in the interval, at {percent} confidence, if {promise}",
}


def one_note(answer: QueryResponse) -> str:
    """The sentence that an answer comes with: what may be missing, else what intervals are for and where noise hides.

    Returns: of an answer without noise, why it has none; empty where nothing is said.
    """
    if answer.covers not in _COVERS:
        return next(iter(answer.notes), "")
    if any(answer.clipped):
        where = _where(answer.clipped, "clipped")
        return f"Some of the value may be missing{where}: people with many rows are counted in part."
    for note in answer.notes:
        if kind_of(note) == "bound":
            return note
    if len(answer.rows) and not any(interval is not None for row in answer.intervals for interval in row):
        return "No interval is shown: noise may decide the values, which rows are shown, and their order."
    said = answer.at_most
    promise = "what the policy declares is true" if said is None else f"nobody adds more than {said:g}, as you say"
    covered = _COVERS[answer.covers].format(percent=f"{100 * answer.confidence:.4g}%", promise=promise)
    if any(answer.low_precision):
        return f"The noise may be as large as the value{_where(answer.low_precision, 'low_precision')}; {covered}."
    return f"{covered[0].upper()}{covered[1:]}."


def _where(marks: Sequence[bool], name: str) -> str:
    return "" if len(marks) == 1 else f" in {sum(marks):,} of {len(marks):,} rows ({name})"
