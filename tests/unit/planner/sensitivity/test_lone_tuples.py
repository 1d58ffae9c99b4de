from __future__ import annotations

from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, ForeignKey, Schema, Table
from tests.support.planning import planned

ENDS = tuple(ForeignKey((end,), "person", ("id",)) for end in ("a", "b"))


def table(name: str, nullable: bool, keys: tuple[tuple[str, ...], ...]) -> Table:
    columns = (Column("a", "bigint", nullable), Column("b", "bigint", nullable), Column("day", "integer", nullable))
    return Table(name, "public", columns, keys, ENDS)


SCHEMA = Schema(
    {
        "person": Table("person", "public", (Column("id", "bigint", False),), (("id",),), ()),
        "link": table("link", False, (("a", "b"),)),
        "loose": table("loose", True, (("a", "b"),)),
        "call": table("call", False, (("a", "b", "day"),)),
    }
)
POLICY = parse_policy("""
name = "graph"
[database]
url = "env:UNUSED"
[ledger]
path = "x"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[tables.person]
[tables.link]
[tables.link.columns]
day = { domain = [1, 2, 3] }
[tables.loose]
[tables.call]
[tables.call.columns]
day = { domain = [1, 2, 3] }
""")


def test_tuples_are_lone_where_owners_and_keys_hold_a_unique_key_of_every_row() -> None:
    cases = [
        ("SELECT count(*) FROM link", True),
        ("SELECT count(*) FROM link x JOIN link y ON x.b = y.a WHERE x.a < y.b", True),
        ("SELECT count(*) FROM link x JOIN link y ON x.b = y.a JOIN link z ON z.a = x.a AND z.b = y.b", True),
        ("SELECT count(*) FROM link x JOIN person ON id = x.a", True),
        ("SELECT count(*) FROM loose", False),  # two rows may have the same a, and NULL
        ("SELECT count(*) FROM loose WHERE a = b", True),  # an equality passes no NULL
        ("SELECT count(*) FROM call", False),  # of several days
        ("SELECT day, count(*) FROM call GROUP BY day", True),
        ("SELECT day / 2, count(*) FROM call GROUP BY 1", False),  # a computed key does not say the day
        ("SELECT count(*) FROM call WHERE day = 2", True),
        ("SELECT count(*) FROM link x JOIN call y ON x.b = y.a", False),
    ]
    for sql, lone in cases:
        plan = planned(sql, SCHEMA, POLICY)
        assert plan.lone is lone
        join = rewrite(plan, schema=SCHEMA, contributions=False).join
        assert join is not None
        assert ("GROUP BY" in join) is not lone


def test_units_are_counted_over_merged_rows_whatever_keys_promise() -> None:
    plan = planned("SELECT count(*) FROM person", SCHEMA, POLICY, mechanism="gem")
    assert plan.lone and plan.counts_contributions
    contributions = rewrite(plan, schema=SCHEMA).contributions
    assert contributions is not None
    assert contributions.count("GROUP BY") == 2, "of the units, and of their intervals"


def test_a_sample_that_the_proxy_draws_still_counts_equal_tuples() -> None:
    plan = planned("SELECT count(*) FROM link x JOIN call y ON x.b = y.a", SCHEMA, POLICY, sampling_rate=0.5)
    query = rewrite(plan, schema=SCHEMA)
    assert query.join is None or "GROUP BY" in query.join
