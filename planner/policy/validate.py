"""Compare a policy with a catalog.

`validate` finds contradictions, all at once. `advice` finds settings that are sound but probably unintended: a delta
that no account has, or a draft without decisions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from planner.errors import PolicyInvalid, did_you_mean
from planner.policy.declared import declared_domain, with_declared_keys
from planner.policy.draft import Estimates, draft
from planner.policy.ownership import Ownership, row_key
from planner.policy.policy import ROWS, ROWS_PER, ColumnPolicy, DeclaredForeignKey, Policy, TablePolicy, parse_policy
from planner.policy.sections import AppendOnly
from planner.policy.toml_section import section_of
from planner.schema import ForeignKey, Schema, Table
from planner.sql.datetimes import ambiguous, moment_type, shows_time
from planner.sql.result_types import allows_partition_selection, result_type
from planner.sql.sql_types import READ_IN_PART, Family, SqlType, canonical_cast, sql_type

_MAX_DOMAIN = 10_000
_MAX_ABS = 1e100


def validate(policy: Policy, schema: Schema) -> None:
    """Check that the policy fits this catalog and leaves no ownership open.

    Raises: PolicyInvalid listing every problem, one per line.
    Cost: linear in the policy, and in ownership paths.
    """
    schema = with_declared_keys(schema, policy)
    problems = [*_units(policy, schema), *_tables(policy, schema)]
    for declared in policy.foreign_keys:
        problems += _foreign_key(declared, policy, schema)
    if not problems:  # the ownership graph exists only once every name does
        problems += _ownership(policy, schema)
    if problems:
        raise PolicyInvalid("\n".join(["the policy does not fit the database:", *(f"- {text}" for text in problems)]))


def _meant(name: str, names: Iterable[str]) -> str:
    hint = did_you_mean(name, names)
    return "" if hint is None else f"; {hint}"


def _names(table: Table) -> Iterator[str]:
    return (column.name for column in table.columns)


def _missing(key: Sequence[str], table: Table) -> list[str]:
    """The problem with a key whose columns the table does not have."""
    missing = [column for column in key if table.column(column) is None]
    return [f"no column {', '.join(missing)}{_meant(missing[0], _names(table))}"] if missing else []


def _units(policy: Policy, schema: Schema) -> Iterator[str]:
    for name, key in policy.privacy_units.items():
        table = schema.tables.get(name)
        if table is None:
            yield f"privacy_units.{name}: no such table{_meant(name, schema.tables)}"
        else:
            for problem in _missing(key, table) or _unit_key(table, key, policy):
                yield f"privacy_units.{name}: {problem}"
        if name not in policy.tables:
            yield f"privacy_units.{name}: the table needs a section {section_of(name, policy.schemas)}"
    for name in policy.groups_per_unit:
        if name not in policy.privacy_units:
            yield f"groups_per_unit.{name}: is not a privacy unit{_meant(name, policy.privacy_units)}"


def _unit_key(table: Table, key: tuple[str, ...], policy: Policy) -> Iterator[str]:
    for column in table.columns:
        if column.name in key and column.nullable:
            yield f"{column.name} may be NULL; declare it NOT NULL in the database"
        if column.name in key and canonical_cast(sql_type(column.type)) is None:
            yield f"{column.name} is of type {column.type}; a key must be a whole number, text or uuid"
    if not any(set(unique) == set(key) for unique in table.keys):
        alone = f"{key[0]} alone" if len(key) == 1 else f"({', '.join(key)})"
        yield f"{alone} is not an enforced primary or unique key; {_declare(table.name, key, policy)}"


def _declare(table: str, key: tuple[str, ...], policy: Policy) -> str:
    """How to declare a key that no constraint enforces."""
    written = json.dumps([*key] if len(key) == 1 else [[*key]], ensure_ascii=False)
    return f"if the rows keep it, declare `keys = {written}` in {section_of(table, policy.schemas)}"


def _tables(policy: Policy, schema: Schema) -> Iterator[str]:
    for name, declared in policy.tables.items():
        table = schema.tables.get(name)
        if table is None:
            yield f"tables.{name}: no such table, or the proxy's role may not read it{_meant(name, schema.tables)}"
            continue
        if name in schema.views and not declared.public:
            advice = "remove the section, and it is queried through its tables; or set public = true if it is public"
            yield f"tables.{name}: a {schema.views[name].kind} has no keys that lead to an owner; {advice}"
            continue
        for relation in declared.rows_per_unit:
            if relation not in policy.privacy_units:
                meant = _meant(relation, policy.privacy_units)
                yield f"tables.{name}.rows_per_unit.{relation}: is not a privacy unit{meant}"
        for key in declared.keys:
            for one in table.columns:
                if one.name in key and one.type in READ_IN_PART:
                    yield f"tables.{name}.keys: two values of {one.name}, of type {one.type}, may be read as one"
            yield from (f"tables.{name}.keys: {problem}" for problem in _missing(key, table))
        for key in declared.one_owner:
            yield from (f"tables.{name}.one_owner: {problem}" for problem in _missing(key, table))
        if declared.accepted_null_owners is not None and (declared.public or declared.rows_are_units):
            yield f"tables.{name}.accepted_null_owners: every row of this table has an owner or is public"
        if declared.rows_are_units and (declared.public or name in policy.privacy_units):
            yield f"tables.{name}: rows_are_units needs a private table that is not a privacy unit"
        if declared.rows_are_units and row_key(table) is None:
            yield f"tables.{name}: rows_are_units needs an enforced key of whole numbers or texts without NULL"
        if declared.append_only is not None:
            yield from _append_only(declared.append_only, table, public=declared.public)
        yield from _amounts(declared, table)
        for column, settings in declared.columns.items():
            found = table.column(column)
            if found is None:
                yield f"tables.{name}.columns.{column}: no such column{_meant(column, _names(table))}"
            else:
                kind = sql_type(found.type)
                problems = [*_format(kind, found.type, settings, public=declared.public)]
                if settings.forms:
                    kind = sql_type(moment_type(settings.forms))
                problems += _column(kind, found.type, settings)
                if settings.discover and declared.public:
                    problems.append("a public column needs no `discover`")
                yield from (f"tables.{name}.columns.{column}: {problem}" for problem in problems)


def _append_only(promise: AppendOnly, table: Table, *, public: bool) -> Iterator[str]:
    where, found = f"tables.{table.name}.append_only", table.column(promise.column)
    if public:
        yield f"{where}: needs a private table; public tables are compared as a whole"
    if found is None:
        yield f"{where}: no column {promise.column}{_meant(promise.column, _names(table))}"
    elif not sql_type(found.type).is_moment:
        yield f"{where}: {promise.column} is of type {found.type}; use a date or a timestamp"


def _amounts(declared: TablePolicy, table: Table) -> Iterator[str]:
    """`clip` and `at_most` name columns that can be summed, in tables with owners."""
    for setting, amounts in (("clip", declared.clip), ("at_most", declared.at_most)):
        where = f"tables.{table.name}.{setting}"
        if amounts and declared.public:
            yield f"{where}: needs a private table; rows of this one have no owner"
        for name in amounts:
            found = table.column(name)
            if name in ROWS_PER and declared.append_only is None:
                yield f"{where}: {name} needs append_only, which names the column of a row's time"
            if name == ROWS or name in ROWS_PER:
                continue
            if found is None:
                yield f"{where}: no column {name}{_meant(name, (ROWS, *ROWS_PER, *_names(table)))}"
            elif not sql_type(found.type).is_number:
                yield f"{where}: {name} is of type {found.type}; use `rows` or a column of numbers"


def _column(kind: SqlType, written: str, settings: ColumnPolicy) -> Iterator[str]:
    yield from _range(kind, written, settings)
    yield from _step(kind, written, settings)
    if settings.domain is not None:
        if result_type(kind) is None:
            yield f"a column of type {written} cannot be a group key"
        elif not all(_fits(value, kind) for value in settings.domain):
            yield f"a value of the domain is not of type {written}"
        elif kind.labels and not set(settings.domain) <= set(kind.labels):
            yield f"a value of the domain is not a label of {written}"
        if not settings.domain or len(set(settings.domain)) < len(settings.domain):
            yield "the domain is empty or names a value twice"
        if len(settings.domain) > _MAX_DOMAIN:
            yield f"the domain has more than {_MAX_DOMAIN} values"
    if settings.other is not None:
        if declared_domain(settings, kind) is None:
            yield "`other` needs a domain, or a range with a step"
        if settings.null_group:
            yield "`other` includes NULL, so null_group has no meaning beside it"
        if not _fits(settings.other, kind):
            yield f"`other` is not of type {written}"
    if settings.discover and not allows_partition_selection(kind):
        yield f"`discover` supports numbers but doubles, text, dates and times, not {written}"
    if settings.discover and declared_domain(settings, kind) is not None:
        yield "its values are declared, so `discover` has no meaning"


def _format(kind: SqlType, written: str, settings: ColumnPolicy, *, public: bool) -> Iterator[str]:
    if not settings.forms:
        return
    for form, other in combinations(settings.forms, 2):
        if ambiguous(form, other):
            yield f"a text may state two dates: one as {form} and another as {other}"
    if len(set(map(shows_time, settings.forms))) > 1:
        yield "all forms of `format` need a time of day, or none"
    if not kind.is_string:
        yield f"`format` needs a column of texts, not {written}"
    if public:
        yield "`format` needs a private table; over public ones write to_date(x, 'YYYY-MM-DD')"
    if settings.domain is not None or settings.other is not None or settings.discover:
        yield "a column with a format takes a range of days, and no domain, `other` or `discover`"


def _range(kind: SqlType, written: str, settings: ColumnPolicy) -> Iterator[str]:
    if settings.dates is not None:
        if not kind.is_moment:
            yield f"a range of days needs a date or a timestamp, not {written}"
        if settings.dates[0] > settings.dates[1]:
            yield f"the range [{settings.dates[0]}, {settings.dates[1]}] is empty"
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


def _step(kind: SqlType, written: str, settings: ColumnPolicy) -> Iterator[str]:
    if settings.step is None:
        return
    if isinstance(settings.step, str) and settings.dates is None:
        yield "a step of days, weeks, months, quarters or years needs a range of two dates"
    if isinstance(settings.step, int) and (settings.range is None or kind.family is not Family.INTEGER):
        yield "a step that is a number needs a whole-number column with a range"
    if settings.domain is not None:
        yield "a domain of values cannot have a step"


def _fits(value: object, kind: SqlType) -> bool:
    if kind.family is Family.BOOL:
        return isinstance(value, bool)
    if kind.family is Family.INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind.family is Family.NUMERIC:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str)


def _foreign_key(declared: DeclaredForeignKey, policy: Policy, schema: Schema) -> Iterator[str]:
    where = f"foreign_keys ({declared.table} to {declared.references})"
    child, parent = schema.tables.get(declared.table), schema.tables.get(declared.references)
    if child is not None and not declared.owning and _leads_out(declared, child, schema):
        return
    if child is None or parent is None:
        name = declared.table if child is None else declared.references
        yield f"{where}: no such table{_meant(name, schema.tables)}"
        return
    missing = [name for name in declared.columns if child.column(name) is None]
    missing += [name for name in declared.key if parent.column(name) is None]
    if missing:
        yield f"{where}: no column {', '.join(missing)}{_meant(missing[0], (*_names(child), *_names(parent)))}"
        return
    if declared.owning and set(declared.key) not in [set(key) for key in parent.keys]:
        advice = _declare(parent.name, declared.key, policy)
        yield f"{where}: ({', '.join(declared.key)}) is not an enforced primary or unique key; {advice}"
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
    cycles = ownership.cycles()
    for name in cycles:
        circle = [key for key in ownership.owning_keys(name) if key.references in cycles]
        keys = " and ".join(f"({', '.join(key.columns)}) to {key.references}" for key in circle)
        advice = "declare the foreign key {} with owning = false, or with the depth of its longest chain"
        yield f"tables.{name}: its rows would own one another in a circle; {advice.format(keys)}"
    for name, declared in policy.tables.items():
        if declared.public and ownership.is_owned(name):
            yield f"tables.{name}: cannot be public, because its rows belong to a privacy unit"
        if declared.one_owner and ownership.only_key(name) is None:
            yield f"tables.{name}.one_owner: needs rows that one foreign key leads to their owner"
        if not declared.public and not ownership.is_owned(name):
            yield f"tables.{name}: private, but no owning foreign key leads to a privacy unit; declare one, or public"
    for name in schema.tables:
        for key in ownership.owning_keys(name):
            parent = schema.tables[key.references]
            if all(parent.column(column) for column in key.key) and not _finds_one(parent, key.key):
                above = f"{key.references} ({', '.join(key.key)})"
                advice = f"{_declare(key.references, key.key, policy)}, or the foreign key with owning = false"
                yield f"tables.{name}: {above} is not an enforced primary or unique key of the whole table; {advice}"
            for column, above in zip(key.columns, key.key, strict=True):
                families = _family(schema.tables[name], column), _family(schema.tables[key.references], above)
                if None in families:
                    yield f"tables.{name}: the proxy's role may not read {column} or {key.references}.{above}"
                elif families[0] is not families[1] or families[0] in (Family.ENUM, Family.OTHER):
                    yield f"tables.{name}: {column} and {key.references}.{above} are not of one comparable type"


def _finds_one(parent: Table, key: tuple[str, ...]) -> bool:
    """Does a key of the parent find at most one row? A key that only a partition has does not."""
    return any(set(unique) <= set(key) for unique in parent.keys)


def _leads_out(declared: DeclaredForeignKey, child: Table, schema: Schema) -> bool:
    """Is it a foreign key of the catalog to a table that the proxy does not see?"""
    hidden = [key for key in child.foreign_keys if key.references not in schema.tables]
    return any((key.columns, key.references) == (declared.columns, declared.references) for key in hidden)


def _settled(key: ForeignKey, table: str, policy: Policy) -> bool:
    return any(
        (declared.table, declared.columns, declared.references) == (table, key.columns, key.references)
        and not declared.owning
        for declared in policy.foreign_keys
    )


def _family(table: Table, name: str) -> Family | None:
    """The column's family; None if the proxy's role may not read the column."""
    column = table.column(name)
    return sql_type(column.type).family if column is not None else None


_SHOWN = 3

_DRAFT = (
    "this is the undecided draft: every table with a key is a privacy unit, and nothing may be summed or grouped by; "
    "decide what its comments ask"
)


def advice(policy: Policy, schema: Schema) -> Iterator[tuple[str, str]]:
    """Each setting to reconsider, and why. None is an error: every answer is protected as it stands.

    >>> from planner.schema import Column, Table
    >>> people = Schema({"person": Table("person", "public", (Column("id", "bigint", False),), (("id",),), ())})
    >>> [setting for setting, _ in advice(parse_policy(draft(people, "clinic")), people)]
    ['policy']
    """
    if is_draft(policy, schema):
        yield "policy", _DRAFT
    yield from _declared_views(policy, schema)
    columns = partition_selected_columns(policy)
    if columns and not policy.delta:
        costs = "allow partition selection, which needs a delta, and no query may spend one"
        yield "privacy.delta", f"{_some(columns)} {costs}"
    if policy.delta:
        yield from _budgets(policy, columns)


def _declared_views(policy: Policy, schema: Schema) -> Iterator[tuple[str, str]]:
    """Public views that read private tables."""
    for name in sorted(policy.tables.keys() & schema.views.keys()):
        private = sorted(table for table in _read_by(name, schema) if not policy.is_public(table))
        if private:
            yield (
                f"tables.{name}",
                f"it reads {_some(tuple(private))}, and its answers are exact, free and unprotected",
            )


def _read_by(name: str, schema: Schema) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        view = schema.views.get(waiting.pop())
        more = set(view.reads) - found if view is not None else set()
        found |= more
        waiting += more
    return {table for table in found if table not in schema.views}


def is_draft(policy: Policy, schema: Schema) -> bool:
    """Is it what `draft` writes for this catalog, whatever the database's address?"""
    left_out = {name: 0.0 for name in schema.tables if name not in policy.tables}  # as lookup tables are
    try:
        drafted = parse_policy(draft(schema, policy.name, Estimates(left_out)))
    except PolicyInvalid:  # a catalog without a key gives a draft without a unit
        return False
    return replace(drafted, database_url=policy.database_url) == policy


def partition_selected_columns(policy: Policy) -> tuple[str, ...]:
    """The columns whose values may be found among private rows."""
    if policy.discover:
        return ("columns without a domain",)
    return tuple(
        f"{table}.{column}"
        for table, declared in policy.tables.items()
        for column, settings in declared.columns.items()
        if settings.discover
    )


def delta_uses(columns: tuple[str, ...]) -> str:
    """Which questions use the policy's delta; `columns` are those of partition selection."""
    found = f"those that group by {_some(columns)}, and " if columns else ""
    return f"{found}by default those with one person in several groups"


def _budgets(policy: Policy, columns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Default budgets with less delta than one query may need."""
    for name, budget in (("analyst", policy.budgets.analyst), ("dataset", policy.budgets.dataset)):
        if budget is not None and budget.delta < policy.delta:
            less = f"{budget.delta:g} is less than the delta of one query, {policy.delta:g}"
            refused = f"questions that need it will be refused, {delta_uses(columns)}"
            yield f"budgets.{name}.delta", f"{less}: {refused}"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
