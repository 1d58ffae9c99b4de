"""Check each statement with PostgreSQL's own parser, and refuse invalid syntax with a position and a hint.

The parser library accepts more than PostgreSQL does, such as an extra comma, `a < b < c`, or a JOIN without ON. So
libpg_query, PostgreSQL 18's parser as a library, reads each statement too. Only its error position is used; this
module writes the messages.

The package postgast contains libpg_query. It is called without the package's Python classes, whose import takes as
long as half of sqlglot.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from planner.errors import InvalidSyntax, StatementTooComplex, nearest
from planner.parsing.lexer import END, FUNCTIONS_ONLY, NAME, NUMBER, PARAMETER, RESERVED, Lexeme, lex

_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "JOIN", "UNION", "BETWEEN", "SELECT")
"""Keywords that are read as an alias or a name when they are misspelt."""

_BEFORE_A_VALUE = RESERVED | FUNCTIONS_ONLY | {"BETWEEN", "BY", "ESCAPE", "FIRST", "NEXT", "ZONE"}
_JOINS = frozenset({"CROSS", "FROM", "JOIN", "NATURAL", "ON", "SELECT", "USING"})
_AFTER_A_JOIN = frozenset({END, ")", ",", "GROUP", "HAVING", "LIMIT", "ORDER", "WHERE"})
_LONGEST = 40
_MOST_COMMENTS = 1_000
"""The library's time is quadratic in the depth of nested comments."""

_FILES = {"darwin": "libpg_query.dylib", "win32": "pg_query.dll"}


class _Error(ctypes.Structure):
    """`PgQueryError` of pg_query.h."""

    _fields_: ClassVar = [
        *((name, ctypes.c_char_p) for name in ("message", "funcname", "filename")),
        ("lineno", ctypes.c_int),
        ("cursorpos", ctypes.c_int),
        ("context", ctypes.c_char_p),
    ]


class _Split(ctypes.Structure):
    """`PgQuerySplitResult` of pg_query.h: the statements of a text, or the error that ended it."""

    _fields_: ClassVar = [
        ("stmts", ctypes.c_void_p),
        ("n_stmts", ctypes.c_int),
        ("stderr_buffer", ctypes.c_char_p),
        ("error", ctypes.POINTER(_Error)),
    ]


@cache
def _library() -> Any:
    """The C library. It allocates per thread, so concurrent calls are safe."""
    spec = find_spec("postgast")
    assert spec is not None and spec.submodule_search_locations, "a dependency of this package"
    library = ctypes.CDLL(str(Path(spec.submodule_search_locations[0], _FILES.get(sys.platform, "libpg_query.so"))))
    library.pg_query_split_with_parser.argtypes = [ctypes.c_char_p]
    library.pg_query_split_with_parser.restype = _Split
    library.pg_query_free_split_result.argtypes = [_Split]
    library.pg_query_free_split_result.restype = None
    return library


def _stopped(sql: str) -> int | None:
    """The offset at which PostgreSQL's parser stops, in characters; None if it reads the whole text."""
    found = _library().pg_query_split_with_parser(sql.encode())
    try:
        return max(0, found.error.contents.cursorpos - 1) if found.error else None
    finally:
        _library().pg_query_free_split_result(found)


def check_syntax(sql: str) -> None:
    """Refuse a statement that PostgreSQL's grammar does not accept. `planner.parsing.lexer.lex` must accept it.

    Raises: InvalidSyntax where PostgreSQL stops; StatementTooComplex for too many comments.
    Cost: linear, 0.02 ms for TPC-H Q5.
    """
    if sql.count("/*") > _MOST_COMMENTS:
        raise StatementTooComplex(f"the statement has more than {_MOST_COMMENTS:,} comments")
    place = _stopped(sql)
    if place is not None:
        lexemes = lex(sql)
        _refuse(lexemes, sum(lexeme.start < place for lexeme in lexemes[:-1]))
    if "$" in sql:
        _check_placeholders(lex(sql))


def _check_placeholders(lexemes: list[Lexeme]) -> None:
    """Refuse what libpg_query accepts and PostgreSQL does not: `DATE $1`, `EXTRACT($1 FROM x)`."""
    symbols = ["(", "(", *(lexeme.symbol for lexeme in lexemes)]
    for place, (earlier, before, symbol) in enumerate(zip(symbols, symbols[1:], symbols[2:], strict=False)):
        word = before == ")" or (is_word(before) and before not in _BEFORE_A_VALUE)
        if symbol == PARAMETER and (word or (earlier, before) == ("EXTRACT", "(")):
            _refuse(lexemes, place)


def is_word(symbol: str) -> bool:
    """Is it a word or a quoted name?"""
    return symbol == NAME or symbol[0].isalpha() or symbol[0] == "_"


def _refuse(lexemes: list[Lexeme], place: int) -> NoReturn:
    lexeme, symbols = lexemes[place], [one.symbol for one in lexemes]
    previous = symbols[place - 1] if place else ""
    position = max(1, lexeme.start + (lexeme.symbol != END))
    if previous == "TOP" and lexeme.symbol == NUMBER:
        hint = f"write LIMIT {lexeme.text} at the end of the SELECT, below ORDER BY"
        raise InvalidSyntax("TOP is not supported", hint=hint, position=lexemes[place - 1].start + 1)
    if lexeme.symbol == "LIMIT" and symbols[place + 2 : place + 3] == [","]:
        count = lexemes[place + 3].text or "10"
        hint = f"write LIMIT {count} OFFSET {lexemes[place + 1].text}"
        raise InvalidSyntax("LIMIT takes one number, not two", hint=hint, position=lexemes[place + 2].start + 1)
    joins = [symbol for symbol in symbols[:place] if symbol in _JOINS][-2:]
    if lexeme.symbol in _AFTER_A_JOIN and previous != "," and joins[-1:] == ["JOIN"] and joins != ["CROSS", "JOIN"]:
        hint = "write ON with the columns that are equal"
        raise InvalidSyntax("this JOIN needs ON or USING", hint=hint, position=position)
    if lexeme.symbol == END:
        advice = "remove the comma at its end" if previous == "," else None
        raise InvalidSyntax("syntax error: the statement ends too early", hint=advice, position=position)
    shown = lexeme.text if len(lexeme.text) <= _LONGEST else lexeme.text[: _LONGEST - 3] + "..."
    advice = _hint(lexeme, previous)
    if advice is None and lexeme.symbol == "(" and all(map(is_word, symbols[max(0, place - 2) : place])):
        advice = f"write a comma before {lexemes[place - 1].text}"
    raise InvalidSyntax(f"syntax error at {shown}", hint=advice, position=position)


def _hint(lexeme: Lexeme, previous: str) -> str | None:
    if lexeme.symbol == PARAMETER and is_word(previous) and previous not in _BEFORE_A_VALUE:
        return "write a cast: $1::date"
    if lexeme.symbol in ("%", PARAMETER):
        return "write a placeholder as $1, and send its value in parameters"
    if lexeme.symbol == "=>":
        return "write >="
    if previous == "," and (lexeme.symbol in RESERVED or lexeme.symbol in (")", ",")):
        return "remove the comma before it"
    if previous in ("GROUP", "ORDER") and lexeme.symbol != "BY":
        return f"write {previous} BY"
    meant = nearest(previous, _CLAUSES) if previous.isalpha() and previous not in RESERVED else None
    if meant is not None and len(previous) > 2:
        return f"did you mean {meant}? {previous} is no keyword"
    if lexeme.symbol in _CLAUSES[:7]:
        return "close each bracket before it, and write SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY in this order"
    if lexeme.symbol in RESERVED:
        return f'{lexeme.symbol} is a keyword; a column or table of that name is written "{lexeme.text}"'
    return None
