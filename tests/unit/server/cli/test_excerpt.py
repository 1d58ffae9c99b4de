"""The caret stands below the character that the position names, whatever the line holds."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from server.cli.terminal import WIDTH, excerpt


def test_caret_below_the_position() -> None:
    source, caret = excerpt("SELECT foo FROM t", 8)
    assert source == "SELECT foo FROM t"
    assert caret == "       ^"


def test_only_the_line_of_the_position() -> None:
    source, caret = excerpt("SELECT count(*)\nFROM t\nLIMIT 3", 17)
    assert (source, caret) == ("FROM t", "^")


def test_past_the_end_points_behind_the_last_character() -> None:
    assert excerpt("SELECT", 7) == ("SELECT", "      ^")
    assert excerpt("SELECT", 99) == ("SELECT", "      ^")


def test_tabs_and_wide_characters_keep_the_caret_aligned() -> None:
    source, caret = excerpt("\t'日本' x", 7)
    assert source == " '日本' x"
    assert cell_len(caret) - 1 == cell_len(" '日本' ")


def test_control_characters_do_not_reach_the_terminal() -> None:
    source, _ = excerpt("SELECT '\x1b[31m'", 1)
    assert "\x1b" not in source


def test_a_long_line_is_cut_around_the_position() -> None:
    sql = "SELECT " + "a, " * 100 + "BAD, " + "b, " * 100
    source, caret = excerpt(sql, sql.index("BAD") + 1)
    assert source.startswith("...") and source.endswith("...")
    assert source[len(caret) - 1 :].startswith("BAD")
    assert len(source) <= WIDTH + 6


@given(st.text(alphabet="ab \n\t日", min_size=1, max_size=300), st.data())
def test_the_caret_is_below_its_character(sql: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(1, len(sql)))
    source, caret = excerpt(sql, position)
    column = cell_len(caret) - 1
    cells = "".join(c * cell_len(c) for c in source)
    below = cells[column : column + 1].strip()
    assert below == sql[position - 1].strip()
