"""`make readme`: the tables of docs/policy.md, from what the policy's own readers ask its sections for.

Which keys there are, of which type and with which default, is noted while policies are read that have every section;
what a key means is its line in the docstring of the dataclass that it is read into. `tests/unit/test_docs.py` fails
where the page says anything else.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

from planner.policy.policy import (
    ROWS,
    ROWS_PER,
    ColumnPolicy,
    DeclaredForeignKey,
    Policy,
    SideChannels,
    TablePolicy,
    parse_policy,
)
from planner.policy.sections import UNLIMITED, AppendOnly, BudgetPolicy, DatabaseLimits, MirrorPolicy, PracticePolicy
from planner.policy.toml_section import CALENDAR_UNITS, TomlSection
from tests.release.readme import replaced

PAGE = Path(__file__).parents[2] / "docs" / "policy.md"
SETTINGS = ("<!-- settings: written by `make readme` -->", "<!-- end of settings -->")

_TOP = 'name = "x"\nschemas = ["public"]\n[database]\nurl = "env:DB"\n'
_REST = """
question_key_file = "k"
[privacy]
epsilon = 1
[privacy_units]
T = "id"
[groups_per_unit]
T = 1
[[foreign_keys]]
table = "V"
columns = ["p"]
references = "T"
key = ["id"]
[tables.T]
parquet = "x.parquet"
append_only = {column = "at", closed_after_days = 7}
clip = {C = 1}
at_most = {C = 1}
rows_per_unit = {T = 1}
columns = {C = {}}
[budgets.analyst]
epsilon = 1
renew = "month"
most_in_total = 2
[budgets.dataset]
epsilon = 1
[practice]
[mirror]
path = "m"
key = "env:K"
"""
POLICIES = (f'{_TOP}[ledger]\npath = "l"{_REST}', f'{_TOP}[ledger]\nurl = "env:L"{_REST}')
"""Two that together have every section, and every setting that is read only where it is there."""

SECTIONS: dict[str, tuple[str, str, tuple[type, ...]]] = {
    "": ("At the top", "Before any section.", (Policy,)),
    "database.": (
        "`[database]`",
        "Where the rows are, and what one question may use of the database.",
        (DatabaseLimits, Policy),
    ),
    "ledger.": ("`[ledger]`", "Where charges are stored: `path` or `url`.", (Policy,)),
    "privacy.": ("`[privacy]`", "The price of a question, and protection beyond epsilon.", (Policy, SideChannels)),
    "privacy_units.": ("`[privacy_units]`", "Who is protected: a line per table of people.", (Policy,)),
    "groups_per_unit.": ("`[groups_per_unit]`", "A line per table of people.", (Policy,)),
    "foreign_keys[0].": (
        "`[[foreign_keys]]`",
        "Each adds a foreign key to the catalog's, or decides its ownership or fan-out.",
        (DeclaredForeignKey,),
    ),
    "tables.T.": (
        '`[tables.NAME]`, `[tables."SCHEMA.NAME"]`',
        "A table without a section cannot be asked.",
        (TablePolicy,),
    ),
    "tables.T.append_only.": ("`append_only = {...}`", "Of a table, within its section.", (AppendOnly,)),
    "tables.T.clip.": (
        "`clip = {...}`, `at_most = {...}`",
        "Of a table, within its section: bounds on one person's contribution. [What one person "
        "adds](answers.md#what-one-person-adds) explains their effect.",
        (TablePolicy,),
    ),
    "tables.T.rows_per_unit.": ("`[tables.NAME.rows_per_unit]`", "A line per table of people.", (TablePolicy,)),
    "tables.T.columns.C.": (
        "`[tables.NAME.columns]`",
        "A line per column: `NAME = {...}`, with these keys.",
        (ColumnPolicy,),
    ),
    "budgets.analyst.": (
        "`[budgets.analyst]`, `[budgets.dataset]`",
        "Defaults for an analyst who is added without an epsilon, and for all together when the ledger is made.",
        (BudgetPolicy,),
    ),
    "mirror.": (
        "`[mirror]`",
        "A copy of a PostgreSQL's tables, or of sums over them, in a local DuckDB file.",
        (MirrorPolicy,),
    ),
    "practice.": (
        "`[practice]`",
        "The [practice database](answers.md#practise-first), whose rows are made up.",
        (PracticePolicy,),
    ),
}
"""By the path of a section: its heading, what it is, and the dataclasses that its settings are read into."""

_ATTRIBUTES = {
    ("database.", "url"): "database_url",
    ("ledger.", "path"): "ledger_path",
    ("ledger.", "url"): "ledger_path",
    ("privacy.", "answer_quantum"): "answer_quantum_s",
    ("privacy_units.", "T"): "privacy_units",
    ("groups_per_unit.", "T"): "groups_per_unit",
    ("tables.T.rows_per_unit.", "T"): "rows_per_unit",
    ("mirror.", "refresh"): "refresh_s",
}
"""Where the attribute is called otherwise than the setting."""

_DEFAULTS = {
    ("", "schemas"): '["public"]',
    ("ledger.", "path"): "one of both",
    ("ledger.", "url"): "one of both",
    ("ledger.", "question_key_file"): "none",
    ("privacy_units.", "T"): "at least one",
    ("database.", "memory_mb"): "64; on DuckDB and Spark 4096",
    ("database.", "processes"): "PostgreSQL's own setting; 2 on DuckDB; all on Spark",
    ("privacy.", "max_epsilon"): "`epsilon`",
    ("budgets.analyst.", "most_in_total"): "required with `renew`",
    ("mirror.", "refresh"): '"manual"',
    ("mirror.", "max_mb"): "20000",
    ("tables.T.", "parquet"): "files named like the table",
    ("tables.T.append_only.", "closed_after_days"): "required",
    **{("tables.T.clip.", name): "none" for name in (ROWS, *ROWS_PER)},
    ("tables.T.clip.", "C"): "none",
    ("privacy.", "global_sensitivity"): "none",
}
"""Where a default is neither in the reading nor in the dataclass."""

_ABOUT = {
    ("ledger.", "path"): "a file, relative to the policy's folder.",
    ("ledger.", "url"): "a PostgreSQL that several proxies share, written as `database.url`.",
    (
        "ledger.",
        "question_key_file",
    ): "a file of keys; the ledger then stores the text of questions, encrypted with its first key.",
    ("privacy.", "time_grain"): "the unit that now() is rounded down to.",
    ("foreign_keys[0].", "table"): "the table whose rows reference others.",
    ("foreign_keys[0].", "columns"): "the columns of `table` that hold the key.",
    ("foreign_keys[0].", "references"): "the table that is referenced.",
    ("foreign_keys[0].", "key"): "the columns of `references`, as many as `columns`.",
    (
        "tables.T.columns.C.",
        "range",
    ): "the public range. In sums, a number beyond it counts as the nearest end. As a group key, a "
    "number or day beyond it is in no group. Conditions see the value itself. Public tables need none: their least "
    "and greatest values are read when the proxy starts, and at each reload.",
    (
        "tables.T.clip.",
        "rows",
    ): "how many of the table's rows count for one person (`clip`), or the most that one person owns (`at_most`).",
    **{
        (
            "tables.T.clip.",
            name,
        ): f"the same for the rows of one {unit}, by the column of `append_only`. It is used if a "
        "question's conditions limit the days of its rows."
        for name, unit in ROWS_PER.items()
    },
    (
        "tables.T.clip.",
        "C",
    ): "the same for the sum of a column's absolute values, clamped to its range as in sums.",
    ("budgets.analyst.", "most_in_total"): "with `renew`: the total epsilon of all periods.",
    (
        "mirror.",
        "refresh",
    ): 'the age at which a copy is replaced, in minutes ("30m"), hours ("24h") or days ("7d"). `manual`: only '
    "`noisegate mirror refresh` replaces it.",
}
"""Where the docstring speaks of what the code makes of a setting."""

_TYPES = {
    "text": "text",
    "texts": "list of names",
    "key": "a column, or a list of columns",
    "keys": "list of keys",
    "date_form": "text of YYYY, MM, DD, HH24, MI, SS and signs, or a list",
    "flag": "true or false",
    "number": "number",
    "number_or_none": "number",
    "number_or_word": f'number, or "{UNLIMITED}"',
    "count": "whole number above 0",
    "interval": "[lowest, highest], numbers or dates",
    "step": f"whole number, or one of {', '.join(CALENDAR_UNITS)}",
    "value": "text, number, true, false or date",
    "values": "list of values",
}
_TYPE_OF = {("mirror.", "refresh"): 'a time such as "24h", or "manual"'}
"""Where a setting is read as any value."""

_CHOICES = ("choice", "choice_or_none")

METHODS = (*_TYPES, *_CHOICES)
"""Of `TomlSection`: those that read a setting."""

_REQUIRED = ("text", "texts", "number", "key")
_CODE = re.compile(r"\s*\([^()]*(?:planner|server|privacy|docs)[/.][^()]*\)")
"""Where to read on in the code, which is nothing for a custodian."""

_NONE = re.compile(r"[;,] (?:or )?None\b.*?(?=\.(?: |$))|, one of [A-Z]+")
"""What is so without the setting: the table has a column for it; and names of lists in the code."""


@dataclass(frozen=True)
class Asked:
    """How a setting is read: the method of `TomlSection`, and its arguments beside the key."""

    method: str
    arguments: tuple[Any, ...]


def main() -> int:
    """Rewrite the tables; returns the exit code."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def written(text: str) -> str:
    """The page with its tables as they are now."""
    return replaced(text, SETTINGS, "\n".join(_lines()))


def asked() -> dict[tuple[str, str], Asked]:
    """Every setting that reading a policy asks for, by its section's path and its key."""
    found: dict[tuple[str, str], Asked] = {}

    def noting(name: str) -> Any:
        method = getattr(TomlSection, name)

        @wraps(method)
        def noted(section: TomlSection, key: str, *arguments: Any, **bounds: Any) -> Any:
            found.setdefault((section._path, key), Asked(name, arguments))
            return method(section, key, *arguments, **bounds)

        return noted

    with patch.multiple(TomlSection, **{name: noting(name) for name in METHODS}):
        for text in POLICIES:
            parse_policy(text)
    alike = ("budgets.dataset", "tables.T.at_most")
    return {place: one for place, one in found.items() if not place[0].startswith(alike)}


def about(section: str, key: str) -> str:
    """What a setting means: its attribute's words."""
    if (section, key) in _ABOUT:
        return _ABOUT[section, key]
    attribute = _ATTRIBUTES.get((section, key), key)
    for model in SECTIONS[section][2]:
        if (words := attributes(model).get(attribute)) is not None:
            return words
    raise KeyError(f"no docstring says what {section}{key} is")


def attributes(model: type) -> dict[str, str]:
    """The lines of a docstring's `Attributes:`, by attribute, without where to read on in the code."""
    listed = inspect.cleandoc(model.__doc__ or "").partition("Attributes:\n")[2]
    return {
        name: _NONE.sub("", _CODE.sub("", " ".join(words.split())))
        for names, words in re.findall(r"(?m)^  (\w[\w, ]*): (.*(?:\n    .*)*)", listed)
        for name in names.split(", ")
    }


def _lines() -> Iterator[str]:
    settings = asked()
    for section, (heading, what, _) in SECTIONS.items():
        yield f"## {heading}"
        yield ""
        yield what
        yield ""
        yield "| key | type | default | meaning |"
        yield "| --- | --- | --- | --- |"
        for (path, key), one in settings.items():
            if path == section:
                shown = "NAME" if key in ("T", "C") else key
                cells = (_TYPE_OF.get((section, key)) or _type(one), _default(section, key, one), about(section, key))
                yield f"| `{shown}` | {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        yield ""


def _type(one: Asked) -> str:
    if one.method in _CHOICES:
        return " or ".join(f'"{choice}"' for choice in one.arguments[0])
    return _TYPES[one.method]


def _default(section: str, key: str, one: Asked) -> str:
    if (section, key) in _DEFAULTS:
        return _DEFAULTS[section, key]
    if one.method in ("flag", "choice", "number") and one.arguments and one.arguments[-1] is not None:
        return _value(one.arguments[-1])
    for model in SECTIONS[section][2]:
        for field in fields(model):
            if field.name == _ATTRIBUTES.get((section, key), key) and field.default is not MISSING:
                return "none" if field.default is None or field.default == () else _value(field.default)
    return "required" if one.method in _REQUIRED else "none"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    sys.exit(main())
