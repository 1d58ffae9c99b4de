"""The public domain of the group keys: which groups the answer has, whatever the private rows hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlglot import exp

from planner.binding.bound_query import BoundKey, BoundQuery
from planner.errors import SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.expressions.canonical_value import canonical_value
from planner.group_domains.column_values import MAX_BASE, listed_literals
from planner.group_domains.enumerate_domain import enumerate_domain, list_values
from planner.group_domains.group_blocks import Block, GroupBlocks, source_id
from planner.group_domains.key_sources import (
    ColumnSources,
    ColumnValues,
    KeySources,
    check_shared,
    discovered_domain,
    substituted,
)
from planner.group_domains.rows_in_groups import omitted_rows, rows_in_groups, tells_apart_beyond
from planner.limits import MAX_GROUPS, check_cells
from planner.plan import GroupDomain, GroupKey
from planner.policy.declared import declared_domain, listed, with_other
from planner.policy.policy import Policy
from planner.policy.toml_section import DomainValue
from planner.schema import Schema
from planner.sensitivity.column_equalities import Equalities
from planner.sql.sql_types import Family
from planner.sql.trees import bound_column, copied, tables_of

_DECLARED = "the policy declares {n} values"
_OF_THE_TYPE = {Family.BOOL: "boolean has {n} values", Family.ENUM: "the column's enum has {n} labels"}


def group_domains(
    query: BoundQuery, schema: Schema, policy: Policy, equalities: Equalities
) -> tuple[tuple[GroupKey, ...], tuple[GroupDomain, ...]]:
    """The keys of a query, and their domains: several keys share one where the public knows them together.

    The groups are those of `SELECT DISTINCT keys` over the public tables of the query and the values that private
    columns may have, under every condition that reads nothing else: no others can appear. No private row counts.

    Raises: SensitivityUnbounded naming what to declare; UnsupportedSQL for a type that cannot be a key;
      StatementTooComplex for more groups than MAX_GROUPS, or than can be computed.
    """
    sources = KeySources(query, schema, policy, equalities)
    read = [_sources_of(key, sources) for key in query.keys]
    blocks = GroupBlocks(sources)
    for found in read:
        if found:
            blocks.add([source for source, _ in found.values()])
    blocks.close()
    members: dict[int, list[int]] = {}  # per block, or key without one: the places of its keys
    for place, found in enumerate(read):
        block = blocks.of(source for source, _ in found.values()) if found else None
        members.setdefault(-place - 1 if block is None else id(block), []).append(place)
    domains = []
    for places in members.values():
        found = read[places[0]]
        if not found:
            domains.append(_known(places[0], query.keys[places[0]], sources))
        else:
            block = blocks.of(source for source, _ in found.values())
            domains.append(_computed(block, [(place, query.keys[place], read[place]) for place in places], sources))
    check_size(domains)
    return tuple(_group_key(key, found, sources) for key, found in zip(query.keys, read, strict=True)), tuple(domains)


def _group_key(key: BoundKey, found: ColumnSources, sources: KeySources) -> GroupKey:
    """The key's own SQL; where the policy has a group for all other values, they become it."""
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
    """The declared group of all other values, of a key that is a private column."""
    if not isinstance(key.value, exp.Column) or sources.rows(key.value.table) is not None:
        return None
    return sources.declared(key.columns[0]).other


def _sources_of(key: BoundKey, sources: KeySources) -> ColumnSources:
    """What a key's columns are read from in a domain's statement; nothing where the values must be known here."""
    if key.result is None:
        hint = "group by a whole number, text, a date, an enum or a boolean"
        raise UnsupportedSQL(f"GROUP BY a key of type {key.type.shown}", hint=hint, position=key.position)
    if _other(key, sources) is not None or (key.values is not None and tells_apart_beyond(key, sources)):
        return {}
    meant = {}
    for column in key.columns:
        found = sources.find(column)
        if found is None:
            return {}
        meant[column] = found
    bases = {source_id(source): source.base.size for source, _ in meant.values() if isinstance(source, ColumnValues)}
    size = math.prod(bases.values())
    if size <= MAX_BASE:
        return meant
    if key.values is None:
        hint = "narrow the columns by WHERE, or ask the custodian for narrower ranges"
        message = f"a group key over {size:,} values of its columns; {MAX_BASE:,} are the most"
        raise StatementTooComplex(message, hint=hint, position=key.position)
    return {}


def _known(place: int, key: BoundKey, sources: KeySources) -> GroupDomain:
    """Values that follow from the policy or from the expression alone."""
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
        check_shared(key, sources)
        found = discovered_domain(place, key, sources)
        if found is None:
            raise _no_domain(key, sources)
        return found
    private = [column for column in key.columns if sources.rows(column[0]) is None]
    null = any(sources.declared(column).null_group and sources.may_be_null(column) for column in private)
    values = (*key.values, None) if null and None not in key.values else key.values
    return GroupDomain((place,), values, None, "the expression can have {n} values")


def _computed(block: Block, keys: Sequence[tuple[int, BoundKey, ColumnSources]], sources: KeySources) -> GroupDomain:
    """The values of one private column, or a statement over the sources of a block."""
    places = tuple(place for place, _, _ in keys)
    first = keys[0][1]
    if len(keys) == 1 and isinstance(first.value, exp.Column) and not block.conditions and len(block.sources) == 1:
        (source,) = block.sources.values()
        if isinstance(source, ColumnValues):
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
    """The key's canonical value over the sources."""
    columns = {column: other for column, (_, other) in meant.items()}
    return canonical_value(substituted(key.value, columns), key.type)


def _without_null(sql: exp.Expr, meant: ColumnSources, sources: KeySources) -> list[exp.Expr]:
    """A key is not NULL because a private column is, unless the policy grants that column its group."""
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
    """Raise StatementTooComplex where the groups that are known by now are too many for an answer of these columns.

    A domain that a statement enumerates is counted where it is read.
    """
    groups = math.prod(len(domain.values) for domain in domains if domain.values is not None)
    if groups > MAX_GROUPS:
        raise StatementTooComplex(f"more than {MAX_GROUPS} groups", hint="group by fewer or coarser keys")
    check_cells(groups, columns)


def _no_domain(key: BoundKey, sources: KeySources) -> SensitivityUnbounded:
    names = " and ".join(map(sources.name, key.columns)) or "this expression"
    if any(map(sources.is_per_person, key.columns)):
        message = f"nothing public says which values the group key {names} has, or they are too many"
        hint = "narrow it in WHERE, as in n <= 20, or GROUP BY LEAST(n, 20) or CASE WHEN ... THEN 'label' END"
        if any(sources.type_of(column).is_moment for column in key.columns):
            hint = "narrow its days by WHERE or HAVING; or ask the custodian for the range of the column behind it"
        return SensitivityUnbounded(message, hint=hint, position=key.position)
    if isinstance(key.value, exp.Column):
        message = f"nothing public says which values the group key {names} has"
        hint = f"ask the custodian to declare `domain = [...]`, or a range with a step, for {names}; "
        hint += "or `discover = true`, which takes a delta; or list its values in WHERE, or join a public table"
    else:
        message = f"nothing public says which values a group key computed from {names} has"
        hint = (
            f"ask the custodian to declare a `domain` or a narrow `range` for {names}, narrow it by WHERE, "
            "or group by CASE WHEN ... THEN 'label' END"
        )
        dated = any(sources.type_of(column).is_moment for column in key.columns)
        if not (dated or key.type.is_number or key.type.is_moment):
            hint = f"group by {names} itself, if its values are declared, or by CASE WHEN ... THEN 'label' END"
    return SensitivityUnbounded(message, hint=hint, position=key.position)
