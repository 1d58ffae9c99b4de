"""What a tuning looks like at a terminal, word for word."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from privacy.mechanisms.contributions import ReleasedHistogram
from server.cli.tuning import bounds_words, histogram_view, number
from server.tuning import Tuned

SHOWN = Path(__file__).parent / "shown.txt"
"""Written anew by `python -m tests.unit.server.cli.test_histogram_view`; read the difference."""

BUCKETS = 60
EPSILON = 0.5

ROWS = Tuned(
    "visit",
    "rows",
    ReleasedHistogram((9590, 3083, 2294, 1433, 820, 410, 220, 81, 30, 6, -2, 2, 6, -1, 10, 2), 1.0, 0, EPSILON),
)
COST = Tuned(
    "clinic.visit",
    "cost",
    ReleasedHistogram((-4, 2, 0, 3, 1, 172, 704, 1696, 2869, 60, -2, 8, 0, 3), 5000.0, -8, EPSILON),
)
NOBODY = Tuned("visit", "days", ReleasedHistogram((3, -1, 2, 0), 30.0, -8, EPSILON))
BEYOND = Tuned("visit", "minutes", ReleasedHistogram((300, 0, 0, 200), 60.0, -8, EPSILON))


def shown() -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=100, highlight=False, markup=False, emoji=False)
    for one in (ROWS, COST, NOBODY, BEYOND):
        console.print(histogram_view(one, BUCKETS))
        console.print(bounds_words(one, one.histogram.bounds(BUCKETS, EPSILON), BUCKETS))
    return "".join(line.rstrip() + "\n" for line in stream.getvalue().splitlines())


def test_it_is_shown_as_it_was() -> None:
    assert shown() == SHOWN.read_text()


def test_no_name_drives_the_terminal() -> None:
    hostile = Tuned("visit", "a\x1b[31m\nb", ROWS.histogram)
    stream = io.StringIO()
    Console(file=stream, width=100).print(histogram_view(hostile, BUCKETS))
    words = bounds_words(hostile, hostile.histogram.bounds(BUCKETS, EPSILON), BUCKETS)
    assert "\x1b" not in stream.getvalue() + words


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (80000.0, "80000"), (0.469, "0.469"), (2.0**40, "1099511627776")]
)
def test_a_bound_is_written_as_a_person_would(value: float, text: str) -> None:
    assert number(value) == text


if __name__ == "__main__":
    SHOWN.write_text(shown())
