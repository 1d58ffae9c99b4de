"""Write the golden `after` files again: python -m tests.golden.stackexchange.write_cases. Read the difference."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlglot import parse_one

from planner.plan import Plan
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from tests.golden.stackexchange.tables import schema
from tests.support.planning import planned

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name.split(".")[0] for path in CASES.glob("*.before.sql"))


@cache
def policy() -> Policy:
    """policy.toml."""
    return parse_policy(Path(__file__).with_name("policy.toml").read_text())


def before(name: str) -> str:
    """The question; its first line says it in words."""
    return (CASES / f"{name}.before.sql").read_text()


def after_file(name: str) -> Path:
    """What the database gets."""
    return CASES / f"{name}.after.sql"


def truth(name: str) -> str:
    """What the question counts, in SQL: itself, unless ownership or a clamp leaves something out."""
    path = CASES / f"{name}.truth.sql"
    return path.read_text() if path.exists() else before(name)


@cache
def plan(name: str) -> Plan:
    """Plan a question."""
    return planned(before(name), schema(), policy())


def after_text(name: str) -> str:
    """The statements that the database gets, laid out for reading: joins, then distinct values, then domains."""
    query = rewrite(plan(name))
    statements = [query.join, *query.distinct, *query.domains]
    trees = [parse_one(statement, dialect="postgres") for statement in statements if statement is not None]
    return ";\n\n".join(tree.sql("postgres", pretty=True) for tree in trees) + ";\n"


def main() -> None:
    """Overwrite every `after` file."""
    for name in NAMES:
        after_file(name).write_text(after_text(name))


if __name__ == "__main__":
    main()
