"""Rows of the practice database, drawn from the schema and the policy alone.

In: structure and declarations, and the rows of public tables. No function here takes a private row, a statistic or a
row count of the database. So two private databases with one schema have the same practice rows.

A column is an array of texts, which DuckDB casts to the column's type. Each column has distinct values by their
ordinals. A key counts ordinals up, any other column draws them, and a foreign key copies a row of its parent.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from planner.policy.declared import declared_domain
from planner.policy.policy import ColumnPolicy, Policy
from planner.schema import Column, ForeignKey, Schema, Table
from planner.sql.datetimes import date_text, shows_time
from planner.sql.sql_types import Family, SqlType, sql_type

Texts = NDArray[np.object_]
Places = NDArray[np.int64]

_SEED = 51
_CHILDREN = 4
"""Rows of a table with private parents, per row of others and of privacy-unit relations."""
_PUBLIC_ROWS = 100
_MISSING = 0.03
"""The share of NULL where the column may be NULL."""
_ROOTS = 10
"""Of a table that references itself, one row in so many has no parent; all others reference one of these."""
_WORDS = 50
_DAYS = date(2020, 1, 1), date(2024, 12, 31)
_LARGEST = 1e15


@dataclass(frozen=True)
class _Domain:
    """The distinct values of a column.

    Attributes:
      size: how many there are.
      drawn: how many of them a column draws that is no key.
      text: the values at some ordinals.
    """

    size: int
    drawn: int
    text: Callable[[Places], Texts]


@dataclass
class Rows:
    """The rows of one table.

    Attributes:
      columns: the texts of each column; None is NULL.
      owners: per privacy-unit relation, the row of the owner, or -1.
    """

    columns: dict[str, Texts]
    owners: dict[str, Places] = field(default_factory=dict)

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all other rows."""
        self.columns = {name: texts[kept] for name, texts in self.columns.items()}
        self.owners = {unit: places[kept] for unit, places in self.owners.items()}


def practice_names(schema: Schema, policy: Policy) -> tuple[str, ...]:
    """The tables of the practice database: those that the policy names, and all that they reference."""
    found, waiting = set[str](), [*policy.tables, *policy.privacy_units]
    while waiting:
        name = waiting.pop()
        if name in schema.tables and name not in found:
            found.add(name)
            waiting += [key.references for key in _references(schema.tables[name], policy)]
    return tuple(sorted(found))


def practice_rows(
    schema: Schema, policy: Policy, rows: int, skew: float, public: Mapping[str, Rows]
) -> Mapping[str, Rows]:
    """The rows of every table.

    Args:
      rows: of privacy-unit relations, and of tables without private parents.
      skew: 1: every parent has about as many rows; above: a few have most.
      public: tables whose rows are known.
    Cost: a few sorts per column; no loop over rows.
    """
    names = practice_names(schema, policy)
    made = {name: public[name] for name in names if name in public}
    waiting, late = [schema.tables[name] for name in names if name not in made], []
    keyed = _keys_by_table(schema, policy, names)
    while waiting:
        parents = {one.name: {key.references for key in _references(one, policy)} - {one.name} for one in waiting}
        unmade = {one.name for one in waiting}
        table = next((one for one in waiting if not parents[one.name] & unmade), waiting[0])
        waiting.remove(table)
        drawing = _Drawing(table, policy, keyed[table.name], rows, skew)
        made[table.name] = drawing.rows(made)
        late.append(drawing)
    for drawing in late:
        drawing.close_circles(made)
    return made


def _references(table: Table, policy: Policy) -> tuple[ForeignKey, ...]:
    declared = (key.foreign_key for key in policy.foreign_keys if key.table == table.name)
    return tuple({key.pairs: key for key in (*table.foreign_keys, *declared)}.values())


def _keys_by_table(schema: Schema, policy: Policy, names: Sequence[str]) -> Mapping[str, set[tuple[str, ...]]]:
    """What is unique in each table: its keys, what others reference, and the key of a privacy unit."""
    keyed = {name: set(schema.tables[name].keys) for name in names}
    for name in names:
        if name in policy.privacy_units:
            keyed[name].add(policy.privacy_units[name])
        for key in _references(schema.tables[name], policy):
            if key.references in keyed and not any(set(known) <= set(key.key) for known in keyed[key.references]):
                keyed[key.references].add(key.key)
    return keyed


class _Drawing:
    """Draws the rows of one table."""

    def __init__(self, table: Table, policy: Policy, keys: set[tuple[str, ...]], rows: int, skew: float) -> None:
        self._table, self._policy = table, policy
        self._keys = sorted(keys, key=lambda key: (len(key), key))
        self._skew = skew
        self._draw = np.random.default_rng([_SEED, zlib.crc32(table.name.encode())])
        self._references = [key for key in _references(table, policy) if self._fits(key)]
        self._late: list[ForeignKey] = []
        declared = policy.tables.get(table.name)
        child = any(not policy.is_public(key.references) for key in self._references)
        most = rows * (_CHILDREN if child and table.name not in policy.privacy_units else 1)
        most = min(most, _PUBLIC_ROWS) if policy.is_public(table.name) else most
        self._n = min(most, (declared.rows if declared else None) or most)

    def _fits(self, key: ForeignKey) -> bool:
        return all(self._table.column(name) is not None for name in key.columns)

    def rows(self, made: Mapping[str, Rows]) -> Rows:
        """The rows, with references to the tables that are made."""
        found = Rows({})
        if self._table.name in self._policy.privacy_units:
            found.owners[self._table.name] = np.arange(self._n)
        for key in self._references:
            if key.references == self._table.name or key.references not in made:
                self._late.append(key)
            else:
                self._refer(key, made[key.references], found)
        for unique in self._keys:
            self._count_up(unique, found)
        for column in self._table.columns:
            if column.name not in found.columns:
                found.columns[column.name] = self._drawn(column)
        found.keep(self._within_bounds(found))
        return found

    def _refer(self, key: ForeignKey, parent: Rows, found: Rows) -> None:
        """Copy the keys of drawn parents; parents of two keys agree in the columns that both have."""
        free = [name for name in key.columns if name not in found.columns]
        if not free or not len(parent):
            return
        shared = [(ours, theirs) for ours, theirs in zip(key.columns, key.key, strict=True) if ours not in free]
        alone = any(set(one) <= set(key.columns) for one in self._keys)
        both = [np.concatenate([parent.columns[theirs], found.columns[ours]]) for ours, theirs in shared]
        here = _codes(both, len(parent) + self._n)
        order = np.argsort(here[: len(parent)], kind="stable")
        sorted_ = here[: len(parent)][order]
        first, end = (np.searchsorted(sorted_, here[len(parent) :], side) for side in ("left", "right"))
        share = self._draw.random(self._n) ** self._skew
        chosen = first + ((end - first) * share).astype(np.int64)
        if alone and not shared:  # one row per parent
            chosen = np.arange(self._n)
            end = np.where(chosen < len(parent), len(parent), 0)
        missing = (end <= first) | self._nulls(*free)
        place = np.where(missing, -1, order[np.minimum(chosen, len(order) - 1)])
        for ours, theirs in zip(key.columns, key.key, strict=True):
            if ours in free:
                found.columns[ours] = _taken(parent.columns[theirs], place)
        for unit, owner in parent.owners.items():
            found.owners.setdefault(unit, np.where(place < 0, -1, owner[place]))

    def _nulls(self, *names: str) -> NDArray[np.bool_]:
        columns = [self._table.column(name) for name in names]
        keyed = {name for key in self._keys for name in key}
        may = all(one is not None and one.nullable and one.name not in keyed for one in columns)
        return (self._draw.random(self._n) < _MISSING) & may

    def _count_up(self, key: tuple[str, ...], found: Rows) -> None:
        """Make a key unique by its first column that is not drawn yet; its other columns are drawn."""
        columns = [one for name in key if (one := self._table.column(name)) is not None]
        free = [one for one in columns if one.name not in found.columns]
        if not free:
            return
        referring = [found.columns[one.name] for one in columns if one.name in found.columns]
        counted = next((one for one in free if not sql_type(one.type).is_moment), free[0])
        for one in free:
            if one is not counted:
                found.columns[one.name] = self._drawn(one)
        ordinal = _occurrence(_codes(referring, self._n)) if referring else self._draw.permutation(self._n)
        domain = self._domain(counted, key=True)
        texts = domain.text(np.minimum(ordinal, domain.size - 1))
        texts[ordinal >= domain.size] = None
        found.columns[counted.name] = texts

    def _drawn(self, column: Column) -> Texts:
        domain, declared = self._domain(column), self._policy.column(self._table.name, column.name)
        share = self._draw.random(self._n) ** (self._skew if declared.domain else 1.0)
        texts = domain.text((share * domain.drawn).astype(np.int64))
        texts[self._nulls(column.name)] = None
        return texts

    def _domain(self, column: Column, *, key: bool = False) -> _Domain:
        return _domain(column, self._policy.column(self._table.name, column.name), key=key)

    def _within_bounds(self, found: Rows) -> NDArray[np.bool_]:
        """The rows that keys, NOT NULL and declared bounds leave."""
        kept = np.ones(self._n, np.bool_)
        keyed = {name for key in self._keys for name in key}
        for column in self._table.columns:
            if not column.nullable or column.name in keyed:
                kept &= ~_missing(found.columns[column.name])
        for key in self._keys:
            if all(name in found.columns for name in key):
                kept &= _first(_codes([found.columns[name] for name in key], self._n), kept, 1)
        for declared in self._policy.foreign_keys:
            if declared.table == self._table.name and declared.fanout and self._fits(declared.foreign_key):
                kept &= _first(
                    _codes([found.columns[name] for name in declared.columns], self._n), kept, declared.fanout
                )
        table = self._policy.tables.get(self._table.name)
        for unit, most in (table.rows_per_unit if table else {}).items():
            if unit in found.owners:
                kept &= _first(found.owners[unit], kept, most)
        return kept

    def close_circles(self, made: Mapping[str, Rows]) -> None:
        """Draw the references to the table itself, and to tables that were made after it."""
        keyed = {name for key in self._keys for name in key}
        found = made[self._table.name]
        self._n = len(found)
        for key in self._late:
            parent = made.get(key.references)
            if parent is None or not len(parent) or keyed & set(key.columns):
                continue
            own = key.references == self._table.name
            most = max(1, len(parent) // _ROOTS) if own else len(parent)
            place = (self._draw.random(self._n) ** self._skew * most).astype(np.int64)
            nullable = all((one := self._table.column(name)) is not None and one.nullable for name in key.columns)
            if own:
                place[: min(most, self._n)] = -1 if nullable else np.arange(min(most, self._n))
            elif nullable:
                place[self._draw.random(self._n) < _MISSING] = -1
            for ours, theirs in zip(key.columns, key.key, strict=True):
                found.columns[ours] = _taken(parent.columns[theirs], place)


def _taken(texts: Texts, place: Places) -> Texts:
    taken = texts[place]
    taken[place < 0] = None
    return taken


def _codes(columns: Sequence[Texts], n: int) -> Places:
    """One number per row, equal where all columns are equal."""
    codes = np.zeros(n, np.int64)
    for texts in columns:
        values, code = np.unique(np.where(_missing(texts), "", texts).astype(str), return_inverse=True)
        codes = np.unique(codes * len(values) + code, return_inverse=True)[1]
    return codes


def _occurrence(codes: Places) -> Places:
    """How many earlier rows have the same number."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    counted = np.empty(len(codes), np.int64)
    counted[order] = np.arange(len(codes)) - np.searchsorted(ordered, ordered)
    return counted


def _first(codes: Places, kept: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """The first rows of each number, among those that are kept."""
    found = np.zeros(len(codes), np.bool_)
    found[kept] = _occurrence(codes[kept]) < most
    return found


def _objects(texts: NDArray[np.str_]) -> Texts:
    return texts.astype(object)


def _missing(texts: Texts) -> NDArray[np.bool_]:
    return np.asarray(texts == None, np.bool_)  # noqa: E711  # of each element


def _domain(column: Column, declared: ColumnPolicy, *, key: bool) -> _Domain:
    """The values of a column within its declared domain or range, or plausible ones of its type."""
    kind = sql_type(column.type)
    listed = None if declared.format else declared_domain(declared, kind)
    if listed is not None:
        shown = [str(value).lower() if isinstance(value, bool) else str(value) for value in listed]
        if declared.other is not None and kind.is_string:
            shown.append("elsewhere")
        values = np.array(shown or [""], dtype=object)
        return _Domain(len(values), len(values), lambda places: values[places])
    if kind.is_number:
        return _numbers(kind, declared, key=key)
    if kind.is_moment or declared.format or kind.family is Family.TIME:
        return _moments(kind, declared)
    if kind.is_string and kind.precision is not None and kind.precision < len(column.name) + 8:
        digits = min(kind.precision, 9)
        return _Domain(10**digits, min(10**digits, _WORDS), lambda places: _objects(places.astype(str)))
    word = {Family.INET: "10.0.0.", Family.OTHER: ""}.get(kind.family, f"{column.name} ")
    most = 250 if kind.family is Family.INET else 10**9
    return _Domain(most, _WORDS, lambda places: _objects(np.char.add(word, (places + 1).astype(str))))


def _numbers(kind: SqlType, declared: ColumnPolicy, *, key: bool) -> _Domain:
    scale = min(kind.scale if kind.scale is not None else (0 if kind.family is Family.INTEGER or key else 2), 6)
    digits = min((kind.precision or 15) - (kind.scale or 0), 15) if kind.family is not Family.FLOAT else 15
    most = min(10.0**digits - 1, _LARGEST)
    if kind.family is Family.INTEGER:
        most = {5: 2.0**15, 10: 2.0**31}.get(kind.precision or 0, _LARGEST) - 1
    low, high = declared.range or ((1, most) if key else (0, min(most, 100 if scale == 0 else 1000)))
    low, high = max(low, -most), min(high, most)
    unit = 10.0**-scale
    first = math.ceil(low / unit)
    size = max(1, math.floor(high / unit) - first + 1)
    return _Domain(size, size, lambda places: _objects(np.char.mod(f"%.{scale}f", (places + first) * unit)))


def _dated_texts(first: date, days: int, form: str) -> _Domain:
    """Texts of days, or of seconds if the form has hours."""
    step = timedelta(seconds=1) if shows_time(form) else timedelta(days=1)
    size, start = days * (timedelta(days=1) // step), datetime.combine(first, time())

    def texts(places: Places) -> Texts:
        known, where = np.unique(places, return_inverse=True)
        return np.array([date_text(start + int(place) * step, form) for place in known], dtype=object)[where]

    return _Domain(size, size, texts)


def _moments(kind: SqlType, declared: ColumnPolicy) -> _Domain:
    low, high = (np.datetime64(day.isoformat(), "D") for day in declared.dates or _DAYS)
    days = int((high - low).astype(np.int64)) + 1
    if declared.forms:
        return _dated_texts(low.item(), days, declared.forms[0])
    if kind.family in (Family.TIMESTAMP, Family.TIMESTAMPTZ, Family.TIME):
        size = days * 86_400

        def moments(places: Places) -> Texts:
            written = np.datetime_as_string(low.astype("M8[s]") + places)
            return _objects(np.char.partition(written, "T")[:, 2] if kind.family is Family.TIME else written)

        return _Domain(size, size, moments)

    return _Domain(days, days, lambda places: _objects(np.datetime_as_string(low + places)))
