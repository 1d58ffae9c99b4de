"""Write the golden `after` files again: python -m tests.golden.sampling.write_cases. Read the difference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlglot import parse_one

from planner.plan import CONSTANT, TreeShape
from planner.rewriting.rewrite import rewrite
from tests.support.planning import planned

CASES = Path(__file__).parent / "cases"
RATE = 0.125


def before_files() -> list[Path]:
    """The questions: cases/NAME.before.sql."""
    return sorted(CASES.glob("*.before.sql"))


def after_text(before: Path) -> str:
    """The strategy and what is read, laid out for reading. A question with its own TABLESAMPLE has its own rate."""
    sql = before.read_text()
    plan = planned(sql, sampling_rate=None if "TABLESAMPLE" in sql else RATE)
    assert plan.sampling is not None
    query = rewrite(plan)
    statements = query.parts if query.join is None else (query.join,)
    assert statements
    texts = [parse_one(one, dialect="postgres").sql("postgres", pretty=True) + ";\n" for one in statements]
    return "\n".join([f"-- {plan.sampling.strategy}", *_shape(query.tree)]) + "\n" + "\n".join(texts)


def _shape(tree: TreeShape | None) -> Iterator[str]:
    """How the parts meet, for reading; parts are numbered in the order of their statements."""
    if tree is None:
        return
    for part, (parent, meets) in enumerate(zip(tree.parents, tree.meets, strict=True)):
        for own, other in meets:
            yield f"-- part {part}.c{own} = part {parent}.c{other}"
    for (left, place), compared, (right, other) in tree.comparisons:
        yield f"-- part {left}.c{place} {compared} part {right}.c{other}"
    shown = ", ".join(str(place) if part == CONSTANT else f"part {part}.c{place}" for part, place in tree.outputs)
    yield f"-- a tuple shows {shown}"


def after_file(before: Path) -> Path:
    """The rewritten SQL of a question: cases/NAME.after.sql."""
    return before.with_name(before.name.replace(".before.", ".after."))


def main() -> None:
    """Overwrite every `after` file."""
    for before in before_files():
        after_file(before).write_text(after_text(before))


if __name__ == "__main__":
    main()
