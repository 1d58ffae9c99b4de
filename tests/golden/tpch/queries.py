"""The texts: queries/qNN.sql as published, with the validation parameters; queries/qNN.adapted.sql where needed.

Spelling is PostgreSQL's: the limits of Q2, Q3, Q10, Q18 and Q21 are LIMIT, and Q15's view is a CTE.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planner.bind import bind
from planner.errors import PlannerError
from planner.parse import parse
from planner.plan import Plan
from planner.planner import make_plan
from planner.policy import Policy, parse_policy
from tests.support.tpch_schema import tpch_schema

_FOLDER = Path(__file__).parent

NUMBERS = range(1, 23)


@dataclass(frozen=True)
class Outcome:
    """What the planner says of one text: a plan, or why not."""

    text: str
    plan: Plan | None
    refusal: PlannerError | None


@cache
def policy() -> Policy:
    """policy.toml."""
    return parse_policy((_FOLDER / "policy.toml").read_text())


def published(number: int) -> str:
    """The query as the specification has it."""
    return (_FOLDER / "queries" / f"q{number:02}.sql").read_text()


def adapted(number: int) -> str | None:
    """The question that an analyst asks instead, where there is one; its first line says what differs."""
    path = _FOLDER / "queries" / f"q{number:02}.adapted.sql"
    return path.read_text() if path.exists() else None


@cache
def outcome(text: str) -> Outcome:
    """Plan a text over TPC-H's catalog and policy."""
    schema = tpch_schema()
    try:
        query = bind(parse(text), schema, policy())
        plan = make_plan(query, schema, policy(), epsilon=None, delta=None, mechanism=None)
    except PlannerError as refusal:
        return Outcome(text, None, refusal)
    return Outcome(text, plan, None)


def working() -> dict[str, str]:
    """Every text that is answered, by name: as published, else adapted."""
    texts = {}
    for number in NUMBERS:
        instead = adapted(number)
        if outcome(published(number)).plan is not None:
            texts[f"Q{number}"] = published(number)
        elif instead is not None and outcome(instead).plan is not None:
            texts[f"Q{number} adapted"] = instead
    return texts
