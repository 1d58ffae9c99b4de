"""Write TABLE.md again: python -m tests.golden.tpch.write_table. Read the difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from planner.plan import KindReach, Plan
from planner.released_expression import KeyValue
from tests.golden import benchmark_table
from tests.golden.benchmark import Outcome
from tests.golden.benchmark_table import keys, owners
from tests.golden.tpch.queries import TPCH

TABLE = Path(__file__).with_name("TABLE.md")

_HEAD = """\
# What the 22 TPC-H queries give

Customers and suppliers are private; part, nation and region are public (`policy.toml`). The texts are in `queries/`:
as published, with the specification's validation parameters, and adapted where that is needed. This table is written
by `python -m tests.golden.tpch.write_table` and tested; so is that every answered text, executed without truncation
and noise, equals what PostgreSQL says of the text itself.

"""


def table() -> str:
    """TABLE.md."""
    facts = {
        "whose rows meet in a tuple": _of(owners), "group keys": _of(lambda plan: ", ".join(keys(plan))),
        "groups per person": _of(_bound), "releases": _of(lambda plan: str(len(plan.releases))),
    }  # fmt: skip
    return benchmark_table.table(TPCH, _HEAD, facts)


verdict = TPCH.verdict


def _of(fact: Callable[[Plan], str]) -> Callable[[Outcome], str]:
    return lambda outcome: ", ".join(map(fact, outcome.plans))


def _bound(plan: Plan) -> str:
    """L0; where it is told apart by relation, the keys that follow from a unit, which its groups share."""
    if not keys(plan) or plan.bounds.groups is not None or not plan.bounds.kinds:
        return "" if not keys(plan) else "all" if plan.bounds.groups is None else str(plan.bounds.groups)
    names = {one.expression.key: one.name for one in plan.display.outputs if isinstance(one.expression, KeyValue)}
    return "; ".join(_reach(kind, names) for kind in plan.bounds.kinds)


def _reach(kind: KindReach, names: Mapping[int, str]) -> str:
    places = [" and ".join(names[place] for place in own) for own in kind.determines]
    return f"{kind.relation}: {' + '.join(f'those of one {place}' if place else 'all' for place in places)}"


def main() -> None:
    """Overwrite TABLE.md."""
    TABLE.write_text(table())


if __name__ == "__main__":
    main()
