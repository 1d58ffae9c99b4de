"""Why intervals have less than the usual confidence: what follows from several releases is wrong where one is."""

from __future__ import annotations

from collections.abc import Iterator

from server.note import Note

USUAL = 0.95
"""Of the interval of one release, the same for all."""


def confidence_notes(confidence: float) -> Iterator[Note]:
    """The sentence that says why it is this confidence; none where it is the usual one.

    Args:
      confidence: of every interval of an answer, by the union bound over its releases.

    >>> [str(note)[:40] for note in confidence_notes(0.9)], list(confidence_notes(0.95)), list(confidence_notes(1.0))
    (['These intervals have 90% and not 95%: so'], [], [])
    """
    count = round((1 - confidence) / (1 - USUAL))  # a sample's interval misses a little more often than others
    if count > 1:
        said = (
            f"These intervals have {100 * confidence:.4g}% and not {100 * USUAL:.4g}%: something here is computed "
            f"from {count} noisy numbers, as an average is from a sum and a count (and a sum that may be negative is "
            "two). Each of them is outside of its own interval one time in twenty, so that one of "
            f"{count} is up to {count} times in twenty."
        )
        yield Note(said, "confidence")
