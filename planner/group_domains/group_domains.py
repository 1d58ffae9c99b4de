"""The public domain of the group keys: the groups of an answer, whatever the private rows contain.

Sources that one key or condition reads together form a block, and each block is one statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from planner.binding.bound_query import BoundKey, BoundQuery, column_type
from planner.errors import SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.expressions.canonical_value import canonical_value
from planner.group_domains.column_values import STEPS_PER_DAY, finest_step, listed_literals, of_dates
from planner.group_domains.enumerate_domain import PublicRows, enumerate_domain, list_values
from planner.group_domains.key_sources import (
    ColumnSources,
    ColumnValues,
    KeySources,
    Source,
    check_shared,
    is_selectable,
    selected_domains,
    substituted,
    way_to_a_delta,
)
from planner.group_domains.rows_in_groups import omitted_rows, rows_in_groups, tells_apart_beyond
from planner.limits import MAX_BASE, MAX_GROUPS, check_cells
from planner.plan import GroupDomain, GroupKey
from planner.policy.declared import declared_domain, listed, with_other
from planner.policy.policy import Policy
from planner.policy.toml_section import DomainValue
from planner.schema import Schema
from planner.sensitivity.column_equalities import Equalities
from planner.sql.result_types import allows_partition_selection
from planner.sql.sql_types import Family
from planner.sql.trees import ColumnRef, TextDate, bound_column, column_ref, columns_of, copied, tables_of

_DECLARED = "the policy declares {n} values"
_OF_THE_TYPE = {Family.BOOL: "boolean has {n} values", Family.ENUM: "the column's enum has {n} labels"}


def group_domains(
    query: BoundQuery, schema: Schema, policy: Policy, equalities: Equalities, delta: float, *, lists: bool = False
) -> tuple[tuple[GroupKey, ...], tuple[GroupDomain, ...]]:
    """The keys of a query and their domains. Keys that are known only together share a domain.

    The groups are those of `SELECT DISTINCT keys` over the query's public tables and the possible values of private
    columns, under all conditions that read nothing else. No other group can appear.

    Partition selection needs a `delta`. If the question `lists` groups, it finds which keys of public tables have
    private rows, too.

    Raises: SensitivityUnbounded that names what to declare; UnsupportedSQL for a type that cannot be a key;
      StatementTooComplex for too many groups.
    """
    sources = KeySources(query, schema, policy, equalities)
    read = [_sources_of(key, sources) for key in query.keys]
    blocks = _Blocks(sources)
    for found in read:
        if found:
            blocks.add([source for source, _ in found.values()])
    blocks.close()
    members: dict[int, list[int]] = {}  # by block, or by key without a block: places of keys
    for place, found in enumerate(read):
        block = blocks.of(source for source, _ in found.values()) if found else None
        members.setdefault(-place - 1 if block is None else id(block), []).append(place)
    domains = []
    for places in members.values():
        found = read[places[0]]
        if not found:
            domains.append(_known(places[0], query.keys[places[0]], sources, policy.delta, delta))
        else:
            block = blocks.of(source for source, _ in found.values())
            public = not block.columns and all(allows_partition_selection(query.keys[place].type) for place in places)
            if lists and delta and public:
                domains += selected_domains(places)
                continue
            domains.append(_computed(block, [(place, query.keys[place], read[place]) for place in places], sources))
    check_size(domains)
    return tuple(_group_key(key, found, sources) for key, found in zip(query.keys, read, strict=True)), tuple(domains)


def _group_key(key: BoundKey, found: ColumnSources, sources: KeySources) -> GroupKey:
    """The key's SQL, with the policy's group for all other values, if it has one."""
    shown = key.result
    assert shown is not None, "checked where its sources were sought"
    sql = canonical_value(key.value, key.type)
    other = _other(key, sources)
    if other is not None:
        values = declared_domain(sources.declared(key.columns[0]), key.type)
        assert values is not None, "the policy's check: `other` needs a domain"
        sql = with_other(sql, values, other)
    return GroupKey(sql, shown, omitted_rows(key, found, sources), rows_in_groups(key, sources))


def _other(key: BoundKey, sources: KeySources) -> DomainValue | None:
    """The declared group of all other values, if the key is a private column."""
    if not isinstance(key.value, exp.Column) or sources.rows(key.value.table) is not None:
        return None
    return sources.declared(key.columns[0]).other


def _sources_of(key: BoundKey, sources: KeySources) -> ColumnSources:
    """The sources of a key's columns in a domain's statement; empty if no statement can give the values."""
    if key.result is None:
        hint = "group by a whole number, text, a date, an enum or a boolean"
        if key.type.is_number:
            hint = "group by width_bucket(x, 0, 100, 10), or CASE WHEN x < 10 THEN 'low' ELSE 'high' END"
        raise UnsupportedSQL(
            f"GROUP BY a key of type {key.type.shown} is not supported", hint=hint, position=key.position
        )
    if _other(key, sources) is not None or (key.values is not None and tells_apart_beyond(key, sources)):
        return {}
    meant = {}
    for column in key.columns:
        found = sources.find(column)
        if found is None:
            return {}
        meant[column] = found
    bases = {_source_id(source): source.base.size for source, _ in meant.values() if isinstance(source, ColumnValues)}
    size = math.prod(bases.values())
    if size <= MAX_BASE:
        return meant
    if key.values is None:
        hint = "narrow the columns by WHERE, or ask the administrator for narrower ranges"
        message = f"the columns of the group key can have {size:,} values; at most {MAX_BASE:,} are supported"
        raise StatementTooComplex(message, hint=hint, position=key.position)
    return {}


def _known(place: int, key: BoundKey, sources: KeySources, most: float, delta: float) -> GroupDomain:
    """The domain of a key whose values the policy or the expression determines."""
    other = _other(key, sources)
    if other is not None:
        column = key.columns[0]
        declared = declared_domain(sources.declared(column), key.type)
        assert declared is not None, "the policy's check: `other` needs a domain"
        asked = listed_literals(column, key.type, sources.query.predicates)
        kept = declared if asked is None else tuple(value for value in declared if value in asked)
        all_known = asked is not None and set(asked) <= set(declared)
        return GroupDomain((place,), kept if all_known else listed(kept, other), None, _DECLARED)
    if key.values is None:
        asked = None
        if not isinstance(key.value, exp.Column):
            asked = listed_literals(key.value, key.type, sources.query.predicates)
        if asked is not None:
            return GroupDomain((place,), asked, None, "the condition lists {n} values")
        check_shared(key, sources)
        if not delta or not is_selectable(key, sources):
            raise _no_domain(key, sources, most)
        return selected_domains([place])[0]
    private = [column for column in key.columns if sources.rows(column[0]) is None]
    null = any(sources.declared(column).null_group and sources.may_be_null(column) for column in private)
    values = (*key.values, None) if null and None not in key.values else key.values
    return GroupDomain((place,), values, None, "the expression can have {n} values")


def _computed(block: _Block, keys: Sequence[tuple[int, BoundKey, ColumnSources]], sources: KeySources) -> GroupDomain:
    """The values of one private column, or a statement over the sources of a block."""
    places = tuple(place for place, _, _ in keys)
    first = keys[0][1]
    if len(keys) == 1 and isinstance(first.value, exp.Column) and not block.conditions and len(block.sources) == 1:
        (source,) = block.sources.values()
        if isinstance(source, ColumnValues) and (source.base.listed is not None or source.base.unit == "number"):
            null = source.null and sources.declared(first.columns[0]).null_group
            why = _OF_THE_TYPE.get(first.type.family, _DECLARED)
            if sources.declared(first.columns[0]).domain is not None:
                why = _DECLARED
            return GroupDomain(places, source.base.values() + ((None,) if null else ()), None, why)
    values_of: dict[str, list[ColumnValues]] = {}
    for source in block.columns:
        values_of.setdefault(source.alias, []).append(source)
    listed_values = [
        list_values(alias, columns[0].table, [(column.name, column.base, column.null) for column in columns])
        for alias, columns in values_of.items()
    ]
    written = [_written(key, meant) for _, key, meant in keys]
    conditions = [*block.conditions]
    for sql, (_, _, meant) in zip(written, keys, strict=True):
        conditions += _without_null(sql, meant, sources)
    statement = enumerate_domain(written, listed_values, block.rows(sources.order), conditions)
    assert all(sources.is_public_name(table) for table in tables_of(statement)), "no private table is read"
    public = any(not isinstance(source, ColumnValues) for source in block.sources.values())
    why = "read from public tables" if public else "computed from declared values"
    return GroupDomain(places, None, statement, why)


def _written(key: BoundKey, meant: ColumnSources) -> exp.Expr:
    """The key's canonical value over its sources."""
    columns = {column: other for column, (_, other) in meant.items()}
    return canonical_value(substituted(key.value, columns), key.type)


def _without_null(sql: exp.Expr, meant: ColumnSources, sources: KeySources) -> list[exp.Expr]:
    """Exclude NULL keys that come from NULL in a private column, unless the policy has a group for NULL."""
    columns = [
        bound_column(*column)
        for column, (source, _) in meant.items()
        if isinstance(source, ColumnValues) and source.null and not sources.declared(column).null_group
    ]
    if not columns:
        return []
    known = [exp.Is(this=column, expression=exp.Null(), negate=True) for column in columns]
    every = known[0] if len(known) == 1 else exp.Paren(this=exp.and_(*known, copy=False))
    return [exp.Or(this=exp.Is(this=copied(sql), expression=exp.Null(), negate=True), expression=every)]


def check_size(domains: Sequence[GroupDomain], columns: int = 1) -> None:
    """Raise StatementTooComplex if the known groups are too many for an answer with these columns.

    Groups that a statement enumerates are counted when they are read.
    """
    groups = math.prod(len(domain.values) for domain in domains if domain.values is not None)
    if groups > MAX_GROUPS:
        raise StatementTooComplex(f"more than {MAX_GROUPS} groups", hint="group by fewer or coarser keys")
    check_cells(groups, columns)


def _without_declaration(key: BoundKey) -> str:
    """What to write instead of a key whose values are not public. No list in WHERE gives days or fractions."""
    if key.type.is_moment:
        return "group by date_trunc('month', x)"
    if key.type.is_number and key.type.family is not Family.INTEGER:
        return "group by width_bucket(x, 0, 100, 10)"
    return "list its values in WHERE, or join a public table"


def _no_domain(key: BoundKey, sources: KeySources, delta: float) -> SensitivityUnbounded:
    """The refusal of a key without public values, with the ways out: list them, declare them, or a delta."""
    names = " and ".join(map(sources.name, key.columns)) or "this expression"
    dated = any(sources.type_of(column).is_moment or sources.declared(column).forms for column in key.columns)
    if any(map(sources.is_per_person, key.columns)):
        message = f"the possible values of the group key {names} are not public, or too many"
        ways = "write n <= 20 in WHERE, or GROUP BY LEAST(n, 20) or CASE WHEN ... THEN 'label' END"
        if not (dated or key.type.is_number):
            ways = "list its values in WHERE, or group by CASE WHEN ... THEN 'label' END"
        elif dated:
            ways = "narrow its days by WHERE or HAVING; or ask the administrator for a range of the column behind it"
    elif isinstance(key.value, exp.Column):
        message = f"the possible values of the group key {names} are not public"
        ways = f"{_without_declaration(key)}; or ask the administrator for a `domain` or a `range` of {names}"
    else:
        message = f"the possible values of a group key computed from {names} are not public"
        narrow = "narrow it in WHERE by BETWEEN" if dated or key.type.is_number else "list its values in WHERE"
        ways = f"{narrow}, or group by CASE WHEN ... THEN 'label' END; "
        ways += f"or ask the administrator for a `domain` or a `range` of {names}"
        if any(one.declared_column is None for one in key.value.find_all(TextDate)):
            ways = f"ask the administrator for a `format` of {names}, and narrow it in WHERE by BETWEEN"
    if is_selectable(key, sources):
        message, hint = f"{message}, and partition selection needs a delta", f"{way_to_a_delta(delta)}; or {ways}"
    else:
        asked = "" if "ask the administrator" in ways else "ask the administrator "
        hint = f"{ways}; or {asked}for `discover = true`, which needs a delta"
    return SensitivityUnbounded(message, hint=hint, position=key.position)


_SourceId = tuple[str, str]
"""(alias, column) for a private column, (alias, "") for a public table."""


def _source_id(source: Source) -> _SourceId:
    return (source.alias, source.name) if isinstance(source, ColumnValues) else (source.alias, "")


@dataclass
class _Block:
    """Sources of one statement, and its conditions."""

    sources: dict[_SourceId, Source]
    conditions: list[exp.Expr] = field(default_factory=list)
    on: dict[str, tuple[exp.Expr, ...]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of combinations of private columns' values."""
        return math.prod(s.base.size + s.null for s in self.sources.values() if isinstance(s, ColumnValues))

    @property
    def columns(self) -> list[ColumnValues]:
        """The block's private columns."""
        return [source for source in self.sources.values() if isinstance(source, ColumnValues)]

    def rows(self, order: Mapping[str, int]) -> list[PublicRows]:
        """The block's public tables in the order of FROM, with the known conditions of LEFT JOINs."""
        found = [source for source in self.sources.values() if isinstance(source, PublicRows)]
        found.sort(key=lambda source: order.get(source.alias, len(order)))
        rows = []
        for source in found:
            outer = source.entry.outer
            on = self.on.get(source.alias, ()) if outer is not None or source.may_miss else None
            missing = source.may_miss or (on is not None and outer is not None and len(on) < len(outer))
            rows.append(replace(source, on=on, may_miss=missing))
        return rows


class _Blocks:
    """The blocks of a query's group keys. A statement that omits a condition only lists more groups."""

    def __init__(self, keys: KeySources) -> None:
        self._keys = keys
        self._blocks: dict[_SourceId, _Block] = {}

    def add(self, sources: Sequence[Source]) -> None:
        """Add the sources of a key, as one block."""
        for source in sources:
            self._blocks.setdefault(_source_id(source), _Block({_source_id(source): source}))
        self._join([_source_id(source) for source in sources])

    def close(self) -> None:
        """Add public tables that are joined with the sources, and all conditions over sources alone."""
        self._reach()
        self._equal_columns()
        for condition in self._keys.query.predicates:
            if not _equates_one_class(condition, self._keys):
                self._ask(condition)
        for block in list(self._blocks.values()):
            for source in list(block.sources.values()):
                if isinstance(source, PublicRows) and source.entry.outer and source.alias not in block.on:
                    self._outer(source)

    def of(self, sources: Iterable[Source]) -> _Block:
        """The block of sources that were added together."""
        return self._blocks[_source_id(next(iter(sources)))]

    def _reach(self) -> None:
        """Add public rows whose columns always equal a source's column."""
        waiting = list(self._blocks.values())
        while waiting:
            block = waiting.pop()
            for source in list(block.sources.values()):
                for column in self._linked(source):
                    for alias, _ in self._keys.joined.get(self._keys.equalities.find(column), ()):
                        rows = self._keys.rows(alias)
                        if rows is not None and (alias, "") not in self._blocks:
                            self._blocks[alias, ""] = _Block({(alias, ""): rows})
                            waiting.append(self._blocks[alias, ""])

    def _linked(self, source: Source) -> list[ColumnRef]:
        """The columns by which a source may be joined with others."""
        if isinstance(source, ColumnValues):
            return [(source.alias, source.name)]
        if source.entry.outer is not None:
            return [column_ref(column) for condition in source.entry.outer for column in columns_of(condition)]
        if self._keys.rows(source.alias) is None:
            return []
        return [(source.alias, column.name) for column in source.entry.table.columns]

    def _equal_columns(self) -> None:
        """Add equalities between the sources of each class of equal columns, also through private columns."""
        equalities = self._keys.equalities
        classes: dict[ColumnRef, list[ColumnRef]] = {}
        for (alias, name), block in self._blocks.items():
            source = block.sources[alias, name]
            if isinstance(source, PublicRows) and source.entry.outer is not None:
                continue
            for column in self._linked(source):
                if equalities.known(column):
                    classes.setdefault(equalities.find(column), []).append(column)
        for first, *others in classes.values():
            if not others and self._keys.rows(first[0]) is not None and self._keys.is_nullable(first):
                self._ask(exp.Is(this=bound_column(*first), expression=exp.Null(), negate=True))
            for other in others:
                self._ask(exp.EQ(this=bound_column(*first), expression=bound_column(*other)))

    def _ask(self, condition: exp.Expr) -> None:
        """Add a condition, if it reads sources alone."""
        found = self._read(condition)
        if not found:
            return
        meant, ids = found
        size = _Block({key: source for i in ids for key, source in self._blocks[i].sources.items()}).size
        if size <= MAX_BASE:
            self._join(ids)
            self._blocks[ids[0]].conditions.append(substituted(condition, meant))

    def _outer(self, rows: PublicRows) -> None:
        """Add the conditions of a LEFT JOIN that read sources alone."""
        known = []
        for condition in rows.entry.outer or ():
            found = self._read(condition)
            if found:
                meant, ids = found
                self._join([(rows.alias, ""), *ids])
                known.append(substituted(condition, meant))
        self._blocks[rows.alias, ""].on[rows.alias] = tuple(known)

    def _read(self, condition: exp.Expr) -> tuple[dict[ColumnRef, ColumnRef], list[_SourceId]] | None:
        """The sources of a condition's columns; None if a column has no source, or too coarse a one."""
        meant: dict[ColumnRef, ColumnRef] = {}
        ids: dict[_SourceId, None] = {}
        for column in columns_of(condition):
            ref = column_ref(column)
            place = self._place(ref)
            if place is None:
                return None
            other, identity = place
            source = self._blocks[identity].sources[identity]
            if isinstance(source, ColumnValues) and not _tells(source, condition):
                return None
            meant[ref] = other
            ids[identity] = None
        return (meant, list(ids)) if ids else None

    def _place(self, column: ColumnRef) -> tuple[ColumnRef, _SourceId] | None:
        """The column of a source that always has the column's value."""
        for identity in ((column[0], ""), column):
            if identity in self._blocks:
                return column, identity
        if self._keys.rows(column[0]) is not None:
            return None
        for other in self._keys.joined.get(self._keys.equalities.find(column), ()):
            if (other[0], "") in self._blocks and self._same_family(column, other):
                return other, (other[0], "")
        known = self._keys.known_source(column)
        if known is not None and _source_id(known[0]) in self._blocks:
            return known[1], _source_id(known[0])
        return None

    def _same_family(self, column: ColumnRef, other: ColumnRef) -> bool:
        kinds = [self._keys.type_of(name).family for name in (column, other)]
        return kinds[0] is kinds[1]

    def _join(self, ids: Sequence[_SourceId]) -> None:
        """Merge blocks."""
        first = self._blocks[ids[0]]
        for other in ids[1:]:
            block = self._blocks[other]
            if block is not first:
                first.sources |= block.sources
                first.conditions += block.conditions
                first.on |= block.on
                for identity in block.sources:
                    self._blocks[identity] = first


def _equates_one_class(condition: exp.Expr, keys: KeySources) -> bool:
    """Is it an equality that `_equal_columns` writes anyway?"""
    if not isinstance(condition, exp.EQ):
        return False
    left, right = condition.this, condition.expression
    if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
        return False
    return keys.equalities.same(column_ref(left), column_ref(right))


def _tells(source: ColumnValues, condition: exp.Expr) -> bool:
    """Is the condition constant over the times of one step of the series?"""
    unit = source.base.unit
    kind = column_type(source.table, source.name)
    if unit == "number" or kind.family is Family.DATE:
        return True
    column = source.alias, source.name
    step = finest_step([of_dates(condition, column)], column, kind, source.declared)
    return step is not None and STEPS_PER_DAY[step] <= STEPS_PER_DAY[unit]
