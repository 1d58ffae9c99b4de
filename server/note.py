"""The sentences beside an answer: one note that every interface shows, and details by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress, islice
from typing import Literal

from server.query import Cell, Interval, QueryResponse

NoteKind = Literal["plain", "confidence", "order", "bound", "groups", "exceeding", "wide"]
"""`confidence`: why the intervals' confidence is lower. `order`: which neighbours the noise does not separate.
`bound`: which extremes are an end of their declared range. `groups`: that rows with NULL are in no group, so in no
total. `exceeding`: how many people have more than counts. `wide`: that a free answer is far less precise than a new
one. `plain`: anything else.
"""


class Note(str):
    """A sentence with a kind.

    >>> said = Note("These intervals have 90%.", "confidence")
    >>> said, kind_of(said), kind_of("Any other sentence.")
    ('These intervals have 90%.', 'confidence', 'plain')
    """

    kind: NoteKind

    def __new__(cls, text: str, kind: NoteKind) -> Note:
        """Make the sentence, which is a text like any other."""
        made = super().__new__(cls, text)
        made.kind = kind
        return made

    def __reduce__(self) -> tuple[type[Note], tuple[str, NoteKind]]:
        """Pickle the sentence with its kind."""
        return Note, (str(self), self.kind)


def kind_of(note: str) -> NoteKind:
    """The kind of a sentence; `plain` for texts without one."""
    return note.kind if isinstance(note, Note) else "plain"


_COVERS = {
    "clipped value": "the interval covers the clipped value, in which people with many rows count in part; the true "
    "value may lie outside it",
    "clipped sample": "the interval covers the clipped value of the drawn sample; the true value may lie outside",
    "smoothed value": "the interval covers the smoothed value; the true value may lie outside it",
    "truth from below": "the true value is at least the interval's lower end, at {percent} confidence",
    "truth": "the interval covers the true value at {percent} confidence, if {condition}",
}


PRACTICE = "This is practice: the rows are made up, and your budget is not charged."


def one_note(answer: QueryResponse) -> str:
    """The one note of an answer: what may be missing, or else what the intervals cover and where noise hides the
    value. Then how many people have more than counts, whether noise chose the rows, that NULL is in no group, and how
    precise a new answer would be if this free one is far less so. A practice answer says so first.

    Returns: for an answer without noise, the reason; empty if there is nothing to say.
    """
    if answer.practice:
        return f"{PRACTICE} {one_note(replace(answer, practice=False))}".rstrip()
    if answer.covers not in _COVERS:
        return next(iter(answer.notes), "")
    kinds = {kind_of(note): note for note in reversed(answer.notes)}
    order = _ORDER if "order" in kinds else ""
    beside = (kinds.get("exceeding", ""), order, kinds.get("groups", ""), kinds.get("wide", ""))
    return " ".join(filter(None, (_about_values(answer), *beside)))


_ORDER = "Noise may have chosen which rows are shown, and their order."


def _about_values(answer: QueryResponse) -> str:
    if any(answer.clipped):
        where = _where(answer.clipped, "clipped")
        marked = islice(compress(range(len(answer.rows)), answer.clipped), _LOOKED_AT)
        most = any(_may_double(answer.rows[row], answer.intervals[row]) for row in marked)
        part = "Most" if most else "Part"
        return f"{part} of the value may be missing{where}: people with many rows count in part."
    for note in answer.notes:
        if kind_of(note) == "bound":
            return note
    if len(answer.rows) and not any(interval is not None for row in answer.intervals for interval in row):
        return "No interval is shown. Noise may determine the values, the shown rows and their order."
    said = answer.at_most
    condition = (
        "what the policy declares is true" if said is None else f"nobody adds more than {said:g}, as you declared"
    )
    covered = _COVERS[answer.covers].format(percent=f"{100 * answer.confidence:.4g}%", condition=condition)
    if any(answer.low_precision):
        return f"The noise may be as large as the value{_where(answer.low_precision, 'low_precision')}; {covered}."
    return f"{covered[0].upper()}{covered[1:]}."


_LOOKED_AT = 1_000
"""How many marked rows decide about the words `part` and `most`."""


def _may_double(row: Sequence[Cell], intervals: Sequence[Interval | None]) -> bool:
    """Does an interval of a marked row reach to more than twice its value?"""
    pairs = zip(row, intervals, strict=False)
    return any(
        around is not None and isinstance(value, int | float) and (around.high is None or around.high > 2 * value > 0)
        for value, around in pairs
    )


def _where(marks: Sequence[bool], name: str) -> str:
    return "" if len(marks) == 1 else f" in {sum(marks):,} of {len(marks):,} rows ({name})"
