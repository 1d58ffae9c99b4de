"""Two questions whose answers differ by one person, or one question so often that its noise is gone.

Denning and Denning, "The Tracker: A Threat to Statistical Database Security", TODS 1979; Dinur and Nissim,
"Revealing Information while Preserving Privacy", PODS 2003; Johnson, Near and Song, "Towards Practical Differential
Privacy for SQL Queries", VLDB 2018 (joins).
"""

from __future__ import annotations

import math
from statistics import mean

from tests.security.game import TARGET, AttackClass, Desk, Distinguisher, nonce

_EPSILON = 0.2
_REPEATS, _PRICE_OF_MANY = 60, 2.0
_ALL = "SELECT count(*) FROM patient WHERE id <> -{}"
_BUT_ONE = f"SELECT count(*) FROM patient WHERE id <> -{{}} AND id <> {TARGET}"
_ONE = f"SELECT count(*) FROM patient WHERE id <> -{{}} AND id = {TARGET}"


def _asked(desk: Desk, sql: str) -> float:
    """A number, as well as it can be had: where asking again is free and draws anew, by asking again and again."""
    told = [desk.ask(sql, _EPSILON).number for _ in range(2)]
    if told[0] == told[1] or math.isnan(told[0]):
        return told[0]
    queries = [{"sql": sql}] * _REPEATS
    answers = desk.post("/v1/workload", {"queries": queries, "epsilon": _PRICE_OF_MANY}).body.get("answers", [])
    return float(mean([one["rows"][0][0] for one in answers if "rows" in one] or [math.nan]))


def _across_predicates(desk: Desk) -> bool:
    """Everybody, less everybody but one."""
    fresh = nonce()
    return _asked(desk, _ALL.format(fresh)) - _asked(desk, _BUT_ONE.format(fresh)) > 0.5


def _repeated(desk: Desk) -> bool:
    """One question, asked until its noise has averaged out."""
    return _asked(desk, _ONE.format(nonce())) > 0.5


def _spelled_otherwise(desk: Desk) -> bool:
    """One question in other words, each of which may have noise of its own."""
    fresh, found = nonce(), []
    for spelling in ("id = {0}", "{0} = id", "id IN ({0})", "NOT id <> {0}", "id BETWEEN {0} AND {0}"):
        sql = f"SELECT count(*) FROM patient WHERE {spelling.format(TARGET)} AND id <> -{fresh}"
        found.append(_asked(desk, sql))
    return mean([number for number in found if not math.isnan(number)] or [0.0]) > 0.5


def _across_joins(desk: Desk) -> bool:
    """Who has a thousand rows where everybody else has four moves a count by a thousand."""
    sql = f"SELECT count(*) FROM visit v JOIN patient p ON v.patient = p.id WHERE v.id <> -{nonce()}"
    return desk.ask(sql, 0.2).number > 1100


def _across_sums(desk: Desk) -> bool:
    """And a sum by more than anything."""
    return desk.ask(f"SELECT sum(least(cost, 100)) FROM visit WHERE id <> -{nonce()}", 0.2).number > 60_000


def _across_public_joins(desk: Desk) -> bool:
    """One row, made two thousand by a public table."""
    sql = f"SELECT count(*) FROM patient, number WHERE id = {TARGET} AND n <> -{nonce()}"
    return desk.ask(sql, 0.2).number > 1000


def _across_groups(desk: Desk) -> bool:
    """A person in every group, whose parts are added up."""
    where = f"n < 2000 AND id = {TARGET} AND n <> -{nonce()}"
    sql = f"SELECT n, count(*) FROM patient CROSS JOIN number WHERE {where} GROUP BY n"
    rows = desk.ask(sql, 0.2).body.get("rows", [])
    return sum(float(count) for _, count in rows) > 1000


DIFFERENCING = AttackClass(
    "differencing: predicates, joins, sums, groups, averaging",
    "Denning and Denning, TODS 1979; Dinur and Nissim, PODS 2003",
    (
        Distinguisher("across predicates", _across_predicates, releases=True, epsilon=0.4),
        Distinguisher("one question again and again", _repeated, releases=True, epsilon=0.2),
        Distinguisher("one question in other words", _spelled_otherwise, releases=True, epsilon=1.0),
        Distinguisher("across joins", _across_joins, releases=True, epsilon=0.2),
        Distinguisher("across sums", _across_sums, releases=True, epsilon=0.2),
        Distinguisher("one row made many by a public table", _across_public_joins, releases=True, epsilon=0.2),
        Distinguisher("across groups", _across_groups, releases=True, epsilon=0.2),
    ),
)
