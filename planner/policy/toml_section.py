"""Typed values of a policy's TOML, table names among them; an unknown key is an error.

A table is named by its schema and a dot, or alone for the policy's first schema. Values come out plain, names
canonical. `planner.policy.policy` and `planner.policy.validate` check what they mean together.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from planner.errors import PolicyInvalid, did_you_mean, nearest
from planner.schema import PUBLIC, name_parts, table_name
from planner.sql.datetimes import moment_form, moment_text

CALENDAR_UNITS = ("day", "week", "month", "quarter", "year")
"""The steps of dates."""

DomainValue = str | int | float | bool
"""A group key as a policy writes it; dates are ISO text."""

_MAX_COUNT = 10**12


def _meant(written: object, names: Sequence[str]) -> str:
    hint = did_you_mean(written, names) if isinstance(written, str) else None
    return "" if hint is None else f" ({hint})"


def _hint(fault: str) -> str | None:
    if fault.startswith(("Cannot declare", "Cannot overwrite")):
        return "Write each section and each setting once: edit the one that exists."
    return None


class TomlSection:
    """One TOML table that records which settings were read."""

    def __init__(self, values: Mapping[str, Any], path: str, instead: str | None = None) -> None:
        """`instead` names a similar table, if this one is missing."""
        self._values = dict(values)
        self._path = path
        self._instead = instead
        self._known: list[str] = []  # settings that were asked for

    @classmethod
    def document(cls, text: str) -> TomlSection:
        """The whole file. Raises PolicyInvalid when it is not TOML."""
        try:
            return cls(tomllib.loads(text), "")
        except tomllib.TOMLDecodeError as error:
            raise PolicyInvalid(f"the policy is not TOML: {error}", hint=_hint(str(error))) from None

    def problem(self, key: str, what: str) -> PolicyInvalid:
        """An error that names the setting."""
        return PolicyInvalid(f"{self._path}{key}: {what}")

    def names(self) -> tuple[str, ...]:
        """The settings that are not read yet."""
        return tuple(self._values)

    def nested(self) -> tuple[str, ...]:
        """Those of `names` that are tables."""
        return tuple(name for name, value in self._values.items() if isinstance(value, dict))

    def finish(self) -> None:
        """Raises: PolicyInvalid for unknown settings, which nothing has read."""
        if self._values:
            unknown = sorted(self._values)
            hint = did_you_mean(unknown[0], self._known)
            names = ", ".join(self._path + key for key in unknown)
            raise PolicyInvalid(f"unknown settings: {names}{'' if hint is None else f'; {hint}'}")

    def _taken(self, key: str, default: object = None) -> Any:
        self._known.append(key)
        return self._values.pop(key, default)

    def _read(self, key: str, valid: Callable[[Any], object], what: str) -> Any:
        """The value of a setting, None if absent. Raises: PolicyInvalid with `what` for an invalid one."""
        value = self._taken(key)
        if value is not None and not valid(value):
            raise self.problem(key, what)
        return value

    def section(self, key: str) -> TomlSection:
        """The table below `key`, empty if absent. Raises: PolicyInvalid."""
        others = [name for name, value in self._values.items() if isinstance(value, dict)]
        instead = None if key in self._values else nearest(key, others)
        value = self._read(key, lambda value: isinstance(value, dict), "must be a table")
        return TomlSection(value or {}, f"{self._path}{key}.", instead)

    def sections(self, key: str) -> list[TomlSection]:
        """The array of tables `[[key]]`, empty if absent. Raises: PolicyInvalid."""
        found = self._read(key, lambda value: _all(value, dict), "must be an array of tables") or []
        return [TomlSection(item, f"{self._path}{key}[{index}].") for index, item in enumerate(found)]

    def text(self, key: str, example: str | None = None) -> str:
        """A string that is not empty; `example` is shown if it is missing. Raises: PolicyInvalid."""
        value = self._read(key, lambda value: isinstance(value, str) and value, "must be text")
        if value is None:
            raise self._missing(key, example)
        return str(value)

    def _missing(self, key: str, example: str | None = None) -> PolicyInvalid:
        """The error for a missing setting; it names a similar one if there is one."""
        instead = nearest(key, self._values) or self._instead
        if instead is not None:
            return self.problem(key, f"is missing; did you mean it by `{instead}`?")
        if example is None:
            return self.problem(key, "is missing")
        where = f"below [{self._path.removesuffix('.')}]" if self._path else "at the top, before any section"
        return self.problem(key, f'is missing; write, {where}: {key} = "{example}"')

    def key(self, key: str) -> tuple[str, ...]:
        """The name of a column, or a list of names."""
        return self.texts(key) if isinstance(self._values.get(key), list) else (self.text(key),)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, not empty. Raises: PolicyInvalid."""
        found = self._read(key, lambda value: _all(value, str), "must be a list of names")
        if not found:
            raise self.problem(key, "must be a list of names")
        return tuple(found)

    def keys(self, key: str) -> tuple[tuple[str, ...], ...]:
        """A list of keys, each a column name or a list of names; empty if absent. Raises: PolicyInvalid."""
        value = self._taken(key, [])
        found = [[item] if isinstance(item, str) else item for item in value] if isinstance(value, list) else [None]
        if not all(item and _all(item, str) for item in found):
            raise self.problem(key, 'must be a list of keys, like ["id"] or [["visit_id", "number"]]')
        return tuple(tuple(item) for item in found if item)

    def flag(self, key: str, default: bool) -> bool:
        """A boolean; `default` if absent. Raises: PolicyInvalid."""
        value = self._read(key, lambda value: isinstance(value, bool), "must be true or false")
        return default if value is None else bool(value)

    def date_form(self, key: str) -> str | tuple[str, ...] | None:
        """The form of a text that holds a date or a timestamp, or several; None if absent. Raises: PolicyInvalid."""
        meant = "must be a form of YYYY, MM and DD, and of HH24, MI and SS for times, such as 'DD/MM/YYYY HH24:MI'"
        listed = isinstance(self._values.get(key), list)
        found = self._read(key, lambda value: bool(value) and all(map(_is_form, value if listed else [value])), meant)
        return tuple(found) if listed else found

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        """One of several words. Raises: PolicyInvalid."""
        return self.choice_or_none(key, choices) or default

    def choice_or_none(self, key: str, choices: Sequence[str]) -> str | None:
        """One of several words, or None if absent. Raises: PolicyInvalid."""
        meant = f"must be one of {', '.join(choices)}{_meant(self._values.get(key), choices)}"
        found: str | None = self._read(key, lambda value: value in choices, meant)
        return found

    def number_or_word(self, key: str, word: str) -> float | str | None:
        """A finite number, the one word that may replace it, or None if absent. Raises: PolicyInvalid."""
        if not isinstance(self._values.get(key), str):
            return self.number_or_none(key)
        self._read(key, lambda value: value == word, f'must be a number or "{word}"')
        return word

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number; `default` if absent. Raises: PolicyInvalid."""
        value = self._read(key, _is_finite, _FINITE)
        if value is None and default is None:
            raise self._missing(key)
        return float(default if value is None else value)  # type: ignore[arg-type]

    def number_or_none(self, key: str) -> float | None:
        """A finite number, or None if absent."""
        return self.number(key) if key in self._values else None

    def count(self, key: str, most: int = _MAX_COUNT) -> int | None:
        """A whole number from 1 to `most`, or None if absent. Raises: PolicyInvalid."""
        shown = f"{most:.0e}" if most == _MAX_COUNT else most
        found: int | None = self._read(
            key,
            lambda value: type(value) is int and 1 <= value <= most,
            f"must be a whole number between 1 and {shown}",
        )
        return found

    def interval(self, key: str) -> tuple[float, float] | None:
        """[lo, hi], or None if absent. Raises: PolicyInvalid."""
        ends = self._read(key, lambda value: isinstance(value, list) and len(value) == 2, "must be [lowest, highest]")
        if ends is not None and not all(map(_is_finite, ends)):
            raise self.problem(key, _FINITE)
        return None if ends is None else (float(ends[0]), float(ends[1]))

    def days(self, key: str) -> tuple[date, date] | None:
        """[first, last] if both are dates; otherwise None, and the setting stays unread. Raises: PolicyInvalid."""
        value = self._values.get(key)
        if not isinstance(value, list) or len(value) != 2 or not any(isinstance(item, date) for item in value):
            return None
        first, last = self._taken(key)
        if type(first) is not date or type(last) is not date:
            raise self.problem(key, "must be two numbers or two dates")
        return first, last

    def step(self, key: str) -> int | str | None:
        """A whole number or a unit of the calendar, or None if absent. Raises: PolicyInvalid."""
        units = f"{', '.join(CALENDAR_UNITS)}{_meant(self._values.get(key), CALENDAR_UNITS)}"
        found: int | str | None = self._read(
            key,
            lambda value: value in CALENDAR_UNITS or (type(value) is int and value >= 1),
            f"must be a whole number above 0, or one of {units}",
        )
        return found

    def value(self, key: str) -> DomainValue | None:
        """Text, a number, a boolean or a date (as ISO text), or None if absent."""
        value = self._taken(key)
        return None if value is None else self._value(key, value)

    def values(self, key: str) -> tuple[DomainValue, ...] | None:
        """A list of text, numbers, booleans or dates (as ISO text), or None if absent. Raises: PolicyInvalid."""
        found = self._read(key, lambda value: isinstance(value, list), "must be a list of values")
        return None if found is None else tuple(self._value(key, item) for item in found)

    def _value(self, key: str, item: object) -> DomainValue:
        if isinstance(item, date):
            return moment_text(item)
        if isinstance(item, (str, int)) or (isinstance(item, float) and math.isfinite(item)):
            return item
        raise self.problem(key, "must hold text, finite numbers, true, false or dates")


_FINITE = "must be a finite number"


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e300


def _all(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _is_form(value: object) -> bool:
    return isinstance(value, str) and moment_form(value) is not None


UNQUOTED = "put the name of a table with its schema in quotes"
"""The error for an unquoted key of two parts, which TOML takes for nested tables."""

_SYSTEM = ("pg_", "information_schema")
_FILES = ".parquet"


def read_schemas(document: TomlSection) -> tuple[str, ...]:
    """The search path of a policy; `public` alone without one.

    Raises: PolicyInvalid for anything but a list of different schemas, and for PostgreSQL's own.
    """
    if "schemas" not in document.names():
        return (PUBLIC,)
    found = document.texts("schemas")
    if "" in found or len(set(found)) < len(found):
        raise document.problem("schemas", "must name different schemas")
    for schema in found:
        _check(schema, document, "schemas")
    return found


class TableNames:
    """Reads the table names of a policy in canonical form.

    The file alone decides what an unqualified name means. If the search path did, a new table in an earlier schema
    would take over what is declared of the old one.

    Args:
      schema: that of an unqualified name: the first of the search path.
    """

    def __init__(self, schema: str) -> None:
        self._schema = schema

    def read(self, section: TomlSection, written: str) -> str:
        """The canonical name of a setting that is named after a table.

        Raises: PolicyInvalid for an invalid name, and if two settings mean the same table.
        """
        name = self.canonical(written, section, written)
        if any(other != written and self._means(other, name) for other in section.names()):
            raise section.problem(written, "is the same table as another setting here; keep one")
        return name

    def value(self, section: TomlSection, written: str) -> str:
        """As `read`, for a setting with a value. Raises: PolicyInvalid, also for a name without its quotes."""
        if written in section.nested():
            raise section.problem(written, f"{UNQUOTED}, as in {toml_key(f'{written}.patient')} = ...")
        return self.read(section, written)

    def canonical(self, written: str, section: TomlSection, key: str) -> str:
        """The canonical name of the table written as `written`. Raises: PolicyInvalid."""
        try:
            namespace, relation = name_parts(written, self._schema)
        except ValueError:
            what = """is not a valid table name: write "schema.table", and quote a part with a dot: '"a.b"'"""
            raise section.problem(key, what) from None
        _check(namespace, section, key)
        return table_name(namespace, relation)

    def _means(self, other: str, name: str) -> bool:
        try:
            return table_name(*name_parts(other, self._schema)) == name
        except ValueError:
            return False


def read_pattern(section: TomlSection) -> str | None:
    """The glob of a table's Parquet files, relative to the folder of the database's URL.

    `*` and `?` stand for letters of one name, `**` for any number of folders; a folder `year=*` is a column `year`.
    None: the table's name says which files.

    Raises: PolicyInvalid for a pattern that could leave the folder, or is none.
    """
    if "parquet" not in section.names():
        return None
    pattern = section.text("parquet")
    parts = pattern.split("/")
    if pattern.startswith("/") or ".." in parts:
        raise section.problem("parquet", "must stay inside the folder of database.url: no leading /, and no ..")
    if "" in parts or "." in parts or not pattern.endswith(_FILES):
        raise section.problem("parquet", 'must be a pattern of files, as in "visits/*.parquet"')
    if any(letter in "[]{}\\\0" for letter in pattern) or any("**" in part and part != "**" for part in parts):
        raise section.problem("parquet", "may contain names, *, ?, and ** between two / for any folders")
    keys = [part.partition("=")[0].lower() for part in parts[:-1] if "=" in part]
    if len(set(keys)) < len(keys) or not all(key and not set("*?") & set(key) for key in keys):
        raise section.problem("parquet", "must name the column of each folder NAME=* once, without * or ?")
    return pattern


def toml_key(name: str) -> str:
    """A name as a TOML key or a part of one: bare if possible.

    >>> toml_key("visit"), toml_key("clinic.visit")
    ('visit', '"clinic.visit"')
    """
    if name and all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name):
        return name
    return json.dumps(name, ensure_ascii=False)


def section_of(name: str, schemas: Sequence[str]) -> str:
    """The header of a table's section, ready to paste; the first schema is that of unqualified names.

    >>> section_of("visit", ("public",)), section_of("clinic.visit", ("clinic",)), section_of("visit", ("clinic",))
    ('[tables.visit]', '[tables."clinic.visit"]', '[tables."public.visit"]')
    """
    away = name_parts(name)[0] == PUBLIC and PUBLIC not in schemas[:1]
    return f"[tables.{toml_key(f'{PUBLIC}.{name}' if away else name)}]"


def _check(schema: str, section: TomlSection, key: str) -> None:
    if schema.startswith(_SYSTEM):
        raise section.problem(key, f"schema {schema} is PostgreSQL's own and cannot be queried")
