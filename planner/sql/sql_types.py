"""Column types as the planner reasons about them: families that compare exactly with one another, and digits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class Family(Enum):
    """Types within a family compare exactly; equality within one family is transitive.

    Of every family but OTHER no function of the planner's can tell equal values apart: 1.0 and 1.00, 0.0 and -0.0,
    one instant in two zones. What equals the key of a unit is thus a function of it.
    """

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
    ENUM = "enum"  # its labels are structure; in SQL a value is its label's text, and has no order
    OTHER = "other"


@dataclass(frozen=True)
class SqlType:
    """A family and its size.

    Attributes:
      precision: the most digits of `numeric(precision, scale)` or of a whole number, the most characters of a
        text; None: as many as the database can hold.
      scale: of a numeric, the digits after the point.
      labels: of an enum, in its order.
    """

    family: Family
    precision: int | None = None
    scale: int | None = None
    labels: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """May it stand in arithmetic?"""
        return self.family in (Family.INTEGER, Family.NUMERIC, Family.FLOAT)

    @property
    def is_string(self) -> bool:
        """May it be compared with a quoted literal as text?"""
        return self.family in (Family.TEXT, Family.CHAR)

    @property
    def is_moment(self) -> bool:
        """Is it a date or a time of a date?"""
        return self.family in (Family.DATE, Family.TIMESTAMP, Family.TIMESTAMPTZ)


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
    "bpchar": Family.CHAR,  # with a length
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

_WHOLE_DIGITS = {"smallint": 5, "int2": 5, "integer": 10, "int4": 10, "int": 10, "bigint": 19, "int8": 19}

_LABEL = r"'(?:[^']|'')*'"

_ENUM = re.compile(rf"enum\({_LABEL}(?:, {_LABEL})*\)")

_KEY_CASTS = {Family.INTEGER: "BIGINT", Family.TEXT: "TEXT", Family.CHAR: "TEXT", Family.UUID: "TEXT"}


@lru_cache(maxsize=1024)
def sql_type(text: str) -> SqlType:
    """The type behind the database's own words, `numeric(15,2)`; an unknown one is of family OTHER.

    Of an enum the catalog gives its labels, whatever its name is.

    >>> sql_type("enum('open', 'won''t do')").labels
    ('open', "won't do")
    """
    if _ENUM.fullmatch(text):
        labels = re.findall(_LABEL, text)
        return SqlType(Family.ENUM, labels=tuple(label[1:-1].replace("''", "'") for label in labels))
    match = re.fullmatch(r"([a-z0-9 ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?( with(?:out)? time zone)?", text)
    if match is None:
        return SqlType(Family.OTHER)
    words, precision, scale, zone = match.groups()
    family = _FAMILIES.get(words + (zone or ""), Family.OTHER)
    if family is Family.NUMERIC and precision is not None:
        return SqlType(family, int(precision), int(scale or 0))
    if words == "bpchar" and precision is None:  # LIKE sees the blanks that its equality ignores
        return SqlType(Family.OTHER)
    if family in (Family.TEXT, Family.CHAR):
        unsized = 1 if family is Family.CHAR else None
        return SqlType(family, unsized if precision is None else int(precision))
    if family is Family.INTEGER:
        return SqlType(family, _WHOLE_DIGITS[words])
    return SqlType(family)


def canonical_cast(kind: SqlType) -> str | None:
    """The type that an owner key is cast to, so that equal keys look equal; None where it cannot be a key."""
    return _KEY_CASTS.get(kind.family)
