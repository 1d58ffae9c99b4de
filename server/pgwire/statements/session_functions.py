"""Statements about the session itself, its settings and the catalog, which the pipeline does not answer.

Tools use `SELECT pg_backend_pid()`, `pg_cancel_backend(n)` and `pg_terminate_backend(n)` to stop queries: dbt after
an interrupt, Superset by `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid='n'`. The catalog cannot
answer them, because its own sessions have other numbers.

`SELECT set_config(...)` and `current_setting(...)` are SET and SHOW as functions, for drivers and poolers.

In catalog queries, `current_user` and `pg_backend_pid()` are replaced by the client's, and `pg_database` by the data
set's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from planner.errors import UnsupportedSQL
from planner.parsing.lexer import Kind, scan
from server.pgwire.settings import is_known
from server.pgwire.statements.commands import BackendCall, ConfigCall, Configure, Question
from server.pgwire.statements.split_statements import Words, split, unquoted

_NUMBER = r"(?:'?([0-9]{1,10})'?|\$1)(?: :: (?:INT|INT4|INTEGER))?"
_ALIAS = r'(?: AS ("[^"]+"|[A-Z_]\w*))?'
_STOPS = r"SELECT (?:PG_CATALOG \. )?(PG_CANCEL_BACKEND|PG_TERMINATE_BACKEND) \("
_OWN = re.compile(rf"SELECT (?:PG_CATALOG \. )?(PG_BACKEND_PID) \( \){_ALIAS}")
_NAMED = re.compile(rf"{_STOPS} {_NUMBER} \){_ALIAS}")
_LISTED = re.compile(rf"{_STOPS} PID \){_ALIAS} FROM (?:PG_CATALOG \. )?PG_STAT_ACTIVITY WHERE PID = {_NUMBER}")


def backend_call_of(statement: Words) -> BackendCall | None:
    """The call, if a statement consists of nothing else; None otherwise."""
    words = " ".join(statement.words)
    if (own := _OWN.fullmatch(words)) is not None:
        return BackendCall(own[1].lower(), _column(own[2], own[1]))
    if (named := _NAMED.fullmatch(words)) is not None:
        function, number, alias = named.groups()
    elif (listed := _LISTED.fullmatch(words)) is not None:
        function, alias, number = listed.groups()
    else:
        return None
    return BackendCall(function.lower(), _column(alias, function), None if number is None else int(number))


def _column(alias: str | None, function: str) -> str:
    written = alias or function
    return unquoted(written) if written.startswith('"') else written.lower()


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
"""How pgAdmin and pg_dump set a setting that may not exist: one row per setting of that name."""

_NAME = re.compile(r"\bset_config\s*\(\s*name(?=\s*,)", re.IGNORECASE)

_SELECT = re.compile(r"select\b", re.IGNORECASE)
_SETS, _SHOWS = "set_config", "current_setting"
_OURS = re.compile(r"current_setting\"?\s*\(\s*'\s*noisegate\.", re.IGNORECASE)
_CONSTANTS = {"true": True, "false": False, "null": None}


def configure_of(statement: Words) -> Configure | None:
    """The calls of a SELECT that consists of them; None if no session setting is involved.

    Other uses that set a setting, or show one of ours, are refused, because the catalog would answer from its own
    settings. Other settings of PostgreSQL (`jit`) are left to the catalog.
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
        message = "a statement that calls set_config, or shows a setting of noisegate, must do nothing else"
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
        calls.append(ConfigCall(name == _SETS, arguments, _column(match["alias"], name)))
        if not match["end"]:
            return tuple(calls)
        place = match.end()
    return None


def _argument(written: str) -> str | int | bool | None:
    text = written.strip().rstrip(",").strip()
    if text.startswith("'"):
        return text[1 : text.rindex("'")].replace("''", "'")
    text = text.partition("::")[0].strip().lower()
    return int(text[1:]) if text.startswith("$") else _CONSTANTS[text]


_CATALOGS = frozenset({"pg_catalog", "information_schema"})
_AS_A_TABLE = frozenset({"CURRENT_DATABASE", "VERSION"})
"""Functions that tools use as tables: `SELECT * FROM f()`."""

_BEFORE_TABLE = frozenset({"(", "EXPLAIN"})

_OF_THE_SESSION = frozenset({"CURRENT_SCHEMAS", "CURRENT_SCHEMA", "CURRENT_SETTING"})
"""Functions that completion uses as tables: `FROM unnest(current_schemas(true))`."""


def question_of(statement: Words) -> Question:
    """A question. It is for the catalog if it names one, asks about the session, or reads from nothing.

    The catalog holds no rows, and no table in it can be read. So a question that is sent there by mistake is refused,
    not answered with an empty result.
    """
    names = statement.names
    reads = "from" in names or any(word == "TABLE" and before in _BEFORE_TABLE for before, word in _pairs(statement))
    asks = not reads or _asks_for_the_session(statement)
    named = bool(names & _CATALOGS) or any(name.startswith("pg_") for name in names)
    catalog = named or (asks and statement.words[0] != "EXPLAIN")
    return Question(statement.text, catalog)


def _asks_for_the_session(statement: Words) -> bool:
    triples = zip(_pairs(statement), statement.words[1:], strict=False)
    return any(
        sign == "(" and (word in _OF_THE_SESSION or (word in _AS_A_TABLE and before == "FROM"))
        for (before, word), sign in triples
    )


def _pairs(statement: Words) -> Iterator[tuple[str, str]]:
    """Each word or sign with the next one; the first behind a parenthesis."""
    return itertools.pairwise(("(", *statement.words))


DATABASES = "pg_datasets"
"""The view that replaces `pg_database`; its name has the same length, so that error positions stay right."""

_NAMES = frozenset({"current_user", "session_user", "user", "current_role"})
_PID = "pg_backend_pid"
_NO_CATALOG = frozenset({"pg_catalog", _PID, "pg_is_in_recovery", "pg_postmaster_start_time", "pg_typeof"})
"""Names with `pg_` that involve no role of the catalog."""


def as_client(question: Question, analyst: str, number: int) -> str:
    """A catalog query with the client's session in place of the catalog's.

    A statement about catalogs or privileges compares the user with the catalog's roles, so there only output columns
    are replaced.

    Args:
      number: of the session.

    >>> print(as_client(Question("SELECT current_user, 'user' AS user", True), "o'hara", 7))
    SELECT (SELECT 'o''hara'::pg_catalog.name AS "current_user"), 'user' AS user
    >>> print(as_client(Question("SELECT user FROM pg_database WHERE datdba = user", True), "ann", 7))
    SELECT (SELECT 'ann'::pg_catalog.name AS "user") FROM pg_datasets WHERE datdba = user
    """
    (statement,) = split(question.sql)
    if not (_NAMES | {_PID, "pg_database"}) & statement.names:
        return question.sql
    sql = question.sql
    pieces = [(kind, sql[start:end], start, end) for kind, start, end in scan(sql)]
    words = ["", "", *(text.upper() for _, text, _, _ in pieces), "", "", ""]
    # Is it about catalogs, or about privileges on their relations?
    others = statement.names - _NO_CATALOG
    compares = "information_schema" in others or any(name.startswith(("pg_", "has_")) for name in others)
    literal = "'" + analyst.replace("'", "''") + "'"
    written, place, depth = [], 0, 0
    for at, (kind, text, start, end) in enumerate(pieces, 2):
        depth += {"(": 1, ")": -1}.get(text, 0)
        name = text.lower()
        if kind is not Kind.WORD or name not in _NAMES | {_PID, "pg_database"}:
            continue
        calls = words[at + 1 : at + 3] == ["(", ")"]
        behind = words[at + 3] if calls else words[at + 1]
        shown = not compares or (
            depth == 0 and words[at - 1] in ("SELECT", ",") and behind in (",", "FROM", "AS", "")
        )
        if name == "pg_database":
            instead = DATABASES
        elif name == _PID and calls and shown:
            after_schema = words[at - 2 : at] == ["PG_CATALOG", "."]
            start, end = pieces[at - 4][2] if after_schema else start, pieces[at][3]
            instead = f'(SELECT {number}::pg_catalog.int4 AS "{name}")'
        elif name in _NAMES and shown and words[at - 1] not in (".", "AS") and words[at + 1] not in (".", "("):
            instead = f'(SELECT {literal}::pg_catalog.name AS "{name}")'
        else:
            continue
        written += [sql[place:start], instead]
        place = end
    return "".join([*written, sql[place:]])
