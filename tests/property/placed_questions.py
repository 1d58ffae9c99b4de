"""Random views over a placed world, and random questions over its tables and views."""

from __future__ import annotations

from dataclasses import dataclass

from tests.property.placed_world import NAMES, PlacedTable, PlacedWorld, Reference, quoted, sql_place

_COMPARED = ("=", "=", "=", "<", "<>")


@dataclass(frozen=True)
class Column:
    """A column of what can be asked.

    Attributes:
      origin: the index of the table and its column that it shows as they are; None for an expression.
    """

    name: str
    type: str
    origin: tuple[int, str] | None


@dataclass
class Relation:
    """A table or a view.

    Attributes:
      private: does it show rows of private tables?
      query: of a view.
    """

    place: tuple[str, str]
    columns: list[Column]
    private: bool
    query: str = ""


Entry = tuple[str, Relation]
"""An alias of FROM, and what it stands for."""


class Asker:
    """Draws views and questions.

    Attributes:
      relations: what can be asked; whoever makes a view enters it.
    """

    def __init__(self, world: PlacedWorld) -> None:
        self._world = world
        self._draw = world.draw
        self.relations = [_relation(table) for table in world.tables]

    def view(self) -> Relation:
        """A view of some columns, most under other names, over tables and views."""
        draw = self._draw
        source, entries, tests = self._join(within_view=True)
        shown = [(alias, column) for alias, relation in entries for column in relation.columns]
        chosen = [(alias, column) for alias, column in shown if draw.random() < 0.6] or shown[:1]
        columns: list[Column] = []
        items = []
        for place, (alias, column) in enumerate(chosen):
            name = draw.choice((column.name.removeprefix("other "), f"x{place}", f"X {place}", "id", "n"))
            name = f"other {place}" if any(other.name == name for other in columns) else name
            plain = column.type != "integer" or draw.random() < 0.9
            items.append(f"{alias}.{quoted(column.name)}{' + 0' * (not plain)} AS {quoted(name)}")
            columns.append(Column(name, column.type, column.origin if plain else None))
        query = f"SELECT {', '.join(items)} FROM {source}{_where(tests)}"
        form = draw.random()
        if form < 0.15:
            name = quoted(draw.choice(NAMES))  # of a table, too: a CTE comes before it
            query = f"WITH {name} AS ({query}) SELECT * FROM {name}"
        elif form < 0.3:
            query = f"SELECT * FROM ({query}) AS {quoted(draw.choice(NAMES))}"
        elif form < 0.35:
            query += draw.choice((" LIMIT 2", " ORDER BY 1"))
        return Relation(self._world.place(), columns, any(relation.private for _, relation in entries), query)

    def public_view(self) -> Relation:
        """A view of numbers of rows, which a policy may call public."""
        table = self._draw.choice(self._world.tables)
        name, (kind, _) = self._draw.choice(list(table.columns.items()))
        query = f"SELECT {quoted(name)} AS c, count(*) AS n FROM {sql_place(table.place)} GROUP BY 1"
        columns = [Column("c", kind, None), Column("n", "bigint", None)]
        return Relation(self._world.place(), columns, private=False, query=query)

    def question(self) -> str:
        """A question; some cannot be asked."""
        draw = self._draw
        source, entries, tests = self._join()
        keys = []
        for _ in range(draw.choice((0, 0, 1, 2))):
            alias, relation = draw.choice(entries)
            known = [one.name for one in relation.columns if not relation.private or _original(one) in ("s", "b")]
            keys += [f"{alias}.{quoted(draw.choice(known))}"] if known else []
        selected = ", ".join([*keys, *(self._aggregate(entries) for _ in range(draw.randint(1, 2)))])
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {selected} FROM {source}{_where(tests)}{grouped}"

    def _aggregate(self, entries: list[Entry]) -> str:
        draw = self._draw
        alias, relation = draw.choice(entries)
        column = f"{alias}.{quoted(draw.choice(relation.columns).name)}"
        numbers = [
            f"{a}.{quoted(one.name)}" for a, other in entries for one in other.columns if _original(one) == "n"
        ]
        total = f"sum({draw.choice(numbers)})" if numbers else "count(*)"
        return draw.choice(("count(*)", "count(*)", f"count({column})", f"count(DISTINCT {column})", total))

    def _join(self, *, within_view: bool = False) -> tuple[str, list[Entry], list[str]]:
        """FROM, its entries, and conditions for WHERE."""
        draw = self._draw
        entries: list[Entry] = []
        source, tests = "", list[str]()
        for place in range(draw.choice((1, 1, 2)) if within_view else draw.choice((1, 1, 2, 2, 3, 4))):
            entry = (draw.choice((f"a{place}", f'"A {place}"')), draw.choice(self.relations))
            item = f"{self._reference(entry[1], qualified=within_view)} AS {entry[0]}"
            side, conditions = self._tied(entry, entries)
            if not entries:
                source = item
            elif conditions and draw.random() < 0.85:
                source += f" {side}JOIN {item} ON {' AND '.join(conditions)}"
            else:
                source += draw.choice((f", {item}", f" CROSS JOIN {item}"))
                tests += conditions
            entries.append(entry)
        tests += [self._test(entries) for _ in range(draw.choice((0, 0, 1, 2)))]
        return source, entries, tests

    def _tied(self, entry: Entry, entries: list[Entry]) -> tuple[str, list[str]]:
        """A kind of join and its conditions: along a foreign key mostly, or any columns of one type."""
        draw = self._draw
        if not entries:
            return "", []
        other = draw.choice(entries)
        keys = self._along(entry, other)
        if keys and draw.random() < 0.8:
            child, conditions = draw.choice(keys)
            outer = "LEFT " if child == other[0] else draw.choice(("LEFT ", "RIGHT "))
            return outer if draw.random() < 0.5 else "", conditions
        pairs = [(a.name, b.name) for a in entry[1].columns for b in other[1].columns if a.type == b.type]
        if not pairs or draw.random() < 0.2:
            return "", []
        ours, theirs = draw.choice(pairs)
        outer = "LEFT " if not entry[1].private and draw.random() < 0.4 else ""
        return outer, [f"{entry[0]}.{quoted(ours)} {draw.choice(_COMPARED)} {other[0]}.{quoted(theirs)}"]

    def _along(self, entry: Entry, other: Entry) -> list[tuple[str, list[str]]]:
        """The alias of the child, and the conditions, of each foreign key between two entries."""
        return [
            (child[0], conditions)
            for child, parent in ((entry, other), (other, entry))
            for table in self._world.tables
            for key in table.references
            if len(conditions := _equal(child, parent, table, key)) == len(key.columns)
        ]

    def _reference(self, relation: Relation, *, qualified: bool) -> str:
        """With its schema, with the database's name, or as the search path finds it."""
        whole = sql_place(relation.place)
        form = 0.0 if qualified else self._draw.random()
        if form < 0.6:
            return whole
        return f"world.{whole}" if form < 0.7 else quoted(relation.place[1])

    def _test(self, entries: list[Entry]) -> str:
        draw = self._draw
        alias, relation = draw.choice(entries)
        column = draw.choice(relation.columns)
        name = f"{alias}.{quoted(column.name)}"
        missing = f"{name} IS {draw.choice(('', 'NOT '))}NULL"
        if column.type == "boolean":
            return draw.choice((missing, name, f"NOT {name}"))
        if column.type == "uuid":
            return missing
        if column.type.startswith(("text", "char")):
            listed = draw.choice((f"{name} = ANY (ARRAY['a', 'b'])", f"{name} IN ('a', 'b')"))
            return draw.choice((missing, listed, f"{name} LIKE '%a%'", f"NOT ({name} = 'b' OR {name} IS NULL)"))
        number = draw.randint(0, 3)
        compared = f"{name} {draw.choice(('=', '<', '>', '<>'))} {number}"
        return draw.choice((missing, compared, f"{name} + 1 BETWEEN 0 AND 3", f"{name} = ANY (ARRAY[1, {number}])"))


def _relation(table: PlacedTable) -> Relation:
    columns = [Column(name, kind, (table.index, name)) for name, (kind, _) in table.columns.items()]
    return Relation(table.place, columns, not table.public)


def _original(column: Column) -> str | None:
    """What the column is called in its table."""
    return None if column.origin is None else column.origin[1]


def _equal(child: Entry, parent: Entry, table: PlacedTable, key: Reference) -> list[str]:
    """The conditions along a foreign key, as far as both entries show its columns."""
    found = []
    for ours, theirs in zip(key.columns, key.key, strict=True):
        left = [one.name for one in child[1].columns if one.origin == (table.index, ours)]
        right = [one.name for one in parent[1].columns if one.origin == (key.parent, theirs)]
        if left and right:
            found.append(f"{child[0]}.{quoted(left[0])} = {parent[0]}.{quoted(right[0])}")
    return found


def _where(tests: list[str]) -> str:
    return f" WHERE {' AND '.join(f'({test})' for test in tests)}" if tests else ""
