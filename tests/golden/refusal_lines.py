"""How tables of verdicts say what a refusal says, and which words it may say it in."""

from __future__ import annotations

import re

from planner.errors import InvalidSetting, PlannerError

_INTERNAL = re.compile(
    r"\b(?:tuples?|domains?|monotone|construct)\b|the part '|\b(?:DPIPE|STRPOSITION)\b"
    r"|\b(?!DuckDB|PostgreSQL|SELECT)[A-Z][a-z]+[A-Z]\w*"
)
"""Words of proofs, and names of the parser library's classes."""

_SETTING = re.compile(r"`[^`]*`")


def place(text: str, refusal: PlannerError) -> str:
    """Where, what and what to write instead."""
    line = text.count("\n", 0, (refusal.position or 1) - 1) + 1
    at = f"line {line}: " if refusal.position else ""
    hint = f" ({refusal.hint})" if refusal.hint else ""
    return f"{at}{refusal.message}{hint}."


def assert_plain_words(text: str, refusal: PlannerError) -> None:
    """Does a refusal say where and what, in words that an analyst writes or reads?"""
    assert not isinstance(refusal, InvalidSetting)
    assert refusal.position is not None and 1 <= refusal.position <= len(text) + 1, (text, refusal)
    for said in (refusal.message, refusal.hint or ""):
        assert not _INTERNAL.search(_SETTING.sub("", said)), said
        assert not said.endswith("."), said
