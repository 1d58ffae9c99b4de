"""Texts in CSV that a spreadsheet would run as a formula."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    """The text, with an apostrophe before what spreadsheets take for a formula: who opens an answer wrote none.

    Group keys may be texts that anybody has put into the data. JSON and Arrow have them as they are.

    >>> harmless("=1+1"), harmless("FRANCE")
    ("'=1+1", 'FRANCE')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text
