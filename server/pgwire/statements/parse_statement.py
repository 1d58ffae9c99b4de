"""Parse one statement into a command, with one function per first word."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from psycopg.postgres import types

from planner.errors import InvalidSetting, UnsupportedSQL
from planner.limits import check_length
from planner.parsing.lexer import Kind, check_blanks, scan
from planner.parsing.parse import check_reads
from server.pgwire.settings import spelled
from server.pgwire.statements import commands as c
from server.pgwire.statements.commands import Command
from server.pgwire.statements.session_functions import backend_call_of, configure_of, question_of
from server.pgwire.statements.split_statements import WordCursor, Words, split, unquoted
from server.pgwire.wire_values import type_of

_ALIASES = {"int": "int4", "char": "bpchar", "decimal": "numeric", "timestamp without time zone": "timestamp"}
"""Type names that psycopg does not know."""

_WORDS = {"TRUE": b"true", "FALSE": b"false", "NULL": None}


def _type(words: WordCursor, part: list[str]) -> int:
    """The OID of one entry of `(int, text)`. Raises: UnsupportedSQL for other types."""
    size = part.index("(") if "(" in part else len(part)  # a size is ignored, as in PostgreSQL
    name = " ".join(part[:size]).lower()
    if name == "unknown":
        return 0
    known = types.get(_ALIASES.get(name, name))
    if known is None or type_of(known.oid) is None:
        hint = "leave the types out: PREPARE name AS SELECT ..."
        raise words.unsupported(f"a parameter of the type {name} is not supported", hint)
    return known.oid


def _literal(words: WordCursor, part: list[str]) -> bytes | None:
    """The text of one entry of `(1, 'a', NULL)`. Raises: UnsupportedSQL for anything but a literal."""
    sign, rest = ("-", part[1:]) if part[:1] == ["-"] else ("", part)
    (word,) = rest if len(rest) == 1 else ("",)
    if word.startswith("'") and not sign:
        return word[1:-1].replace("''", "'").encode()
    if word[:1].isdecimal() or word[:1] == ".":
        return (sign + word).encode()
    if word in _WORDS and not sign:
        return _WORDS[word]
    hint = "write a literal, which takes its parameter's type: EXECUTE name (1, 'text', NULL)"
    raise words.unsupported("EXECUTE accepts literals only", hint)


def _listed(words: WordCursor) -> list[list[str]]:
    if not words.skip("("):
        return []
    parts: list[list[str]] = [[]]
    depth = 1
    while depth:
        word = words.take()
        if not word:
            raise words.unreadable()
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "," and depth == 1:
            parts.append([])
        elif depth:
            parts[-1].append(word)
    return parts


_OFFSET = re.compile(r"\s*([+-]?[0-9]{1,2})(?::00){0,2}\s*", re.ASCII)
"""Whole hours in an interval from hours to minutes."""


def _begin(words: WordCursor) -> Command:
    tag = "START TRANSACTION" if words.take() == "START" else "BEGIN"
    if tag == "START TRANSACTION":
        words.expect("TRANSACTION")
    words.rest()  # its modes; READ WRITE, too, since drivers write it whatever the transaction does
    return c.Transaction("begin", tag)


def _commit(words: WordCursor) -> Command:
    words.take()
    words.skip("WORK", "TRANSACTION")
    if words.skip("PREPARED"):
        raise words.unsupported("prepared transactions are not supported")
    words.end()
    return c.Transaction("commit", "COMMIT")


def _rollback(words: WordCursor) -> Command:
    words.take()
    words.skip("WORK", "TRANSACTION")
    if words.skip("TO"):
        words.skip("SAVEPOINT")
        name = words.name()
        words.end()
        return c.Transaction("rollback to", "ROLLBACK", name)
    words.end()
    return c.Transaction("rollback", "ROLLBACK")


def _named(words: WordCursor, *between: str) -> str:
    """The name in a statement of a verb, one of these optional words, and a name."""
    words.take()
    words.skip(*between)
    name = words.name()
    words.end()
    return name


def _named_or_all(words: WordCursor, *between: str) -> str | None:
    """The same; None for ALL."""
    everything = words.statement.words[-1] == "ALL"
    name = _named(words, *between)
    return None if everything else name


def _set(words: WordCursor) -> Command:
    words.take()
    local = words.skip("LOCAL")
    if not local:
        words.skip("SESSION")
    if words.skip("TRANSACTION", "CHARACTERISTICS"):
        words.rest()
        return c.Nothing("SET")
    if words.skip("TIME"):
        words.expect("ZONE")
        return c.SetSetting("timezone", _zone(words), local)
    if words.skip("SCHEMA"):
        return c.SetSetting("search_path", _value(words), local)
    if words.skip("CONSTRAINTS"):
        return c.Nothing("SET CONSTRAINTS")
    if words.skip("NAMES"):
        return c.SetSetting("client_encoding", _value(words), local)
    if words.skip("ROLE", "AUTHORIZATION"):
        words.skip("TO", "=")
        if words.take() in ("DEFAULT", "NONE") and not words.word:  # poolers reset sessions so
            return c.Nothing("SET")
        hint = "log in with the name of the analyst whose questions these are"
        raise words.unsupported("changing the role is not supported", hint)
    name = _setting(words)
    if not words.skip("TO", "="):
        raise words.unreadable()
    return c.SetSetting(name, _schemas(words) if name == "search_path" else _value(words), local)


def _zone(words: WordCursor) -> str | None:
    if words.skip("INTERVAL"):
        zone = _OFFSET.fullmatch(_plain(words.take()))
        words.rest()
        if zone is None:
            hint = "write SET TIME ZONE 'Europe/Zurich'"
            raise InvalidSetting("the interval of a time zone must be whole hours", hint=hint)
        return zone[1]
    return None if words.skip("LOCAL") else _value(words)


def _setting(words: WordCursor) -> str:
    name = words.name()
    while words.skip("."):
        name += "." + words.name()
    return name


def _value(words: WordCursor) -> str | None:
    """A string, a word, a number, or a list; None for DEFAULT."""
    written = _written(words)
    return None if written is None else "".join(", " if part == "," else _plain(part) for part in written)


def _written(words: WordCursor) -> tuple[str, ...] | None:
    """The rest, which must not be empty; None for DEFAULT."""
    written = words.rest()
    if not written:
        raise words.unreadable()
    return None if written == ("DEFAULT",) else written


def _schemas(words: WordCursor) -> str | None:
    """A list of schemas, each a word or a string; None for DEFAULT."""
    written = _written(words)
    if written is None:
        return None
    names, commas = written[::2], written[1::2]
    if len(names) == len(commas) or any(comma != "," for comma in commas):
        raise words.unreadable()
    return spelled([_plain(name) for name in names])


def _plain(part: str) -> str:
    if part.startswith("'"):
        return part[1:-1].replace("''", "'")
    if part.startswith('"'):
        return unquoted(part)
    return part.lower()


def _reset(words: WordCursor) -> Command:
    words.take()
    if words.skip("ROLE") or (words.skip("SESSION") and words.skip("AUTHORIZATION")):
        words.end()
        return c.Nothing("RESET")
    name = "timezone" if words.skip("TIME") and words.take() == "ZONE" else _setting(words)
    words.end()
    return c.SetSetting(name, None, tag="RESET")


def _show(words: WordCursor) -> Command:
    words.take()
    if words.skip("TIME"):
        words.expect("ZONE")
        return c.Show("timezone")
    if words.skip("TRANSACTION"):
        words.expect("ISOLATION", "LEVEL")
        return c.Show("transaction_isolation")
    if words.skip("SESSION"):
        words.expect("AUTHORIZATION")
        return c.Show("session_authorization")
    name = _setting(words)
    words.end()
    return c.Show(name)


def _discard(words: WordCursor) -> Command:
    words.take()
    what = words.take()
    words.end()
    if what not in ("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY"):
        raise words.unreadable()
    return c.Discard(what)


def _prepare(words: WordCursor) -> Command:
    words.take()
    if words.word == "TRANSACTION":
        raise words.unsupported("prepared transactions are not supported")
    name, types = words.name(), tuple(_type(words, part) for part in _listed(words))
    words.expect("AS")
    return c.Prepare(name, types, _inner(words, _behind(words.statement.text, "AS")))


def _execute(words: WordCursor) -> Command:
    words.take()
    name, values = words.name(), tuple(_literal(words, part) for part in _listed(words))
    words.end()
    return c.ExecutePrepared(name, values)


def _behind(text: str, keyword: str) -> str:
    pieces = scan(text)
    return next(text[end:] for kind, start, end in pieces if kind is Kind.WORD and text[start:end].upper() == keyword)


def _declare(words: WordCursor) -> Command:
    words.take()
    name = words.name()
    while words.skip("BINARY", "ASENSITIVE", "INSENSITIVE", "NO", "SCROLL"):
        pass
    words.expect("CURSOR")
    hold = words.skip("WITH")
    if hold or words.skip("WITHOUT"):
        words.expect("HOLD")
    words.expect("FOR")
    return c.Declare(name, _inner(words, _behind(words.statement.text, "FOR")), hold)


def _inner(words: WordCursor, sql: str) -> c.Question:
    inner = split(sql)
    if len(inner) != 1 or inner[0].words[0] not in ("SELECT", "WITH", "VALUES", "TABLE", "("):
        raise words.unreadable()
    if configure_of(inner[0]) is not None:
        raise words.unsupported("queries of settings cannot be used in cursors, COPY or PREPARE", "use SHOW")
    if backend_call_of(inner[0]) is not None:  # the catalog would return the number of its own session
        hint = "send it as a statement of its own"
        raise words.unsupported("queries of sessions cannot be used in cursors, COPY or PREPARE", hint)
    return question_of(inner[0])


def _fetch(words: WordCursor) -> Command:
    move = words.take() == "MOVE"
    words.skip("FORWARD", "NEXT")
    count: int | None = 1
    if words.skip("ALL"):
        count = None
    elif words.word in ("BACKWARD", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "-"):
        hint = "read the rows from first to last; to start over, ask again: a repeated question is free"
        raise words.unsupported("cursors move forwards only", hint)
    elif words.word[:1].isdecimal():
        count = words.count()
    words.skip("FROM", "IN")
    name = words.name()
    words.end()
    return c.Fetch(name, count, move)


def _copy(words: WordCursor) -> Command:
    text = words.statement.text
    pieces = list(scan(text))
    written = [text[start:end] for _, start, end in pieces]
    depths = [*itertools.accumulate({"(": 1, ")": -1}.get(word, 0) for word in written)]
    to = next((at for at, word in enumerate(written) if at > 1 and word.upper() == "TO" and not depths[at]), 0)
    if not to or [word.upper() for word in written[to + 1 : to + 2]] != ["STDOUT"]:
        check_reads("COPY", text, words.statement.start + 1)
        raise words.unreadable()
    options = text[pieces[to + 1][2] :]
    if written[1] == "(" and depths[1 : to - 1] and all(depths[1 : to - 1]):
        return c.Copy(_inner(words, text[pieces[1][2] : pieces[to - 1][1]]), options)
    opening = written.index("(", 0, to) if "(" in written[:to] else to
    name = text[pieces[1][1] : pieces[opening - 1][2]]
    if written[2:opening:2] != ["."] * (opening // 2 - 1) or opening % 2 or (opening < to and written[to - 1] != ")"):
        raise words.unreadable()
    columns = text[pieces[opening][2] : pieces[to - 1][1]] if opening < to else "*"
    return c.Copy(_inner(words, f"SELECT {columns} FROM {name}"), options)


READERS: Mapping[str, Callable[[WordCursor], Command]] = MappingProxyType(
    {
        "BEGIN": _begin,
        "START": _begin,
        "COMMIT": _commit,
        "END": _commit,
        "ROLLBACK": _rollback,
        "ABORT": _rollback,
        "SAVEPOINT": lambda words: c.Transaction("savepoint", "SAVEPOINT", _named(words)),
        "RELEASE": lambda words: c.Transaction("release", "RELEASE", _named(words, "SAVEPOINT")),
        "SET": _set,
        "RESET": _reset,
        "SHOW": _show,
        "DISCARD": _discard,
        "PREPARE": _prepare,
        "EXECUTE": _execute,
        "DEALLOCATE": lambda words: c.Deallocate(_named_or_all(words, "PREPARE")),
        "DECLARE": _declare,
        "FETCH": _fetch,
        "MOVE": _fetch,
        "CLOSE": lambda words: c.CloseCursor(_named_or_all(words)),
        "COPY": _copy,
        "UNLISTEN": lambda words: c.Nothing("UNLISTEN"),
    }
)
"""Parsers by the first word of a statement."""


_ASKS = frozenset({"SELECT", "WITH", "EXPLAIN", "VALUES", "TABLE", "("})


def command_of(statement: Words) -> Command:
    """Parse a statement. Whether a question can be answered is up to the planner.

    Raises: ReadOnly for statements that write; InvalidSyntax, UnsupportedSQL.
    """
    first = statement.words[0]
    if first in READERS:
        return READERS[first](WordCursor(statement))
    if (configure := configure_of(statement)) is not None:
        return configure
    if (call := backend_call_of(statement)) is not None:
        return call
    check_reads(first, statement.text, statement.start + 1)
    if first in _ASKS:
        return question_of(statement)
    check_blanks(first, statement.start)
    word = first if first.isalpha() else "a statement that starts like this"
    raise UnsupportedSQL(f"{word} is not supported", hint="write one SELECT", position=statement.start + 1)


LONG = 2_048
"""Longer texts are parsed in a thread, because they take milliseconds."""


async def split_text(sql: str) -> list[Words]:
    """Split a text into statements. Raises: StatementTooLong, before anything else."""
    check_length(sql)
    return split(sql) if len(sql) <= LONG else await asyncio.to_thread(split, sql)


async def read(statement: Words) -> Command:
    """Parse a statement. Raises: as `command_of`."""
    if len(statement.text) <= LONG:
        return command_of(statement)
    return await asyncio.to_thread(command_of, statement)
