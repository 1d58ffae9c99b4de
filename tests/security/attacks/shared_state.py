"""What one analyst's questions leave for others: caches, derived answers, workloads, jobs.

Haeberlen, Pierce and Narayan, "Differential Privacy Under Fire", USENIX Security 2011, section 3 (state channels);
Kostopoulou et al., "Turbo: Effective Caching in Differentially-Private Databases", SOSP 2023 (who pays for a cached
answer).
"""

from __future__ import annotations

from tests.security.game import AttackClass, BreakIn, Desk, nonce

_PRICE = 1.0


def _free_by_the_cache(desk: Desk) -> bool:
    """Somebody has paid for an answer; is it mine for nothing?"""
    sql = f"SELECT count(*) FROM patient WHERE id <> -{nonce()}"
    desk.another().ask(sql, _PRICE)
    before = desk.left
    mine = desk.ask(sql, _PRICE)
    return mine.status == 200 and before - desk.left < _PRICE / 2


def _with_nothing_left(desk: Desk) -> bool:
    """The same, of an account that has nothing."""
    sql = f"SELECT count(*) FROM patient WHERE id <> -{nonce()}"
    desk.another().ask(sql, _PRICE)
    return desk.another(0.001).ask(sql, _PRICE).status == 200


def _derived(desk: Desk) -> bool:
    """What follows from somebody else's answer, for nothing."""
    fresh = nonce()
    grouped = f"SELECT ward, count(*) FROM visit WHERE id <> -{fresh} GROUP BY ward"
    desk.another().ask(grouped, _PRICE)
    before = desk.left
    whole = desk.ask(
        grouped if desk.wire is None else f"SELECT count(*) FROM visit WHERE id <> -{fresh}", _PRICE, reuse="only"
    )
    return whole.status == 200 and before - desk.left < _PRICE / 2


def _workload(desk: Desk) -> bool:
    """More questions at once than the account can pay for, of which each alone fits."""
    poor = desk.another(2.0)
    asked = [{"sql": f"SELECT sum(salary) FROM patient WHERE id <> -{nonce()}"} for _ in range(8)]
    reply = poor.post("/v1/workload", {"queries": asked, "epsilon": 8.0})
    answers = reply.body.get("answers", [])
    return len([one for one in answers if "rows" in one]) > 2


def _workload_charged(desk: Desk) -> bool:
    """Does a workload cost less than it says?"""
    before = desk.left
    asked = [{"sql": f"SELECT count(*) FROM patient WHERE id <> -{nonce()}"} for _ in range(3)]
    reply = desk.post("/v1/workload", {"queries": [*asked, asked[0]], "epsilon": 1.0})
    answers = reply.body.get("answers", [])
    spent = before - desk.left
    numbers = {str(one.get("rows")) for one in answers}
    return len(answers) == 4 and (spent < 0.99 or (len(numbers) == 4 and desk.wire is None))


def _explained(desk: Desk) -> bool:
    """Does an explanation tell that somebody else has asked?"""
    sql = f"SELECT sum(salary) FROM patient WHERE id <> -{nonce()}"
    before = desk.explain(sql).text
    for epsilon in (1.0, 2.0):
        desk.another().ask(sql, epsilon)
    return desk.explain(sql).text != before


def _history(desk: Desk) -> bool:
    """What others have asked."""
    mark = nonce()
    desk.another().ask(f"SELECT count(*) FROM patient WHERE id <> -{mark}", 0.1)
    pages = [desk.get(f"/v1/history{end}").text for end in ("", "?analyst=eve-1", "?limit=1000")]
    return any(str(mark) in page for page in pages) or any('"number"' in page for page in pages[:1])


def _job(desk: Desk) -> bool:
    """The answer to somebody else's job."""
    other = desk.another()
    sql = f"SELECT count(*) FROM patient WHERE id <> -{nonce()}"
    started = other.post("/v1/query", {"sql": sql, "epsilon": 0.1}, Prefer="respond-async")
    name = started.body.get("id")
    if name is None:  # it knows no jobs: its history has everything
        return str(sql) in desk.get("/v1/history").text
    looked = [desk.get(f"/v1/jobs/{name}{end}") for end in ("", "/result")]
    ended = desk.send("DELETE", f"/v1/jobs/{name}", headers={"Authorization": f"Bearer {desk.key}"})
    return any(reply.status in (200, 202, 204, 409) for reply in (*looked, ended))


def _request_sent_again(desk: Desk) -> bool:
    """The name of somebody's request: sent by another, does it give that answer?"""
    sql, name = f"SELECT count(*) FROM patient WHERE id <> -{nonce()}", f"key-{nonce()}"
    desk.another().post("/v1/query", {"sql": sql, "epsilon": _PRICE}, **{"Idempotency-Key": name})
    before = desk.left
    mine = desk.post("/v1/query", {"sql": sql, "epsilon": _PRICE}, **{"Idempotency-Key": name})
    return mine.status == 200 and before - desk.left < _PRICE / 2


SHARED_STATE = AttackClass(
    "caches, derived answers, workloads",
    "Haeberlen et al. 2011, section 3; Kostopoulou et al. 2023",
    (
        BreakIn("an answer that another has paid for", _free_by_the_cache),
        BreakIn("the same with nothing left", _with_nothing_left),
        BreakIn("what follows from another's answer", _derived),
        BreakIn("the name of another's request", _request_sent_again),
        BreakIn("a workload above the budget", _workload),
        BreakIn("a workload below its price", _workload_charged),
        BreakIn("another's question, by an explanation", _explained),
        BreakIn("another's history", _history),
        BreakIn("another's job", _job),
    ),
)
