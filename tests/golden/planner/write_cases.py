"""Write the golden `after` files again: python -m tests.golden.planner.write_cases. Read the difference."""

from __future__ import annotations

from pathlib import Path

from sqlglot import parse_one

from tests.support.planning import rewritten

CASES = Path(__file__).parent / "cases"


def before_files() -> list[Path]:
    """The questions: cases/NAME.before.sql."""
    return sorted(CASES.glob("*.before.sql"))


def after_file(before: Path) -> Path:
    """The rewritten SQL of a question: cases/NAME.after.sql."""
    return before.with_name(before.name.replace(".before.", ".after."))


def mechanism_of(text: str) -> str | None:
    """The mechanism that a question is asked by: named in its first line, `-- mechanism: NAME`; None in most."""
    first = text.partition("\n")[0]
    return first.removeprefix(_BY) if first.startswith(_BY) else None


_BY = "-- mechanism: "


def after_text(before: Path) -> str:
    """What the planner makes of a question: the join, distinct values, how many units have how many, the domains."""
    text = before.read_text()
    query = rewritten(text, mechanism=mechanism_of(text))
    every = query.join, *query.distinct, *query.distinct_contributions, *query.domains
    statements = [statement for statement in every if statement is not None]
    texts = [parse_one(statement, dialect="postgres").sql("postgres", pretty=True) for statement in statements]
    return ";\n\n".join(texts) + ";\n"


def main() -> None:
    """Overwrite every `after` file."""
    for before in before_files():
        after_file(before).write_text(after_text(before))


if __name__ == "__main__":
    main()
