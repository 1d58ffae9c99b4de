"""Randomness that can be foreseen or repeated: who knows the seed subtracts the noise, or draws one sample twice.

Garfinkel and Leclerc, "Randomness Concerns When Deploying Differential Privacy", WPES 2020; Dodis et al., "On the
(Im)possibility of Cryptography with Imperfect Randomness" (noise that an adversary knows); SQL:2003, `TABLESAMPLE ...
REPEATABLE`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

from tests.security.game import TARGET, AttackClass, BreakIn, Desk, Distinguisher, nonce
from tests.security.naive import SEED, SENSITIVITY, textbook_laplace

_DRAWS, _NEAR, _EPSILON = 60_000, 1e-6, 0.1
_SEEDS = (SEED, 0, 42)


def _foreseen(desk: Desk) -> bool:
    """Is the answer a whole number plus the noise that a well-known generator draws from a well-known seed?

    Of each draw there is one whole number at most that fits; a thousandth of all would by chance.
    """
    fresh = nonce()
    told = [
        desk.ask(f"SELECT count(*) FROM patient WHERE id = {TARGET} AND id <> -{fresh + more}", _EPSILON)
        for more in range(2)
    ]
    first, second = (reply.number for reply in told)
    for seed in _SEEDS:
        draws = random.Random(seed)
        noise = [textbook_laplace(draws.random(), SENSITIVITY / _EPSILON) for _ in range(_DRAWS)]
        for one, other in pairwise(noise):
            if abs(first - one - round(first - one)) < _NEAR and abs(second - other - round(second - other)) < _NEAR:
                return round(first - one) == 1
    return False


def _answered(sql: str) -> Callable[[Desk], bool]:
    return lambda desk: desk.ask(sql, 1.0).status == 200


def _same_sample(desk: Desk) -> bool:
    """The same sample twice: what differs is noise, and what does not is the sample."""
    sizes = ("50", "50 PERCENT")
    sql = "SELECT count(*) FROM patient TABLESAMPLE BERNOULLI ({}) REPEATABLE (1) WHERE id <> -{}"
    return any(desk.ask(sql.format(size, nonce()), 1.0).status == 200 for size in sizes)


SAMPLING_SEEDS = AttackClass(
    "seeds of noise and samples",
    "Garfinkel and Leclerc 2020",
    (
        Distinguisher("noise from a known seed", _foreseen),
        BreakIn("REPEATABLE", _same_sample),
        BreakIn("a seed that is set", _answered("SELECT setseed(0.5)")),
        BreakIn(
            "a sample by a seed in its clause",
            _answered("SELECT count(*) FROM patient USING SAMPLE reservoir(9 ROWS) REPEATABLE (1)"),
        ),
        BreakIn("random() in a condition", _answered("SELECT count(*) FROM patient WHERE random() < 0.5")),
        BreakIn("a sample by a hash of the row", _answered("SELECT count(*) FROM patient WHERE hash(name) % 2 = 0")),
        BreakIn("a sample by the row's place", _answered("SELECT count(*) FROM patient WHERE rowid = 0")),
        BreakIn(
            "a seed in the request",
            lambda desk: (
                desk.post("/v1/query", {"sql": "SELECT count(*) FROM ward", "epsilon": 1.0, "seed": 1}).status == 200
            ),
        ),
    ),
)
