"""Write the golden `after` files anew: python -m tests.golden.sampling.write_cases. Read the difference."""

from __future__ import annotations

from pathlib import Path

from sqlglot import parse_one

from planner.rewriting.rewrite import rewrite
from tests.support.planning import planned

CASES = Path(__file__).parent / "cases"
RATE = 0.125


def before_files() -> list[Path]:
    """The questions: cases/NAME.before.sql."""
    return sorted(CASES.glob("*.before.sql"))


def after_text(before: Path) -> str:
    """The strategy and the join, laid out for reading. A question with its own TABLESAMPLE has its own rate."""
    sql = before.read_text()
    plan = planned(sql, sampling_rate=None if "TABLESAMPLE" in sql else RATE)
    assert plan.sampling is not None
    join = rewrite(plan).join
    assert join is not None
    return f"-- {plan.sampling.strategy}\n" + parse_one(join, dialect="postgres").sql("postgres", pretty=True) + ";\n"


def after_file(before: Path) -> Path:
    """The rewritten SQL of a question: cases/NAME.after.sql."""
    return before.with_name(before.name.replace(".before.", ".after."))


def main() -> None:
    """Overwrite every `after` file."""
    for before in before_files():
        after_file(before).write_text(after_text(before))


if __name__ == "__main__":
    main()
