"""What drivers and tools send around questions: transactions, settings, cursors, COPY. One reader per first word."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from planner.errors import ReadOnly, UnsupportedSQL
from server.pgwire.commands import (
    CloseCursor,
    Command,
    Copy,
    Deallocate,
    Declare,
    Discard,
    Fetch,
    Nothing,
    Question,
    SetSetting,
    Show,
    Transaction,
)
from server.pgwire.questions import question_of
from server.pgwire.split import split
from server.pgwire.word_cursor import WordCursor

_COPY = re.compile(r"COPY\s*\((?P<select>.*)\)\s*TO\s+STDOUT\b(?P<options>.*)", re.IGNORECASE | re.DOTALL)
_DECLARED = re.compile(r"\bFOR\b", re.IGNORECASE)


def _begin(words: WordCursor) -> Command:
    tag = "START TRANSACTION" if words.take() == "START" else "BEGIN"
    if tag == "START TRANSACTION":
        words.expect("TRANSACTION")
    modes = words.rest()
    if _writes(modes):
        raise ReadOnly("a transaction that writes is not opened here", position=words.statement.start + 1)
    return Transaction("begin", tag)


def _writes(modes: tuple[str, ...]) -> bool:
    """READ WRITE asked for by name; drivers that want it would be surprised later."""
    return ("READ", "WRITE") in itertools.pairwise(modes)


def _commit(words: WordCursor) -> Command:
    words.take()
    words.skip("WORK", "TRANSACTION")
    if words.skip("PREPARED"):
        raise UnsupportedSQL("prepared transactions are not supported", position=words.statement.start + 1)
    words.end()
    return Transaction("commit", "COMMIT")


def _rollback(words: WordCursor) -> Command:
    words.take()
    words.skip("WORK", "TRANSACTION")
    if words.skip("TO"):
        words.skip("SAVEPOINT")
        words.name()
        words.end()
        return Transaction("rollback to", "ROLLBACK")
    words.end()
    return Transaction("rollback", "ROLLBACK")


def _savepoint(words: WordCursor) -> Command:
    words.take()
    words.name()
    words.end()
    return Transaction("savepoint", "SAVEPOINT")


def _release(words: WordCursor) -> Command:
    words.take()
    words.skip("SAVEPOINT")
    words.name()
    words.end()
    return Transaction("release", "RELEASE")


def _set(words: WordCursor) -> Command:
    words.take()
    local = words.skip("LOCAL")
    if not local:
        words.skip("SESSION")
    if words.skip("TRANSACTION", "CHARACTERISTICS"):
        if _writes(words.rest()):
            raise ReadOnly("transactions that write are not opened here", position=words.statement.start + 1)
        return Nothing("SET")
    if words.skip("TIME"):
        words.expect("ZONE")
        return SetSetting("timezone", _value(words), local)
    if words.skip("NAMES"):
        return SetSetting("client_encoding", _value(words), local)
    if words.word in ("ROLE", "AUTHORIZATION"):
        hint = "connect as the analyst who asks"
        raise UnsupportedSQL("nobody becomes somebody else here", hint=hint, position=words.statement.start + 1)
    name = _setting(words)
    if not words.skip("TO", "="):
        raise words.unreadable()
    return SetSetting(name, _value(words), local)


def _setting(words: WordCursor) -> str:
    """The name of a setting, perhaps with a dot."""
    name = words.name()
    while words.skip("."):
        name += "." + words.name()
    return name


def _value(words: WordCursor) -> str | None:
    """A value: a quoted string, a word, a number, or a list; None for DEFAULT."""
    written = words.rest()
    if not written:
        raise words.unreadable()
    if written == ("DEFAULT",):
        return None
    return "".join(", " if part == "," else _plain(part) for part in written)


def _plain(part: str) -> str:
    if part.startswith("'"):
        return part[1:-1]
    if part.startswith('"'):
        return part[1:-1]
    return part.lower()


def _reset(words: WordCursor) -> Command:
    words.take()
    name = "timezone" if words.skip("TIME") and words.take() == "ZONE" else _setting(words)
    words.end()
    return SetSetting(name, None, tag="RESET")


def _show(words: WordCursor) -> Command:
    words.take()
    if words.skip("TIME"):
        words.expect("ZONE")
        return Show("timezone")
    if words.skip("TRANSACTION"):
        words.expect("ISOLATION", "LEVEL")
        return Show("transaction_isolation")
    name = _setting(words)
    words.end()
    return Show(name)


def _discard(words: WordCursor) -> Command:
    words.take()
    what = words.take()
    words.end()
    if what not in ("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY"):
        raise words.unreadable()
    return Discard(what)


def _deallocate(words: WordCursor) -> Command:
    words.take()
    words.skip("PREPARE")
    everything = words.word == "ALL"
    name = words.name()
    words.end()
    return Deallocate(None if everything else name)


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
    found = _DECLARED.search(words.statement.text)
    assert found is not None, "FOR was among the words"
    return Declare(name, _inner(words, words.statement.text[found.end() :], found.end()), hold)


def _inner(words: WordCursor, sql: str, offset: int) -> Question:
    """The question inside another statement, which remembers where it stands."""
    inner = split(sql)
    if len(inner) != 1 or inner[0].words[0] not in ("SELECT", "WITH", "VALUES", "TABLE", "("):
        raise words.unreadable()
    question = question_of(inner[0])
    return Question(question.sql, words.statement.start + offset + question.start, question.catalog)


def _fetch(words: WordCursor) -> Command:
    move = words.take() == "MOVE"
    words.skip("FORWARD", "NEXT")
    count: int | None = 1
    if words.skip("ALL"):
        count = None
    elif words.word in ("BACKWARD", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE"):
        hint = "read forwards, or ask again: the same question is free"
        raise UnsupportedSQL("cursors only move forwards", hint=hint, position=words.statement.start + 1)
    elif words.word[:1].isdecimal() or words.word == "-":
        count = words.count()
        if count < 0:
            raise UnsupportedSQL("cursors only move forwards", position=words.statement.start + 1)
    words.skip("FROM", "IN")
    name = words.name()
    words.end()
    return Fetch(name, count, move)


def _close(words: WordCursor) -> Command:
    words.take()
    everything = words.word == "ALL"
    name = words.name()
    words.end()
    return CloseCursor(None if everything else name)


def _copy(words: WordCursor) -> Command:
    found = _COPY.fullmatch(words.statement.text)
    if found is None:
        hint = "write COPY (SELECT ...) TO STDOUT"
        if "FROM" in words.rest() and "SELECT" not in words.statement.text.upper():
            raise ReadOnly("COPY ... FROM would write", hint=hint, position=words.statement.start + 1)
        raise UnsupportedSQL("this COPY is not supported", hint=hint, position=words.statement.start + 1)
    return Copy(_inner(words, found["select"], found.start("select")), found["options"])


def _unlisten(words: WordCursor) -> Command:
    return Nothing("UNLISTEN")


READERS: Mapping[str, Callable[[WordCursor], Command]] = MappingProxyType(
    {
        "BEGIN": _begin,
        "START": _begin,
        "COMMIT": _commit,
        "END": _commit,
        "ROLLBACK": _rollback,
        "ABORT": _rollback,
        "SAVEPOINT": _savepoint,
        "RELEASE": _release,
        "SET": _set,
        "RESET": _reset,
        "SHOW": _show,
        "DISCARD": _discard,
        "DEALLOCATE": _deallocate,
        "DECLARE": _declare,
        "FETCH": _fetch,
        "MOVE": _fetch,
        "CLOSE": _close,
        "COPY": _copy,
        "UNLISTEN": _unlisten,
    }
)
"""By the first word of a statement."""
