"""The collected texts by name: statements/*.sql, each below a line `-- [name] what it asks`, and adapted.sql."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_HEAD = re.compile(r"^-- \[(\w+)\] (.*)\n", re.MULTILINE)


@dataclass(frozen=True)
class Statement:
    """One text.

    Attributes:
      name: as the table names it.
      asked: what it asks, in words; of an adapted one, what differs.
      sql: the text itself.
      source: what kind of source it is from: the file's first line.
    """

    name: str
    asked: str
    sql: str
    source: str


@cache
def collected() -> dict[str, Statement]:
    """As they were collected."""
    return {one.name: one for path in sorted((_FOLDER / "statements").glob("*.sql")) for one in _read(path)}


@cache
def adapted() -> dict[str, Statement]:
    """What an analyst asks instead, where the planner refuses a text and its question can be put otherwise."""
    return {one.name: one for one in _read(_FOLDER / "adapted.sql")}


@cache
def constructs() -> dict[str, Statement]:
    """Texts that were written for a construct; no table counts them."""
    return {one.name: one for one in _read(_FOLDER / "constructs.sql")}


def _read(path: Path) -> list[Statement]:
    first, *parts = _HEAD.split(path.read_text())
    source = first.strip().removeprefix("-- ")
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [Statement(name, asked, sql.strip().removesuffix(";"), source) for name, asked, sql in triples]
