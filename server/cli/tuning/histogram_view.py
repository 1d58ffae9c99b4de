"""A histogram of what people have, for a person at a terminal: a table, bars, and in words what follows."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from privacy.mechanisms.contributions import Bounds, ContributionHistogram
from server.cli.output.figures import epsilon_text
from server.cli.output.terminal import printable
from server.tuning.measures import ROWS
from server.tuning.tune import Tuned

_BAR = 32
"""Characters of the longest bar."""

_PARTS = " ▏▎▍▌▋▊▉"
"""Eighths of a character."""

_EMPTY_SHOWN = 2
"""Buckets that are shown beyond the last one that people were seen in."""


def histogram_view(tuned: Tuned, buckets: int) -> RenderableType:
    """The table: a bucket, its noisy number of people, its share of those who have anything, a bar.

    Args:
      tuned: the measure.
      buckets: of the whole tuning, in all histograms.
    """
    found = tuned.histogram
    most = found.noise(buckets)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in ((tuned.measure, True), ("people", True), ("share", True), ("", False)):
        table.add_column(Text(printable(name)), justify="right" if right else "left", no_wrap=True)
    total, tallest = sum(max(0, count) for count in found.people), max(1, *found.people)
    if found.nothing is not None:
        table.add_row("none", f"{found.nothing:,}", "", "")
    for place, count in _shown(found, most):
        style = "cyan" if count > most else "dim"
        share = f"{max(0, count) / total:.1%}" if total else ""
        table.add_row(_bucket(found, place), f"{count:,}", share, Text(_bar(count, tallest), style=style))
    parts = len(found.people) - sum(1 for _ in _shown(found, most))
    hidden = f" Buckets not shown, as nobody was seen there: {parts}." if parts else ""
    note = (
        f"Each number has noise; an empty bucket shows {most:,} at most (99% sure). Shares leave out `none`.{hidden}"
    )
    title = f"{tuned.label}: {_title(tuned)}, at epsilon {epsilon_text(found.epsilon)}"
    return Group(Text(printable(title), style="bold"), table, Text(note, style="dim"))


def bounds_words(tuned: Tuned, bounds: Bounds | None, buckets: int) -> str:
    """What is proposed and what each bound does, in plain words.

    Args:
      tuned: the measure.
      bounds: what follows from it; None: nothing does.
      buckets: of the whole tuning.
    """
    found, label = tuned.histogram, printable(tuned.label)
    most = found.noise(buckets)
    if bounds is None:
        if found.people[-1] > most:
            return f"{label}: people have more than the last bucket tells apart, so nothing is proposed.\n"
        return (
            f"{label}: nobody stands out from noise of {most:,} people, so nothing is proposed. "
            "A larger epsilon, or fewer measures, shows more.\n"
        )
    more = f"about {bounds.above:,} people have" if bounds.above else "nobody seen has"
    clip = f"{bounds.clip:,.12g}"
    each = f"{clip} rows" if tuned.measure == ROWS else f"a sum of {clip}"
    return (
        f"{label}: at_most {number(bounds.at_most)}. You promise that nobody has more, so that intervals hold the "
        f"truth. Nobody was seen above {number(bounds.seen)}, though up to {most:,} people a bucket could be unseen. "
        "Where the promise is wrong intervals may miss the truth; privacy holds.\n"
        f"{label}: or clip at {number(bounds.clip)} instead, for narrower intervals of what is then counted. Of each "
        f"person at most {each} will count; {more} more. Answers say how many are cut.\n"
    )


def number(value: float) -> str:
    """A bound as TOML and people write it: without a point where it is whole.

    >>> number(64.0), number(0.235), number(1050000.0)
    ('64', '0.235', '1050000')
    """
    return str(int(value)) if value.is_integer() else repr(value)


def _shown(found: ContributionHistogram, most: int) -> Iterator[tuple[int, int]]:
    """The buckets from the first to a little beyond the last that people were seen in, with their numbers."""
    seen = [place for place, count in enumerate(found.people) if count > most]
    first = max(0, min(seen, default=0) - _EMPTY_SHOWN)
    last = max(seen, default=0) + _EMPTY_SHOWN
    yield from [pair for pair in enumerate(found.people) if first <= pair[0] <= last]


def _bucket(found: ContributionHistogram, place: int) -> str:
    ends = found.ends
    return f"up to {ends[place]:,.12g}" if place < len(ends) else f"more than {ends[-1]:,.12g}"


def _bar(count: int, tallest: int) -> str:
    eighths = max(0, round(count * _BAR * 8 / tallest))
    return ("█" * (eighths // 8) + _PARTS[eighths % 8]).rstrip()


def _title(tuned: Tuned) -> str:
    if tuned.measure == ROWS:
        return "people by how many rows they own"
    return f"people by the sum of their {tuned.measure}, signs aside"
