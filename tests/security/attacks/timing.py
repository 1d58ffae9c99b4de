"""How long an answer took, where one person's rows make it long.

Haeberlen, Pierce and Narayan, "Differential Privacy Under Fire", USENIX Security 2011, section 4; Boneh and Bortz,
"Exposing Private Information by Timing Web Applications", WWW 2007. With and without the quantum, for joins that no
key bounds: `tests/e2e/test_side_channels.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.security.game import TARGET, AttackClass, Desk, Distinguisher

_OTHER = TARGET + 1
_TIMES = 6
"""What is held leaves at 1, 2, 4, ... times the quantum, so that a busy machine may double it."""

_JOINED = (
    "SELECT count(*) FROM visit a JOIN visit b ON a.patient = b.patient JOIN number n ON n.n < 10 "
    "WHERE a.patient = {person} AND a.cost + n.n <> b.cost * 0.5 AND a.id <> -{number}"
)
_CROSSED = (
    "SELECT count(*) FROM visit a, visit b, number n WHERE a.patient = {person} AND b.patient = {person} "
    "AND n.n < 10 AND a.cost + n.n <> b.cost * 0.5 AND a.id <> -{number}"
)


def _takes_longer(sql: str) -> Callable[[Desk], bool]:
    """Than the same about somebody else, who has four rows and not a thousand; the best of two each."""

    def says(desk: Desk) -> bool:
        taken = {}
        for person in (_OTHER, TARGET):
            replies = [desk.ask(sql.format(person=person, number=number), 2.0) for number in range(2)]
            if any(reply.status != 200 for reply in replies):
                return False
            taken[person] = min(reply.seconds for reply in replies)
        return taken[TARGET] > _TIMES * taken[_OTHER]

    return says


TIMING = AttackClass(
    "durations",
    "Haeberlen et al. 2011, section 4; Boneh and Bortz 2007",
    (
        Distinguisher("a self-join along a key", _takes_longer(_JOINED)),
        Distinguisher("a join that no key bounds", _takes_longer(_CROSSED)),
    ),
)
