"""Show the histograms of `noisegate tune`, and write the proposed bounds into a policy's text.

The text keeps every comment and all other lines.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from planner.policy.policy import Policy, parse_policy
from planner.policy.toml_section import section_of, toml_key
from planner.schema import name_parts, table_name
from privacy.mechanisms.contributions import Bounds, ReleasedHistogram
from server.cli.failure import CommandFailed
from server.cli.terminal import printable
from server.tuning import ROWS, Tuned

_CLIP = "clip"

_BAR = 32
"""Characters of the longest bar."""

_PARTS = " ▏▎▍▌▋▊▉"
"""Eighths of a character."""

_EMPTY_SHOWN = 2
"""Empty buckets that are shown after the last one with people."""


def histogram_view(tuned: Tuned, buckets: int) -> RenderableType:
    """A table with a row per bucket: its noisy number of people, its share of those with any contribution, and a bar.

    Args:
      buckets: of all histograms of the tuning.
    """
    found = tuned.histogram
    most = found.noise(buckets)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, right in ((tuned.measure, True), ("people", True), ("share", True), ("", False)):
        table.add_column(Text(printable(name)), justify="right" if right else "left", no_wrap=True)
    total, tallest = sum(max(0, count) for count in found.people), max(1, *found.people)
    for place, count in _shown(found, most):
        style = "cyan" if count > most else "dim"
        share = f"{max(0, count) / total:.1%}" if total else ""
        table.add_row(_bucket(found, place), f"{count:,}", share, Text(_bar(count, tallest), style=style))
    parts = len(found.people) - sum(1 for _ in _shown(found, most))
    hidden = f" Hidden buckets without people: {parts}." if parts else ""
    note = f"Each number is noisy; an empty bucket shows at most {most:,} (99% confidence)."
    note = f"{note} People without any are not counted.{hidden}"
    title = f"{tuned.label}: {_title(tuned)}, at epsilon {found.epsilon:g}"
    return Group(Text(printable(title), style="bold"), table, Text(note, style="dim"))


def bounds_words(tuned: Tuned, bounds: Bounds | None, buckets: int) -> str:
    """The proposed bound and what it does; why no `at_most` is proposed.

    Args:
      buckets: of all histograms of the tuning.
    """
    found, label = tuned.histogram, printable(tuned.label)
    most = found.noise(buckets)
    if bounds is None:
        if found.people[-1] > most:
            return f"{label}: people have more than the last bucket covers, so nothing is proposed.\n"
        return (
            f"{label}: nobody stands out from the noise of {most:,} people, so nothing is proposed. "
            "Use a larger epsilon or fewer measures.\n"
        )
    more = f"about {bounds.above:,} people have more" if bounds.above else "the noise hides who has more"
    clip = f"{bounds.clip:,.12g}"
    each = f"{clip} rows" if tuned.measure == ROWS else f"a sum of {clip}"
    return (
        f"{label}: clip at {number(bounds.clip)}. Each person counts with at most {each}; {more}. Intervals "
        "cover the clipped value, and answers about all rows report how many people are clipped. Questions that "
        "filter or group rows choose a threshold up to that number.\n"
        f"{label}: no at_most is proposed. Above {number(bounds.seen)} the noise hides up to {most:,} "
        "people per bucket. If you know what nobody exceeds, declare that as `at_most` instead of `clip`.\n"
    )


def number(value: float) -> str:
    """A bound as TOML, without a decimal point if it is whole.

    >>> number(64.0), number(0.235), number(1050000.0)
    ('64', '0.235', '1050000')
    """
    return str(int(value)) if value.is_integer() else repr(value)


def _shown(found: ReleasedHistogram, most: int) -> Iterator[tuple[int, int]]:
    """The buckets with people and a few around them, with their counts."""
    seen = [place for place, count in enumerate(found.people) if count > most]
    first = max(0, min(seen, default=0) - _EMPTY_SHOWN)
    last = max(seen, default=0) + _EMPTY_SHOWN
    yield from [pair for pair in enumerate(found.people) if first <= pair[0] <= last]


def _bucket(found: ReleasedHistogram, place: int) -> str:
    ends = found.ends
    return f"up to {ends[place]:,.12g}" if place < len(ends) else f"more than {ends[-1]:,.12g}"


def _bar(count: int, tallest: int) -> str:
    eighths = max(0, round(count * _BAR * 8 / tallest))
    return ("█" * (eighths // 8) + _PARTS[eighths % 8]).rstrip()


def _title(tuned: Tuned) -> str:
    if tuned.measure == ROWS:
        return "people by how many rows they own"
    return f"people by the sum of their {tuned.measure}, signs aside"


def with_bounds(text: str, policy: Policy, proposals: Mapping[str, Mapping[str, float]]) -> str:
    """A policy's text with new values of `clip`; everything else stays.

    Args:
      proposals: by table and measure (`rows` or a column), in the measure's own unit.
    Raises: CommandFailed with the lines to write by hand, if a table is not written as a section.
    """
    document = tomllib.loads(text)
    meant, lines = deepcopy(document), text.splitlines()
    settings = []
    for table, most in proposals.items():
        written = next((key for key in document["tables"] if _canonical(key, policy) == table), table)
        merged = {**document["tables"].get(written, {}).get(_CLIP, {}), **most}
        meant["tables"].setdefault(written, {})[_CLIP] = merged
        values = ", ".join(f"{toml_key(of)} = {number(float(value))}" for of, value in merged.items())
        setting = f"{_CLIP} = {{ {values} }}"
        settings += [section_of(table, policy.schemas), setting]
        lines = _placed(lines, table, policy, setting)
    changed = "\n".join(lines) + "\n"
    if not _says(changed, meant):
        raise CommandFailed(
            "the policy's tables are not written as sections, so nothing is written",
            hint="write into it: " + " ".join(settings),
        )
    return changed


def difference(before: str, after: str, name: str) -> str:
    """A unified diff with three lines of context."""
    return "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")) + "\n"


def write_policy(path: Path, before: str, after: str) -> None:
    """Replace a file atomically.

    Args:
      before: the expected content of the file.
    Raises: CommandFailed, also if the file was changed meanwhile.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.read_text(encoding="utf-8") != before:
            raise CommandFailed(f"{path} was changed meanwhile; nothing is written", hint="run the command again")
        temporary.touch(mode=0o600)
        temporary.write_text(after, encoding="utf-8")
        temporary.chmod(path.stat().st_mode & 0o7777)
        temporary.replace(path)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _placed(lines: Sequence[str], table: str, policy: Policy, new: str) -> list[str]:
    """The lines with a setting in the section of a table. A missing section is made before its first subsection."""
    headers = [(at, _path(line)) for at, line in enumerate(lines) if line.lstrip().startswith("[")]
    of_table = [
        (at, len(path))
        for at, path in headers
        if path[:1] == ["tables"] and any(_canonical(one, policy) == table for one in path[1:2])
    ]
    own = next((at for at, depth in of_table if depth == 2), None)
    if own is None:
        header = section_of(table, policy.schemas)
        if not of_table:
            return [*lines, "", header, new]
        first = of_table[0][0]
        return [*lines[:first], header, new, "", *lines[first:]]
    end = next((at for at, _ in headers if at > own), len(lines))
    body = [line for line in lines[own + 1 : end] if line.partition("=")[0].strip() != _CLIP]
    return [*lines[: own + 1], new, *body, *lines[end:]]


def _path(line: str) -> list[str]:
    """The keys of a section header; empty for other lines."""
    try:
        found: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return []
    path = []
    while isinstance(found, dict) and len(found) == 1:
        ((key, found),) = found.items()
        path.append(key)
    return path


def _canonical(written: str, policy: Policy) -> str | None:
    try:
        return table_name(*name_parts(written, policy.schemas[0]))
    except ValueError:
        return None


def _says(text: str, meant: Mapping[str, Any]) -> bool:
    """Does a text have the intended content, and is it a policy? Raises: PolicyInvalid for invalid bounds."""
    try:
        same = tomllib.loads(text) == meant
    except tomllib.TOMLDecodeError:
        return False
    if same:
        parse_policy(text)
    return same
