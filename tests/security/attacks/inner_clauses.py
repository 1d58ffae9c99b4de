"""Clauses in which one row decides about others: where it is gone, any number of rows change.

Each makes one person's row into two thousand by a public table, so that noise of any one row hides nothing.

The analysis of `LIMIT` in Ebadi, Antignac and Sands, "Sampling and Partitioning for Differential Privacy", PST 2016;
Kotsogiannis et al., "PrivateSQL", VLDB 2019 (sensitivity of subqueries).
"""

from __future__ import annotations

from collections.abc import Callable

from tests.security.game import TARGET, AttackClass, Desk, Distinguisher

_MANY, _TIMES = 1000, 2000
_HER = f"SELECT id FROM patient WHERE id = {TARGET}"

RELATIONS = {
    "LIMIT": f"(SELECT id FROM patient WHERE id >= {TARGET} ORDER BY id LIMIT 1)",
    "OFFSET": f"(SELECT id FROM patient WHERE id <= {TARGET} ORDER BY id DESC LIMIT 1 OFFSET 0)",
    "ORDER BY of a value": "(SELECT id FROM patient ORDER BY salary LIMIT 1)",
    "HAVING": f"(SELECT min(salary) + {TARGET} AS id FROM patient GROUP BY town HAVING count(*) = 1)",
    "DISTINCT ON": "(SELECT DISTINCT ON (town) id FROM patient ORDER BY town DESC, id)",
    "a window": "(SELECT id FROM (SELECT id, row_number() OVER (ORDER BY salary) AS r FROM patient) s WHERE r = 1)",
    "QUALIFY": "(SELECT id FROM patient QUALIFY row_number() OVER (ORDER BY salary) = 1)",
    "EXCEPT": f"(SELECT id FROM patient EXCEPT SELECT id FROM patient WHERE id <> {TARGET})",
    "INTERSECT": f"(SELECT id FROM patient INTERSECT SELECT id FROM patient WHERE id = {TARGET})",
    "UNION": f"(SELECT id FROM patient WHERE id = {TARGET} UNION SELECT id FROM patient WHERE id = {TARGET})",
    "UNION of a constant": f"(SELECT id FROM patient WHERE id = {TARGET} UNION SELECT -1)",
    "VALUES": f"(SELECT p.id FROM patient p, (VALUES ((SELECT max(town) FROM patient))) v(t) WHERE p.id = {TARGET})",
    "a recursive query": f"(WITH RECURSIVE r(id) AS ({_HER} UNION SELECT id FROM r) SELECT id FROM r)",
    "LATERAL": f"(SELECT s.id FROM ward w, LATERAL ({_HER} LIMIT 1) s WHERE w.floor = 9)",
    "a scalar subquery": "(SELECT id FROM patient WHERE id = (SELECT id FROM patient ORDER BY salary LIMIT 1))",
    "a name of WITH": "(WITH m AS MATERIALIZED (SELECT id FROM patient ORDER BY salary LIMIT 1) SELECT id FROM m)",
}
"""Of no row, or another one, where the person is not: their id is counted."""

CONDITIONS = {
    "EXISTS": f"EXISTS (SELECT 1 FROM patient WHERE id = {TARGET})",
    "NOT EXISTS of others": f"NOT EXISTS (SELECT 1 FROM number m WHERE NOT EXISTS ({_HER}))",
    "IN": f"{TARGET} IN (SELECT id FROM patient)",
    "IN with LIMIT": f"{TARGET} IN (SELECT id FROM patient ORDER BY salary LIMIT 1)",
    "ANY": f"{TARGET} = ANY (SELECT id FROM patient)",
    "an aggregate compared": f"(SELECT count(*) FROM patient WHERE id = {TARGET}) = 1",
    "a correlated aggregate": f"(SELECT max(p.id) FROM patient p WHERE p.id = {TARGET} AND n.n >= 0) = {TARGET}",
    "the smallest of all": "(SELECT min(salary) FROM patient) = 0",
    "a boolean of all": f"(SELECT bool_or(id = {TARGET}) FROM patient)",
}
"""True of every number, or of none."""

OUTER_JOINS = {
    "LEFT JOIN": f"number n LEFT JOIN patient p ON p.id = {TARGET} WHERE p.id IS NOT NULL",
    "RIGHT JOIN": f"patient p RIGHT JOIN number n ON p.id = {TARGET} WHERE p.id IS NOT NULL",
    "FULL JOIN": f"number n FULL JOIN ({_HER}) p ON n.n >= 0 WHERE p.id = {TARGET}",
    "ANTI JOIN by LEFT": f"number n LEFT JOIN ({_HER}) p ON true WHERE NOT p.id IS NULL",
}


def _counts(source: str) -> Callable[[Desk], bool]:
    return lambda desk: desk.ask(f"SELECT count(*) FROM {source}", 0.5).number > _MANY


def _of_relation(relation: str) -> Callable[[Desk], bool]:
    return _counts(f"{relation} AS t JOIN number n ON n.n < {_TIMES} WHERE t.id = {TARGET}")


INNER_CLAUSES = AttackClass(
    "clauses inside, set operations, subqueries",
    "Ebadi et al. 2016; Kotsogiannis et al. 2019",
    (
        *(
            Distinguisher(f"FROM: {name}", _of_relation(relation), releases=True, epsilon=0.5)
            for name, relation in RELATIONS.items()
        ),
        *(
            Distinguisher(f"WHERE: {name}", _counts(f"number n WHERE {condition}"), releases=True, epsilon=0.5)
            for name, condition in CONDITIONS.items()
        ),
        *(
            Distinguisher(f"join: {name}", _counts(source), releases=True, epsilon=0.5)
            for name, source in OUTER_JOINS.items()
        ),
    ),
)
