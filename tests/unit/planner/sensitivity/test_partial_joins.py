"""A join on a part of a composite key says so, and names the whole key."""

from __future__ import annotations

from tests.support.planning import planned, unbounded

PART = "SELECT count(*) FROM lineitem JOIN partsupp ON l_partkey = ps_partkey"
WHOLE = f"{PART} AND l_suppkey = ps_suppkey"


def test_a_part_of_a_key_is_said() -> None:
    (note,) = planned(PART, policy=unbounded()).notes
    assert "lineitem joins partsupp on a part of its key, without l_suppkey" in note
    assert "lineitem.l_partkey = partsupp.ps_partkey AND lineitem.l_suppkey = partsupp.ps_suppkey" in note


def test_a_whole_key_says_nothing() -> None:
    cases = [
        WHOLE,
        f"{WHOLE} JOIN partsupp other ON l_partkey = other.ps_partkey",  # its own parent is there
        "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey",
        "SELECT count(*) FROM lineitem",
    ]
    for sql in cases:
        assert planned(sql, policy=unbounded()).notes == ()
