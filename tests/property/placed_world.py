"""Small random worlds for a real PostgreSQL: schemas that share names of tables, keys of every type, enforced or
declared, partitions, references that are NULL or lead nowhere.

Who owns a row is written here a second time, row by row and without SQL, from what the proxy documents.
"""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from planner.policy.ownership import row_key
from planner.schema import Schema, table_name

SCHEMAS = ("public", "clinic", 'Odd.S "x')
NAMES = ("visit", "ward", "person", "Visit", "a.b", 'q"t', "left", "stay", "v", "order")

_WHOLE = ("bigint", "integer", "smallint")
_TEXTS = ("text", "character varying(6)")
_KEYS = ("bigint", "integer", "bigint", "integer", *_WHOLE, *_TEXTS, "character(4)", "uuid")
_WORDS = ("a", "A", "a ", "1:a", "b", "ü", "b'", "")

Value = int | str | bool | None
Row = dict[str, Value]
Unit = tuple[int, tuple[Value, ...]]
"""A privacy unit: the index of its table, and its key as equal keys look equal."""


@dataclass(frozen=True)
class Reference:
    """A foreign key; one that is not enforced stands in the policy, and may lead nowhere.

    Attributes:
      parent: index of the table.
      depth: of a self-reference.
      promised: does the policy say how many rows share a value?
    """

    columns: tuple[str, ...]
    parent: int
    key: tuple[str, ...]
    enforced: bool
    owning: bool
    promised: bool
    depth: int | None = None


@dataclass
class PlacedTable:
    """A table and its rows.

    Attributes:
      columns: type of each, and may it not be NULL?
      keys: unique keys, and is each enforced? Others the policy declares.
      unit: the key of a person, where its rows are people.
    """

    index: int
    place: tuple[str, str]
    columns: dict[str, tuple[str, bool]]
    keys: dict[tuple[str, ...], bool]
    partitioned: bool
    references: list[Reference] = field(default_factory=list)
    unit: tuple[str, ...] | None = None
    public: bool = False
    rows_are_units: bool = False
    rows: list[Row] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As catalogs of the planner have it."""
        return table_name(*self.place)

    def written(self, column: str, value: Value) -> Value:
        """A value as an owner's key shows it: `char(n)` without its padding."""
        padded = self.columns[column][0].startswith("character(")
        return value.rstrip(" ") if padded and isinstance(value, str) else value

    def key_of(self, row: Row, columns: tuple[str, ...]) -> tuple[Value, ...]:
        """The values of some columns, so written."""
        return tuple(self.written(name, row[name]) for name in columns)


class PlacedWorld:
    """Tables in schemas, with their rows.

    Args:
      seed: of all that is drawn.
      whole: every private row has an owner and a whole chain to it, and no value lies outside of what is declared, so
        that PostgreSQL's own answer is what was asked.
    """

    def __init__(self, seed: int, *, whole: bool) -> None:
        self.draw = random.Random(seed)
        self.whole = whole
        self.tables: list[PlacedTable] = []
        self._places: set[tuple[str, str]] = set()
        self.path = tuple(self.draw.sample(SCHEMAS, self.draw.randint(1, 3)))
        self.schema: Schema | None = None
        people = self.draw.randint(1, 2)
        for index in range(self.draw.randint(2, 5)):
            self._make(index, person=index < people)
        for table in self.tables:
            self._fill(table)

    def place(self) -> tuple[str, str]:
        """A schema and a name that nothing has yet."""
        while True:
            place = (self.draw.choice(SCHEMAS), self.draw.choice(NAMES))
            if place not in self._places:
                self._places.add(place)
                return place

    def owning(self, table: PlacedTable) -> list[Reference]:
        """The foreign keys along which the table's rows are owned."""
        return [key for key in table.references if key.owning and not self.tables[key.parent].public]

    def owners(self, table: PlacedTable, row: Row, below: frozenset[int] = frozenset()) -> frozenset[Unit]:
        """Everybody who owns a row; of rows that own one another, `below` are seen to."""
        found: set[Unit] = set()
        if table.unit:
            found.add((table.index, table.key_of(row, table.unit)))
        if id(row) in below:
            return frozenset(found)
        keys = self.owning(table)
        if table.rows_are_units and all(any(row[name] is None for name in key.columns) for key in keys):
            assert self.schema is not None, "the catalog says which key names a row"
            own = row_key(self.schema.tables[table.name])
            assert own is not None
            found.add((table.index, table.key_of(row, own)))
        for key in keys:
            if any(row[name] is None for name in key.columns):
                continue
            above, parent = self.tables[key.parent], self._parent(table, row, key)
            if parent is not None:
                found |= self.owners(above, parent, below | {id(row)})
            elif above.unit and set(above.unit) == set(key.key) and not self.owning(above):
                columns = dict(zip(key.key, key.columns, strict=True))  # a person of its own, whom no row stands for
                found.add((key.parent, tuple(table.written(columns[n], row[columns[n]]) for n in above.unit)))
        return frozenset(found)

    def units(self) -> list[Unit]:
        """All people, in order."""
        return sorted(
            {unit for table in self.tables for row in table.rows for unit in self.owners(table, row)}, key=repr
        )

    def _parent(self, table: PlacedTable, row: Row, key: Reference) -> Row | None:
        above = self.tables[key.parent]
        wanted = table.key_of(row, key.columns)
        return next((other for other in above.rows if above.key_of(other, key.key) == wanted), None)

    def _owned(self, index: int) -> bool:
        table = self.tables[index]
        if table.unit or table.rows_are_units:
            return True
        return any(key.owning and key.parent != index and self._owned(key.parent) for key in table.references)

    def _make(self, index: int, *, person: bool) -> None:
        draw = self.draw
        partitioned = draw.random() < 0.2  # whose own constraint holds the column that it is partitioned by
        columns = {"id": (draw.choice(_KEYS), True)}
        keys: dict[tuple[str, ...], bool] = {("id",): not partitioned and draw.random() < 0.9}
        if draw.random() < 0.4:
            columns |= {
                "u": (draw.choice(("integer", "text")), True),
                "w": ("smallint", person or draw.random() < 0.7),
            }
            keys["u", "w"] = not partitioned and draw.random() < 0.7
        if draw.random() < 0.3:
            columns["alt"] = (draw.choice(_KEYS), draw.random() < 0.5)
            keys["alt",] = not partitioned and draw.random() < 0.7
        for name, kind in ("n", draw.choice(("integer", "numeric(6,2)"))), ("s", "text"), ("b", "boolean"):
            if draw.random() < 0.7:
                columns[name] = (kind, draw.random() < 0.2)
        if partitioned:
            columns["part"] = ("integer", True)
        table = PlacedTable(index, self.place(), columns, keys, partitioned)
        self.tables.append(table)
        for place in range(draw.choice((0, 1, 1, 2, 2, 3)) if index else 0):
            self._refer(table, place, self.tables[draw.randrange(index)])
        if person:
            table.unit = draw.choice([key for key in keys if all(columns[name][1] for name in key)])
        elif self._owned(index) and draw.random() < 0.15:
            table.rows_are_units = True
        table.public = not self._owned(index)
        if not table.public and draw.random() < 0.25:
            columns["up"] = (columns["id"][0], False)
            enforced = keys["id",] and draw.random() < 0.5
            depth = draw.randint(1, 2)
            table.references.append(Reference(("up",), index, ("id",), enforced, True, draw.random() < 0.5, depth))

    def _refer(self, table: PlacedTable, place: int, parent: PlacedTable) -> None:
        draw = self.draw
        key = draw.choice(list(parent.keys))
        columns = tuple(f"r{place}{name}" for name in key)
        for name, above in zip(columns, key, strict=True):
            kind = parent.columns[above][0]
            kinds = next((family for family in (_WHOLE[:2], _TEXTS) if kind in family or kind == "smallint"), (kind,))
            table.columns[name] = (draw.choice(kinds), draw.random() < 0.4)
        enforced = parent.keys[key] and draw.random() < 0.6
        reference = Reference(columns, parent.index, key, enforced, draw.random() < 0.75, draw.random() < 0.5)
        table.references.append(reference)

    def _fill(self, table: PlacedTable) -> None:
        referencing = {name for key in table.references for name in key.columns}
        for number in range(self.draw.choice((0, 2, 4, 5, 6, 7)) or 3 * self.whole):
            row: Row = {name: self._value(table, name, number) for name in table.columns if name not in referencing}
            if all(self._point(table, row, key) for key in table.references):
                table.rows.append(row)

    def _value(self, table: PlacedTable, name: str, number: int) -> Value:
        kind, present = table.columns[name]
        keyed = {"id": number, "u": number // 2, "w": number % 2, "alt": 7 - number}
        if name == "id" or (name in keyed and (present or self.draw.random() < 0.75)):
            return _key(kind, keyed[name])
        if name == "part":
            return self.draw.randint(0, 2)
        if name in keyed or (not present and self.draw.random() < 0.2):
            return None
        if name == "b":
            return self.draw.random() < 0.5
        return (
            self.draw.choice((0, 1, 2, 3) if name == "n" else ("a", "b"))
            if self.whole or self.draw.random() < 0.7
            else (self.draw.choice((7, -5)) if name == "n" else "zz")
        )

    def _point(self, table: PlacedTable, row: Row, key: Reference) -> bool:
        """Choose what a row references; False where there is nothing that it may."""
        draw, above = self.draw, self.tables[key.parent]
        rows = [*table.rows, row] if above is table else above.rows
        found = [value for other in rows if None not in (value := tuple(other[name] for name in key.key))]
        nowhere: list[tuple[Value, ...]] = [(None,) * len(key.key)]
        if len(key.key) > 1 and found:
            nowhere.append((None, found[0][1]))
        if self.whole:
            found, nowhere = self._cached_whole(table, row, key, found, nowhere)
        elif not key.enforced:
            nowhere.append(tuple(_key(table.columns[name][0], 6) for name in key.columns))
        fit = [
            value
            for value in found * 2 + nowhere
            if all(
                one is not None or not table.columns[name][1] for one, name in zip(value, key.columns, strict=True)
            )
        ]
        row |= dict(zip(key.columns, draw.choice(fit), strict=True)) if fit else {}
        return bool(fit)

    def _cached_whole(
        self,
        table: PlacedTable,
        row: Row,
        key: Reference,
        found: list[tuple[Value, ...]],
        nowhere: list[tuple[Value, ...]],
    ) -> tuple[list[tuple[Value, ...]], list[tuple[Value, ...]]]:
        """NULL only where somebody owns the row anyway; no chains, whose end depends on their depth."""
        if key.parent == table.index:
            return [], nowhere[:1]
        others = [other for other in self.owning(table) if other is not key and set(other.columns) <= row.keys()]
        owned = any(all(row[name] is not None for name in other.columns) for other in others)
        needed = key.owning and not (table.public or table.unit or owned)
        return found, [] if needed else nowhere * len(found)

    def ddl(self) -> Iterator[str]:
        """The statements that make the tables."""
        yield from (f"CREATE SCHEMA IF NOT EXISTS {quoted(name)}" for name in SCHEMAS)
        for table in self.tables:
            parts = [f"{quoted(n)} {kind}{' NOT NULL' * present}" for n, (kind, present) in table.columns.items()]
            parts += [
                f"{'PRIMARY KEY' if key == ('id',) else 'UNIQUE'} {_listed(key)}"
                for key, enforced in table.keys.items()
                if enforced
            ]
            parts += ["PRIMARY KEY (id, part)"] * table.partitioned
            by = " PARTITION BY LIST (part)" * table.partitioned
            yield f"CREATE TABLE {sql_place(table.place)} ({', '.join(parts)}){by}"
            if table.partitioned:
                namespace, relation = table.place
                for name, bound in ("first", "FOR VALUES IN (0)"), ("others", "DEFAULT"):
                    part = sql_place((namespace, f"{relation} {name}"))
                    yield f"CREATE TABLE {part} PARTITION OF {sql_place(table.place)} {bound}"
        for table in self.tables:
            for key in table.references:
                if key.enforced:
                    parent = f"{sql_place(self.tables[key.parent].place)} {_listed(key.key)}"
                    added = f"ADD FOREIGN KEY {_listed(key.columns)} REFERENCES {parent}"
                    yield f"ALTER TABLE {sql_place(table.place)} {added}"

    def inserts(self) -> Iterator[str]:
        """The statements that fill them, where constraints are not looked at."""
        for table in self.tables:
            rows = ", ".join(f"({', '.join(literal(row[name]) for name in table.columns)})" for row in table.rows)
            if rows:
                yield f"INSERT INTO {sql_place(table.place)} {_listed(tuple(table.columns))} VALUES {rows}"

    def policy_text(self, public_views: tuple[tuple[str, str], ...] = ()) -> str:
        """The custodian's contract, whose every promise the rows keep."""
        lines = ['name = "world"', f"schemas = {_toml(self.path)}", '[database]\nurl = "env:UNUSED"']
        lines += ['[ledger]\npath = "ledger.sqlite"', "[privacy]\nepsilon = 1.0\nmax_epsilon = 1.0"]
        lines += ["unbounded_joins = true", "[privacy_units]"]
        lines += [f"{_setting(table.place)} = {_toml(table.unit)}" for table in self.tables if table.unit]
        for table in self.tables:
            for key in table.references:
                if not key.enforced or not key.owning or key.depth or key.promised:
                    lines += [
                        "[[foreign_keys]]",
                        f"table = {_setting(table.place)}",
                        f"columns = {_toml(key.columns)}",
                    ]
                    lines += [f"references = {_setting(self.tables[key.parent].place)}", f"key = {_toml(key.key)}"]
                    lines += [f"owning = {_toml(key.owning)}", *([f"depth = {key.depth}"] if key.depth else [])]
                    lines += [f"fanout = {self._most(table, key)}"] * key.promised
        for table in self.tables:
            lines += [f"[tables.{_setting(table.place)}]", f"public = {_toml(table.public)}"]
            lines += [f"rows = {max(1, len(table.rows))}", *(["rows_are_units = true"] * table.rows_are_units)]
            lines += [f"keys = {_toml([key for key, enforced in table.keys.items() if not enforced])}"]
            lines += [f"[tables.{_setting(table.place)}.columns]", *self._columns(table)]
        for place in public_views:
            lines += [f"[tables.{_setting(place)}]", "public = true"]
        return "\n".join(line for line in lines if line != "keys = []")

    def _columns(self, table: PlacedTable) -> Iterator[str]:
        if "n" in table.columns:
            yield "n = { range = [0, 3] }"
        if "s" in table.columns and not table.public:
            more = "" if self.whole else self.draw.choice(("", ", null_group = true", ', other = "others"'))
            yield f's = {{ domain = ["a", "b"]{more} }}'

    def _most(self, table: PlacedTable, key: Reference) -> int:
        """The most rows that share a value."""
        values = (table.key_of(row, key.columns) for row in table.rows)
        return max(Counter(value for value in values if None not in value).values(), default=1)


def sql_place(place: tuple[str, str]) -> str:
    """A table with its schema, in quotes."""
    return ".".join(map(quoted, place))


def quoted(name: str) -> str:
    """A name in quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str:
    """A value in SQL."""
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _key(kind: str, number: int) -> Value:
    """A key of a type; different numbers are different keys."""
    if kind in _WHOLE:
        return number
    if kind == "uuid":
        return str(uuid.UUID(int=number))
    word = _WORDS[number % len(_WORDS)]
    return word.rstrip(" ") + str(number) if kind == "character(4)" else word


def _listed(names: tuple[str, ...]) -> str:
    return f"({', '.join(map(quoted, names))})"


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _setting(place: tuple[str, str]) -> str:
    """How a policy names a table of a schema."""
    return _toml(sql_place(place))
