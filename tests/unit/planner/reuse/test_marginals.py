"""Which questions add up, and the finer ones that they follow from."""

from __future__ import annotations

from planner.binding.bound_query import BoundQuery
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy
from planner.reuse.marginals import finer, made_whole, marginal, why_alone, with_others
from planner.schema import Schema
from tests.support.planning import bound as bound_in
from tests.support.ward_grid import ward_policy
from tests.support.ward_schema import ward_schema


def bound(sql: str) -> BoundQuery:
    return bound_in(sql, ward_schema(), ward_policy())


def plan(query: BoundQuery, policy: Policy | None = None, **said: float) -> Plan:
    schema: Schema = ward_schema()
    return make_plan(query, schema, policy or ward_policy(), epsilon=1.0, delta=None, mechanism=None, **said)


def test_counts_of_rows_of_which_everybody_has_one_add_up() -> None:
    for sql in [
        "SELECT count(*) FROM patient", "SELECT ward, count(*) FROM patient GROUP BY ward",
        "SELECT sex, month, count(*) FROM patient WHERE age > 30 GROUP BY sex, month HAVING count(*) > 10",
        "SELECT count(*) FILTER (WHERE age > 3) FROM patient",
    ]:  # fmt: skip
        query = bound(sql)
        assert why_alone(query, plan(query)) is None


def test_what_does_not_add_up_is_asked_alone() -> None:
    for sql, said in [
        ("SELECT count(*) FROM visit", "clipped at a threshold"),
        ("SELECT kind, count(*) FROM visit GROUP BY kind", "clipped at a threshold"),
        ("SELECT sum(age) FROM patient", "clipped at a threshold"),
        ("SELECT count(DISTINCT ward) FROM patient", "more than counts"),
        ("SELECT avg(age) FROM patient", "more than counts"),
        ("SELECT count(*) FROM patient TABLESAMPLE BERNOULLI (10)", "sample"),
    ]:  # fmt: skip
        query = bound(sql)
        why = why_alone(query, plan(query))
        assert why is not None and said in why


def test_what_nobody_adds_more_than_makes_many_rows_add_up() -> None:
    query = bound("SELECT kind, count(*) FROM visit GROUP BY kind")
    assert why_alone(query, plan(query, at_most=5.0)) is None


def test_other_filters_and_other_limits_count_other_things() -> None:
    one = marginal(plan(bound("SELECT ward, count(*) FROM patient WHERE age > 30 GROUP BY ward")))
    same = marginal(plan(bound("SELECT count(*), month m FROM patient p WHERE 30 < p.age GROUP BY month ORDER BY m")))
    other = marginal(plan(bound("SELECT ward, count(*) FROM patient WHERE age > 31 GROUP BY ward")))
    assert one.counted == same.counted != other.counted
    query = bound("SELECT kind, count(*) FROM visit GROUP BY kind")
    assert marginal(plan(query, at_most=5.0)).counted != marginal(plan(query, at_most=6.0)).counted


def test_declared_values_leave_rows_out_until_others_have_a_group() -> None:
    query = bound("SELECT ward, month, count(*) FROM patient GROUP BY ward, month")
    policy = ward_policy()
    own = marginal(plan(query))
    assert len(own.lossy) == 2
    columns = [made_whole(key, query, policy) for key in query.keys]
    assert columns == [("patient", "ward"), ("patient", "month")]
    wider = with_others(policy, [one for one in columns if one], [(query, key) for key in query.keys])
    assert wider.hash == policy.hash
    whole = plan(query, wider)
    assert marginal(whole).lossy == frozenset() and marginal(whole).counted == own.counted
    assert [domain.values for domain in whole.domains if domain.values][1] == (*range(1, 13), 13)


def test_listed_values_are_all_there_are() -> None:
    query = bound("SELECT ward, count(*) FROM patient WHERE ward IN ('ward A', 'ward B') GROUP BY ward")
    assert marginal(plan(query)).lossy == frozenset()


def test_a_finer_question_has_the_keys_of_several() -> None:
    questions = [bound(f"SELECT {key}, count(*) FROM patient GROUP BY {key}") for key in ("ward", "month")]
    pairs = [(one, plan(one)) for one in questions]
    axes = [axis for _, one in pairs for axis in marginal(one).axes]
    both = finer(pairs, axes)
    assert both is not None
    direct = plan(bound("SELECT ward, month, count(*) FROM patient GROUP BY ward, month"))
    assert plan(both).group_keys == direct.group_keys and marginal(plan(both)) == marginal(direct)
    assert finer(pairs, [("no such key",)]) is None
