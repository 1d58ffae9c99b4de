"""TABLE.md of a published benchmark: verdicts, what is known of the answered queries, what the refusals say."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from planner.plan import Plan
from tests.golden.benchmark import Benchmark, Outcome
from tests.golden.refusal_lines import place

Facts = Mapping[str, Callable[[Outcome], str]]
"""By the name of a column, what it says of an answered text."""

_NAMES_ALONE = "It asks for no number: the groups are named that there may be, whatever the private rows hold."


def table(benchmark: Benchmark, head: str, facts: Facts) -> str:
    """TABLE.md.

    Args:
      benchmark: whose.
      head: what stands above the table; `{works as it is}`, `{works adapted}` and `{refused}` in it are numbers.
      facts: of each answered text, beside its number and verdict.
    """
    names = ["query", "verdict", *facts]
    lines = [_row(names), _row(["---"] * len(names))]
    lines += [_row(_cells(benchmark, number, facts)) for number in benchmark.numbers]
    refusals = [text for number in benchmark.numbers if (text := _refusal(benchmark, number))]
    given = Counter(map(benchmark.verdict, benchmark.numbers))
    for verdict in ("works as it is", "works adapted", "refused"):
        head = head.replace(f"{{{verdict}}}", str(given[verdict]))
    return head + "\n".join(lines) + "\n\n## What the refusals say\n\n" + "\n".join(refusals)


def reasons(benchmark: Benchmark) -> str:
    """How often the published texts are refused for what, without the names of tables and columns."""
    found: dict[str, list[str]] = defaultdict(list)
    for number in benchmark.numbers:
        outcome = benchmark.outcome(benchmark.published(number))
        if not outcome.answers:
            said = _NAMES_ALONE if outcome.refusal is None else outcome.refusal.message
            found[_reason(said)].append(f"Q{number}")
    often = sorted(found.items(), key=lambda one: -len(one[1]))
    lines = [_row([str(len(numbers)), reason, ", ".join(numbers)]) for reason, numbers in often]
    return "\n".join([_row(["how often", "why", "where"]), _row(["---"] * 3), *lines]) + "\n"


def _reason(message: str) -> str:
    return re.sub(r"\w+\.\w+(, \w+)*", "...", message.split(": ")[0])


def owners(plan: Plan) -> str:
    """Whose rows meet in a tuple."""
    return ", ".join(owner.relation for owner in plan.owners)


def keys(plan: Plan) -> list[str]:
    """The group keys that an answer shows."""
    return [output.name for output in plan.display.outputs if type(output.expression).__name__ == "KeyValue"]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(benchmark: Benchmark, number: int, facts: Facts) -> list[str]:
    verdict = benchmark.verdict(number)
    outcome = benchmark.outcome(benchmark.text(number))
    known = [fact(outcome) for fact in facts.values()] if verdict != "refused" else [""] * len(facts)
    return [f"Q{number}", verdict, *known]


def _refusal(benchmark: Benchmark, number: int) -> str:
    text = benchmark.published(number)
    outcome = benchmark.outcome(text)
    if outcome.answers:
        return ""
    said = _NAMES_ALONE if outcome.refusal is None else place(text, outcome.refusal)
    instead = benchmark.adapted(number)
    advice = f" Adapted: {_comment(instead)}" if instead else ""
    return f"* **Q{number}** {said}{advice}\n"


def _comment(text: str) -> str:
    return text.splitlines()[0].removeprefix("-- ")
