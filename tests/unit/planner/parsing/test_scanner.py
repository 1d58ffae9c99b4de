from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.parsing.lexer import Kind, lex, scan
from server.pgwire.statements.split_statements import is_complete, split


def _pieces(sql: str) -> list[tuple[str, str]]:
    return [(kind.value, sql[start:stop]) for kind, start, stop in scan(sql)]


def test_a_piece_is_of_one_kind() -> None:
    for sql, kind in [
        ("abc$1", Kind.WORD), ("ünï", Kind.WORD), ("eb", Kind.WORD), ('"a;""b"', Kind.NAME), ('""', Kind.NAME),
        ('U&"d\\0061"', Kind.NAME), ("'it''s'", Kind.STRING), ("'\\'", Kind.STRING), ("'a\n'", Kind.STRING),
        ("B'01'", Kind.STRING), ("u&'\\0061'", Kind.STRING), ("E'\\';'", Kind.ESCAPED), ("e'\\\n'''", Kind.ESCAPED),
        ("$$;'$$", Kind.DOLLAR), ("$a$ $$ $b$ $a$", Kind.DOLLAR), ("1.5e-3", Kind.NUMBER), (".5", Kind.NUMBER),
        ("$12", Kind.PARAMETER), ("::", Kind.SIGN), ("<=", Kind.OPERATOR), ("@-", Kind.OPERATOR), ("\\", Kind.WRONG),
        ("$", Kind.WRONG), ("'it''s;", Kind.OPEN_STRING), ("E'\\'", Kind.OPEN_STRING), ("N'", Kind.OPEN_STRING),
        ('"a;', Kind.OPEN_NAME), ("$a$ ; $b$", Kind.OPEN_DOLLAR), ("/* /* */ ;", Kind.OPEN_COMMENT),
    ]:  # fmt: skip
        assert list(scan(f" {sql}")) == [(kind, 1, len(sql) + 1)]
        assert kind.is_open == kind.name.startswith("OPEN")


def test_a_text_is_cut_as_postgresql_cuts_it() -> None:
    for sql, written in [
        ("", []), (" -- ; ' \n /* ' /* ; */ \" */ \t", []), ("a--b\nc", ["a", "c"]), ("1+--2\n3", ["1", "+", "3"]),
        ("a=-1", ["a", "=", "-", "1"]), ("2*/*x*/3", ["2", "*", "3"]), ("count(*)", ["count", "(", "*", ")"]),
        ("t.c::text", ["t", ".", "c", "::", "text"]), ("xE'\\'", ["xE", "'\\'"]), ("E 'a'", ["E", "'a'"]),
        ("$1$$;$$", ["$1", "$$;$$"]),
    ]:  # fmt: skip
        assert [text for _, text in _pieces(sql)] == written


TEXTS = st.text(alphabet="abEU&é;'\"$-/*+= \n1\\.,()\xa0", max_size=40)


@given(TEXTS)
def test_what_lies_between_pieces_is_blank_or_a_comment(sql: str) -> None:
    place = 0
    for kind, start, stop in scan(sql):
        assert place <= start < stop
        assert list(scan(sql[place:start])) == []
        assert not kind.is_open or stop == len(sql)
        place = stop
    assert list(scan(sql[place:])) == []


def _cuts(sql: str) -> tuple[list[int], bool]:
    """One character after another: where a `;` separates, and whether a quote or a comment is open at the end."""
    cuts: list[int] = []
    place = 0
    while place < len(sql):
        rest = sql[place:]
        before = sql[place - 1] if place else " "
        if rest.startswith("--"):
            place += min((rest.index(end) for end in "\n\r" if end in rest), default=len(rest))
        elif rest.startswith("/*"):
            depth, end = 1, 2
            while depth and end < len(rest):
                two = rest[end : end + 2]
                depth += {"/*": 1, "*/": -1}.get(two, 0)
                end += 2 if two in ("/*", "*/") else 1
            if depth:
                return cuts, True
            place += end
        elif rest[0] in "'\"":
            quote, end = rest[0], 1
            escapes = quote == "'" and before in "eE" and not _in_word(sql, place - 1)
            while end < len(rest) and (rest[end] != quote or rest[end : end + 2] == quote * 2):
                end += 2 if rest[end] == quote or (escapes and rest[end] == "\\") else 1
            if end >= len(rest):
                return cuts, True
            place += end + 1
        elif rest[0] == "$" and not _in_word(sql, place) and (tag := _tag(rest)):
            end = rest.find(tag, len(tag))
            if end < 0:
                return cuts, True
            place += end + len(tag)
        else:
            cuts += [place] if rest[0] == ";" else []
            place += 1
    return cuts, False


def _in_word(sql: str, place: int) -> bool:
    """Does a word go on at this place that has begun before it?"""
    start = place
    while start > 0 and (sql[start - 1].isalnum() or sql[start - 1] in "_$\xa0"):
        start -= 1
    while start < place and (sql[start] in "1$"):  # digits begin no word
        start += 1
    return start < place


def _tag(rest: str) -> str:
    end = rest.find("$", 1)
    name = rest[1:end]
    fits = all(sign.isalnum() or sign in "_\xa0" for sign in name) and not name[:1].isdecimal()
    return rest[: end + 1] if end > 0 and fits else ""


@given(st.text(alphabet="abEé;'\"-/* \n\\.,()\xa0", max_size=40))
@example("SELECT E'\\';' ; SELECT $a$;$$;$a$ ; SELECT a$$;$$ ; x")
def test_separators_and_open_quotes_are_those_of_a_scan_by_character(sql: str) -> None:
    cuts, is_open = _cuts(sql)
    pieces = list(scan(sql))
    assert [start for kind, start, stop in pieces if sql[start:stop] == ";"] == cuts
    assert bool(pieces and pieces[-1][0].is_open) == is_open


@given(TEXTS)
def test_the_splitter_the_shell_and_the_lexer_agree(sql: str) -> None:
    pieces = _pieces(sql)
    written = [text for kind, text in pieces if kind != Kind.OPEN_COMMENT]
    together = [text for one in split(sql) for _, text in _pieces(one.text)]
    assert together == [text for text in written if text != ";"]
    assert is_complete(sql) == (not pieces or pieces[-1][1] == ";")
    try:
        lexemes = lex(sql)
    except PlannerError:
        return
    assert [lexeme.text for lexeme in lexemes] == [*written, ""]


@pytest.mark.timed
def test_a_text_of_quotes_takes_no_longer_than_its_length() -> None:
    """Possessive repetitions: nothing is tried twice, whatever does not end.

    What is tried twice takes 16 times as long for four times the length, on any machine. The least of some runs
    counts, and no pieces are kept: else a collection of a large process's garbage falls into one of them.
    """

    def seconds(n: int) -> float:
        texts = ["''" * 3 * n + "'", "E'" + "\\'" * 3 * n, '"' + '""' * 3 * n, "$a" * 2 * n, "/*" * 3 * n]
        texts += ["+" * 2 * n, "<" + "-+" * n]
        started_s = time.process_time()
        for text in texts:
            assert sum(1 for _ in scan(text)) <= 2 * n + 1
        return time.process_time() - started_s

    least = [min(seconds(n) for _ in range(5)) for n in (2_500, 10_000)]
    assert least[1] < 9 * least[0] + 0.1
