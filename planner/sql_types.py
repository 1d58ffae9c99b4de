"""Column types as the planner reasons about them: families that compare exactly with one another, and digits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from planner.plan import ResultType


class Family(Enum):
    """Types within a family compare exactly; equality within one family is transitive."""

    INTEGER = "integer"
    NUMERIC = "numeric"
    FLOAT = "float"
    TEXT = "text"
    CHAR = "char"  # blank-padded: its equality ignores trailing blanks, so it is not text's
    BOOL = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    UUID = "uuid"
    OTHER = "other"


@dataclass(frozen=True)
class SqlType:
    """A family, and for `numeric(precision, scale)` its digits (None: as many as the database can hold)."""

    family: Family
    precision: int | None = None
    scale: int | None = None

    @property
    def is_number(self) -> bool:
        """May it stand in arithmetic?"""
        return self.family in (Family.INTEGER, Family.NUMERIC, Family.FLOAT)

    @property
    def is_string(self) -> bool:
        """May it be compared with a quoted literal as text?"""
        return self.family in (Family.TEXT, Family.CHAR)


_FAMILIES = {
    "smallint": Family.INTEGER,
    "integer": Family.INTEGER,
    "bigint": Family.INTEGER,
    "int2": Family.INTEGER,
    "int4": Family.INTEGER,
    "int8": Family.INTEGER,
    "int": Family.INTEGER,
    "numeric": Family.NUMERIC,
    "decimal": Family.NUMERIC,
    "real": Family.FLOAT,
    "float4": Family.FLOAT,
    "float8": Family.FLOAT,
    "double precision": Family.FLOAT,
    "text": Family.TEXT,
    "varchar": Family.TEXT,
    "character varying": Family.TEXT,
    "char": Family.CHAR,
    "bpchar": Family.CHAR,
    "character": Family.CHAR,
    "bool": Family.BOOL,
    "boolean": Family.BOOL,
    "date": Family.DATE,
    "timestamp": Family.TIMESTAMP,
    "timestamp without time zone": Family.TIMESTAMP,
    "timestamptz": Family.TIMESTAMPTZ,
    "timestamp with time zone": Family.TIMESTAMPTZ,
    "uuid": Family.UUID,
}

_RESULTS: dict[Family, ResultType] = {
    Family.INTEGER: "int8",
    Family.NUMERIC: "numeric",
    Family.TEXT: "text",
    Family.CHAR: "text",
    Family.BOOL: "bool",
    Family.DATE: "date",
    Family.TIMESTAMP: "timestamp",
}

_KEY_CASTS = {Family.INTEGER: "BIGINT", Family.TEXT: "TEXT", Family.CHAR: "TEXT", Family.UUID: "TEXT"}


def sql_type(text: str) -> SqlType:
    """The type behind the database's own words, `numeric(15,2)`; an unknown one is of family OTHER."""
    match = re.fullmatch(r"([a-z0-9 ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?( with(?:out)? time zone)?", text)
    if match is None:
        return SqlType(Family.OTHER)
    words, precision, scale, zone = match.groups()
    family = _FAMILIES.get(words + (zone or ""), Family.OTHER)
    if family is Family.NUMERIC and precision is not None:
        return SqlType(family, int(precision), int(scale or 0))
    return SqlType(family)


def result_type(kind: SqlType) -> ResultType | None:
    """The type that a group key of this type has in an answer; None where it cannot be a key."""
    return _RESULTS.get(kind.family)


def canonical_cast(kind: SqlType) -> str | None:
    """The type that an owner key is cast to, so that equal keys look equal; None where it cannot be a key."""
    return _KEY_CASTS.get(kind.family)
