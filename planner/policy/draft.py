"""A first policy from structure alone: everything is private, and comments ask for every decision."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from planner.policy.ownership import row_key
from planner.policy.policy import ANSWER_QUANTUM_S, DEFAULT_MIN_EPSILON, DeclaredForeignKey
from planner.policy.toml_section import toml_key
from planner.schema import PUBLIC, Column, Schema, Table, name_parts
from planner.sql.sql_types import Family, canonical_cast, sql_type

MIGRATION_TABLES = frozenset(
    (
        "alembic_version", "ar_internal_metadata", "databasechangelog", "databasechangeloglock", "django_migrations",
        "doctrine_migration_versions", "flyway_schema_history", "__efmigrationshistory", "goose_db_version",
        "knex_migrations", "knex_migrations_lock", "migrations", "pgmigrations", "phinxlog", "_prisma_migrations",
        "schema_migrations", "schema_version", "sequelizemeta",
    )
)  # fmt: skip
"""Names of the tables in which migration tools record their work, in lower case."""

LOOKED = "looked at the data: decide whether that may be public"
"""Stands beside every proposal that comes from statistics of the rows."""

_LEFT_OUT = "# In the database and left out:"

_TOOLS = "a migration tool records its work in it"

_NO_KEY = (
    "no key and no foreign key, so its rows can have no owner; write a [[foreign_keys]] that leads to a person, or a "
    "section if it is public"
)

_UNPROVEN = (
    "# The database does not enforce this key over every row: `noisegate policy check` counts rows without a parent."
)

_FEW_ROWS = 10_000
_DATED = re.compile(r"date|birth|born|(?:^|_)(?:day|dob|dt|on|at|time|timestamp)(?:$|_)", re.IGNORECASE)
_BIRTH = re.compile(r"birth|born|(?:^|_)dob(?:$|_)", re.IGNORECASE)

_HEAD = f"""
[database]
url = "env:NOISEGATE_DATABASE_URL"   # a reference, env:NAME or file:PATH; never a password
# seconds = 60         # how long one question may run in the database
# memory_mb = 64       # for each sort and hash table of PostgreSQL (work_mem); files: 4096 for a question

[ledger]
path = "ledger.sqlite"

[privacy]
epsilon = 0.5        # default charge of a query
max_epsilon = 2.0    # the most that one query may ask for
delta = 1e-8         # the most delta of one query: less noise where people are in several groups
# discover = true      # group keys that no policy names are found: shown if enough people share them; needs the delta
# minimum_frequency = 10    # withhold groups whose noisy number of privacy units is smaller; costs a share
# Failures and durations, which no epsilon covers; the defaults are safe:
# min_epsilon = {DEFAULT_MIN_EPSILON:g}         # the least that one query may ask for; some joins cost more
# unbounded_joins = true      # private tables may meet by other conditions than keys, which costs more
# answer_quantum = {ANSWER_QUANTUM_S:.1f}        # seconds: joins that may explode leave at 8 times it
# hold_all_answers = true     # all other answers from private tables wait, too
# max_join_tuples = 1000000   # refuse joins that may have more tuples by fan-outs and the `rows` of tables

# Default budgets, for all analysts together and for each new analyst; each answer takes from both.
[budgets.dataset]
epsilon = 50
delta = 1e-5
[budgets.analyst]
epsilon = 10
delta = 1e-6
"""

_FOREIGN_KEYS = """\
# Foreign keys: the owner of the referenced row also owns the referencing row. If that is wrong (a doctor
# signs a visit, but does not own it), declare the key with owning = false. A reference back to the table itself, or
# to rows that it owns, needs that, or `depth = 1` for chains of one step; deeper rows are left out of every answer.
# A fan-out, the most rows that can ever share one value, makes samples cheaper. Without one nothing is
# assumed, and answers that read all rows lose nothing. If a declared fan-out is false, samples protect
# less than they are charged for; EXPLAIN shows how much less at most."""


@dataclass(frozen=True)
class Estimates:
    """What the database's statistics say of the rows. They are about the data, so only the administrator sees them.

    Attributes:
      rows: the approximate number of rows by table; a missing table is unknown.
      columns: per table and column, a setting as a policy has it, for example `range = [0, 200]`.
      today: the last day that a date is likely to have.
    """

    rows: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[tuple[str, str], str] = field(default_factory=dict)
    today: date = date(2029, 12, 31)


def draft(
    schema: Schema,
    name: str,
    estimates: Estimates = Estimates(),
    units: Mapping[str, tuple[str, ...]] | None = None,
    left_out: Iterable[tuple[str, str]] = (),
) -> str:
    """Write a policy that parses, protects every table, and asks what only the administrator knows.

    Args:
      schema: the catalog; no value of any row enters.
      name: of the dataset.
      estimates: statistics that the administrator allows: which tables look like lookup tables, and proposals of
        ranges and domains, each in a comment.
      units: the relations that hold people, with their keys; None: every possible relation is named.
      left_out: other contents of the database, each with the reason why no answer can be about it; named in comments.
    Returns: TOML. It passes `planner.policy.validate.validate` once its questions are answered. With `units` it
      passes at once if nothing else has to be decided.
    """
    tables = sorted(with_likely_keys(schema).tables.values(), key=lambda table: table.name)
    tools = [(table.name, _TOOLS) for table in tables if _is_tools(table)]
    known = [table for table in tables if not _is_tools(table)]
    suggested = suggested_keys(Schema({table.name: table for table in known}, version=schema.version))
    assumed = _assumed_keys(known, suggested, of_any_width=bool(schema.version))
    lookups = _lookups(known, suggested, estimates.rows)
    chosen = _candidates(known, lookups) if units is None else units
    owned = _reached(known, suggested, chosen)
    drafted = [table for table in known if table.keys or table.foreign_keys or table.name in owned]
    others = [(table.name, _NO_KEY) for table in known if table not in drafted]
    lines = [
        f"name = {_text(name)}",
        *_search_path(schema),
        _HEAD,
        *_units(chosen, lookups, units is not None),
        "",
        *_references(known, suggested, assumed, owned, {} if units is None else chosen),
    ]
    person = next(iter(chosen.items()), ("TABLE", ("COLUMN",)))
    for table in drafted:
        lines += ["", *_table(table, table.name in owned, lookups.get(table.name), estimates, person)]
    omitted = dict(left_out)
    lines += _views(schema, omitted)
    lines += _omissions([*omitted.items(), *tools, *others])
    return "\n".join(lines) + "\n"


def _views(schema: Schema, omitted: Container[str]) -> list[str]:
    """Views need no section; those with rows of their own must be declared public."""
    views = [(name, view.kind) for name, view in sorted(schema.views.items()) if name not in omitted]
    plain = [toml_key(name) for name, kind in views if kind == "view"]
    lines = [] if not plain else [
        "",
        f"# Views need no section: {', '.join(plain)}.",
        "# Views that only select, filter and join are queried through their tables; those that group, by rows.",
        "# `policy check` lists those that cannot be queried, and why. If no row of such a view says anything",
        "# about a person, add [tables.NAME] with public = true.",
    ]  # fmt: skip
    for name, kind in views:
        if kind != "view":
            lines += ["", f"# [tables.{toml_key(name)}]    # a {kind}"]
            lines.append("# public = true    # only if no row of it says anything about a person")
    return lines


def extent(text: str) -> tuple[int, int]:
    """How many tables a draft has, and how many tables, views and schemas it leaves out."""
    return len(tomllib.loads(text).get("tables", {})), text.partition(_LEFT_OUT)[2].count("\n#   ")


def _omissions(left_out: Sequence[tuple[str, str]]) -> list[str]:
    if not left_out:
        return []
    return [
        "",
        _LEFT_OUT,
        *(f"#   {toml_key(name)}: {why}" for name, why in sorted(left_out)),
    ]


def _search_path(schema: Schema) -> list[str]:
    """The search path if tables are in other schemas; `public` comes first, for the names below without a schema."""
    found = {name_parts(name)[0] for name in schema.tables}
    if found <= {PUBLIC}:
        return []
    shown = json.dumps(sorted(found, key=lambda name: (name != PUBLIC, name)), ensure_ascii=False)
    return [
        f"schemas = {shown}   # where tables that analysts name without their schema are looked for, in order;",
        "# below, a name without a schema means a table of the first of them",
    ]


def _units(chosen: Mapping[str, tuple[str, ...]], lookups: Mapping[str, str], decided: bool) -> list[str]:
    """The relations of people: too many units cost accuracy, a missing one costs a person's protection."""
    lines = ["[privacy_units]"] if decided else [
        "# DECIDE who is protected: keep the relations with one row per person, and remove the others",
        "# (a table of wards or codes has no people; remove it here before you declare it public below).",
        "[privacy_units]",
    ]  # fmt: skip
    lines += [
        f"{toml_key(name)} = {_text(key[0]) if len(key) == 1 else json.dumps([*key])}" for name, key in chosen.items()
    ]
    named = ", ".join(_said(name) for name in lookups if name not in chosen)
    return [*lines, f"# Probably not people: {named}; see below"] if named else lines


def _candidates(tables: Sequence[Table], lookups: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Every relation that could hold people."""
    keys = {table.name: row_key(table) for table in tables if table.name not in lookups}
    return {name: key for name, key in keys.items() if key is not None and len(key) == 1}


def _parents(tables: Sequence[Table], suggested: Sequence[DeclaredForeignKey]) -> dict[str, set[str]]:
    references = {table.name: {key.references for key in table.foreign_keys} for table in tables}
    for key in suggested:
        references[key.table].add(key.references)
    return references


def _lookups(
    tables: Sequence[Table], suggested: Sequence[DeclaredForeignKey], rows: Mapping[str, float]
) -> dict[str, str]:
    """Tables that look like lists of codes, and why.

    Other tables reference them, they reference only such tables, they are small, and they hold no dates and no uuids.
    A table of people can look the same, so nothing is declared public by it.
    """
    references = _parents(tables, suggested)
    found: dict[str, str] = {}
    while True:
        more = {
            table.name: f"about {rows[table.name]:,.0f} rows, referenced by {_some(using)}"
            for table in tables
            if table.name not in found
            and 0 <= rows.get(table.name, math.inf) <= _FEW_ROWS
            and not any(sql_type(column.type).is_moment for column in table.columns)
            and not any(column.type == "uuid" for column in table.columns)
            and references[table.name] <= {*found, table.name}
            and (using := [name for name, used in references.items() if table.name in used and name != table.name])
        }
        if not more:
            return dict(sorted(found.items()))
        found |= more


def _reached(
    tables: Sequence[Table], suggested: Sequence[DeclaredForeignKey], units: Mapping[str, tuple[str, ...]]
) -> set[str]:
    """The tables whose rows belong to a unit along some foreign key."""
    references = _parents(tables, suggested)
    owned = set(units)
    while more := {name for name, parents in references.items() if parents & owned} - owned:
        owned |= more
    return owned


def with_likely_keys(schema: Schema) -> Schema:
    """The schema of files with the keys that names suggest, `visit.id` or `visit.visit_id`.

    They are declared keys, so no question is answered before the rows have been counted, which finds a wrong guess.
    Key columns are taken to have no NULL: rows with a NULL key have no owner.
    """
    if not schema.version:
        return schema
    return replace(schema, tables={name: _with_likely_key(table) for name, table in schema.tables.items()})


def _assumed_keys(
    tables: Sequence[Table], suggested: Sequence[DeclaredForeignKey], *, of_any_width: bool
) -> list[DeclaredForeignKey]:
    """References to tables whose likely key no constraint makes unique alone, as in many partitioned tables."""
    taken = {(key.table, *key.columns) for key in suggested}
    taken |= {(table.name, name) for table in tables for key in table.foreign_keys for name in key.columns}
    parents = [(table, _likely_key(table)) for table in tables if not any(len(key) == 1 for key in table.keys)]
    return [
        DeclaredForeignKey(table.name, (column.name,), parent.name, (key.name,))
        for parent, key in parents
        for table in tables
        for column in (() if key is None or table is parent else table.columns)
        if (table.name, column.name) not in taken
        if key is not None and _refers(column, parent, key, of_any_width=of_any_width)
    ]


def _likely_key(table: Table) -> Column | None:
    there = {column.name.lower(): column for column in table.columns if canonical_cast(sql_type(column.type))}
    return next((there[word] for word in ("id", *_own_keys(table)) if word in there), None)


def _own_keys(table: Table) -> list[str]:
    """Names of a key that name its table: `visit_id` of `visit`."""
    return [f"{name}{joint}{end}" for end in ("id", "key") for name in _called(table) for joint in ("_", "")]


def _with_likely_key(table: Table) -> Table:
    found = None if table.unique_keys else _likely_key(table)
    if found is None:
        return table
    columns = tuple(replace(one, nullable=False) if one is found else one for one in table.columns)
    return replace(table, columns=columns, declared_keys=((found.name,),))


def likely_people(schema: Schema) -> dict[str, tuple[str, ...]]:
    """Relations that could hold people, with their keys; first those through which the most tables would be owned."""
    tables = [table for table in with_likely_keys(schema).tables.values() if not _is_tools(table)]
    suggested = suggested_keys(Schema({table.name: table for table in tables}, version=schema.version))
    keys = {table.name: key for table in tables if (key := row_key(table)) is not None}
    owned = {name: len(_reached(tables, suggested, {name: key})) for name, key in keys.items()}
    dated = {table.name: any(sql_type(one.type).is_moment for one in table.columns) for table in tables}
    return dict(sorted(keys.items(), key=lambda item: (-owned[item[0]], not dated[item[0]], item[0])))


def referred_without_key(schema: Schema) -> list[str]:
    """Tables without a key that may hold people: columns of others seem to name them, and they reference no table.

    So `visit.patient_id` names `patient`.
    """
    tables = with_likely_keys(schema).tables.values()
    below = {key.table for key in suggested_keys(schema)}
    columns = [(table.name, column.name.lower()) for table in tables for column in table.columns]
    return sorted(
        table.name
        for table in tables
        if row_key(table) is None
        and not table.foreign_keys
        and table.name not in below
        and any(
            other != table.name and named.startswith(f"{called}_")
            for other, named in columns
            for called in _called(table)
        )
    )


def _is_tools(table: Table) -> bool:
    return table.relation.lower() in MIGRATION_TABLES


def suggested_keys(schema: Schema) -> tuple[DeclaredForeignKey, ...]:
    """Foreign keys that names and types suggest: `lab_result.patient_id` to `patient.id`.

    A column suggests one if its name is that of exactly one other table, singular or plural, and of its one key
    column, which may name the table itself, and both have one type. In files, whole numbers may differ in width.
    `policy check` counts the rows without a parent.
    """
    found = []
    for table in schema.tables.values():
        taken = {name for key in table.foreign_keys for name in key.columns}
        for column in table.columns:
            targets = [
                (other.name, key[0])
                for other in schema.tables.values()
                for key in other.keys
                if other.name != table.name
                and len(key) == 1
                and (above := other.column(key[0])) is not None
                and _refers(column, other, above, of_any_width=bool(schema.version))
            ]
            if column.name not in taken and len(targets) == 1:
                found.append(DeclaredForeignKey(table.name, (column.name,), targets[0][0], (targets[0][1],)))
    return tuple(sorted(found, key=lambda key: (key.table, key.columns)))


def _refers(column: Column, other: Table, above: Column, *, of_any_width: bool) -> bool:
    """Does the column's name match the other table and its key, with a matching type?"""
    if canonical_cast(sql_type(column.type)) is None:
        return False
    kinds = sql_type(column.type).family, sql_type(above.type).family
    if above.type != column.type and not (of_any_width and kinds == (Family.INTEGER, Family.INTEGER)):
        return False
    key = above.name.lower()
    named = {f"{name}{joint}{key}" for name in _called(other) for joint in ("", "_")}
    return column.name.lower() in named | ({key} & {*_own_keys(other)})


def _called(table: Table) -> tuple[str, str]:
    plain = table.relation.lower()
    return plain, plain.removesuffix("s")


def _references(
    tables: Sequence[Table],
    suggested: Sequence[DeclaredForeignKey],
    assumed: Sequence[DeclaredForeignKey],
    owned: set[str],
    decided: Mapping[str, tuple[str, ...]],
) -> list[str]:
    """Each foreign key to decide; a self-reference, or one from people to rows that they own, owns nothing."""
    circles = {name: _reached(tables, suggested, {name: key}) for name, key in decided.items()}
    lines = [_FOREIGN_KEYS]
    for table in tables:
        for key in table.foreign_keys:
            settled = key.references in circles.get(table.name, {table.name})
            block = _block(table.name, key.columns, key.references, key.key)
            lines += [
                "",
                *([] if table.enforces(key) else [_UNPROVEN]),
                *([*block, "owning = false"] if settled else [f"# {line}" for line in block]),
            ]
            if not any(set(unique) <= set(key.columns) for unique in table.unique_keys):
                lines.append("# fanout = 100    # the most rows that can ever share one such value")
    for found in suggested:
        lines.append("")
        lines.append(
            f"# DECIDE: {_said(found.table)}.{_said(found.columns[0])} -> "
            f"{_said(found.references)}.{_said(found.key[0])} is not declared in"
        )
        lines.append(
            "# the database; names and types suggest it. `noisegate policy check` counts rows without a parent."
        )
        block = _block(found.table, found.columns, found.references, found.key)
        if found.references in circles.get(found.table, ()):
            lines += [*block, "owning = false"]
        else:
            lines += block if found.references in owned else [f"# {line}" for line in block]
    for found in assumed:
        keys = f"keys = {json.dumps([*found.key], ensure_ascii=False)} in [tables.{toml_key(found.references)}]"
        lines += [
            "",
            f"# DECIDE: {_said(found.table)}.{_said(found.columns[0])} -> "
            f"{_said(found.references)}.{_said(found.key[0])} is not declared, and",
            f"# no constraint makes the key unique. To have it, write {keys}",
            "# and this block. `noisegate policy check` counts rows that share the key, and rows without a parent.",
            *(f"# {line}" for line in _block(found.table, found.columns, found.references, found.key)),
        ]
    return lines


def _block(table: str, columns: Sequence[str], references: str, key: Sequence[str]) -> list[str]:
    return [
        "[[foreign_keys]]",
        f"table = {_text(table)}",
        f"columns = {json.dumps([*columns], ensure_ascii=False)}",
        f"references = {_text(references)}",
        f"key = {json.dumps([*key], ensure_ascii=False)}",
    ]


def _table(
    table: Table, asked: bool, lookup: str | None, estimates: Estimates, person: tuple[str, Sequence[str]]
) -> list[str]:
    """A section, or a comment that becomes one. A table without a section cannot be queried."""
    header = f"[tables.{toml_key(table.name)}]"
    if lookup is not None and not asked:
        return [
            f"# DECIDE: {_said(table.name)} looks like a lookup table: {lookup}; {LOOKED}.",
            "# If no row of it says anything about a person:",
            f"# {header}",
            "# public = true",
        ]
    if not asked:
        return [
            f"# DECIDE: no foreign key leads from {_said(table.name)} to a person. To query it, declare a key that",
            "# does, or set `public = true` if no row of it says anything about a person:",
            *(f"# {line}" for line in _block(table.name, ["COLUMN"] * len(person[1]), *person)),
            f"# {header}",
        ]
    lines = [header, "# public = true    # only if no row of it says anything about a person"]
    lines.append("# rows = 100000    # the most rows it can have, if the number is public: bounds joins")
    if table.foreign_keys:
        lines.append("# rows_are_units = true    # if a row without an owner is a privacy unit of its own")
        lines.append(
            "# rows_per_unit = { unit = 100 }    # per privacy-unit relation, the most rows that one unit can own"
        )
    lines += [
        f"keys = [{json.dumps(key[0])}]    # names suggest it; no question is answered before all rows are counted"
        for key in table.declared_keys
    ]
    likely = None if any(len(key) == 1 for key in table.keys) else _likely_key(table)
    if likely is not None:
        said = f"# keys = {json.dumps([likely.name], ensure_ascii=False)}"
        lines.append(f"{said}    # if it identifies a row without a constraint: counted for each data version")
    return [*lines, *_columns(table, estimates)]


def _columns(table: Table, estimates: Estimates) -> list[str]:
    """Ranges and domains to decide, each in a comment."""
    keys = {name for key in table.keys for name in key}
    keys |= {name for key in table.foreign_keys for name in key.columns}
    enums = [toml_key(column.name) for column in table.columns if sql_type(column.type).labels]
    lines = []
    if enums:
        lines.append(f"# {', '.join(enums)}: enums, which can be grouped by; every analyst sees their labels")
    settings = []
    for column in table.columns:
        kind, looked = sql_type(column.type), estimates.columns.get((table.name, column.name))
        first = "1900-01-01" if _BIRTH.search(column.name) else "2000-01-01"
        span = f"[{first}, {estimates.today.isoformat()}]"
        if looked is not None and column.name not in keys:
            settings.append(f"# {toml_key(column.name)} = {{ {looked} }}   # {LOOKED}")
        elif kind.is_number and column.name not in keys:
            settings.append(f"# {toml_key(column.name)} = {{ range = [lowest, highest] }}   # {column.type}")
        elif kind.is_moment:
            settings.append(f'# {toml_key(column.name)} = {{ range = {span}, step = "day" }}   # {column.type}')
        elif kind.is_string and _DATED.search(column.name):
            told = f'{{ format = "YYYY-MM-DD", range = {span}, step = "day" }}   # {column.type}; if it holds dates'
            settings.append(f"# {toml_key(column.name)} = {told}")
    if any(sql_type(column.type).is_string and column.name not in keys for column in table.columns):
        settings.append('# a text that holds dates is a date by its form: born = { format = "DD.MM.YYYY" }')
    if settings:
        lines.append(f"# [tables.{toml_key(table.name)}.columns]    # DECIDE the ranges, from what the values mean")
        lines += settings
        lines.append('# a column to GROUP BY lists its values: status = { domain = ["open", "closed"] }')
        lines.append("# or finds values that many people share: diagnosis = { discover = true }; needs a delta")
    return lines


def _some(names: Sequence[str]) -> str:
    shown = [_said(name) for name in names[:2]]
    return f"{', '.join(shown)} and {len(names) - 2} more" if len(names) > 2 else " and ".join(shown)


def _said(name: str) -> str:
    """A name within a comment. A line break in it would end the comment."""
    return name if name.isprintable() else json.dumps(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
