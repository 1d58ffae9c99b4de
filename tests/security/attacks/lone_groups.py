"""Groups that are there for one person only: which rows an answer has tells who is among the data.

Korolova, Kenthapadi, Mishra and Ntoulas, "Releasing Search Queries and Clicks Privately", WWW 2009; Wilson et al.,
"Differentially Private SQL with Bounded User Contribution", PoPETS 2020, section 2.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.security.game import MARKER, AttackClass, Desk, Distinguisher
from tests.security.neighbours import LONE_TOWN, LONE_WARD


def _shows(sql: str, key: object) -> Callable[[Desk], bool]:
    """Is the key among the cells, though the epsilon is far too small for its count to say anything?"""
    return lambda desk: key in desk.ask(sql, 0.01).cells


def _has_rows(sql: str, more_than: int) -> Callable[[Desk], bool]:
    return lambda desk: len(desk.ask(sql, 0.01).body.get("rows", [])) > more_than


def _is_discovered(desk: Desk) -> bool:
    """With all the epsilon that there is: what is shown where enough people share it is not one person's."""
    return LONE_TOWN in desk.ask("SELECT town, count(*) FROM patient GROUP BY town", 4.0).cells


LONE_GROUPS = AttackClass(
    "group keys of one person",
    "Korolova et al. 2009; Wilson et al. 2020, section 2",
    (
        Distinguisher("a key of a declared domain", _has_rows("SELECT ward, count(*) FROM visit GROUP BY ward", 3)),
        Distinguisher(
            "a key of a public table",
            _shows("SELECT w.floor, count(*) FROM visit v JOIN ward w ON v.ward = w.name GROUP BY w.floor", 9),
        ),
        Distinguisher("a key that is found among the rows", _is_discovered),
        Distinguisher("a key in a domain, and alone in WHERE", _has_rows(
            f"SELECT ward, count(*) FROM visit WHERE ward = '{LONE_WARD}' GROUP BY ward HAVING true", 0)),
        Distinguisher("a name as a key", _shows("SELECT name, count(*) FROM patient GROUP BY name", MARKER)),
        Distinguisher("DISTINCT", _shows("SELECT DISTINCT town FROM patient", LONE_TOWN)),
        Distinguisher("keys alone", _has_rows("SELECT ward FROM visit GROUP BY ward", 3)),
        Distinguisher(
            "keys in a list", lambda desk: LONE_TOWN in desk.ask("SELECT list(DISTINCT town) FROM patient").text
        ),
        Distinguisher(
            "a key as a text", lambda desk: LONE_TOWN in desk.ask("SELECT string_agg(town, ',') FROM patient").text
        ),
        Distinguisher("a smallest and a largest key", _shows("SELECT max(town) FROM patient", LONE_TOWN)),
        Distinguisher("how many keys", _has_rows("SELECT salary, count(*) FROM patient GROUP BY salary", 149)),
        Distinguisher("levels of ROLLUP", _has_rows("SELECT ward, count(*) FROM visit GROUP BY ROLLUP (ward)", 4)),
        Distinguisher("an empty answer", _has_rows(f"SELECT name FROM patient WHERE town = '{LONE_TOWN}'", 0)),
    ),
)  # fmt: skip
