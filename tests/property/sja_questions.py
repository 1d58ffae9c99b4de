"""Random select-project-join questions over a random world, in several spellings, and what they mean in plain SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

from tests.property.sja_world import DOMAINS, VALUES, Shape, World

Spelling = Literal["comma", "on", "using", "subquery", "cte"]
SPELLINGS: tuple[Spelling, ...] = ("comma", "on", "using", "subquery", "cte")

_OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
_LITERALS = {
    "i": ("0", "2", "3.5", "-7", "25"),
    "n": ("0", "0.1", "2.5", "9.995", "-3.30"),
    "f": ("0", "0.1", "1.5", "-2.75"),
    "s": ("'a'", "''", "'o''x'", "'zz'"),
    "d": ("DATE '2020-01-01'", "'2020-02-29'", "TIMESTAMP '2020-01-01 12:00:00'"),
}
_PATTERNS = ("a%", "%", "_", "", "%\\%%", "o'_")


@dataclass(frozen=True)
class Condition:
    """SQL with `{k}` for the alias of the k-th entry; which entries it reads; the column that USING would name."""

    text: str
    entries: frozenset[int]
    using: str | None = None


@dataclass(frozen=True)
class Question:
    """A select-project-join with aggregates.

    Attributes:
      tables: the entries of FROM, by table name.
      joins: per entry, its conditions with earlier entries.
      predicates: of WHERE.
      key: entry and column of GROUP BY, or None.
      aggregates: with `{k}` for aliases and `[x]` for a column whose value is summed.
    """

    tables: tuple[str, ...]
    joins: tuple[tuple[Condition, ...], ...]
    predicates: tuple[Condition, ...]
    key: tuple[int, str] | None
    aggregates: tuple[str, ...]

    def sql(self, spelling: Spelling, world: World) -> str:
        """As an analyst writes it."""
        aliases = [f"a{place}" for place in range(len(self.tables))]
        tables = [f"{table} AS {alias}" for table, alias in zip(self.tables, aliases, strict=True)]
        where = list(self.predicates)
        prefix = ""
        if spelling == "subquery":
            tables = [self._subquery(place, world) for place in range(len(tables))]
            where = [predicate for predicate in where if len(predicate.entries) > 1]
        if spelling == "cte":
            names = dict.fromkeys(self.tables)
            prefix = "WITH " + ", ".join(
                f"{name}_c AS (SELECT {_columns(world, name)} FROM {name})" for name in names
            )
            tables = [f"{table}_c AS {alias}" for table, alias in zip(self.tables, aliases, strict=True)]
        if spelling == "comma":
            tied = ["CROSS JOIN" if not conditions else "," for conditions in self.joins]
            source = tables[0] + "".join(f" {sign} {table}" for sign, table in zip(tied[1:], tables[1:], strict=True))
            where = [condition for joins in self.joins for condition in joins] + where
        else:
            source = self._joined(tables, spelling)
        tests = [f"({condition.text})" for condition in where]
        text = f"{prefix} SELECT {self._select()} FROM {source}"
        text += f" WHERE {' AND '.join(tests)}" if tests else ""
        text += " GROUP BY 1" if self.key else ""
        return _filled(text, aliases, "")

    def meaning(self, world: World) -> str:
        """The same over cleaned rows: sums of clamped values, and somebody must own the tuple."""
        private = [place for place, table in enumerate(self.tables) if not world.shape(table).public]
        tests = [condition.text for joins in self.joins for condition in joins]
        tests += [predicate.text for predicate in self.predicates]
        tests.append(" OR ".join(f"{{{place}}}.owned" for place in private))
        tables = ", ".join(f"{table} AS {{{place}}}" for place, table in enumerate(self.tables))
        text = f"SELECT count(*), {self._select()} FROM {tables} WHERE {' AND '.join(f'({test})' for test in tests)}"
        text += " GROUP BY 2" if self.key else ""
        text = re.sub(r"LIKE ('(?:[^']|'')*')", r"LIKE \1 ESCAPE '\\'", text)  # DuckDB has no escape by itself
        return _filled(text, [f"a{place}" for place in range(len(self.tables))], "_clamped")

    def _select(self) -> str:
        key = [] if self.key is None else [f"{{{self.key[0]}}}.{self.key[1]}"]
        return ", ".join([*key, *self.aggregates])

    def _joined(self, tables: list[str], spelling: Spelling) -> str:
        source = tables[0]
        for place in range(1, len(tables)):
            conditions = self.joins[place]
            names = [condition.using for condition in conditions if condition.using]
            if spelling == "using" and len(tables) == 2 and names and len(names) == len(conditions):
                source += f" JOIN {tables[place]} USING ({', '.join(dict.fromkeys(names))})"
            elif conditions:
                on = " AND ".join(f"({condition.text})" for condition in conditions)
                source += f" JOIN {tables[place]} ON {on}"
            else:
                source += f" CROSS JOIN {tables[place]}"
        return source

    def _subquery(self, place: int, world: World) -> str:
        own = [predicate for predicate in self.predicates if predicate.entries == {place}]
        tests = " AND ".join(f"({predicate.text})" for predicate in own)
        table = self.tables[place]
        where = f" WHERE {tests}" if own else ""
        return f"(SELECT {_columns(world, table)} FROM {table} AS {{{place}}}{where}) AS {{{place}}}"


def _columns(world: World, table: str) -> str:
    return ", ".join(world.shape(table).columns)


def _filled(text: str, aliases: list[str], suffix: str) -> str:
    for place, alias in enumerate(aliases):
        text = text.replace(f"{{{place}}}", alias)
    return text.replace("]", suffix).replace("[", "")


@st.composite
def questions(draw: st.DrawFn, world: World) -> Question:
    """One to four entries, at least one of them private."""
    names = [shape.name for shape in world.shapes]
    tables = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
    if all(world.shape(table).public for table in tables):
        tables[0] = names[0]
    shapes = [world.shape(table) for table in tables]
    joins = tuple(tuple(_join(draw, shapes, place)) if place else () for place in range(len(shapes)))
    predicates = tuple(_predicate(draw, shapes) for _ in range(draw(st.sampled_from((0, 0, 1, 1, 2)))))
    aggregates = tuple(_aggregate(draw, shapes) for _ in range(draw(st.integers(1, 2))))
    return Question(tuple(tables), joins, predicates, _group_key(draw, shapes), aggregates)


def _join(draw: st.DrawFn, shapes: list[Shape], place: int) -> list[Condition]:
    """A foreign key where there is one, most of the time; or any pair of columns of one type; or nothing."""
    other = draw(st.integers(0, place - 1))
    ways = [(place, other, key) for key in shapes[place].references if key.references == shapes[other].name]
    ways += [(other, place, key) for key in shapes[other].references if key.references == shapes[place].name]
    entries = frozenset({place, other})
    conditions = []
    if len(ways) and draw(st.integers(0, 3)):
        child, parent, key = draw(st.sampled_from(ways))
        pairs = zip(key.columns, key.key, strict=True)
        conditions = [Condition(f"{{{child}}}.{name} = {{{parent}}}.{above}", entries) for name, above in pairs]
    elif draw(st.integers(0, 3)):
        common = [name for name in shapes[place].columns if name in shapes[other].columns]
        name = draw(st.sampled_from(common))
        sign = draw(st.sampled_from(("=", "=", "<", "<>"))) if name != "b" else "="
        using = name if sign == "=" else None
        conditions = [Condition(f"{{{other}}}.{name} {sign} {{{place}}}.{name}", entries, using)]
    return conditions


def _predicate(draw: st.DrawFn, shapes: list[Shape]) -> Condition:
    place = draw(st.integers(0, len(shapes) - 1))
    first = _test(draw, shapes[place], place)
    shape = draw(st.sampled_from(("one", "one", "not", "or")))
    if shape == "not":
        return Condition(f"NOT ({first})", frozenset({place}))
    if shape == "or":
        other = draw(st.integers(0, len(shapes) - 1))
        second = _test(draw, shapes[other], other)
        return Condition(f"{first} OR {second}", frozenset({place, other}))
    return Condition(first, frozenset({place}))


def _test(draw: st.DrawFn, shape: Shape, place: int) -> str:
    kinds = [kind for kind in shape.kinds if kind in VALUES]
    if not kinds:
        return f"{{{place}}}.id {draw(st.sampled_from(_OPERATORS))} {draw(st.integers(0, 4))}"
    kind = draw(st.sampled_from(kinds))
    column = f"{{{place}}}.{kind}"
    forms = ["null"] if kind == "b" else ["null", "compare", "compare", "between", "in"]
    form = draw(st.sampled_from([*forms, *{"s": ["like"], "b": ["true"], "n": ["sum"], "i": ["sum"]}.get(kind, [])]))
    if form == "null":
        return f"{column} IS {draw(st.sampled_from(('', 'NOT ')))}NULL"
    if form == "true":
        return column
    if form == "like":
        pattern = draw(st.sampled_from(_PATTERNS)).replace("'", "''")
        return f"{column} {draw(st.sampled_from(('', 'NOT ')))}LIKE '{pattern}'"
    one, other = (draw(st.sampled_from(_LITERALS[kind])) for _ in range(2))
    if form == "between":
        return f"{column} BETWEEN {one} AND {other}"
    if form == "in":
        return f"{column} IN ({one}, {other})"
    if form == "sum":
        column = f"{column} * {draw(st.sampled_from(('2', '0.5', '-3')))} + {{{place}}}.id"
    return f"{column} {draw(st.sampled_from(_OPERATORS))} {one}"


def _aggregate(draw: st.DrawFn, shapes: list[Shape]) -> str:
    numbers = [(place, kind) for place, shape in enumerate(shapes) for kind in shape.kinds if kind in shape.ranges]
    columns = [(place, name) for place, shape in enumerate(shapes) for name in (*shape.kinds, "id")]
    form = draw(st.sampled_from(("rows", "column", "distinct", "sum", "sum", "product", "case", "average", "filter")))
    if form in ("column", "distinct"):
        place, name = draw(
            st.sampled_from([entry for entry in columns if entry[1] not in ("n", "f") or form == "column"])
        )
        return f"count({'DISTINCT ' if form == 'distinct' else ''}{{{place}}}.{name})"
    if form == "filter":
        place = draw(st.integers(0, len(shapes) - 1))
        return f"count(*) FILTER (WHERE {_test(draw, shapes[place], place)})"
    if form == "rows" or not numbers:
        return "count(*)"
    (i, a), (j, b) = (draw(st.sampled_from(numbers)) for _ in range(2))
    left, right = f"{{{i}}}.[{a}]", f"{{{j}}}.[{b}]"
    if form == "average":
        return f"avg({left})"
    if form == "sum":
        return f"sum({left})" if draw(st.booleans()) else f"sum({left} - 2.5 * {right})"
    if form == "product":
        return f"sum({left} * (1 - {right}) / 3.0)"
    return f"sum(CASE WHEN {_test(draw, shapes[i], i)} THEN {left} ELSE {right} END)"


def _group_key(draw: st.DrawFn, shapes: list[Shape]) -> tuple[int, str] | None:
    keys = [(place, kind) for place, shape in enumerate(shapes) for kind in shape.kinds if kind in (*DOMAINS, "b")]
    return draw(st.sampled_from([None, None, *keys])) if keys else None
