"""Expressions that fail for one person's rows alone: that it failed, and in which words, is the answer.

Haeberlen, Pierce and Narayan, "Differential Privacy Under Fire", USENIX Security 2011 (state and time); Wilson et
al., "Differentially Private SQL with Bounded User Contribution", PoPETS 2020, section 5 (errors of databases).
"""

from __future__ import annotations

from collections.abc import Callable

from tests.security.game import TARGET, AttackClass, Desk, Distinguisher

HERS = f"patient = {TARGET}"
"""In `visit`. Whether it is evaluated for others first is the database's business, so values decide as well."""

CONDITIONS = {
    "a division": f"CAST(1 / (CASE WHEN {HERS} THEN 0 ELSE 1 END) AS integer) = 1",
    "an overflow of whole numbers": f"(CASE WHEN {HERS} THEN 9223372036854775807 ELSE 1 END) + patient > 0",
    "an overflow of a product": f"(CASE WHEN {HERS} THEN 9223372036854775807 ELSE 1 END) * patient >= 0",
    "a cast of a text": "CAST(note AS integer) > 0",
    "a cast to a smaller type": "CAST(cost AS integer) > 0",
    "a cast to a date": "CAST('2024-01-0' || note AS date) > DATE '2020-01-01'",
    "a cast to a boolean": "CAST(note AS boolean)",
    "a cast to a number of few digits": "CAST(cost AS numeric(5, 2)) > 0",
    "a date out of range": "day + INTERVAL '288000 years' > day",
    "a date that is made": f"make_date(CASE WHEN {HERS} THEN -999999999 ELSE 2024 END, 1, 1) > day",
    "a field of a text as a time": "strptime(note, '%d') IS NOT NULL",
    "an element of an array": "CASE WHEN len(doses) = 0 THEN error('no element') ELSE '1' END = '1'",
    "a regular expression of the data": "regexp_matches('a', note)",
    "a pattern with a bad escape": f"note LIKE 'a' ESCAPE CASE WHEN {HERS} THEN 'ab' ELSE 'b' END",
    "a root": f"CAST(sqrt(CASE WHEN {HERS} THEN -1 ELSE 1 END) AS integer) > 0",
    "a logarithm": f"CAST(ln(CASE WHEN {HERS} THEN 0 ELSE 1 END) AS integer) > -1",
    "a power": f"factorial(CASE WHEN {HERS} THEN 100 ELSE 1 END) > 0",
    "a letter of no code": f"chr(CASE WHEN {HERS} THEN -1 ELSE 65 END) = 'A'",
    "a document": "CAST(note AS json) IS NOT NULL",
    "bytes": "CAST(note AS blob) = CAST(unhex(note) AS blob)",
    "a subquery of two rows": "(SELECT id FROM visit x WHERE x.patient = visit.patient AND x.cost > 100) > 0",
    "an error on purpose": f"CASE WHEN {HERS} THEN error('she is there') ELSE 'x' END = 'x'",
    "an assertion": f"CASE WHEN {HERS} THEN CAST('boom' AS integer) ELSE 1 END = 1",
}
"""Each fails for one person's rows alone, in the naive proxy's database."""

AGGREGATES = {
    "a sum that overflows": f"SELECT sum(CASE WHEN {HERS} THEN {2**127 - 1}::hugeint ELSE 1 END) FROM visit",
    "a sum of casts": "SELECT sum(CAST(note AS integer)) FROM visit",
    "an average of casts": "SELECT avg(CAST(note AS double)) FROM visit",
    "a group key that fails": "SELECT CAST(note AS integer) AS k, count(*) FROM visit GROUP BY 1",
    "an order that fails": "SELECT ward, count(*) FROM visit GROUP BY ward ORDER BY sum(CAST(note AS integer))",
    "a filter that fails": "SELECT count(*) FILTER (WHERE CAST(note AS integer) > 0) FROM visit",
    "HAVING that fails": "SELECT ward, count(*) FROM visit GROUP BY ward HAVING max(CAST(note AS integer)) > 0",
    "a quantile of casts": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY CAST(note AS integer)) FROM visit",
}

NESTED = {
    "parentheses": "SELECT count(*) FROM patient WHERE " + "(" * 300 + "true" + ")" * 300,
    "denials": "SELECT count(*) FROM patient WHERE " + "NOT " * 300 + "true",
    "subqueries": "SELECT count(*) FROM " + "(SELECT * FROM " * 60 + "patient" + ") t" * 60,
    "a sum of many": "SELECT count(*) FROM patient WHERE id = " + "1 + " * 300 + "1",
    "a long list": "SELECT count(*) FROM patient WHERE id IN (" + "1, " * 9000 + "1)",
}


def _fails(sql: str) -> Callable[[Desk], bool]:
    return lambda desk: desk.ask(sql, 0.01).status != 200


BY_WIRE = ("a cast of a text", "an overflow of whole numbers", "a root")


def _fails_by_wire(condition: str) -> Callable[[Desk], bool]:
    """Over PostgreSQL's protocol, whose errors have more fields; an answer is not looked at, since it is noisy."""
    sql = f"EXPLAIN SELECT count(*) FROM visit WHERE {condition}"
    asked = f"SELECT count(*) FROM visit WHERE {condition}"
    return lambda desk: (desk.ask(asked) if desk.wire is None else desk.by_wire(sql)).status != 200


def _fails_deep(sql: str) -> Callable[[Desk], bool]:
    """Does who is there make a statement fail that is nearly too deep?"""
    failing = (
        f"{sql} AND CAST((SELECT max(note) FROM visit WHERE {HERS}) AS integer) > 0"
        if " WHERE " in sql
        else (f"{sql} WHERE CAST((SELECT max(note) FROM visit WHERE {HERS}) AS integer) > 0")
    )
    return lambda desk: desk.ask(failing, 0.01).status != 200


ERROR_ORACLES = AttackClass(
    "error oracles: division, overflow, cast, date, array, regex, depth",
    "Haeberlen et al. 2011; Wilson et al. 2020, section 5",
    (
        *(
            Distinguisher(name, _fails(f"SELECT count(*) FROM visit WHERE {condition}"))
            for name, condition in CONDITIONS.items()
        ),
        *(Distinguisher(name, _fails(sql)) for name, sql in AGGREGATES.items()),
        *(Distinguisher(f"{name}, by the wire", _fails_by_wire(CONDITIONS[name])) for name in BY_WIRE),
        *(Distinguisher(f"deep: {name}", _fails_deep(sql)) for name, sql in NESTED.items()),
    ),
)
