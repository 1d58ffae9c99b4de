"""Small random worlds: tables, keys that own or not, public tables, a policy, and rows that keep few promises.

What the proxy documents to do with such rows is written here a second time, row by row and without SQL: who owns
a row, which rows vanish with a parent that is not there, and what a value outside its range counts as.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property

from hypothesis import strategies as st

from planner.policy.policy import Policy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table

NAMESPACE = "world"

Value = int | float | Decimal | str | date | bool | None
Row = Mapping[str, Value]
Unit = tuple[str, int]
"""A privacy unit: its relation and its key."""

KINDS = {"i": "integer", "n": "numeric(8,2)", "f": "double precision", "s": "text", "d": "date", "b": "boolean"}
"""What a table may hold besides keys."""

VALUES: dict[str, tuple[Value, ...]] = {
    "i": (0, 1, 2, 3, 5, 8, -7, 25, None),
    "n": (
        Decimal("0.00"),
        Decimal("0.10"),
        Decimal("2.50"),
        Decimal("9.99"),
        Decimal("-3.30"),
        Decimal("400.00"),
        None,
    ),
    "f": (0.0, 0.1, 1.5, 7.25, -2.75, 1e12, None),
    "s": ("a", "b", "", "o'x", "B", "a%_\\", None),
    "d": (date(2019, 12, 31), date(2020, 1, 1), date(2020, 2, 29), date(2021, 1, 1), None),
    "b": (True, False, None),
}
RANGES = ((0, 10), (-5, 20), (2, 6), (-9, -2), (0, 0.5))
DOMAINS = {"i": (1, 2, 3), "s": ("a", "", "o'x", "zz"), "d": ("2020-01-01", "2020-02-29", "1999-01-01")}


@dataclass(frozen=True)
class Reference:
    """A foreign key; one that is not enforced stands in the policy, and may lead nowhere.

    Attributes:
      depth: of a self-reference, how often ownership follows it.
    """

    columns: tuple[str, ...]
    references: str
    key: tuple[str, ...]
    enforced: bool
    owning: bool
    depth: int | None = None


@dataclass(frozen=True)
class Shape:
    """A table.

    Attributes:
      kinds: those of KINDS that it has, each as a column of that name.
      ranges: of its numbers.
      unit: are its rows people?
      public: does the policy say so?
    """

    name: str
    kinds: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]
    references: tuple[Reference, ...]
    unit: bool
    public: bool

    @property
    def columns(self) -> dict[str, str]:
        """Name to type: the key, a second and composite key, values, foreign keys."""
        found = {"id": "bigint", "u": "integer", "v": "integer"} | {kind: KINDS[kind] for kind in self.kinds}
        for reference in self.references:
            found |= {name: "bigint" if len(reference.columns) == 1 else "integer" for name in reference.columns}
        return found

    def clamped(self, column: str, value: Value) -> Value:
        """What a value counts as in a sum."""
        assert value is None or isinstance(value, int | float | Decimal)
        low, high = self.ranges[column]
        return None if value is None else type(value)(min(max(value, type(value)(str(low))), type(value)(str(high))))


@dataclass(frozen=True)
class World:
    """Tables; those later in the list reference earlier ones, and some themselves."""

    shapes: tuple[Shape, ...]

    def shape(self, name: str) -> Shape:
        return next(shape for shape in self.shapes if shape.name == name)

    @cached_property
    def schema(self) -> Schema:
        """The catalog."""
        return Schema({shape.name: _table(shape) for shape in self.shapes})

    @cached_property
    def policy(self) -> Policy:
        """The custodian's contract."""
        return parse_policy(policy_text(self.shapes))

    def owning(self, shape: Shape) -> list[Reference]:
        """The foreign keys along which the table's rows are owned: a public parent has nobody to pass on."""
        return [key for key in shape.references if key.owning and not self.shape(key.references).public]

    def direct(self, reference: Reference) -> bool:
        """Does the foreign key hold a unit's key, with nobody above the unit?"""
        parent = self.shape(reference.references)
        return parent.unit and reference.key == ("id",) and not self.owning(parent)


@dataclass(frozen=True)
class Rows:
    """The rows of a world, by table."""

    world: World
    tables: Mapping[str, tuple[Row, ...]]

    def parent(self, row: Row, reference: Reference) -> Row | None:
        """The row that a foreign key leads to."""
        wanted = [row[name] for name in reference.columns]
        rows = self.tables[reference.references]
        return next((other for other in rows if [other[name] for name in reference.key] == wanted), None)

    def owners(self, table: str, row: Row, below: frozenset[tuple[str, Value]] = frozenset()) -> frozenset[Unit]:
        """Everybody who owns the row, however far above it; of rows that own one another, `below` are seen to."""
        shape = self.world.shape(table)
        found = {(table, _key(row["id"]))} if shape.unit else set()
        if (table, row["id"]) in below:
            return frozenset(found)
        for reference in self.world.owning(shape):
            if any(row[name] is None for name in reference.columns):
                continue
            if self.world.direct(reference):
                found.add((reference.references, _key(row[reference.columns[0]])))
            elif (parent := self.parent(row, reference)) is not None:
                found |= self.owners(reference.references, parent, below | {(table, row["id"])})
        return frozenset(found)

    def stands(self, table: str, row: Row, taken: tuple[tuple[str, Reference], ...] = ()) -> bool:
        """Does every parent exist that is needed to find the owners, and is none too far above?

        Args:
          taken: the references followed from a row below to this one.
        """
        for reference in self.world.owning(self.world.shape(table)):
            if any(row[name] is None for name in reference.columns) or self.world.direct(reference):
                continue
            if reference.depth is not None and taken.count((table, reference)) == reference.depth:
                return False
            parent = self.parent(row, reference)
            if parent is None or not self.stands(reference.references, parent, (*taken, (table, reference))):
                return False
        return True


def _key(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _table(shape: Shape) -> Table:
    referencing = {name for reference in shape.references for name in reference.columns}
    columns = tuple(
        Column(name, kind, nullable=name in shape.kinds or name in referencing)
        for name, kind in shape.columns.items()
    )
    keys = tuple(
        ForeignKey(reference.columns, reference.references, reference.key)
        for reference in shape.references
        if reference.enforced
    )
    return Table(shape.name, NAMESPACE, columns, (("id",), ("u", "v")), keys)


def policy_text(shapes: tuple[Shape, ...]) -> str:
    """The policy, as a custodian writes it."""
    lines = ['name = "world"', '[database]\nurl = "env:UNUSED"', '[ledger]\npath = "ledger.sqlite"']
    lines += ["[privacy]\nepsilon = 1.0\nmax_epsilon = 1.0\nunbounded_joins = true", "[privacy_units]"]
    lines += [f'{shape.name} = "id"' for shape in shapes if shape.unit]
    for shape in shapes:
        for reference in shape.references:
            if not reference.enforced or not reference.owning or reference.depth is not None:
                lines += ["[[foreign_keys]]", f'table = "{shape.name}"', f'references = "{reference.references}"']
                lines += [f"columns = {list(reference.columns)}", f"key = {list(reference.key)}"]
                lines += [f"owning = {str(reference.owning).lower()}"]
                lines += [] if reference.depth is None else [f"depth = {reference.depth}"]
    for shape in shapes:
        lines += [f"[tables.{shape.name}]", f"public = {str(shape.public).lower()}", f"[tables.{shape.name}.columns]"]
        lines += [f"{kind} = {{ {_declared(shape, kind)} }}" for kind in shape.kinds if kind != "b"]
    return "\n".join(lines)


def _declared(shape: Shape, kind: str) -> str:
    declared = [f"range = {list(shape.ranges[kind])}"] if kind in shape.ranges else []
    if kind in DOMAINS and not shape.public:  # a public table's own column is its domain
        declared.append(f"domain = [{', '.join(map(_toml, DOMAINS[kind]))}]")
    return ", ".join(declared)


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Two to five tables, one or two of them people; a table that nobody could own is public."""
    shapes: list[Shape] = []
    owned: set[str] = set()
    units = draw(st.integers(1, 2))
    for index in range(draw(st.integers(2, 5))):
        name = f"t{index}"
        targets = [shape.name for shape in shapes]
        references = [
            _reference(draw, place, draw(st.sampled_from(targets)))
            for place in range(draw(st.integers(0, 2)) if targets else 0)
        ]
        unit = index < units
        is_owned = unit or any(reference.owning and reference.references in owned for reference in references)
        owned |= {name} if is_owned else set()
        if is_owned and len(references) < 2 and draw(st.integers(0, 2)) == 0:
            depth = draw(st.integers(1, 2))
            references.append(Reference(("up",), name, ("id",), draw(st.booleans()), True, depth))
        kinds = tuple(kind for kind in KINDS if draw(st.booleans()))
        ranges = {kind: draw(st.sampled_from(RANGES if kind != "i" else RANGES[:4])) for kind in "inf"}
        ranges = {kind: limits for kind, limits in ranges.items() if kind in kinds}
        shapes.append(Shape(name, kinds, ranges, tuple(references), unit, not is_owned))
    return World(tuple(shapes))


def _reference(draw: st.DrawFn, place: int, target: str) -> Reference:
    composite = draw(st.booleans()) and draw(st.booleans())
    columns = (f"r{place}u", f"r{place}v") if composite else (f"r{place}",)
    owning = draw(st.integers(0, 3)) > 0
    return Reference(columns, target, ("u", "v") if composite else ("id",), draw(st.booleans()), owning)


@st.composite
def rows_of(draw: st.DrawFn, world: World, most: int = 5) -> Rows:
    """Up to `most` rows per table; enforced keys lead somewhere, declared ones may not, and any may be NULL."""
    tables: dict[str, tuple[Row, ...]] = {}
    for shape in world.shapes:
        rows: list[Row] = []
        for number in range(draw(st.sampled_from((2, 1, 3, 0, *range(4, most + 1))))):
            row: dict[str, Value] = {"id": number + 1, "u": number // 2, "v": number % 2}
            row |= {kind: draw(st.sampled_from(VALUES[kind])) for kind in shape.kinds}
            for reference in shape.references:
                parents = (*rows, row) if reference.references == shape.name else tables[reference.references]
                row |= _referencing(draw, reference, tuple(parents))
            rows.append(row)
        tables[shape.name] = tuple(rows)
    return Rows(world, tables)


def _referencing(draw: st.DrawFn, reference: Reference, parents: tuple[Row, ...]) -> dict[str, Value]:
    keys: list[tuple[Value, ...]] = [tuple(parent[name] for name in reference.key) for parent in parents]
    nowhere: list[tuple[Value, ...]] = [(None,) * len(reference.key), (None, 1)[: len(reference.key)]]
    if not reference.enforced:
        nowhere.append((77, 77)[: len(reference.key)])
    chosen = draw(st.sampled_from(keys * 2 + nowhere))
    return dict(zip(reference.columns, chosen, strict=True))
