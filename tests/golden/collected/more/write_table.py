"""Write TABLE.md again: python -m tests.golden.collected.more.write_table. Read the difference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.golden.collected.more.worlds import WORLDS, Collected, outcomes, statements
from tests.golden.refusal_lines import place

TABLE = Path(__file__).with_name("TABLE.md")

_HEAD = """\
# What 400 more statements of others give

From public sources: courses, exercises, forums, dbt projects, BI tools, open source applications. Each was written
anew over the tables beside it, in the shape that it had, and so was the policy, before anything was asked. A random
half was set aside: nobody who wrote the code saw it before the code was done. This table is written by
`python -m tests.golden.collected.more.write_table`.

| world | statements | a private answer exists | answered as they are | of those set aside | answered as they are |
| --- | --- | --- | --- | --- | --- |
"""


def table() -> str:
    """TABLE.md."""
    return _HEAD + "\n".join([*map(_counts, WORLDS), *(line for world in WORLDS for line in _refused(world))]) + "\n"


def answered(world: str, *, set_aside: bool) -> tuple[int, int]:
    """How many statements with a private answer are answered, and how many there are."""
    asked = [one for one in statements(world).values() if one.answerable and (one.set_aside or not set_aside)]
    return sum(outcomes(world)[one.name].refusal is None for one in asked), len(asked)


def _counts(world: str) -> str:
    good, many = answered(world, set_aside=False)
    good_aside, many_aside = answered(world, set_aside=True)
    shares = f"{good} ({good / many:.0%}) | {many_aside} | {good_aside} ({good_aside / many_aside:.0%})"
    return f"| {world} | {len(statements(world))} | {many} | {shares} |"


def _refused(world: str) -> Iterator[str]:
    yield f"\n## {world}: a private answer exists, and it is refused\n"
    yield "| | asks | the refusal |\n| --- | --- | --- |"
    for one in statements(world).values():
        if one.answerable and outcomes(world)[one.name].refusal is not None:
            yield _line(world, one)
    yield f"\n## {world}: no private answer exists\n"
    yield "| | asks | what is said |\n| --- | --- | --- |"
    for one in statements(world).values():
        if not one.answerable:
            yield _line(world, one)


def _line(world: str, one: Collected) -> str:
    refusal = outcomes(world)[one.name].refusal
    said = "answered" if refusal is None else place(one.sql, refusal)
    return f"| {one.name} | {one.asked} | {said} |".replace("||", "\\|\\|")


def main() -> None:
    """Overwrite TABLE.md."""
    TABLE.write_text(table())


if __name__ == "__main__":
    main()
