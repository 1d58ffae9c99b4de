"""PREPARE and EXECUTE, the statements: what the protocol's own messages do for most drivers."""

from __future__ import annotations

from planner.errors import UnsupportedSQL
from server.pgwire.statements.word_cursor import WordCursor

_TYPES = {
    "UNKNOWN": 0,
    "BOOL": 16, "BOOLEAN": 16,
    "INT8": 20, "BIGINT": 20,
    "INT2": 21, "SMALLINT": 21,
    "INT": 23, "INT4": 23, "INTEGER": 23,
    "TEXT": 25,
    "REAL": 700, "FLOAT4": 700,
    "FLOAT8": 701, "DOUBLE PRECISION": 701,
    "CHAR": 1042, "CHARACTER": 1042,
    "VARCHAR": 1043, "CHARACTER VARYING": 1043,
    "DATE": 1082,
    "TIMESTAMP": 1114, "TIMESTAMP WITHOUT TIME ZONE": 1114,
    "TIMESTAMPTZ": 1184, "TIMESTAMP WITH TIME ZONE": 1184,
    "INTERVAL": 1186,
    "NUMERIC": 1700, "DECIMAL": 1700,
    "UUID": 2950,
}  # fmt: skip
"""OIDs, as in every PostgreSQL."""

_WORDS = {"TRUE": b"true", "FALSE": b"false", "NULL": None}


def parameter_types(words: WordCursor) -> tuple[int, ...]:
    """The OIDs of `(int, text)`, if that comes next. Raises: UnsupportedSQL for a type that no parameter has."""
    return tuple(_type(words, part) for part in _listed(words))


def _type(words: WordCursor, part: list[str]) -> int:
    size = part.index("(") if "(" in part else len(part)  # a size counts for nothing, as in PostgreSQL
    name = " ".join(part[:size])
    if name not in _TYPES:
        hint = "leave the types out: PREPARE name AS SELECT ..."
        position = words.statement.start + 1
        raise UnsupportedSQL(f"a parameter of the type {name.lower()} is not supported", hint=hint, position=position)
    return _TYPES[name]


def literal_values(words: WordCursor) -> tuple[bytes | None, ...]:
    """The texts of `(1, 'a', NULL)`, if that comes next. Raises: UnsupportedSQL for what is no literal."""
    return tuple(_literal(words, part) for part in _listed(words))


def _literal(words: WordCursor, part: list[str]) -> bytes | None:
    sign, rest = ("-", part[1:]) if part[:1] == ["-"] else ("", part)
    (word,) = rest if len(rest) == 1 else ("",)
    if word.startswith("'") and not sign:
        return word[1:-1].replace("''", "'").encode()
    if word[:1].isdecimal() or word[:1] == ".":
        return (sign + word).encode()
    if word in _WORDS and not sign:
        return _WORDS[word]
    hint = "write a literal, which takes its parameter's type: EXECUTE name (1, 'text', NULL)"
    raise UnsupportedSQL("EXECUTE takes literals only", hint=hint, position=words.statement.start + 1)


def _listed(words: WordCursor) -> list[list[str]]:
    """What stands between commas in brackets, if those come next."""
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
