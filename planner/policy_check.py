"""A policy against a catalog: every contradiction at once, for the custodian."""

from __future__ import annotations

from collections.abc import Iterator

from planner.errors import PolicyInvalid
from planner.ownership import Ownership
from planner.policy import ColumnPolicy, DeclaredForeignKey, Policy
from planner.schema import ForeignKey, Schema, Table
from planner.sql_types import Family, SqlType, canonical_cast, result_type, sql_type

_MAX_DOMAIN = 10_000
_MAX_ABS = 1e100


def validate(policy: Policy, schema: Schema) -> None:
    """Check that the policy means something for this catalog and leaves nothing about ownership open.

    Raises: PolicyInvalid listing every problem, one per line.
    Cost: linear in the policy, and in ownership paths.
    """
    problems = [*_units(policy, schema), *_tables(policy, schema)]
    for declared in policy.foreign_keys:
        problems += _foreign_key(declared, schema)
    if not problems:  # the ownership graph exists only once every name does
        problems += _ownership(policy, schema)
    if problems:
        raise PolicyInvalid("\n".join(["the policy does not fit the database:", *(f"- {text}" for text in problems)]))


def _units(policy: Policy, schema: Schema) -> Iterator[str]:
    for name, key in policy.privacy_units.items():
        table = schema.tables.get(name)
        column = table.column(key) if table else None
        if table is None:
            yield f"privacy_units.{name}: no such table"
        elif column is None:
            yield f"privacy_units.{name}: no column {key}"
        else:
            if column.nullable:
                yield f"privacy_units.{name}: {key} may be NULL; declare it NOT NULL in the database"
            if (key,) not in table.unique_keys:
                yield f"privacy_units.{name}: {key} alone is no enforced primary or unique key"
            if canonical_cast(sql_type(column.type)) is None:
                yield f"privacy_units.{name}: {key} is of type {column.type}; a key is a whole number, text or uuid"
        if name not in policy.tables:
            yield f"privacy_units.{name}: the table has no [tables.{name}]"


def _tables(policy: Policy, schema: Schema) -> Iterator[str]:
    for name, declared in policy.tables.items():
        table = schema.tables.get(name)
        if table is None:
            yield f"tables.{name}: no such table, or the proxy's role may not read it"
            continue
        for column, settings in declared.columns.items():
            found = table.column(column)
            if found is None:
                yield f"tables.{name}.columns.{column}: no such column"
            else:
                for problem in _column(sql_type(found.type), found.type, settings):
                    yield f"tables.{name}.columns.{column}: {problem}"


def _column(kind: SqlType, written: str, settings: ColumnPolicy) -> Iterator[str]:
    if settings.range is not None:
        low, high = settings.range
        if not kind.is_number:
            yield f"a range needs a number, not {written}"
        if low > high:
            yield f"the range [{low:g}, {high:g}] is empty"
        if kind.family is Family.INTEGER and not (low.is_integer() and high.is_integer()):
            yield "the range of whole numbers must end in whole numbers"
        if max(abs(low), abs(high)) > _MAX_ABS or any(0 < abs(end) < 1 / _MAX_ABS for end in (low, high)):
            yield f"the range's ends must be 0, or between {1 / _MAX_ABS:g} and {_MAX_ABS:g} in size"
    if settings.domain is not None:
        if result_type(kind) is None:
            yield f"a column of type {written} cannot be a group key"
        elif not all(_fits(value, kind) for value in settings.domain):
            yield f"a value of the domain is not of type {written}"
        if not settings.domain or len(set(settings.domain)) < len(settings.domain):
            yield "the domain is empty or names a value twice"
        if len(settings.domain) > _MAX_DOMAIN:
            yield f"the domain has more than {_MAX_DOMAIN} values"


def _fits(value: object, kind: SqlType) -> bool:
    if kind.family is Family.BOOL:
        return isinstance(value, bool)
    if kind.family is Family.INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind.family is Family.NUMERIC:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str)


def _foreign_key(declared: DeclaredForeignKey, schema: Schema) -> Iterator[str]:
    where = f"foreign_keys ({declared.table} to {declared.references})"
    child, parent = schema.tables.get(declared.table), schema.tables.get(declared.references)
    if child is not None and not declared.owning and _leads_out(declared, child, schema):
        return
    if child is None or parent is None:
        yield f"{where}: no such table"
        return
    missing = [name for name in declared.columns if child.column(name) is None]
    missing += [name for name in declared.key if parent.column(name) is None]
    if missing:
        yield f"{where}: no column {', '.join(missing)}"
        return
    if declared.owning and set(declared.key) not in [set(key) for key in parent.unique_keys]:
        yield f"{where}: ({', '.join(declared.key)}) is no enforced primary or unique key"
    for name, above in zip(declared.columns, declared.key, strict=True):
        if _family(child, name) is not _family(parent, above):
            yield f"{where}: {name} and {above} are of different types"


def _ownership(policy: Policy, schema: Schema) -> Iterator[str]:
    for table in schema.tables.values():
        for key in table.foreign_keys:
            hidden = key.references not in schema.tables and table.name in policy.tables
            if hidden and not _settled(key, table.name, policy):
                advice = "let it, or declare the foreign key with owning = false"
                yield f"tables.{table.name}: references {key.references}, which the proxy cannot read; {advice}"
    ownership = Ownership(schema, policy)
    for name in ownership.cycles():
        advice = "declare one of its foreign keys with owning = false"
        yield f"tables.{name}: its rows would own one another in a circle; {advice}"
    for name, declared in policy.tables.items():
        if declared.public and ownership.is_owned(name):
            yield f"tables.{name}: cannot be public, because its rows belong to a privacy unit"
        if not declared.public and not ownership.is_owned(name):
            yield f"tables.{name}: private, but no owning foreign key leads to a privacy unit; declare one, or public"
    for name in schema.tables:
        for key in ownership.owning_keys(name):
            for column, above in zip(key.columns, key.key, strict=True):
                families = _family(schema.tables[name], column), _family(schema.tables[key.references], above)
                if None in families:
                    yield f"tables.{name}: the proxy's role may not read {column} or {key.references}.{above}"
                elif families[0] is not families[1] or families[0] is Family.OTHER:
                    yield f"tables.{name}: {column} and {key.references}.{above} are not of one comparable type"


def _leads_out(declared: DeclaredForeignKey, child: Table, schema: Schema) -> bool:
    """Is it a foreign key of the catalog to a table that the proxy does not see?"""
    hidden = [key for key in child.foreign_keys if key.references not in schema.tables]
    return any((key.columns, key.references) == (declared.columns, declared.references) for key in hidden)


def _settled(key: ForeignKey, table: str, policy: Policy) -> bool:
    """Does the policy say that this foreign key does not own?"""
    return any(
        (declared.table, declared.columns, declared.references) == (table, key.columns, key.references)
        and not declared.owning
        for declared in policy.foreign_keys
    )


def _family(table: Table, name: str) -> Family | None:
    """The column's family; None where the proxy's role may not read the column."""
    column = table.column(name)
    return sql_type(column.type).family if column is not None else None
