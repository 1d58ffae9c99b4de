"""Find where a group key's values are public: in public rows, in declared values, or by partition selection.

Keys with one privacy unit per value are refused, as no such group could be shown. If only private rows know the
values, partition selection finds them, where the administrator allows it for the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from planner.binding.bound_query import BoundKey, BoundQuery, BoundTable, column_type
from planner.errors import PlannerError, SensitivityUnbounded
from planner.expressions.scalar import Span, wrap
from planner.group_domains.column_values import BaseValues, base_values, never_null, of_dates
from planner.group_domains.enumerate_domain import PublicRows
from planner.plan import GroupDomain
from planner.policy.ownership import is_open, ownership
from planner.policy.policy import ColumnPolicy, Policy
from planner.schema import Schema, Table, sql_identifier
from planner.sensitivity.column_equalities import Equalities
from planner.sql.datetimes import moment_type
from planner.sql.literals import value_sql
from planner.sql.result_types import allows_partition_selection
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import ColumnRef, TextDate, bound_column, column_ref, copied, replaced


@dataclass(frozen=True)
class ColumnValues:
    """The possible values of one private column, under its own alias in a domain's statement.

    Attributes:
      base: the values without NULL.
      declared: the declared range of a datetime.
      null: may NULL be a value, too?
    """

    alias: str
    name: str
    table: Table
    base: BaseValues
    declared: Span | None
    null: bool


Source = PublicRows | ColumnValues

ColumnSources = Mapping[ColumnRef, tuple[Source, ColumnRef]]
"""The source of each column of a key in a domain's statement."""


class KeySources:
    """Finds the sources of all columns in one query's group keys."""

    def __init__(self, query: BoundQuery, schema: Schema, policy: Policy, equalities: Equalities) -> None:
        self.query = query
        self.equalities = equalities
        self._schema = schema
        self._policy = policy
        self._entries = {entry.alias: entry for entry in query.tables}
        self._public = {
            entry.alias: PublicRows(entry)
            for entry in query.tables
            if policy.is_public(entry.table.name) and not entry.is_released and not entry.beside
        }
        self._inner: dict[tuple[str, bool], PublicRows] = {}
        self._found: dict[ColumnRef, tuple[Source, ColumnRef] | None] = {}

    def find(self, column: ColumnRef) -> tuple[Source, ColumnRef] | None:
        """The source of a column's values, and its column there; None if nothing public bounds them.

        For a private column the policy comes first, then conditions, an equal public column, and a foreign key to a
        public table.
        """
        if column not in self._found:
            self._found[column] = self._find(column)
        return self._found[column]

    def rows(self, alias: str) -> PublicRows | None:
        """The rows of an entry of FROM, if they are public."""
        return self._public.get(alias)

    def declared(self, column: ColumnRef) -> ColumnPolicy:
        """A column's policy."""
        return self._policy.column(self._entries[column[0]].table.name, column[1])

    def is_open(self, column: ColumnRef) -> bool:
        """May partition selection read a private column? As `planner.policy.ownership.is_open`."""
        return is_open(self._schema, self._policy, self._entries[column[0]].table.name, column[1])

    def is_nullable(self, column: ColumnRef) -> bool:
        """Does the catalog allow NULL in a column?"""
        found = self._entries[column[0]].table.column(column[1])
        assert found is not None, "bound columns exist"
        return found.nullable

    def conditions(self, column: ColumnRef) -> list[exp.Expr]:
        """The conditions of every tuple, over the column's dates if its texts are declared to be dates."""
        return [of_dates(one, column) for one in self.query.predicates]

    def may_be_null(self, column: ColumnRef) -> bool:
        """May a private column be NULL in a join tuple, or may a text in it be no date?"""
        there = self._entries[column[0]].outer is None
        known = (there and not self.is_nullable(column)) or self.equalities.known(column)
        return not (known and not self.declared(column).forms) and not never_null(column, self.conditions(column))

    def known_source(self, column: ColumnRef) -> tuple[Source, ColumnRef] | None:
        """The source that `find` returned for a column; None if it was not asked."""
        return self._found.get(column)

    def person_of(self, column: ColumnRef) -> str | None:
        """The private table with a value of its own in each row; None if rows may share values.

        This holds for a privacy unit's key, for the key of an owned row, and for a foreign key that determines the
        owner: one unit owns all rows of such a group.
        """
        owned, table = ownership(self._schema, self._policy), self._entries[column[0]].table
        if not owned.is_owned(table.name):
            return None
        if (column[1],) in (owned.unit_key(table.name), *table.keys):
            return table.name
        keys = owned.owning_keys(table.name)
        return next((key.references for key in keys if key.columns == (column[1],)), None)

    def as_written(self, column: ColumnRef) -> str:
        """The column as a statement names it: behind the name of its table, if others have such a column."""
        table, name = self._entries[column[0]].name, sql_identifier(column[1])
        alone = sum(entry.table.column(column[1]) is not None for entry in self.query.tables) < 2
        return name if alone else f"{sql_identifier(table)}.{name}"

    def name(self, column: ColumnRef) -> str:
        """The table and column in the analyst's words."""
        entry = self._entries[column[0]]
        if entry.person is not None:
            label = next((one.label for one in entry.person.columns if one.column.name == column[1]), column[1])
            return f"{label} of {entry.table.name}"
        return f"{entry.table.name}.{column[1]}"

    def is_per_person(self, column: ColumnRef) -> bool:
        """Is it a column of a per-person subquery, for which no policy declares values?"""
        return self._entries[column[0]].rows is not None

    def type_of(self, column: ColumnRef) -> SqlType:
        """The type of a column."""
        return column_type(self._entries[column[0]].table, column[1])

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The position of each alias in FROM."""
        return {alias: place for place, alias in enumerate(self._entries)}

    def is_public_name(self, node: exp.Table) -> bool:
        """Is it a public table, or a function without a table?"""
        if isinstance(node.this, exp.Anonymous):
            return True
        table = self._schema.at(node.db, node.name)
        return table is not None and self._policy.is_public(table.name)

    @cached_property
    def joined(self) -> Mapping[ColumnRef, Sequence[ColumnRef]]:
        """By class of columns that are equal and never NULL: the columns of public rows that must exist."""
        classes: dict[ColumnRef, list[ColumnRef]] = {}
        for alias, rows in self._public.items():
            if rows.entry.outer is None:
                for column in rows.entry.table.columns:
                    if self.equalities.known((alias, column.name)):
                        root = self.equalities.find((alias, column.name))
                        classes.setdefault(root, []).append((alias, column.name))
        return classes

    def _find(self, column: ColumnRef) -> tuple[Source, ColumnRef] | None:
        alias, name = column
        if alias in self._public:
            return self._public[alias], column
        table, kind = self._entries[alias].table, column_type(self._entries[alias].table, name)
        keys = [key for key in self.query.keys if column in key.columns]
        uses = [key.value for key in keys]
        declared = self.declared(column)
        decimals = kind.family is Family.NUMERIC and declared.domain is None
        listed = decimals and all(
            key.values is not None for key in keys
        )  # the bounds list fewer values than the decimals
        base = None if listed else base_values(column, kind, declared, uses, self.query.predicates)
        if base is not None:
            null = declared.null_group or not all(isinstance(use, exp.Column) for use in uses)
            table = _of_dates(table, self._policy)
            return ColumnValues(alias, name, table, base, declared.dates, null and self.may_be_null(column)), column
        for other in self.joined.get(self.equalities.find(column), ()):
            source = self._public[other[0]]
            if column_type(source.entry.table, other[1]).family is kind.family:
                return source, other
        return self._referenced(column, table, name) or self._within(column)

    def _within(self, column: ColumnRef) -> tuple[Source, ColumnRef] | None:
        """The rows of a public table inside a per-person subquery, if the column takes its values from one of theirs,
        or from a foreign key to them.

        Rows of the subquery have no other values, and perhaps NULL. Keys of one table share the rows. Values that a
        window or an extreme takes do not, because they may be of different rows.
        """
        origin = self._origin(self._entries[column[0]], column[1], column[0])
        if origin is None or self._entries[column[0]].person is None:
            return None
        entry, name, place = origin
        owned = ownership(self._schema, self._policy).may_show_owned(entry.table.name)
        if entry.is_released:
            return None
        if owned or not self._policy.is_public(entry.table.name):
            return self._referenced(column, entry.table, name)
        fresh = f"i{len(self._inner)}"  # generated aliases look different
        may_miss = self.may_be_null(column)
        rows = PublicRows(BoundTable(fresh, entry.name, entry.table), may_miss)
        found = self._inner.setdefault((place, may_miss), rows)
        return found, (found.alias, name)

    def _origin(self, entry: BoundTable, name: str, place: str) -> tuple[BoundTable, str, str] | None:
        """The entry and the column that a column takes its values from, with a text that tells its rows apart.

        Under UNION ALL every SELECT must take them from one column of the catalog.
        """
        if entry.person is None:
            return entry, name, place
        found = []
        for select in entry.person.selects:
            column = next(one for one in select.columns if one.column.name == name)
            if column.taken is None:
                return None
            (alias, inner), own = column.taken, "" if column.key else f"_{name}"
            known = next(one for one in select.query.tables if one.alias == alias)
            found.append(self._origin(known, inner, f"{place}_{alias}{own}"))
        first = found[0]
        if first is None or any(one is None or (one[0].table, one[1]) != (first[0].table, first[1]) for one in found):
            return None
        return first if len(found) == 1 else (first[0], first[1], f"{place}_{name}")

    def _referenced(self, column: ColumnRef, table: Table, name: str) -> tuple[Source, ColumnRef] | None:
        """The key of the public table that a foreign key of the table references by the column's values."""
        graph = ownership(self._schema, self._policy)
        for key in graph.foreign_keys(table.name):
            public = self._policy.is_public(key.references) and not graph.may_show_owned(key.references)
            if key.columns == (name,) and public:
                parent = self._schema.tables[key.references]
                if column_type(parent, key.key[0]).family is column_type(table, name).family:
                    null = self.declared(column).null_group and self.may_be_null(column)
                    alias = f"d{len(self._found)}"  # generated aliases look different
                    rows = PublicRows(BoundTable(alias, alias, parent), null)
                    return rows, (alias, key.key[0])
        return None


def _of_dates(table: Table, policy: Policy) -> Table:
    """The table with dates in place of the texts that the policy declares to be dates."""
    forms = {column: policy.column(table.name, column.name).forms for column in table.columns}
    if not any(forms.values()):
        return table
    columns = [replace(one, type=moment_type(read)) if read else one for one, read in forms.items()]
    return replace(table, columns=tuple(columns))


def substituted(tree: exp.Expr, meant: Mapping[ColumnRef, ColumnRef]) -> exp.Expr:
    """A copy with each column replaced by the one that stands for it.

    A private column that stands for itself has listed values: dates, if its texts are declared to be dates.
    """

    def meaning(node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, exp.Column):
            column = column_ref(node)
            return node if meant[column] == column else bound_column(*meant[column])
        read = node.declared_column if isinstance(node, TextDate) else None
        return read if read is not None and meant[column_ref(read)] == column_ref(read) else None

    return replaced(tree, meaning)


_NO_GROUP, _SHOWN = "no group of ", " can be shown: "


def personal_table(error: PlannerError) -> str | None:
    """The table of a `check_shared` refusal; None for another error."""
    if not isinstance(error, SensitivityUnbounded) or not error.message.startswith(_NO_GROUP):
        return None
    return error.message.removeprefix(_NO_GROUP).partition(_SHOWN)[0]


def check_shared(key: BoundKey, sources: KeySources) -> None:
    """Refuse a key with one privacy unit per value, or the key of a private row, if no public values are known.

    Partition selection shows groups that enough units share, and these have one unit each, so the answer would be
    charged and empty. A list of such values in the policy would be a list of people.
    Raises: SensitivityUnbounded.
    """
    if not isinstance(key.value, exp.Column):
        return
    (column,) = key.columns
    whose = sources.person_of(column)
    if whose is not None:
        name = sources.name(column)
        message = f"{_NO_GROUP}{whose}{_SHOWN}each value of {name} belongs to one privacy unit"
        shown = sources.as_written(column)
        hint = (
            f"write count(DISTINCT {shown}), group by a column that many privacy units share, or aggregate these: "
            "SELECT avg(n) FROM (SELECT ..., count(*) AS n ... GROUP BY ...) p"
        )
        raise SensitivityUnbounded(message, hint=hint, position=key.position)


def way_to_a_delta(most: float) -> str:
    """How to ask with a delta under a policy that allows at most this one."""
    if not most:
        return "the administrator can allow one with `delta` in [privacy] of the policy"
    return "ask with a delta; an administrator grants one on the administration page or with noisegate admin top-up"


_SELECTED = "found by partition selection: shown if enough privacy units share it, which needs a delta"


def is_selectable(key: BoundKey, sources: KeySources) -> bool:
    """May partition selection find a key? Every private column of it must be open, and its type be shown."""
    private = [column for column in key.columns if sources.rows(column[0]) is None]
    opened = bool(private) and all(map(sources.is_open, private))
    return opened and allows_partition_selection(key.type)


def selected_domains(places: Iterable[int]) -> list[GroupDomain]:
    """The domains of keys that partition selection finds."""
    return [GroupDomain((place,), None, None, _SELECTED) for place in places]


def keys_found(query: BoundQuery, domains: Sequence[GroupDomain], policy: Policy) -> Iterator[exp.Expr]:
    """The conditions of each selected key: it is not NULL, unless the policy has a group for NULL, and no column has
    a value outside of its declared domain.
    """
    for place in (place for domain in domains if domain.selects_partitions for place in domain.keys):
        key = query.keys[place]
        tables = [query.table_of(bound_column(*column)).table.name for column in key.columns]
        read = {column: policy.column(table, column[1]) for table, column in zip(tables, key.columns, strict=True)}
        if not all(map(policy.is_public, tables)) and not any(declared.null_group for declared in read.values()):
            yield exp.Is(this=wrap(copied(key.value)), expression=exp.Null(), negate=True)
        for column, declared in read.items():
            if declared.domain is not None:
                known = exp.In(this=bound_column(*column), expressions=list(map(value_sql, declared.domain)))
                unknown = exp.Is(this=bound_column(*column), expression=exp.Null())
                yield exp.Paren(this=exp.Or(this=known, expression=unknown))
