"""The collected texts by name: statements/*.sql, each below a line `-- [name] what it asks`."""

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
      asked: what it asks, in words.
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
def constructs() -> dict[str, Statement]:
    """Texts that were written for a construct; no table counts them."""
    return {one.name: one for file in ("constructs.sql", "own_rows.sql") for one in _read(_FOLDER / file)}


def _read(path: Path) -> list[Statement]:
    first, *parts = _HEAD.split(path.read_text())
    source = first.strip().removeprefix("-- ")
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [Statement(name, asked, sql.strip().removesuffix(";"), source) for name, asked, sql in triples]
