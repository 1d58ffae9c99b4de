"""The rule that workers, threads, jobs, sessions and bytes are shared by, against a list of who holds what."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from server.scheduling.fair_shares import FairShares, Refusal

OWNERS = st.sampled_from(["ann", "bob", "carol"])


@given(
    of_one=st.integers(1, 6),
    most=st.integers(1, 12),
    newcomers=st.sampled_from([None, 12, math.inf]),
    asked=st.lists(st.tuples(OWNERS, st.integers(1, 4), st.booleans()), max_size=40),
)
def test_nobody_holds_more_than_its_share_nor_all_more_than_there_is(
    of_one: int, most: int, newcomers: float | None, asked: list[tuple[str, int, bool]]
) -> None:
    shares, held = FairShares(of_one, most, newcomers), list[tuple[str, int]]()
    for owner, units, gives_back in asked:
        if gives_back and held:
            shares.give_back(*held.pop(0))
        own = sum(taken for other, taken in held if other == owner)
        total = sum(taken for _, taken in held)
        bound = most if own or newcomers is None else newcomers
        refusal = Refusal.OWN if own + units > of_one else Refusal.ALL if total and total + units > bound else None
        assert (shares.held(owner), shares.total, shares.refusal(owner, units)) == (own, total, refusal)
        if refusal is None:
            shares.take(owner, units)
            held.append((owner, units))
    for one in held:
        shares.give_back(*one)
    assert not shares.total and not shares._held


def test_next_is_who_holds_least_then_who_had_something_longest_ago_then_who_came_first() -> None:
    shares = FairShares(9)
    for owner in ("ann", "bob", "ann"):
        shares.take(owner)
    waiting = [("ann", 1), ("bob", 2), ("carol", 3), ("carol", 4), ("dave", 5)]
    order = []
    while chosen := shares.next_of(waiting, lambda one: one[0]):
        waiting.remove(chosen)
        shares.take(chosen[0])
        order.append(chosen[1])
    assert order == [3, 5, 2, 4, 1]
    assert shares.next_of([], str) is None


def test_who_had_a_turn_and_gave_it_back_comes_after_who_has_had_none() -> None:
    shares = FairShares(1)
    shares.take("ann")
    shares.give_back("ann")
    assert shares.next_of(["ann", "bob"], str) == "bob"


def test_what_is_shared_with_somebody_adds_nothing_to_the_total() -> None:
    shares = FairShares(10, 10)
    shares.take("ann", 8)
    assert shares.refusal("bob", 8) is Refusal.ALL
    assert shares.refusal("bob", 8, adds=0) is None
    shares.take("bob", 8, adds=0)
    assert (shares.total, shares.held("bob")) == (8, 8)
    shares.give_back("ann", 8, adds=0)
    shares.give_back("bob", 8)
    assert not shares.total


def test_who_is_told_to_be_no_newcomer_leaves_the_kept_place() -> None:
    shares = FairShares(2, 1, newcomers=2)
    shares.take("ann")
    assert shares.refusal("bob") is None
    assert shares.refusal("bob", newcomer=False) is Refusal.ALL
