"""Write TABLE.md again: python -m tests.golden.collected.write_table. Read the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from server.answers.work import Compose, ListGroups, Measure, Work
from tests.golden.collected.outcomes import outcome
from tests.golden.collected.statements import Statement, collected
from tests.golden.collected.verdicts import GAPS, NOT_TO_BE_ANSWERED, verdict
from tests.golden.refusal_lines import place

TABLE = Path(__file__).with_name("TABLE.md")

_HEAD = """\
# What {total} statements of others give

Collected from public sources before any was asked: tutorials, exercises, what dashboards write, articles on product
analytics, dbt's models and tests, the documentation of other private systems, analyses of hospitals' data; not
TPC-H, TPC-DS or StackExchange. Each was written again over the tables of `world.py`, in the shape that it had; the
texts are in `statements/`. `policy.toml` is as an administrator would write it from what the columns mean. This table
is written by `python -m tests.golden.collected.write_table` and tested; so is that every answered text, executed
before truncation and noise on both databases, equals what PostgreSQL says of the text itself.

| | statements |
| --- | --- |
"""


def table() -> str:
    """TABLE.md."""
    return "\n".join([_HEAD.format(total=len(collected())) + "\n".join(_counts()), *_gaps(), *_by_source()]) + "\n"


def answered_share() -> float:
    """The part of those that could be answered privately which is answered."""
    counts = Counter(map(verdict, collected()))
    return counts["answered"] / (counts["answered"] + counts["a gap"])


def _counts() -> Iterator[str]:
    counts = Counter(map(verdict, collected()))
    yield f"| answered | {counts['answered']} |"
    yield f"| refused, though a private answer exists: gaps | {counts['a gap']} |"
    yield f"| not to be answered by anybody who protects people | {counts['not to be answered']} |"
    answerable = len(collected()) - counts["not to be answered"]
    yield f"| of {answerable} that have a private answer: answered | {answered_share():.1%} |"


def _gaps() -> Iterator[str]:
    yield "\n## What the refused ones wait for\n"
    yield "| feature | statements |\n| --- | --- |"
    waiting: dict[str, list[str]] = {}
    for name, feature in sorted(GAPS.items()):
        waiting.setdefault(feature, []).append(name)
    for feature, names in sorted(waiting.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield f"| {feature} | {', '.join(names)} |"


def _by_source() -> Iterator[str]:
    for source, statements in groupby(collected().values(), key=lambda one: one.source):
        yield f"\n## {source}\n"
        yield "| | asks | verdict | what is done, or the refusal |\n| --- | --- | --- | --- |"
        yield from map(_line, statements)


def _line(statement: Statement) -> str:
    result = outcome(statement.sql)
    words = _done(result.found) if result.found is not None else _refused(statement)
    return f"| {statement.name} | {statement.asked} | {verdict(statement.name)} | {words} |"


def _refused(statement: Statement) -> str:
    refusal = outcome(statement.sql).refusal
    assert refusal is not None
    why = NOT_TO_BE_ANSWERED.get(statement.name) or GAPS[statement.name]
    return f"{why}. *{place(statement.sql, refusal)}*".replace("|", "\\|")


def _done(found: Work) -> str:
    if isinstance(found, Measure):
        return _count(len(found.question.plan.releases), "release")
    if isinstance(found, Compose):
        releases = sum(len(part.question.plan.releases) for part in found.composition.parts)
        return f"computed from {_count(releases, 'release')} of {_count(len(found.composition.parts), 'question')}"
    return "the groups that there may be, free" if isinstance(found, ListGroups) else "public tables, exact and free"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def main() -> None:
    """Overwrite TABLE.md."""
    TABLE.write_text(table())


if __name__ == "__main__":
    main()
