"""A sentence beside an answer, and whether it is one that others look for: told by its kind, not by its words."""

from __future__ import annotations

from typing import Literal

NoteKind = Literal["plain", "confidence", "missing", "order"]
"""Anything; why intervals are of less confidence; what may be missing above; which neighbours in an order the noise
does not tell apart."""


class Note(str):
    """A sentence for people that is of a kind.

    >>> said = Note("Something may be missing above.", "missing")
    >>> said, kind_of(said), kind_of("Any other sentence.")
    ('Something may be missing above.', 'missing', 'plain')
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
