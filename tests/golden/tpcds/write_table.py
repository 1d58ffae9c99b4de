"""Write TABLE.md again: python -m tests.golden.tpcds.write_table. Read the difference."""

from __future__ import annotations

from pathlib import Path

from planner.public.relation import PublicQuery
from tests.golden import benchmark_table
from tests.golden.benchmark import Outcome
from tests.golden.benchmark_table import owners, reasons
from tests.golden.tpcds.queries import TPCDS

TABLE = Path(__file__).with_name("TABLE.md")

_HEAD = """\
# What the 99 TPC-DS queries give

{works as it is} work as they are and {works adapted} adapted; refused: {refused}. Customers are private, with
what is billed to them and what of it comes back; what a retailer has, and lists of what there is, are public
(`policy.toml`). The texts are in `queries/`: as published, with the specification's default parameters, and adapted
where that is needed. This table is written by `python -m tests.golden.tpcds.write_table` and tested; so is that every
answered text, executed without truncation and noise, equals what PostgreSQL and DuckDB say of the text itself, over
rows of about scale 0.01. Groups that nothing falls into are left out of that comparison: an answer shows them, near
zero, and counts them in its LIMIT.

A statement of several questions is computed from their answers; one over public tables alone is exact. Owners and
releases are those of each question. A line that no customer stands on belongs to a person of its own, `store_sales`
beside `customer`.

"""


def table() -> str:
    """TABLE.md."""
    facts = {
        "questions": _questions,
        "whose rows meet in a tuple": _owners,
        "releases": lambda outcome: " + ".join(str(len(plan.releases)) for plan in outcome.plans),
    }
    why = f"\n## How often the published texts are refused, and why\n\n{reasons(TPCDS)}"
    return benchmark_table.table(TPCDS, _HEAD, facts) + why


def _questions(outcome: Outcome) -> str:
    return "public" if isinstance(outcome.planned, PublicQuery) or not outcome.plans else str(len(outcome.plans))


def _owners(outcome: Outcome) -> str:
    return "; ".join(dict.fromkeys(map(owners, outcome.plans)))


def main() -> None:
    """Overwrite TABLE.md."""
    TABLE.write_text(table())


if __name__ == "__main__":
    main()
