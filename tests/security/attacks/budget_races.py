"""More than was granted: many questions at once, one twice, prices that are no prices.

Warszawski and Bailis, "ACIDRain: Concurrency-Related Attacks on Database-Backed Web Applications", SIGMOD 2017;
Haeberlen, Pierce and Narayan, "Differential Privacy Under Fire", USENIX Security 2011, section 3 (budget attacks).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.security.game import AttackClass, BreakIn, Desk, nonce

_AT_ONCE = 12
_SQL = "SELECT count(*) FROM patient WHERE id <> -{}"


def _at_once(desk: Desk) -> bool:
    """A dozen questions of which one can be paid for."""
    poor = desk.another(1.0)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        replies = list(
            threads.map(lambda number: poor.ask(_SQL.format(number), 1.0), [nonce() for _ in range(_AT_ONCE)])
        )
    return sum(reply.status == 200 for reply in replies) > 1


def _same_name_at_once(desk: Desk) -> bool:
    """Different questions under one name: one charge for all?"""
    poor, name = desk.another(8.0), f"key-{nonce()}"

    def ask(number: int) -> int:
        body = {"sql": _SQL.format(number), "epsilon": 1.0}
        return poor.post("/v1/query", body, **{"Idempotency-Key": name}).status

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        statuses = list(threads.map(ask, [nonce() for _ in range(_AT_ONCE)]))
    return statuses.count(200) > 1


def _cancelled(desk: Desk) -> bool:
    """Ask, look, cancel: is it given back?"""
    poor = desk.another(1.0)
    started = poor.post("/v1/query", {"sql": _SQL.format(nonce()), "epsilon": 1.0}, Prefer="respond-async, wait=20")
    name = started.body.get("id")
    if name is not None:
        poor.send("DELETE", f"/v1/jobs/{name}", headers={"Authorization": f"Bearer {poor.key}"})
    return "rows" in started.body and poor.ask(_SQL.format(nonce()), 1.0).status == 200


def _priced(epsilon: object) -> Callable[[Desk], bool]:
    """A price that leaves the account with what it had, or with more."""

    def tries(desk: Desk) -> bool:
        before = desk.left
        asked = desk.client.post(
            f"{desk.address}/v1/query",
            content=f'{{"sql": "{_SQL.format(nonce())}", "epsilon": {epsilon}}}',
            headers={"Authorization": f"Bearer {desk.key}", "Content-Type": "application/json"},
        )
        left = desk.left
        return asked.status_code == 200 and (not left < before or math.isnan(left))

    return tries


def _below_resolution(desk: Desk) -> bool:
    """Prices that vanish beside what is left, again and again."""
    before = desk.left
    answered = [desk.ask(_SQL.format(nonce()), 1e-16).status == 200 for _ in range(5)]
    return any(answered) and desk.left == before


BUDGET_RACES = AttackClass(
    "budget races",
    "Warszawski and Bailis 2017; Haeberlen et al. 2011, section 3",
    (
        BreakIn("a dozen at once", _at_once),
        BreakIn("one name for many at once", _same_name_at_once),
        BreakIn("a price below zero", _priced("-5.0")),
        BreakIn("a price that is no number", _priced("NaN")),
        BreakIn("a price below the resolution", _below_resolution),
        BreakIn("asked, read and cancelled", _cancelled),
    ),
)
