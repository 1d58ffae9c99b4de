"""Numbers as people read them."""

from server.cli.answer_view import cell_text, interval_text
from server.query import Cell, Interval


def test_a_cell_has_the_text_of_its_value() -> None:
    cases: list[tuple[Cell, str]] = [
        (1234567, "1,234,567"),
        (-5, "-5"),
        (True, "true"),
        (None, "NULL"),
        ("FRANCE", "FRANCE"),
        (1234.5678, "1,234.57"),
    ]
    for value, text in cases:
        assert cell_text(value) == text, value


def test_no_more_decimals_than_the_noise_leaves() -> None:
    for half_width, text in [(5000.0, "1,234,568"), (5.0, "1,234,567.9"), (0.05, "1,234,567.891")]:
        value = 1234567.891
        assert cell_text(value, Interval(value - half_width, value + half_width)) == text, half_width


def test_whole_numbers_have_whole_ends_rounded_outwards() -> None:
    assert interval_text(Interval(10.2, 1999.2), whole=True) == "10 to 2,000"
    assert interval_text(Interval(-10.2, 10.0), whole=True) == "-11 to 10"


def test_ends_are_rounded_away_from_each_other() -> None:
    assert interval_text(Interval(0.0666, 20.011), whole=False) == "0.0 to 20.1"
    assert interval_text(Interval(0.0666, 1.011), whole=False) == "0.06 to 1.02"


def test_unbounded_ends_are_said_in_words() -> None:
    assert interval_text(Interval(3.0, None), whole=True) == "at least 3"
    assert interval_text(Interval(None, 3.0), whole=True) == "at most 3"
    assert interval_text(Interval(None, None), whole=True) == "unbounded"
    assert interval_text(None, whole=True) == ""
