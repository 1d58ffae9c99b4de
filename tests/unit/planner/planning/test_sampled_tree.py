from __future__ import annotations

from dataclasses import replace

from planner.plan import Plan, SampledTree
from planner.rewriting.rewrite import rewrite, to_sql
from planner.schema import Column, Schema
from tests.support.planning import planned, unbounded
from tests.support.tpch_schema import tpch_schema

TWO_PATHS = "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src"


def plan(sql: str, schema: Schema | None = None) -> Plan:
    return planned(sql, schema, policy=unbounded(), sampling_rate=0.125)


def tree(sql: str, schema: Schema | None = None) -> SampledTree:
    sampling = plan(sql, schema).sampling
    assert sampling is not None and (sampling.strategy, sampling.amplifies) == ("join tree", True)
    assert sampling.tree is not None
    return sampling.tree


def test_acyclic_joins_are_trees() -> None:
    cases: list[tuple[str, tuple[int, ...]]] = [
        (TWO_PATHS, (-1, 0)),
        (f"{TWO_PATHS} JOIN knows c ON b.dst = c.src", (-1, 0, 1)),
        (f"{TWO_PATHS} JOIN knows c ON a.dst = c.src", (-1, 0, 0)),
        ("SELECT count(*) FROM knows a, knows b WHERE a.src = b.src AND a.dst = b.dst", (-1, 0)),  # in two columns
        ("SELECT count(*) FROM lineitem a, lineitem b WHERE a.l_orderkey = b.l_orderkey", (-1, 0)),
        ("SELECT sum(a.l_quantity) FROM lineitem a, lineitem b WHERE a.l_orderkey = b.l_orderkey", (-1, 0)),
        ("SELECT count(*) FROM orders CROSS JOIN customer", (-1, 0)),
        ("SELECT count(*) FROM orders a JOIN orders b ON a.o_custkey < b.o_custkey", (-1, 0)),
    ]
    for sql, parents in cases:
        assert tree(sql).shape.parents == parents


def test_what_is_no_tree_is_sampled_as_ever() -> None:
    cases = [
        f"{TWO_PATHS} JOIN knows c ON c.src = a.src AND c.dst = b.dst",  # cyclic
        f"{TWO_PATHS} JOIN knows c ON b.dst = c.src JOIN knows d ON c.dst = d.src AND d.dst = a.src",
        "SELECT count(*) FROM orders a JOIN orders b ON a.o_orderdate = b.o_orderdate",  # no whole numbers
        f"{TWO_PATHS} AND a.src + b.dst > 7",  # no comparison of columns
        f"{TWO_PATHS} WHERE a.src = 1 OR b.dst = 1",
        f"{TWO_PATHS} LEFT JOIN nation ON n_nationkey = a.src",
        f"{TWO_PATHS} WHERE EXISTS (SELECT 1 FROM nation WHERE n_nationkey = a.src)",
        "SELECT sum(a.l_quantity * b.l_quantity) FROM lineitem a, lineitem b WHERE a.l_orderkey = b.l_orderkey",
        "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey",  # rows of one table are enough
    ]
    for sql in cases:
        found = plan(sql)
        assert found.sampling is not None and found.sampling.strategy != "join tree" and found.sampling.tree is None
        query = rewrite(found)
        assert query.join is not None and (query.parts, query.tree) == ((), None)


def test_without_a_rate_nothing_is_drawn() -> None:
    assert planned(TWO_PATHS, policy=unbounded()).sampling is None


def test_a_sample_of_one_table_stays_what_was_written() -> None:
    written = planned(f"{TWO_PATHS.replace('knows a', 'knows a TABLESAMPLE BERNOULLI (50)')}", policy=unbounded())
    assert (
        written.sampling is not None and written.sampling.strategy == "as written" and written.sampling.tree is None
    )


def test_conditions_of_one_table_are_the_databases_and_others_the_proxys() -> None:
    found = tree(f"{TWO_PATHS} WHERE a.src < b.dst AND b.dst <> a.dst AND a.src > 3 AND b.src = b.dst")
    first, second = (to_sql(select) for select in found.selects)
    assert '"knows_0"."src" > 3' in first and '"knows_1"."dst" = "knows_1"."src"' in second
    assert [compared for _, compared, _ in found.shape.comparisons] == ["<", "<>"]


def test_equal_columns_of_one_table_are_equal_in_it_also_by_way_of_another() -> None:
    found = tree(f"{TWO_PATHS} AND a.src = b.src")
    assert '"knows_0"."dst" = "knows_0"."src"' in to_sql(found.selects[0])
    assert len(found.shape.meets[1]) == 1


def test_an_unknown_value_meets_nothing_and_compares_with_nothing() -> None:
    schema = tpch_schema()
    knows = schema.tables["knows"]
    columns = tuple(Column(column.name, column.type, True) for column in knows.columns)
    loose = replace(schema, tables={**schema.tables, "knows": replace(knows, columns=columns)})
    first, second = (to_sql(select) for select in tree(f"{TWO_PATHS} WHERE a.src < b.dst", loose).selects)
    for name in ("dst", "src"):
        assert f'"knows_0"."{name}" IS NOT NULL' in first
        assert f'"knows_1"."{name}" IS NOT NULL' in second


def test_parents_that_say_who_owns_a_row_are_read_with_it() -> None:
    found = tree("SELECT count(*) FROM lineitem a, lineitem b WHERE a.l_orderkey = b.l_orderkey")
    assert [to_sql(select).count("JOIN") for select in found.selects] == [1, 0]


def test_a_part_of_which_nothing_is_asked_is_counted() -> None:
    found = tree("SELECT count(*) FROM knows CROSS JOIN nation")
    assert found.shape.widths == (2, 0)
    assert "n_nationkey" not in to_sql(found.selects[1])


def test_explain_says_how_the_sample_is_drawn_and_that_it_is_amplified() -> None:
    reason = plan(TWO_PATHS).sampling
    assert reason is not None
    assert "without making the join" in reason.reason and "amplification" in reason.reason


def test_a_linear_join_of_one_owner_is_left_to_the_database() -> None:
    policy = unbounded()
    sql = "SELECT count(*) FROM lineitem a, lineitem b WHERE a.l_orderkey = b.l_orderkey AND a.l_linenumber = 1"
    found = planned(sql, policy=policy, sampling_rate=0.125)
    assert found.sampling is not None
    assert (found.sampling.tree is None) == (found.size.kind == "linear")
