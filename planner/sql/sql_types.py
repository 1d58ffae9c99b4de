"""Column types for the planner: families that compare exactly, digits, and the names of result types.

This module needs no parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

ResultType = Literal[
    "int8", "float4", "float8", "numeric", "text", "bool", "date", "timestamp", "timestamptz", "interval"
]  # fmt: skip

NUMBERS: frozenset[ResultType] = frozenset({"int8", "float4", "float8", "numeric"})
"""Result types that arithmetic over released values accepts."""

MEASURED: frozenset[ResultType] = NUMBERS | {"interval"}
"""Result types whose noisy values have a 95% interval; of lengths of time its ends are seconds."""


class Family(Enum):
    """Types that compare exactly with one another. Equality within one family is transitive.

    No function of the planner tells equal values apart, except in family OTHER: 1.0 and 1.00, 0.0 and -0.0, one
    instant in two zones. So whatever equals a privacy unit's key is a function of that key.
    """

    INTEGER = "integer"
    NUMERIC = "numeric"
    FLOAT = "float"
    TEXT = "text"
    CHAR = "char"  # blank-padded: equality ignores trailing blanks, unlike text
    BOOL = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    UUID = "uuid"
    INTERVAL = "interval"  # no column has it; in SQL a value is its seconds, a number
    TIME = "time"
    INET = "inet"
    ENUM = "enum"  # its labels are structure; in SQL a value is its label's text, ordered by `planner.sql.literals`
    OTHER = "other"  # can be counted, but not compared


@dataclass(frozen=True)
class SqlType:
    """A family and its size.

    Attributes:
      precision: the most digits of a number, or the most characters of a text; None: no limit but the database's. A
        `real` has 24 bits, a double None.
      scale: the digits of a numeric after the point.
      labels: the labels of an enum, in order.
      name: for family OTHER, the database's name of the type.
      enum: the canonical name of an enum's type; empty if unknown.
    """

    family: Family
    precision: int | None = None
    scale: int | None = None
    labels: tuple[str, ...] = ()
    name: str = field(default="", repr=False)
    enum: str = field(default="", compare=False, repr=False)

    @property
    def shown(self) -> str:
        """The type's name in messages."""
        return self.name[:_SHOWN] or self.family.value

    @property
    def has_one_text(self) -> bool:
        """For family OTHER: are two values equal exactly when their texts are?"""
        element = self.name.removesuffix("[]")
        if element != self.name:
            return element != "varchar" and sql_type(element).family in _ELEMENTS_OF_ONE_TEXT
        return self.name.partition("(")[0] in _OF_ONE_TEXT

    @property
    def is_number(self) -> bool:
        """Whether arithmetic accepts values of this type."""
        return self.family in (Family.INTEGER, Family.NUMERIC, Family.FLOAT)

    @property
    def is_string(self) -> bool:
        """Whether values of this type compare with a quoted literal as text."""
        return self.family in (Family.TEXT, Family.CHAR)

    @property
    def is_moment(self) -> bool:
        """Whether the type is a date or a timestamp."""
        return self.family in (Family.DATE, Family.TIMESTAMP, Family.TIMESTAMPTZ)


REAL = SqlType(Family.FLOAT, 24)
"""Single precision."""

_FAMILIES = {
    word: family
    for family, words in {
        Family.INTEGER: "smallint, integer, bigint, int2, int4, int8, int",
        Family.NUMERIC: "numeric, decimal",
        Family.FLOAT: "real, float4, float8, double precision",
        Family.TEXT: "text, varchar, character varying",
        Family.CHAR: "char, bpchar, character",  # bpchar with a length
        Family.BOOL: "bool, boolean",
        Family.DATE: "date",
        Family.TIMESTAMP: "timestamp, timestamp without time zone",
        Family.TIMESTAMPTZ: "timestamptz, timestamp with time zone",
        Family.UUID: "uuid",
        Family.TIME: "time, time without time zone",
        Family.INET: "inet, cidr",
    }.items()
    for word in words.split(", ")
}

_OF_DUCKDB = {
    "ubigint": SqlType(Family.NUMERIC, 20, 0),
    "hugeint": SqlType(Family.NUMERIC, 38, 0),
    "uhugeint": SqlType(Family.NUMERIC, 38, 0),
    "timestamp_s": SqlType(Family.TIMESTAMP),
    "timestamp_ms": SqlType(Family.TIMESTAMP),
    "timestamp_ns": SqlType(Family.TIMESTAMP),
}
"""DuckDB's own types, and the types that its writer reads them as."""

READ_AS: Mapping[str, str] = MappingProxyType(
    {
        name: "TIMESTAMP" if kind.family is Family.TIMESTAMP else f"DECIMAL({kind.precision}, 0)"
        for name, kind in _OF_DUCKDB.items()
    }
)
"""The same types in DuckDB's spelling."""

READ_IN_PART = frozenset(READ_AS) - {"ubigint"}
"""Types that are read in part: some values become NULL, or equal to others. No key may have such a type."""

_OF_ONE_TEXT = frozenset(
    {"bytea", "blob", "macaddr", "macaddr8", "money", "time with time zone", "bit", "bit varying"}
)
"""Left out: json, which has no equality; jsonb, which has 1.0 and 1.00; intervals, where a day equals 24 hours; and
DuckDB's lists of texts, where older versions write ['a, b'] and ['a', 'b'] alike.
"""

_ELEMENTS_OF_ONE_TEXT = frozenset({Family.INTEGER, Family.TEXT, Family.BOOL, Family.DATE, Family.UUID, Family.TIME})

_SHOWN = 60

_WHOLE_DIGITS = {"smallint": 5, "int2": 5, "integer": 10, "int4": 10, "int": 10, "bigint": 19, "int8": 19}

_LABEL = r"'(?:[^']|'')*'"

_ENUM = re.compile(rf"enum\({_LABEL}(?:, {_LABEL})*\)")

_KEY_CASTS = {Family.INTEGER: "BIGINT", Family.TEXT: "TEXT", Family.CHAR: "TEXT", Family.UUID: "TEXT"}


@lru_cache(maxsize=1024)
def sql_type(text: str) -> SqlType:
    """The type for the database's own words, such as `numeric(15,2)`. Unknown types have family OTHER.

    The catalog lists the labels of an enum in place of its name.

    >>> sql_type("enum('open', 'won''t do')").labels
    ('open', "won't do")
    """
    if _ENUM.fullmatch(text):
        labels = re.findall(_LABEL, text)
        return SqlType(Family.ENUM, labels=tuple(label[1:-1].replace("''", "'") for label in labels))
    if text in _OF_DUCKDB:
        return _OF_DUCKDB[text]
    match = re.fullmatch(r"([a-z0-9 ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?( with(?:out)? time zone)?", text)
    if match is None:
        return SqlType(Family.OTHER, name=text)
    words, precision, scale, zone = match.groups()
    family = _FAMILIES.get(words + (zone or ""), Family.OTHER)
    if family is Family.NUMERIC and precision is not None:
        return SqlType(family, int(precision), int(scale or 0))
    if family is Family.OTHER or (words == "bpchar" and precision is None):  # LIKE sees the blanks of bpchar
        return SqlType(Family.OTHER, name=text)
    if family in (Family.TEXT, Family.CHAR):
        unsized = 1 if family is Family.CHAR else None
        return SqlType(family, unsized if precision is None else int(precision))
    if family is Family.INTEGER:
        return SqlType(family, _WHOLE_DIGITS[words])
    if words in ("real", "float4"):
        return REAL
    return SqlType(family)


def enum_text(kind: SqlType) -> str:
    """The database's words for an enum.

    >>> enum_text(sql_type("enum('open', 'won''t do')"))
    "enum('open', 'won''t do')"
    """
    labels = ", ".join("'" + label.replace("'", "''") + "'" for label in kind.labels)
    return f"enum({labels})"


def canonical_cast(kind: SqlType) -> str | None:
    """The cast that gives equal owner keys one form; None if the type cannot be an owner key."""
    return _KEY_CASTS.get(kind.family)
