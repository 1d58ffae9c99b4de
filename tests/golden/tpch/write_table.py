"""Write TABLE.md anew: python -m tests.golden.tpch.write_table. Read the difference."""

from __future__ import annotations

from pathlib import Path

from planner.errors import PlannerError
from planner.plan import Plan
from tests.golden.tpch.queries import NUMBERS, adapted, outcome, published

TABLE = Path(__file__).with_name("TABLE.md")

_HEAD = """\
# What the 22 TPC-H queries give

Customers and suppliers are private; part, nation and region are public (`policy.toml`). The texts are in `queries/`:
as published, with the specification's validation parameters, and adapted where that is needed. This table is written
by `python -m tests.golden.tpch.write_table` and tested; so is that every answered text, executed without truncation
and noise, equals what PostgreSQL says of the text itself.

| query | verdict | whose rows meet in a tuple | group keys | groups per person | releases |
| --- | --- | --- | --- | --- | --- |
"""


def table() -> str:
    """TABLE.md."""
    refusals = [lines for number in NUMBERS if (lines := _refusal_lines(number))]
    return _HEAD + "\n".join(map(_line, NUMBERS)) + "\n\n## What the refusals say\n\n" + "\n".join(refusals)


def verdict(number: int) -> str:
    """`works as it is`, `works adapted` or `refused`."""
    if outcome(published(number)).plan is not None:
        return "works as it is"
    instead = adapted(number)
    return "refused" if instead is None or outcome(instead).plan is None else "works adapted"


def _line(number: int) -> str:
    text = adapted(number) if verdict(number) == "works adapted" else published(number)
    assert text is not None
    plan = outcome(text).plan
    cells = [f"Q{number}", verdict(number), *(_facts(plan) if plan is not None else ["", "", "", ""])]
    return f"| {' | '.join(cells)} |"


def _facts(plan: Plan) -> list[str]:
    owners = ", ".join(owner.relation for owner in plan.owners)
    keys = [output.name for output in plan.outputs if type(output.expression).__name__ == "KeyValue"]
    bound = "" if not keys else "all" if plan.groups_per_unit is None else str(plan.groups_per_unit)
    return [owners, ", ".join(keys), bound, str(len(plan.releases))]


def _refusal_lines(number: int) -> str:
    refusal = outcome(published(number)).refusal
    if refusal is None:
        return ""
    instead = adapted(number)
    advice = f" Adapted: {_comment(instead)}" if instead else ""
    return f"* **Q{number}** {_place(published(number), refusal)}{advice}\n"


def _place(text: str, refusal: PlannerError) -> str:
    """Where, what and what to write instead."""
    line = text.count("\n", 0, (refusal.position or 1) - 1) + 1
    at = f"line {line}: " if refusal.position else ""
    hint = f" ({refusal.hint})" if refusal.hint else ""
    return f"{at}{refusal.message}{hint}."


def _comment(text: str) -> str:
    return text.splitlines()[0].removeprefix("-- ")


def main() -> None:
    """Overwrite TABLE.md."""
    TABLE.write_text(table())


if __name__ == "__main__":
    main()
