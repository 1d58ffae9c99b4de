"""How long an answer took, where one person's rows make it long.

Haeberlen, Pierce and Narayan, "Differential Privacy Under Fire", USENIX Security 2011, section 4; Boneh and Bortz,
"Exposing Private Information by Timing Web Applications", WWW 2007. With and without the quantum, for joins that no
key bounds: `tests/e2e/test_side_channels.py`.

At which of the public moments an answer leaves is told, and the guarantee says so (docs/guarantee.md, "What it does
not hide"): so it is no success to see that an answer left later than another. It is one to see when it was there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.security.game import TARGET, AttackClass, BreakIn, Desk

_OTHER = TARGET + 1
_QUANTUM_S = 0.5
"""The policy's (`tests.security.neighbours`): what is held leaves at 1, 2, 4, ... times that."""

_LATE_S = 0.25
"""How much later than at its moment an answer may arrive on a busy machine."""

_TIMES = 3
_LONG = (100, 200, 400)
"""How many rows of a public table each pair of visits meets: the work grows with it."""

_PAIRS = "a.cost + LEAST(GREATEST(n.n, 0), 2000) <> b.cost * 0.5 AND a.id <> -{number}"
_JOINED = (
    "SELECT count(*) FROM visit a JOIN visit b ON a.patient = b.patient JOIN number n ON n.n < {long} "
    f"WHERE a.patient = {{person}} AND {_PAIRS}"
)
_CROSSED = (
    "SELECT count(*) FROM visit a, visit b, number n WHERE a.patient = {person} AND b.patient = {person} "
    f"AND n.n < {{long}} AND {_PAIRS}"
)


def _is_public_moment(seconds: float) -> bool:
    """Is it a little after 1, 2, 4, ... times the quantum?"""
    if seconds < _QUANTUM_S:
        return False
    return seconds - math.ldexp(_QUANTUM_S, math.floor(math.log2(seconds / _QUANTUM_S))) <= _LATE_S


def _shows_when_it_is_there(sql: str) -> Callable[[Desk], bool]:
    """Longer than the same about somebody else, who has four rows and not a thousand, and at a moment of its own."""

    def tries(desk: Desk) -> bool:
        replies = [
            desk.ask(sql.format(person=person, long=long, number=number), 1.0)
            for number, (person, long) in enumerate([(_OTHER, _LONG[0])] * 2 + [(TARGET, long) for long in _LONG])
        ]
        if any(reply.status != 200 for reply in replies):
            return False
        first, second, *hers = (reply.seconds for reply in replies)
        return hers[-1] > _TIMES * min(first, second) and not all(map(_is_public_moment, hers))

    return tries


TIMING = AttackClass(
    "durations",
    "Haeberlen et al. 2011, section 4; Boneh and Bortz 2007",
    (
        BreakIn("a self-join along a key", _shows_when_it_is_there(_JOINED)),
        BreakIn("a join that no key bounds", _shows_when_it_is_there(_CROSSED)),
    ),
)
