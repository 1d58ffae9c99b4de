"""Random inner joins over the demonstration's catalog: a plan or a planner's error, and invariants of plans."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.plan import Plan
from tests.support.planning import planned
from tests.support.tpch_schema import tpch_schema

_TABLES = sorted(tpch_schema().tables)
_COMPARISONS = ["=", "=", "=", "<", ">=", "<>"]


@dataclass(frozen=True)
class _Join:
    """A query whose aliases are holes."""

    tables: tuple[str, ...]
    conditions: tuple[tuple[int, str, str, int, str], ...]
    joined_with_on: bool

    def sql(self, aliases: list[str]) -> str:
        tables = [f"{table} AS {alias}" for table, alias in zip(self.tables, aliases, strict=True)]
        tests = [f"{aliases[i]}.{a} {sign} {aliases[j]}.{b}" for i, a, sign, j, b in self.conditions]
        tests.append("1 = 1")
        if self.joined_with_on and len(tables) > 1:
            return (
                f"SELECT count(*) FROM {' JOIN '.join(tables[:1] + [f'{table} ON 1 = 1' for table in tables[1:-1]])} "
                f"JOIN {tables[-1]} ON {' AND '.join(tests)}"
            )
        return f"SELECT count(*) FROM {', '.join(tables)} WHERE {' AND '.join(tests)}"


@st.composite
def _joins(draw: st.DrawFn) -> _Join:
    tables = draw(st.lists(st.sampled_from(_TABLES), min_size=1, max_size=6))
    conditions = []
    for _ in range(draw(st.integers(0, 6))):
        i, j = (draw(st.integers(0, len(tables) - 1)) for _ in range(2))
        a, b = (draw(st.sampled_from([c.name for c in tpch_schema().tables[tables[k]].columns])) for k in (i, j))
        conditions.append((i, a, draw(st.sampled_from(_COMPARISONS)), j, b))
    return _Join(tuple(tables), tuple(conditions), draw(st.booleans()))


def _try(sql: str) -> Plan | str:
    try:
        return planned(sql)
    except PlannerError as error:
        return type(error).__name__


@given(_joins(), st.permutations(["x", "y", "z", '"Q r"', "_u", "v1"]))
def test_names_of_aliases_and_spelling_of_joins_do_not_matter(join: _Join, names: list[str]) -> None:
    first = _try(join.sql([f"a{i}" for i in range(len(join.tables))]))
    renamed = _try(join.sql(names[: len(join.tables)]))
    respelled = _try(_Join(join.tables, join.conditions, not join.joined_with_on).sql(names[: len(join.tables)]))
    assert first == renamed == respelled


@given(_joins(), st.data())
def test_owners_do_not_depend_on_the_order_of_from(join: _Join, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(join.tables))))
    place = {old: new for new, old in enumerate(order)}
    shuffled = _Join(
        tuple(join.tables[old] for old in order),
        tuple((place[i], a, sign, place[j], b) for i, a, sign, j, b in join.conditions),
        join.joined_with_on,
    )
    aliases = [f"a{i}" for i in range(len(join.tables))]
    first, second = _try(join.sql(aliases)), _try(shuffled.sql(aliases))
    if isinstance(first, Plan) and isinstance(second, Plan):
        assert sorted(owner.relation for owner in first.owners) == sorted(owner.relation for owner in second.owners)
    else:
        assert first == second


@given(_joins(), st.integers(0, 100), st.integers(0, 100))
def test_one_more_equality_never_adds_an_owner(join: _Join, left: int, right: int) -> None:
    i, j = left % len(join.tables), right % len(join.tables)
    a, b = (tpch_schema().tables[join.tables[k]].columns[0].name for k in (i, j))
    more = _Join(join.tables, (*join.conditions, (i, a, "=", j, b)), join.joined_with_on)
    aliases = [f"a{i}" for i in range(len(join.tables))]
    first, second = _try(join.sql(aliases)), _try(more.sql(aliases))
    if isinstance(first, Plan) and isinstance(second, Plan):
        assert len(second.owners) <= len(first.owners)
