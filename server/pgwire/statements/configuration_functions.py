"""`SELECT set_config(...)` and `current_setting(...)`: SET and SHOW as functions, which drivers and poolers use."""

from __future__ import annotations

import re

from planner.errors import UnsupportedSQL
from server.pgwire.state.settings import is_known
from server.pgwire.statements.commands import ConfigCall, Configure
from server.pgwire.statements.split_statements import Words

_ARGUMENT = r"""(?:'(?:[^']|'')*'|\$[0-9]{1,5}|true|false|null)\s*(?:::\s*(?:text|varchar|bool|boolean)\s*)?"""
_CALL = re.compile(
    rf"""\s*(?:(?:pg_catalog|"pg_catalog")\s*\.\s*)?(?P<name>set_config|current_setting|"set_config"|"current_setting")
    \s*\(\s*(?P<arguments>{_ARGUMENT}(?:,\s*{_ARGUMENT})*)\)\s*(?:::\s*(?:text|varchar)\s*)?
    (?:(?:as\s+)?(?P<alias>"(?:[^"]|"")+"|[^\W\d]\w*)\s*)?(?P<end>,|\Z)""",
    re.IGNORECASE | re.VERBOSE,
)
_VALUE = re.compile(rf"\s*{_ARGUMENT},?", re.IGNORECASE)
_IF_THERE_IS_ONE = re.compile(
    r"""\s+from\s+(?:pg_catalog\s*\.\s*)?(?:pg_show_all_settings\s*\(\s*\)|pg_settings)
    \s+where\s+name\s*=\s*'(?P<name>[^']*)'\s*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""How pgAdmin and pg_dump set what not every server has: for each setting of the name, which is one or none."""

_NAME = re.compile(r"\bset_config\s*\(\s*name(?=\s*,)", re.IGNORECASE)

_SELECT = re.compile(r"select\b", re.IGNORECASE)
_SETS, _SHOWS = "set_config", "current_setting"
_OURS = re.compile(r"current_setting\"?\s*\(\s*'\s*noisegate\.", re.IGNORECASE)
_CONSTANTS = {"true": True, "false": False, "null": None}


def configure_of(statement: Words) -> Configure | None:
    """The calls of a SELECT that is nothing but calls; None where none of a session's settings has a part in it.

    Whatever else would set one, or show one of ours, is refused: the catalog would answer from its own settings, by
    which nothing is charged. Settings that only PostgreSQL has (`jit`) are left to the catalog, which knows none of
    ours either, by whatever name it is asked: reflection asks it for `default_table_access_method`, by a parameter.
    Raises: UnsupportedSQL.
    """
    names = statement.names
    if _SETS not in names and _SHOWS not in names:
        return None
    tail = _IF_THERE_IS_ONE.search(statement.text)
    calls = _calls(statement.text) if tail is None else _calls_of(tail["name"], statement.text[: tail.start()])
    if calls is not None:
        known = any(not isinstance(one.arguments[0], str) or is_known(one.arguments[0]) for one in calls)
        unknown_is_set = tail is not None and any(one.sets for one in calls)
        return Configure(calls, known=known) if known or unknown_is_set else None
    if _SETS in names or _OURS.search(statement.text):
        hint = "write SELECT set_config('name', 'value', false), SELECT current_setting('name'), SET or SHOW"
        message = "settings are set, and those of noisegate shown, only by a statement that does nothing else"
        raise UnsupportedSQL(message, hint=hint, position=statement.start + 1)
    return None


def _calls_of(setting: str, sql: str) -> tuple[ConfigCall, ...] | None:
    """The calls before `FROM pg_settings WHERE name = 'setting'`, all of that setting; its name may be `name`."""
    calls = _calls(_NAME.sub(lambda found: f"{found[0][:-4]}'{setting}'", sql))
    return calls if calls is not None and all(one.arguments[0] == setting for one in calls) else None


def _calls(sql: str) -> tuple[ConfigCall, ...] | None:
    found = _SELECT.match(sql)
    if found is None:
        return None
    place, calls = found.end(), list[ConfigCall]()
    while (match := _CALL.match(sql, place)) is not None:
        name = match["name"].strip('"').lower()
        arguments = tuple(_argument(one.group()) for one in _VALUE.finditer(match["arguments"]))
        if len(arguments) not in ((3,) if name == _SETS else (1, 2)):
            return None
        calls.append(ConfigCall(name == _SETS, arguments, _setting_column(match["alias"]) or name))
        if not match["end"]:
            return tuple(calls)
        place = match.end()
    return None


def _argument(written: str) -> str | int | bool | None:
    """A literal; the number of a parameter; true, false or NULL."""
    text = written.strip().rstrip(",").strip()
    if text.startswith("'"):
        return text[1 : text.rindex("'")].replace("''", "'")
    text = text.partition("::")[0].strip().lower()
    return int(text[1:]) if text.startswith("$") else _CONSTANTS[text]


def _setting_column(alias: str | None) -> str | None:
    if alias is None or not alias.startswith('"'):
        return None if alias is None else alias.lower()
    return alias[1:-1].replace('""', '"')
