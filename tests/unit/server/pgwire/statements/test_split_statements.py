from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.pgwire.statements.split_statements import split


def test_statements_are_cut_where_postgresql_cuts() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("", []),
        (" ; ; -- nothing\n;", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';'; SELECT 2", ["SELECT ';'", "SELECT 2"]),
        ("SELECT 'it''s;'; x", ["SELECT 'it''s;'", "x"]),
        (r"SELECT E'\';'; x", [r"SELECT E'\';'", "x"]),
        (r"SELECT '\'; x", [r"SELECT '\'", "x"]),
        ('SELECT ";" FROM "a;b"; x', ['SELECT ";" FROM "a;b"', "x"]),
        ("SELECT $$;$$, $a$;$$;$a$; x", ["SELECT $$;$$, $a$;$$;$a$", "x"]),
        ("SELECT $1;x", ["SELECT $1", "x"]),
        ("SELECT 1 /* ; /* ; */ ; */ + 2; x", ["SELECT 1 /* ; /* ; */ ; */ + 2", "x"]),
        ("SELECT 1 -- ;\n + 2; x", ["SELECT 1 -- ;\n + 2", "x"]),
        ("SELECT 'open; x", ["SELECT 'open; x"]),
        ("SELECT 1 /* open; x", ["SELECT 1"]),
    ]
    for sql, pieces in cases:
        assert [piece.text for piece in split(sql)] == pieces, sql


@given(st.text(alphabet="abE;'\"$-/* \n1\\", max_size=60))
def test_every_piece_stands_where_it_says(sql: str) -> None:
    for piece in split(sql):
        assert sql[piece.start : piece.start + len(piece.text)] == piece.text
        assert piece.words


def test_words_and_names() -> None:
    (piece,) = split("select A.\"B\" from Pg_Class /* from_comment */ where x = 'from_string'")
    assert piece.words[:2] == ("SELECT", "A")
    assert {"a", "B", "pg_class", "x"} <= piece.names
    assert not piece.names & {"from_comment", "from_string"}
