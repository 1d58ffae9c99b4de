"""The tokens made of lexemes are those of the parser library's own scanner, wherever both read a text alike."""

from __future__ import annotations

import pytest
from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import UnsupportedSQL
from planner.parsing.lexer import lex
from planner.parsing.parse import parse
from planner.parsing.postgres_parser import tokens_of
from tests.golden.graphs.patterns import PATTERNS
from tests.golden.stackexchange import write_cases as site
from tests.golden.tpch.queries import NUMBERS, published

STATEMENTS = [
    *(published(number) for number in NUMBERS),
    *(site.before(name) for name in site.NAMES),
    *(text for pattern in PATTERNS for text in pattern.spellings),
    'SELECT "a""b", \'it\'\'s\', .5, a.1, 1., 1.5e+3, x, _y, a$b, é, "é"',
    "SELECT a!~b, a!~*b, a~b, a~*b, a~~b, a @> b, a <@ b, a->b, a->>b, a<<b, a>>b, a|b, a&b, a||b, a::int, a%b, a^b",
    "SELECT a=-1, a<-1, a>=+1, a*-1, a!=b, a<>b, -a, (a), a;b",
    "SELECT x'1f', b'01', N'n', U&'u', e 'x', E'x', date '2024-01-01'",
    "SELECT double  precision, GROUP\n BY x, group by_x, order, by, CHARACTER varying, grouping sets, similar to",
    "SELECT current_date, timestamp with time zone, not in, is not null, primary key, order/* c */ -- d\n",
]


def test_they_are_the_librarys() -> None:
    for sql in STATEMENTS:
        assert [_seen(token) for token in tokens_of(lex(sql))] == [_seen(token) for token in Postgres().tokenize(sql)]


def _seen(token: Token) -> tuple[TokenType, str, int, int]:
    return token.token_type, token.text, token.start, token.end


def test_a_comment_between_two_words_of_a_keyword_is_a_blank() -> None:
    kinds = [token.token_type for token in tokens_of(lex("GROUP -- the key\nBY ward"))]
    assert kinds == [TokenType.GROUP_BY, TokenType.VAR]
    assert parse("SELECT ward, count(*) FROM visit GROUP /* the key */ BY ward").args["group"] is not None


def test_dollars_are_placeholders() -> None:
    kinds = [(token.token_type, token.text) for token in tokens_of(lex("$1,$23"))]
    dollar = (TokenType.PARAMETER, "$")
    assert kinds == [dollar, (TokenType.NUMBER, "1"), (TokenType.COMMA, ","), dollar, (TokenType.NUMBER, "23")]


def test_names_with_unicode_escapes_are_refused() -> None:
    with pytest.raises(UnsupportedSQL, match="Unicode escapes") as caught:
        parse('SELECT count(*) FROM U&"visit"')
    assert caught.value.position == 22
