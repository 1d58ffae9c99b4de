"""Why a collected text is refused: no private answer can say what it asks, or the planner cannot do it yet."""

from __future__ import annotations

from typing import Literal

from tests.golden.collected.outcomes import outcome
from tests.golden.collected.statements import collected

Verdict = Literal["answered", "a gap", "not to be answered"]

_LISTS = "exe02 exe29 tut01 tut02 tut13 tut14 tut30 tut31 tut32 exe15 exe20 exe23 exe35 bi30 ana16 dbt01 rep08"

NOT_TO_BE_ANSWERED = {
    **dict.fromkeys(_LISTS.split(), "it lists people, or what one of them alone has"),
    "dbt04": "it counts rows without an owner",
}
"""By name, what of it nobody can answer who protects people."""


GAPS = {
    "ana10": "an answer per row of another answer",
    "ana17": "quartiles of people: windows over rows of several",
    "ana29": "groups by session, which is no key",
    "peer18": "a join that no key connects, unless the policy allows `unbounded_joins`",
}  # fmt: skip
"""By name, the feature that a text waits for, whose answer could be private."""


def verdict(name: str) -> Verdict:
    """What becomes of a text."""
    if outcome(collected()[name].sql).refusal is None:
        return "answered"
    return "not to be answered" if name in NOT_TO_BE_ANSWERED else "a gap"


def working() -> dict[str, str]:
    """Every text that is answered, by name."""
    return {name: one.sql for name, one in collected().items() if outcome(one.sql).refusal is None}
