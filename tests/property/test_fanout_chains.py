"""Delta where ownership follows a chain of rows only so deep: on every instance that keeps what the policy promises.

The promised rows per unit are those of rows that answers count, so a question must not count others. Numbers and
rules are stated a second time in `tests.support.fanout_instances`, without the planner.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from planner.sensitivity.provenance import _Search
from tests.support.fanout_instances import SCHEMA, Instance, Row, policy_of, tuples_per_unit
from tests.support.planning import planned
from tests.support.post_trees import asked
from tests.support.seeds import examples


def violations(seeds: Iterable[int]) -> list[str]:
    """The questions of which one unit has more tuples than Delta."""
    found = []
    for seed in seeds:
        question = asked(seed)
        plan = planned(question.sql, SCHEMA, question.policy)
        if plan.bounds.tuples is not None:
            most = max(tuples_per_unit(plan, question.instance).values(), default=0)
            if most > plan.bounds.tuples:
                found.append(f"{seed}: {most} > {plan.bounds.tuples}: {question.sql}")
    return found


def restart_at_joined_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: a parent that FROM names is looked at for itself, however long the chain to it is already."""
    monkeypatch.setattr(_Search, "_reach", lambda *_: None)


def test_no_unit_has_more_tuples_than_the_bound_in_random_trees() -> None:
    assert violations(range(examples(250, 50_000))) == []


def test_random_trees_find_chains_that_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    restart_at_joined_parents(monkeypatch)
    assert violations(range(250))


def wide_tree() -> Instance:
    """A root by person 0, three replies to it, 300 replies to each of these."""
    replies: list[Row] = [(number, 0, None) for number in range(1, 4)]
    deep: list[Row] = [(number, 1 + number % 3, None) for number in range(4, 904)]
    return Instance({"person": [(0, None)], "post": [(0, None, 0), *replies, *deep]}, depth=1)


@pytest.mark.parametrize("entries", ["post p JOIN post q", "post q JOIN post p"])
def test_replies_to_replies_are_left_out_of_a_self_join(entries: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows per person are promised, and four are counted: 903 pairs of person 0 were once answered for 30."""
    instance = wide_tree()
    policy = policy_of(instance, without=SCHEMA.tables["post"].foreign_keys, post=10)
    sql = f"SELECT count(*) FROM {entries} ON p.parent = q.id"
    plan = planned(sql, SCHEMA, policy)
    assert tuples_per_unit(plan, instance) == {0: 3}
    assert len(plan.owners) == 2  # nobody is above q
    restart_at_joined_parents(monkeypatch)
    mutant = planned(sql, SCHEMA, policy)
    assert (mutant.bounds.tuples, tuples_per_unit(mutant, instance)) == (30, {0: 903})
