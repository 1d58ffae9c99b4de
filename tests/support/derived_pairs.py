"""Questions in pairs: a finer one that is kept, and a coarser one that follows from it, with what it means in Python.

Over keys and values as the finer answer shows them.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from planner.policy.policy import Policy, parse_policy
from server.answers.released import Released
from server.query import Cell, QueryResponse
from tests.golden.domains.hospital import ROWS, TABLES

_POLICY = Path(__file__).parents[1] / "golden" / "domains" / "policy.toml"
KEPT, COARSER = 25, 20
AGGREGATES = "sum(v.cost) AS s, count(*) AS n"
FROM = "FROM visit v JOIN patient p ON v.patient = p.id"

Value = Cell


@dataclass(frozen=True)
class Image:
    """A coarser key: its SQL, and what it is of the finer one's value."""

    sql: str
    of: Callable[[Value], Value]


@dataclass(frozen=True)
class Filter:
    """A condition on a key: its SQL, and whether it is true of the key's value."""

    sql: str
    passes: Callable[[Value], bool]


@dataclass(frozen=True)
class Key:
    """A finer key, what may become of it, and which groups may be asked for."""

    sql: str
    images: tuple[Image, ...]
    filters: tuple[Filter, ...]
    nulls: bool = False
    others: bool = False


def at(value: Value) -> datetime:
    return datetime.fromisoformat(str(value))


def number(value: Value) -> int:
    assert isinstance(value, int)
    return value


_TIMES = (
    Image("date_trunc('quarter', v.came)", lambda v: f"{at(v).year}-{(at(v).month - 1) // 3 * 3 + 1:02}-01 00:00:00"),
    Image("date_trunc('year', v.came)", lambda v: f"{at(v).year}-01-01 00:00:00"),
    Image("extract(year FROM v.came)", lambda v: at(v).year),
    Image("extract(month FROM v.came)", lambda v: at(v).month),
    Image("extract(quarter FROM v.came)", lambda v: (at(v).month + 2) // 3),
    Image(
        "CASE WHEN v.came < '2023-01-01' THEN 'old' ELSE 'new' END", lambda v: "old" if at(v).year < 2023 else "new"
    ),
)
_SPANS = (
    Filter("v.came >= '2023-04-01'", lambda v: at(v) >= datetime(2023, 4, 1)),
    Filter("v.came < '2024-01-01'", lambda v: at(v) < datetime(2024, 1, 1)),
    Filter("extract(month FROM v.came) <= 6", lambda v: at(v).month <= 6),
    Filter("date_trunc('year', v.came) = '2023-01-01'", lambda v: at(v).year == 2023),
    Filter("v.came BETWEEN '2022-07-01' AND '2023-06-30 23:59:59.999999'", lambda v: at(v).year * 12 + at(v).month in
           range(2022 * 12 + 7, 2023 * 12 + 7)),
)  # fmt: skip
_WHOLE_SPANS = tuple(one for one in _SPANS if "BETWEEN" not in one.sql)

KEYS: dict[str, Key] = {
    "month": Key("date_trunc('month', v.came)", _TIMES, _WHOLE_SPANS),
    "day": Key(
        "v.came::date", (*_TIMES, Image("date_trunc('month', v.came)", lambda v: f"{v}"[:8] + "01 00:00:00")),
        _WHOLE_SPANS,
    ),
    "ward": Key(
        "v.ward",
        (
            Image("CASE WHEN v.ward IN ('A', 'B') THEN 'a' ELSE 'r' END", lambda v: "a" if v in ("A", "B") else "r"),
            Image("v.ward = 'ICU'", lambda v: v == "ICU"),
        ),
        (
            Filter("v.ward = 'A'", lambda v: v == "A"),
            Filter("v.ward IN ('A', 'ICU')", lambda v: v in ("A", "ICU")),
            Filter("v.ward <> 'ICU'", lambda v: v != "ICU"),
            Filter("v.ward LIKE 'I%'", lambda v: v == "ICU"),
            Filter("NOT (v.ward = 'B' OR v.ward = 'C')", lambda v: v in ("A", "ICU")),
        ),
        others=True,
    ),
    "kind": Key(
        "v.kind",
        (
            Image("coalesce(v.kind, 'none')", lambda v: v or "none"),
            Image("v.kind IS NULL", lambda v: v is None),
        ),
        (
            Filter("v.kind = 'tele'", lambda v: v == "tele"),
            Filter("v.kind <> 'tele'", lambda v: v is not None and v != "tele"),
            Filter("v.kind IS NOT NULL", lambda v: v is not None),
            Filter("(v.kind IS NULL OR v.kind = 'inpatient')", lambda v: v in (None, "inpatient")),
        ),
        others=True,
    ),
    "days": Key(
        "v.days",
        (Image("CASE WHEN v.days < 5 THEN 'short' ELSE 'long' END", lambda v: "short" if number(v) < 5 else "long"),),
        (
            Filter("v.days <= 7", lambda v: number(v) <= 7),
            Filter("v.days BETWEEN 3 AND 11", lambda v: 3 <= number(v) <= 11),
            Filter("v.days * 2 - 1 > 9", lambda v: number(v) * 2 - 1 > 9),
            Filter("v.days IN (1, 2, 12)", lambda v: v in (1, 2, 12)),
        ),
        others=True,
    ),
    "emergency": Key(
        "v.emergency", (), (Filter("v.emergency", bool), Filter("NOT v.emergency", lambda v: not v))
    ),
    "city": Key(
        "p.city",
        (Image("CASE WHEN p.city = 'Graz' THEN 's' ELSE 'n' END", lambda v: "s" if v == "Graz" else "n"),),
        (Filter("p.city = 'Wien'", lambda v: v == "Wien"), Filter("p.city <> 'Linz'", lambda v: v != "Linz")),
        nulls=True,
        others=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A kept question's keys, and a coarser question: per key it has, the place of the kept key and its image."""

    kept: tuple[str, ...]
    keys: tuple[tuple[int, Image], ...]
    filters: tuple[tuple[int, Filter], ...]

    @property
    def condition(self) -> str:
        return " AND ".join(one.sql for _, one in self.filters) or "true"

    def sql(self, aggregates: str) -> str:
        keys = [image.sql for _, image in self.keys]
        shown = [f"{sql} AS k{place}" for place, sql in enumerate(keys)]
        where = f" WHERE {self.condition}" if self.filters else ""
        grouped = f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}" if keys else ""
        return f"SELECT {', '.join([*shown, aggregates])} {FROM}{where}{grouped}"

    def group(self, values: Sequence[Any]) -> tuple[Value, ...] | None:
        """Where a kept group goes."""
        if not all(one.passes(values[place]) for place, one in self.filters):
            return None
        return tuple(image.of(values[place]) for place, image in self.keys)


def pairs(kept: tuple[str, ...], draw: random.Random) -> Iterator[Pair]:
    """Coarser questions than one that is kept."""
    found: set[str] = set()
    for _ in range(40 * COARSER):
        if len(found) == COARSER:
            return
        keys = []
        for place, name in enumerate(kept):
            if draw.random() < 0.5:
                itself = Image(KEYS[name].sql, lambda value: value)
                keys.append((place, draw.choice([itself, *KEYS[name].images])))
        filters = [(place, draw.choice(KEYS[name].filters)) for place, name in enumerate(kept) if draw.random() < 0.4]
        pair = Pair(kept, tuple(keys), tuple(filters))
        if pair.sql("") not in found:
            found.add(pair.sql(""))
            yield pair


def finer(draw: random.Random) -> Pair:
    """A question that is to be kept, of two or three keys."""
    count = draw.choice([2, 2, 3])
    names = draw.sample([name for name in KEYS if name != "day" or count < 3], count)
    kept = tuple(names) if not {"month", "day"} <= set(names) else ("month", *(n for n in names if n[0] not in "md"))
    return Pair(kept, tuple((place, Image(KEYS[name].sql, lambda v: v)) for place, name in enumerate(kept)), ())


def load_hospital(path: Path) -> Path:
    """Write the database file, with rows beyond what its policy declares."""
    with duckdb.connect(path) as connection:
        connection.execute("CREATE SCHEMA public; USE public; SET TimeZone = 'UTC'")
        for statement in (*TABLES, *ROWS):
            connection.execute(statement)
        # Beyond what the policy declares: an early and a late day, and a ward of which it does not speak.
        connection.execute("UPDATE visit SET came = '2019-06-01 12:00:00+00' WHERE id = 17")
        connection.execute("UPDATE visit SET came = '2031-06-01 12:00:00+00' WHERE id IN (18, 19)")
        connection.execute("UPDATE visit SET ward = 'Z' WHERE id BETWEEN 100 AND 104")
    return path


def hospital_policy() -> Policy:
    """Under which they are asked."""
    return parse_policy(_POLICY.read_text().replace("max_epsilon = 1.0", "max_epsilon = 10.0\ndelta = 1e-6"))


def totals(
    released: Released, group: Callable[[Sequence[Any]], tuple[Value, ...] | None]
) -> dict[tuple[Value, ...], list[float]]:
    """A kept answer's values added up by coarser groups."""
    found: dict[tuple[Value, ...], list[float]] = defaultdict(lambda: [0.0] * len(released.noisy))
    for number, values in enumerate(released.domain.groups):
        goes = group(values)
        if goes is not None:
            for place, noisy in enumerate(released.noisy):
                found[goes][place] += float(noisy.values[number])
    return found


def exact(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[tuple[str | None, ...], int]:
    """What the database itself counts, by its keys as texts."""
    found = connection.execute(f"SELECT CAST(COLUMNS(* EXCLUDE (n)) AS VARCHAR), n FROM ({sql})").fetchall()
    return {row[:-1]: row[-1] for row in found}


def declared(name: str) -> str:
    """The rows that the kept answer has a group for."""
    return {"ward": "v.ward IN ('A', 'B', 'C', 'ICU')", "city": "p.city IS NOT NULL"}.get(name, "true")


def says_what_it_lacks(pair: Pair, answer: QueryResponse, connection: duckdb.DuckDBPyConnection) -> bool:
    """Are rows told of that the question counts, by the database itself, and the kept groups do not have?"""
    cached_alone = tuple(Filter(declared(name), bool) for name in pair.kept)
    there = replace(pair, filters=(*pair.filters, *((0, one) for one in cached_alone)))
    every, some = (exact(connection, one.sql("count(*) AS n")) for one in (pair, there))
    own = {
        tuple(map(_text, row[: len(pair.keys)])) for row in answer.rows
    }  # a group that is none of it counts nowhere
    lacks = any(count != some.get(group, 0) for group, count in every.items() if tuple(map(_text, group)) in own)
    said = any("which it left out" in note for note in answer.notes)
    return said or not lacks


def _text(value: object) -> str:
    """A key as the database writes it and as the answer has it."""
    return str(value).removesuffix("+00").lower()
