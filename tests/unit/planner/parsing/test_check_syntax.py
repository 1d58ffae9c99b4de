"""What PostgreSQL's grammar does not derive is refused with its place, though the parser library reads it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from planner.errors import InvalidSyntax, StatementTooComplex, UnsupportedSQL
from planner.parsing.parse import parse
from planner.parsing.syntax import check_syntax
from tests.support.refused import assert_refused

# statement, a word of the message, the text at its position, a word of the hint
REFUSED = [
    ("SELECT count(*) FROM visit JOIN patient", "ON or USING", "t", "ON"),
    ("SELECT count(*) FROM visit JOIN patient WHERE a = 1", "ON or USING", "WHERE", "ON"),
    ("SELECT count(*), FROM visit", "at FROM", "FROM", "comma"),
    ("SELECT count(*) FROM visit, WHERE ward = 'A'", "at WHERE", "WHERE", "comma"),
    ("SELECT count(*) FROM visit WHERE ward IN ('A', 'B',)", "at )", ")", "comma"),
    ("SELECT count(*) FROM visit GROUP BY ward,", "ends too early", ",", "comma"),
    ("SELECT count(*) FROM visit LIMIT 1, 2", "LIMIT", ", 2", "OFFSET 1"),
    ("SELECT count(*) FROM visit WHERE ward == 'A'", "operator ==", "==", "="),
    ("SELECT count(*) FROM visit WHERE ward = 'A' && emergency", "operator &&", "&&", "AND"),
    ("SELECT count(*) FROM visit WHERE !emergency", "operator !", "!", "NOT"),
    ("SELECT count(*) FROM visit WHERE a <=> b", "operator <=>", "<=>", "IS NOT DISTINCT FROM"),
    ("SELECT count(*) FROM visit WHERE a = ?", "operator ?", "?", "$1"),
    ("SELECT count(*) FROM visit WHERE a = %s", "at %", "%s", "$1"),
    ("SELECT count(*) FROM visit WHERE a = %(c)s", "at %", "%(c)s", "$1"),
    ("SELECT count(*) FROM visit WHERE a = :c", "colon", ":c", "$1"),
    ("SELECT count(*) FROM `visit`", "operator `", "`", '"'),
    ("SELECT count(*) FROM visit # comment", "operator #", "#", "--"),
    ("SELECT TOP 5 count(*) FROM visit", "TOP", "TOP", "LIMIT 5"),
    ("SELECT count(*) FROM visit WHERE a DIV 2 = 1", "at DIV", "DIV", None),
    ("SELECT count(*) FROM visit WHERE a < b < c", "at <", "< c", None),
    ("SELECT count(*) FROM visit WHERE a = b = c", "at =", "= c", None),
    ("SELECT count(*) FROM (visit)", "at )", ")", None),
    ("SELECT sum(a::int(4)) FROM visit", "at (", "(4)", None),
    ("SELECT count(*) FROM visit WHERE a = 1_000", "number", "1_000", "digits"),
    ("SELECT count(*) FROM visit WHERE a = $1x", "placeholder", "$1x", None),
    ("SELECT count(*) FROM visit WHERE at > DATE $1", "at $1", "$1", "cast"),
    ("SELECT count(*) FROM visit WHERE at > timestamp(3) $1", "at $1", "$1", None),
    ("SELECT extract($1 FROM at), count(*) FROM visit GROUP BY 1", "at $1", "$1", None),
    ("SELECT count(*) FROM visit WHERE a > b + INTERVAL '3' WEEK", "at WEEK", "WEEK", None),
    ("SELECT count(*) FROM visit LIMIT 1 LIMIT 2", "at LIMIT", "LIMIT 2", None),
    ("SELECT count(*) FROM visit WHERE a = 'x", "does not end", "'x", None),
    ('SELECT count(*) FROM visit WHERE "a = 1', "does not end", '"a', None),
    ("SELECT count(*) FROM visit /* why /* */", "does not end", "/*", "*/"),
    ("SELECT count(*) FROM visit WHERE a = 'one' 'two'", "side by side", "'two'", "||"),
    ("SELECT 1" + 4096 * " \n--" + "\n\x01", "character", "\x01", None),
    ("SELECT count(*) FROM visit\u3000WHERE a = 1", "beyond ASCII", "\u3000", "blank"),
]


def test_refuses_with_place_and_hint() -> None:
    for sql, word, at, hint in REFUSED:
        assert_refused(parse, sql, InvalidSyntax, word, at, hint)


def test_what_postgresql_reads_otherwise_than_the_parser_library_is_refused() -> None:
    for sql, word, at, hint in [
        ("SELECT count(*) FROM user", "USER", "user", '"user"'),
        ("SELECT count(*) FROM visit WHERE user = 'a'", "USER", "user", '"user"'),
        ("SELECT sum(@ cost) FROM visit", "operator @", "@", "abs"),
        ("SELECT count(*) IN FROM visit", "IN without values", "", "IN (value"),
    ]:
        assert_refused(parse, sql, UnsupportedSQL, word, at, hint)
    parse('SELECT count(*) AS "user" FROM visit v WHERE v.user = 1 AND "user" = 2')


def test_threads_are_told_their_own_places() -> None:
    def place(blanks: int) -> int | None:
        with pytest.raises(InvalidSyntax) as caught:
            check_syntax(f"SELECT {' ' * blanks}count(*) é FROM visit WHERE a < b < c")
        return caught.value.position

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(place, range(400))) == [42 + blanks for blanks in range(400)]


def test_reads_what_postgresql_reads() -> None:
    for sql in [
        "SELECT count(*) FROM visit WHERE ward IN ($1,$2)", "SELECT count(*) FROM visit WHERE coalesce(cost,$1)>$2",
        "SELECT count(*) FROM visit WHERE a=$1 AND b=-$2 AND at BETWEEN $1 AND $2 AND x LIKE $1 ESCAPE $2",
        "SELECT ward, count(*) FROM visit WHERE position($1 IN a) > 0 GROUP BY ward LIMIT $2 OFFSET $3",
        "SELECT count(*) FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x JOIN d USING (y)",
        "SELECT count(*) FROM ((a JOIN b ON a.x = b.x)) CROSS JOIN c NATURAL JOIN d",
        "SELECT count(*) FROM ((SELECT x FROM a)) AS b (y)",
        "SELECT count(*) FROM (SELECT * FROM (SELECT *, 1 FROM a) AS b) AS c",
        "SELECT sum(((a + 1)) * (b)) total, count(*) n FROM t",
        "SELECT count(*) FROM t WHERE a = b IS NULL AND NOT c < d AND e BETWEEN 1 AND 2 + 3",
        "SELECT count(*) FROM t WHERE x = 'one' -- comment\n AND y = 'two' /* a /* b */ c */",
        "SELECT count(*) FROM t WHERE at > TIMESTAMP '2020-01-01' AND a::date < DATE '2021-01-01' + INTERVAL '1' DAY",
    ]:  # fmt: skip
        parse(sql)


@pytest.mark.parametrize(
    ("sql", "at"),
    [
        ("SELECT é ü, , 1", ", 1"),
        ("SELECT \U0001f600\U0001f600 ) 1", ") 1"),
        ("SELECT count(*) FROM t WHERE c = 'ÄÖÜäöüß' AND AND d", "AND d"),
        ("SELECT '日本語日本語' , , 1", ", 1"),
    ],
)
def test_a_place_behind_other_letters_is_counted_in_characters(sql: str, at: str) -> None:
    with pytest.raises(InvalidSyntax) as refused:
        parse(sql)
    assert refused.value.position is not None and sql[refused.value.position - 1 :] == at


def test_comments_in_thousands_are_refused_before_they_are_read() -> None:
    with pytest.raises(StatementTooComplex, match="comments"):
        check_syntax("/*" * 1_001 + "*/" * 1_001 + "SELECT 1")
