"""Lines and bounds are those that stand in a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.comparison.peers import PEERS, Peer
from tests.benchmarks.comparison.program_text import Written, sql_lines, written
from tests.benchmarks.comparison.questions import QUESTIONS

PROGRAM = '''
"""A program."""
import library
from asked import ROWS, question

LIMIT = 3
UNUSED = 4


def helper(x):
    """Not counted."""
    # nor this

    return library.ask(x, LIMIT)


def unused():
    return UNUSED


@question("visits", rows=ROWS)
def visits(*, rows, cost):
    """Nor this."""
    return helper(
        rows
    )


@question("nothing")
def nothing():
    return 0
'''


def test_a_question_counts_with_what_it_uses_and_nothing_besides() -> None:
    assert written(PROGRAM) == {"visits": Written(5, ("rows", "cost")), "nothing": Written(1, ())}


def test_what_two_parts_use_counts_once() -> None:
    program = "def a():\n    return b()\ndef b():\n    return a()\n@question('q')\ndef q():\n    return a() + b()\n"
    assert written(program)["q"].lines == 3


def test_lines_of_sql_are_those_that_hold_something() -> None:
    assert sql_lines("SELECT 1\n\n  # a comment of a policy\nFROM t") == 2


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_program_knows_every_question_and_has_lines_for_it(peer: Peer) -> None:
    text = peer.text
    assert set(text) == set(QUESTIONS)
    assert all(one.lines > 1 for one in text.values())


def test_programs_are_those_in_the_folder() -> None:
    folder = Path("tests") / "benchmarks" / "peers" / "comparison"
    assert {path.name for path in folder.glob("*.py")} == {peer.program for peer in PEERS} | {"asked.py"}
