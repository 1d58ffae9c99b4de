"""The parser library for PostgreSQL, with corrected tokens and functions, and with positions of keywords.

The library's tokens are made from our lexemes, so that PostgreSQL's rules alone split a statement. Errors point at
keywords, whose positions the library's tree drops.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, ClassVar

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from planner.parsing.lexer import END, NAME, PARAMETER, STRING, Lexeme
from planner.sql.literals import constant_text
from planner.sql.trees import Age, cast_sql, nodes, position_of

_KINDS = {**Postgres.Tokenizer.SINGLE_TOKENS, **Postgres.Tokenizer.KEYWORDS}
_PAIRS = {word: word.partition(" ")[0] for word in _KINDS if " " in word}
_SECOND_WORDS = frozenset(word.partition(" ")[2] for word in _PAIRS)
_STRINGS = {
    "'": TokenType.STRING,
    "B": TokenType.BIT_STRING,
    "X": TokenType.HEX_STRING,
    "E": TokenType.BYTE_STRING,
    "N": TokenType.NATIONAL_STRING,
    "U": TokenType.UNICODE_STRING,
}


_DENIED = {"!~~": TokenType.LIKE, "!~~*": TokenType.ILIKE}
"""How views of PostgreSQL spell NOT LIKE and NOT ILIKE."""


def tokens_of(lexemes: Iterable[Lexeme]) -> list[Token]:
    """The tokens of a statement, each with its 0-based `start` and 1-based `col`.

    Two words that the library reads as one keyword, such as GROUP BY, become one token. Cost: linear, 0.06 ms for
    TPC-H Q5.
    """
    tokens: list[Token] = []
    first = ""  # the first of two words
    for symbol, text, start in lexemes:
        if symbol in _SECOND_WORDS and f"{first} {symbol}" in _PAIRS:
            begun = tokens.pop()
            tokens.append(_token(_KINDS[f"{first} {symbol}"], f"{first} {symbol}", begun.start, start + len(text)))
        elif symbol in _DENIED:
            tokens.append(_token(TokenType.NOT, text, start, start + len(text)))
            tokens.append(_token(_DENIED[symbol], text, start, start + len(text)))
        elif symbol[0] != "#":
            kind = _KINDS.get(symbol)
            if kind is None and not symbol[0].isalpha() and symbol[0] != "_":
                tokens += _parts(text, start)
            else:
                tokens.append(_token(kind or TokenType.VAR, text, start, start + len(text)))
        elif symbol != END:
            tokens += _value(symbol, text, start)
        first = symbol
    return tokens


def _token(kind: TokenType, text: str, start: int, end: int) -> Token:
    return Token(kind, text, 1, start + 1, start, end - 1)


def _value(symbol: str, text: str, start: int) -> Iterator[Token]:
    """The tokens of a name, string, number or placeholder."""
    end = start + len(text)
    if symbol == NAME and text[0] == '"':
        yield _token(TokenType.IDENTIFIER, text[1:-1].replace('""', '"'), start, end)
    elif symbol == NAME:
        yield _token(TokenType.VAR, text, start, end)
    elif symbol == STRING:
        written = text[text.index("'") + 1 : -1].replace("''", "'")
        yield _token(_STRINGS[text[0].upper()], written, start, end)
    elif symbol == PARAMETER or text[0] == ".":  # `$1`, `.5`
        yield _token(TokenType.PARAMETER if symbol == PARAMETER else TokenType.DOT, text[0], start, start + 1)
        yield _token(TokenType.NUMBER, text[1:], start + 1, end)
    else:
        yield _token(TokenType.NUMBER, text, start, end)


def _parts(text: str, start: int) -> Iterator[Token]:
    """Split an operator into the longest ones that the library knows."""
    while text:
        size = next(size for size in range(len(text), 0, -1) if text[:size] in _KINDS)
        yield _token(_KINDS[text[:size]], text[:size], start, start + size)
        text, start = text[size:], start + size


_CLAUSES: dict[type[exp.Expr], str] = {
    exp.Group: "GROUP",
    exp.Having: "HAVING",
    exp.Order: "ORDER",
    exp.Limit: "LIMIT",
    exp.Fetch: "FETCH",
    exp.Offset: "OFFSET",
    exp.Distinct: "DISTINCT",
    exp.Select: "SELECT",
}


_MARKED: tuple[type[exp.Expr], ...] = (exp.Join, exp.AggFunc, *_CLAUSES)

LABEL = "label"
"""Metadata key of an aggregate: its text as the analyst wrote it."""

_MAX_LABEL = 60

WRITTEN = "written"
"""Metadata key of a function that a column is named after: its name as PostgreSQL spells the one that was written."""

_NEVER_KEYWORDS = frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.COMMA, TokenType.DOT,
     TokenType.L_PAREN, TokenType.R_PAREN, TokenType.EQ, TokenType.LT, TokenType.GTE, TokenType.STAR, TokenType.DASH}
)  # fmt: skip
"""The most frequent tokens, which need no look-up."""


def mark_keywords(select: exp.Query, tokens: Sequence[Token], sql: str) -> None:
    """Add keyword positions to the clauses, and the text to the aggregates of a statement, in place.

    The keyword of a clause is the last one of its kind before the clause's content.
    """
    starts: dict[str, list[int]] = {}
    for token in tokens:
        if token.token_type not in _NEVER_KEYWORDS:
            starts.setdefault(token.text.upper().split(" ")[0], []).append(token.start)
    found = [node for node in nodes(select)[1:] if isinstance(node, _MARKED)]
    places = {token.start: place for place, token in enumerate(tokens)}
    for node in found:
        if isinstance(node, exp.AggFunc):
            _mark_label(node, places.get(node.meta.get("start", -1), 0), tokens, sql)
    for one in (select, *found):
        for item in one.expressions if isinstance(one, exp.Select) else ():
            _mark_name(item, places, tokens)
    clauses = [node for node in found if not isinstance(node, exp.AggFunc)]
    for node in sorted(
        clauses, key=lambda node: isinstance(node, exp.Select)
    ):  # last, as a SELECT's position hides others
        word = (node.side or node.method) if isinstance(node, exp.Join) else _CLAUSES[type(node)]
        if word not in starts:
            continue
        inside = position_of(node)
        if inside is None and node.parent is not None:  # SELECT DISTINCT, LIMIT ALL
            inside = position_of(node.parent)
        before = [start for start in starts[word] if inside is None or start < inside]
        if before:
            node.meta["start"] = before[-1]


def _mark_label(node: exp.AggFunc, start: int, tokens: Sequence[Token], sql: str) -> None:
    """Add the text of the call with its FILTER, in lower case and with single blanks; `start`: its first token."""
    filtered = isinstance(node.parent, exp.Filter)
    end = start
    depth, groups = 0, 2 if filtered else 1
    while end + 1 < len(tokens) and groups:
        end += 1
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[end].token_type, 0)
        groups -= depth == 0 and tokens[end].token_type is TokenType.R_PAREN
    text = " ".join(sql[tokens[start].start : tokens[end].end + 1].lower().split())
    (node.parent if filtered and node.parent is not None else node).meta[LABEL] = text[:_MAX_LABEL]


def _mark_name(item: exp.Expr, places: Mapping[int, int], tokens: Sequence[Token]) -> None:
    """Add the written name to the function after which PostgreSQL names a column; the library has one for several."""
    while isinstance(item, (exp.Paren, exp.Filter, exp.Window, exp.WithinGroup, exp.Cast, exp.Case)):
        inside = item.args.get("default") if isinstance(item, exp.Case) else item.this
        if inside is None:
            return
        item = inside
    place = places.get(item.meta.get("start", -1))
    if place is None or not isinstance(item, (exp.Func, exp.Mod)):
        return
    name, after = tokens[place].text.lower(), tokens[place + 1 : place + 2]
    if not after or after[0].token_type is not TokenType.L_PAREN:
        return
    if name == "trim":
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(item.args.get("position")), "btrim")
    item.meta[WRITTEN] = name


def function_name(node: exp.Func, tokens: Sequence[Token]) -> tuple[str, int | None]:
    """The function's name as the analyst wrote it, and its position."""
    names = {name.lower() for name in node.sql_names()} | {node.key}
    start = node.meta.get("start")
    named = (token for token in tokens if token.start == start or (start is None and token.text.lower() in names))
    found = next(named, None)
    return (found.text.lower(), found.start + 1) if found is not None else (node.key, position_of(node))


def operator_token(position: int | None, tokens: Sequence[Token], signs: Container[str]) -> Token | None:
    """The first of these operators after a position, or else before it; None for a call."""
    found = [token for token in tokens if token.text in signs]
    return next((token for token in found if token.start + 1 >= (position or 1)), next(iter(found), None))


def _placed(parse: Callable[[Any], exp.Expr | None]) -> Callable[[Any], exp.Expr | None]:
    """A parser of a call's arguments, whose result gets the position of the function's name."""

    def placed(parser: Any) -> exp.Expr | None:
        name = parser._tokens[parser._index - 2]
        call = parse(parser)
        if call is not None:
            call.meta["start"] = name.start
        return call

    return placed


_DIALECT = Postgres()


class _Parser(PostgresParser):
    FUNCTION_PARSERS: ClassVar = {
        **{name: _placed(parse) for name, parse in PostgresParser.FUNCTION_PARSERS.items()},
        "DATE_PART": _placed(lambda self: _date_part(PostgresParser.FUNCTION_PARSERS["DATE_PART"](self))),
        "INITCAP": _placed(lambda self: _initcap(PostgresParser.FUNCTION_PARSERS["INITCAP"](self))),
        "POSITION": _placed(lambda self: self._parse_position(haystack_first=True)),
    }
    FUNCTIONS: ClassVar = {
        **PostgresParser.FUNCTIONS,
        "TO_CHAR": lambda args: _call("to_char", exp.ToChar, ("this", "format"), args),
        "AGE": lambda args: _age(args),
        "MAKE_DATE": lambda args: _made(args),
        "TIMEZONE": lambda args: _call("timezone", exp.AtTimeZone, ("zone", "this"), args),
        "MAKE_INTERVAL": lambda args: _made_interval(args),
    }


def postgres_parser() -> PostgresParser:
    """A parser for one statement, which raises its first error.

    The library reads some functions wrongly. Here to_char keeps its format, and age is a node of its own.
    `make_interval(days => n)` becomes `n * INTERVAL '1' DAY`. `date_part('month', x)` becomes its definition,
    `CAST(EXTRACT(month FROM x) AS DOUBLE PRECISION)`.
    """
    return _Parser(error_level=ErrorLevel.IMMEDIATE, dialect=_DIALECT)


def _date_part(extract: exp.Expr) -> exp.Expr:
    cast = cast_sql(extract, "DOUBLE PRECISION")
    cast.meta[WRITTEN] = "date_part"
    return cast


def _initcap(call: exp.Expr) -> exp.Expr:
    """Drop the separators that the library adds, which PostgreSQL lacks."""
    signs = call.args.get("expression")
    if signs is not None and signs.name == _DIALECT.INITCAP_DEFAULT_DELIMITER_CHARS:
        call.set("expression", None)
    return call


def _call(name: str, kind: type[exp.Expr], parts: Sequence[str], args: list[exp.Expr]) -> exp.Expr:
    """A function with this number of arguments, or else an unknown function."""
    if len(args) != len(parts):
        return exp.Anonymous(this=name, expressions=args)
    return kind(**dict(zip(parts, args, strict=True)))


def _age(args: list[exp.Expr]) -> exp.Expr:
    """With one argument, the age at the start of today."""
    return _call("age", Age, ("this", "expression"), [exp.CurrentDate(), *args] if len(args) == 1 else args)


def _made(args: list[exp.Expr]) -> exp.Expr:
    """The date of make_date with literals; of other arguments, the call."""
    numbers = [
        arg.name for arg in args if isinstance(arg, exp.Literal) and arg.name.isdecimal() and len(arg.name) < 5
    ]
    try:
        year, month, day = map(int, numbers if len(numbers) == len(args) else ())
        return cast_sql(exp.Literal.string(str(date(year, month, day))), "DATE")
    except ValueError:
        return _call("make_date", exp.DateFromParts, ("year", "month", "day"), args)


_MADE_OF = {"years": "YEAR", "months": "MONTH", "weeks": "WEEK", "days": "DAY", "hours": "HOUR", "mins": "MINUTE",
            "secs": "SECOND"}  # fmt: skip
"""The arguments of make_interval, in order."""


def _made_interval(args: list[exp.Expr]) -> exp.Expr:
    """make_interval() with one kind of unit, named or by position; the others may be 0."""
    found: list[tuple[str, exp.Expr]] = []
    for place, argument in enumerate(args[: len(_MADE_OF)]):
        if isinstance(argument, exp.Kwarg):
            found.append((argument.name.lower(), argument.expression))
        else:
            found.append((list(_MADE_OF)[place], argument))
    counted = [(name, count) for name, count in found if constant_text(count) != "0"] or found[:1]
    names = [name for name, _ in found]
    known = len(found) == len(args) == len(set(names)) and set(names) <= set(_MADE_OF)
    by_name = [isinstance(argument, exp.Kwarg) for argument in args]
    if not known or len(counted) != 1 or by_name != sorted(by_name):  # no argument by position follows one by name
        return exp.Anonymous(this="make_interval", expressions=args)
    name, count = counted[0]
    unit = exp.Interval(this=exp.Literal.string("1"), unit=exp.var(_MADE_OF[name]))
    return exp.Mul(this=exp.Paren(this=count), expression=unit)
