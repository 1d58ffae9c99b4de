"""Statements that are read in two ways: parameters, comments, encodings, quoted names, several at once.

Halfond, Viegas and Orso, "A Classification of SQL Injection Attacks and Countermeasures", ISSSE 2006; Clarke, "SQL
Injection Attacks and Defense", 2012, chapter 7; OWASP, "SQL Injection Bypassing WAF".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.security.game import MARKER, TARGET, AttackClass, BreakIn, Desk

_NAMES = f"SELECT name FROM patient WHERE id = {TARGET}"

PARAMETERS: dict[str, tuple[str, Sequence[object]]] = {
    "that ends the text": ("SELECT name FROM ward WHERE name = $1", (f"' UNION ALL {_NAMES} --",)),
    "that ends a list": ("SELECT name FROM ward WHERE name IN ($1)", (f"') UNION ALL {_NAMES} --",)),
    "that ends the statement": ("SELECT name FROM ward WHERE name = $1", (f"'; {_NAMES}; --",)),
    "for a name": ("SELECT name FROM $1", ("patient",)),
}

TEXTS = {
    "stacked": f"SELECT name FROM ward; {_NAMES}",
    "stacked behind a comment": f"SELECT name FROM ward; -- \n {_NAMES}",
    "stacked, the question first": f"SELECT count(*) FROM patient; {_NAMES}",
    "a comment for a blank": f"SELECT name FROM ward UNION/**/ALL {_NAMES}",
    "a comment within a comment": f"SELECT name FROM ward /* /* */ */ UNION ALL {_NAMES}",
    "a comment of MySQL": f"SELECT name FROM ward /*! UNION ALL {_NAMES} */ UNION ALL {_NAMES}",
    "a comment to another line's end": f"SELECT name FROM ward --\r UNION ALL {_NAMES}",
    "a line of U+2028": f"SELECT name FROM ward -- \u2028 UNION ALL {_NAMES}\n UNION ALL {_NAMES}",
    "a dollar quote": f"SELECT $a$ ' $a$ FROM ward UNION ALL {_NAMES}",
    "an escaped quote": f"SELECT E'\\'' FROM ward UNION ALL {_NAMES} --'",
    "a backslash before a quote": f"SELECT '\\' FROM ward UNION ALL {_NAMES} --'",
    "a quoted name": f'SELECT "name" FROM "ward" UNION ALL SELECT "name" FROM "patient" WHERE "id" = {TARGET}',
    "a quoted name in other letters": f'SELECT name FROM "PATIENT" WHERE id = {TARGET}',
    "a name with a schema": f"SELECT name FROM ward UNION ALL SELECT name FROM main.patient WHERE id = {TARGET}",
    "a name in quotes with a schema": f'SELECT name FROM "main"."patient" WHERE id = {TARGET}',
    "an alias that is another table": f"SELECT ward.name FROM patient AS ward WHERE id = {TARGET}",
    "a CTE of a public table's name": f"WITH ward AS ({_NAMES}) SELECT name FROM ward",
    "a CTE that shadows": "WITH number AS (SELECT name FROM patient) SELECT name FROM number WHERE name LIKE 'Z%'",
    "TABLE": "TABLE patient",
    "FROM first": "FROM patient SELECT name",
    "VALUES of a subquery": f"VALUES (({_NAMES}))",
    "a blank of another script": f"SELECT\u3000name FROM ward UNION\u00a0ALL {_NAMES}" + f"; {_NAMES}",
    "a SELECT in parentheses": f"(SELECT name FROM ward) UNION ALL ({_NAMES})",
    "EXECUTE": f"PREPARE p AS {_NAMES}; EXECUTE p",
    "SET before": f"SET threads = 1; {_NAMES}",
}


def _yields(sql: str, parameters: Sequence[object] = ()) -> Callable[[Desk], bool]:
    return lambda desk: MARKER in desk.ask(sql, 1.0, parameters).text


BY_WIRE = ("stacked", "stacked, the question first", "a comment within a comment", "EXECUTE", "SET before", "TABLE")
"""Of the texts those that the other protocol has its own readers for."""


def _yields_by_wire(sql: str, parameters: Sequence[object] = ()) -> Callable[[Desk], bool]:
    return lambda desk: MARKER in desk.by_wire(sql, parameters).text


def _numbers_for_texts(desk: Desk) -> bool:
    """A text where a number is meant makes the condition true of everybody: 150 instead of 0."""
    return desk.ask("SELECT count(*) FROM patient WHERE id = $1", 8.0, ["-1' OR id > -1 OR '1' = '2"]).number > 75


STATEMENT_TEXT = AttackClass(
    "parameters, comments, encodings, names, stacked statements",
    "Halfond et al. 2006; Clarke 2012, chapter 7",
    (
        *(BreakIn(f"a parameter {name}", _yields(sql, given)) for name, (sql, given) in PARAMETERS.items()),
        *(BreakIn(name, _yields(sql)) for name, sql in TEXTS.items()),
        BreakIn("a condition in a parameter", _numbers_for_texts),
        *(BreakIn(f"{name}, by the wire", _yields_by_wire(TEXTS[name])) for name in BY_WIRE),
        *(BreakIn(f"a parameter {name}, by the wire", _yields_by_wire(*PARAMETERS[name])) for name in PARAMETERS),
    ),
)
