"""A first policy from structure alone: everything private, every decision left to the custodian in words."""

from __future__ import annotations

import json
import re

from planner.schema import ForeignKey, Schema, Table
from planner.sql_types import canonical_cast, sql_type


def draft(schema: Schema, name: str) -> str:
    """Write a policy that parses, protects every table, and asks what only the custodian knows.

    Args:
      schema: the catalog; no value of any row enters.
      name: of the dataset.
    Returns: TOML. It passes `planner.policy_check.validate` only once its questions are answered.
    """
    lines = [
        f"name = {_text(name)}",
        "",
        "[database]",
        'url = "env:NOISEGATE_DATABASE_URL"   # a reference, env:NAME or file:PATH; never a password',
        "",
        "[ledger]",
        'path = "ledger.sqlite"',
        "",
        "[privacy]",
        "epsilon = 1.0        # default charge of a query",
        "max_epsilon = 1.0    # the most that one query may ask for",
        "delta = 0.0",
        "# minimum_frequency = 10    # withhold groups whose noisy number of privacy units is smaller; costs a share",
        "",
        *_units(schema),
        "",
        "# [groups_per_unit]    # the most groups that one unit counts in; its rows in others are left out",
        "# unit = 10",
        "",
        *_references(schema),
    ]
    for table in sorted(schema.tables.values(), key=lambda table: table.name):
        lines += ["", *_table(table)]
    return "\n".join(lines) + "\n"


def _units(schema: Schema) -> list[str]:
    """Every relation that could be one: too many units cost accuracy, a missing one costs a person's protection."""
    candidates = {name: key for name, table in sorted(schema.tables.items()) if (key := _unit_key(table))}
    return [
        "# DECIDE who is protected: keep the relations that hold one row per person, remove the others",
        "# (a table of wards or codes is no person; remove it here before you declare it public below).",
        "[privacy_units]",
        *(f"{_key(name)} = {_text(key)}" for name, key in candidates.items()),
    ]


def _unit_key(table: Table) -> str | None:
    for key in table.unique_keys:
        column = table.column(key[0]) if len(key) == 1 else None
        if column is not None and not column.nullable and canonical_cast(sql_type(column.type)):
            return column.name
    return None


def _references(schema: Schema) -> list[str]:
    lines = ["# DECIDE for each foreign key: does the referenced row's person own the row that references it?"]
    lines += [
        "# They all do unless declared otherwise; a circle or a self-reference must be settled: owning = false,"
    ]
    lines += ["# or `depth = 1` for chains of one step (rows deeper than that are left out of every answer)."]
    lines += [
        "# A fan-out is a promise about every row there will ever be, not what the rows show today. It bounds how",
        "# many join tuples a person can have, so that samples cost less; without one nothing is assumed.",
        "# Where the person does own the row, take `owning = false` away before you promise one.",
        "",
    ]
    for table in sorted(schema.tables.values(), key=lambda table: table.name):
        for key in table.foreign_keys:
            block = [
                "[[foreign_keys]]",
                f"table = {_text(table.name)}",
                f"columns = {json.dumps(list(key.columns))}",
                f"references = {_text(key.references)}",
                f"key = {json.dumps(list(key.key))}",
                "owning = false",
            ]
            settled = key.references == table.name
            lines += [line if settled else f"# {line}" for line in block]
            if not _finds_one_row(key, table):
                lines.append("# fanout = 100    # the most rows that share one such value, if you can promise it")
            lines.append("")
    return lines[:-1]


def _finds_one_row(key: ForeignKey, table: Table) -> bool:
    """Is the foreign key itself unique? Then its fan-out is 1 without a promise."""
    return any(set(unique) <= set(key.columns) for unique in table.unique_keys)


def _table(table: Table) -> list[str]:
    header = f"[tables.{_key(table.name)}]"
    lines = [header, "# public = true    # only if no row of it says anything about a person"]
    if table.foreign_keys:
        lines.append("# rows_are_units = true    # if a row that references nobody is a person's of its own")
        lines.append(
            "# rows_per_unit = { unit = 100 }    # per privacy unit, the most rows that one of it can own: a promise"
        )
    keys = {name for key in table.unique_keys for name in key}
    keys |= {name for key in table.foreign_keys for name in key.columns}
    numbers = [column for column in table.columns if sql_type(column.type).is_number and column.name not in keys]
    dates = [column for column in table.columns if sql_type(column.type).is_moment]
    enums = [_key(column.name) for column in table.columns if sql_type(column.type).labels]
    if enums:
        lines.append(f"# {', '.join(enums)}: enums, to GROUP BY as they are; whoever may ask sees their labels")
    if numbers or dates:
        lines.append(f"# [tables.{_key(table.name)}.columns]    # DECIDE the ranges, from what the values mean")
        lines += [f"# {_key(column.name)} = {{ range = [lowest, highest] }}   # {column.type}" for column in numbers]
        lines += [f'# {_key(column.name)} = {{ range = [1990-01-01, 2029-12-31], step = "day" }}' for column in dates]
        lines.append('# a column to GROUP BY lists its values: status = { domain = ["open", "closed"] }')
        lines.append("# or lets those be found that many share: diagnosis = { discover = true }; needs a delta")
    return lines


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)
