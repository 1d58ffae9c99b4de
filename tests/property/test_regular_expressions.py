"""Regular expressions that are written as LIKE: as many texts match, by Python's own expressions."""

from __future__ import annotations

import random
import re

from planner.parsing.parse import read_of
from planner.parsing.spellings import _PIECE, _like_patterns
from tests.support.seeds import SEED, examples

_PIECES = ("a", "b", "_", "%", ".", ".*", ".+", "^", "$", "(", "(?:", ")", "|", "[ab]", r"\.", r"\%")


def _matches(pattern: str, text: str) -> bool:
    """Does a text match a pattern of LIKE, whose escape character is the backslash?"""
    read = re.findall(r"\\(.)|([%_])|(.)", pattern)
    written = "".join({"%": ".*", "_": "."}.get(wild) or re.escape(escaped or plain) for escaped, wild, plain in read)
    return re.fullmatch(written, text, re.DOTALL) is not None


def test_patterns_match_what_the_expression_matches() -> None:
    rng, written = random.Random(53 * SEED), 0
    for _ in range(examples(4_000, 200_000)):
        expression = "".join(rng.choices(_PIECES, k=rng.randint(0, 7)))
        try:
            meant = re.compile(re.sub(r"(?<!\\)\$", r"\\Z", expression), re.DOTALL)
        except re.error:
            continue
        patterns = _like_patterns(expression, _PIECE, whole=False)
        if patterns is None:
            continue
        written += 1
        for _ in range(6):
            text = "".join(rng.choices("ab_%.", k=rng.randint(0, 5)))
            found = any(_matches(pattern, text) for pattern in patterns)
            assert found == (meant.search(text) is not None), (expression, patterns, text)
    assert written > 100


def test_a_formatted_key_is_a_key() -> None:
    read = read_of("SELECT to_char(date_trunc('month', d), 'YYYY') AS y FROM t GROUP BY date_trunc('month', d)", "t")
    assert len(read.tree.args["group"].expressions) == 2
    read = read_of("SELECT to_char(d, 'YYYY') AS y FROM t GROUP BY e", "t")
    assert len(read.tree.args["group"].expressions) == 1
