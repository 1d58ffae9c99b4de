"""What is written for Spark, and what is refused, without a Spark; what one answers is in tests/golden/."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp, parse_one

from planner.errors import UnsupportedSQL
from planner.plan import BackendQuery
from planner.planning.mechanism_choice import MOST_BOUND
from planner.postprocessing.allowed_sql import check_allowed
from planner.rewriting.compact_tuples import sample_rows
from planner.rewriting.contributions import count_contributions, scale_contributions
from planner.rewriting.dialects.spark import spark_contributions_sql, spark_pattern, spark_public_sql, spark_sql
from planner.rewriting.guard_weight import guard_weight
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, Schema, Table
from planner.sql.trees import bound_column, cast_sql, named_sql, table_sql
from tests.golden.planner.write_cases import before_files
from tests.support.planning import planned
from tests.support.seeds import sampled
from tests.support.tpch_schema import tpch_schema

KINDS = {
    "i": "bigint", "n": "numeric(15,2)", "wide": "numeric(38,0)", "fine": "numeric(38,20)", "f": "double precision",
    "t": "text", "d": "date", "s": "timestamp without time zone", "z": "timestamp with time zone", "u": "uuid",
    "c": "character(5)", "b": "boolean",
}  # fmt: skip
TABLE = Table("h", "main", tuple(Column(name, kind, True) for name, kind in KINDS.items()), (), ())
SCHEMA = Schema({"h": TABLE})


def _select(*values: exp.Expr) -> exp.Select:
    listed = [named_sql(value, f"c{place}") for place, value in enumerate(values)]
    return exp.Select(expressions=listed, from_=exp.From(this=table_sql(TABLE, "h")))


def _written(text: str) -> str:
    """An expression over the table, whose columns are bound."""
    node = parse_one(text, dialect="postgres")
    bound = node.transform(lambda one: bound_column("h", one.name) if isinstance(one, exp.Column) else one)
    return spark_sql(_select(bound), SCHEMA).removeprefix("SELECT ").removesuffix(" AS `c0` FROM `h` AS `h`")


def _files(schema: Schema) -> Schema:
    """The same tables as files have them: texts without a length, nothing enforced is lost."""

    def text(column: Column) -> Column:
        return replace(column, type="text") if column.type.startswith(("char", "varchar")) else column

    tables = {
        name: replace(table, namespace="main", columns=tuple(map(text, table.columns)))
        for name, table in schema.tables.items()
    }
    return replace(schema, tables=tables)


def _golden(name: str) -> BackendQuery:
    schema = _files(tpch_schema())
    (sql,) = [path.read_text() for path in before_files() if path.name.split(".")[0] == name]
    return rewrite(planned(sql, schema), dialect="spark", schema=schema)


REFUSED_GOLDENS = {"days_between"}
"""With age(), whose months are borrowed otherwise."""


def test_which_golden_questions_are_written() -> None:
    for name in REFUSED_GOLDENS:
        with pytest.raises(UnsupportedSQL, match="the function age is not supported on Spark"):
            _golden(name)
    names = {path.name.split(".")[0] for path in before_files()}
    for name in sampled(sorted(names - REFUSED_GOLDENS), 12):
        query = _golden(name)
        assert any((query.join, *query.distinct)), name


REFUSED = [
    "LOWER(t) = 'a'", "UPPER(t) = 'a'", "INITCAP(t) = 'A'", "t ILIKE 'a%'", "TO_CHAR(d, 'YYYY') = '2024'",
    "EXP(f)", "LN(f)", "POWER(f, 2)", "n / 3", "wide = fine", "wide * wide", "u = u", "c = 'a'", "d = z",
    "EXTRACT(YEAR FROM z)", "EXTRACT(CENTURY FROM d)", "DATE_TRUNC('decade', s)", "DATE_TRUNC('day', z)",
    "s AT TIME ZONE 'UTC'", "CAST(z AS TEXT)", "CAST(f AS TEXT)", "CAST(t AS BIGINT)", "CAST(t AS DATE)",
    "SUBSTRING(t FROM 0)", "LEFT(t, -1)", "SPLIT_PART(t, '', 1)", "SPLIT_PART(t, '-', -1)", "LPAD(t, i, ' ')",
    r"t LIKE 'a\'", "t LIKE t", "COALESCE(t, i)", "CASE i WHEN 1 THEN 2 END", "t = 5", "i = '5'", "t < d", "d * 2",
    "STRING_AGG(t, ',')", "MD5(t)", "RANDOM()", "i IN (SELECT 1)", "s + INTERVAL '1 month 2 days'", "t ~ 'a+'",
    "ROUND(f)", "f % 2", "MEDIAN(f)",
]  # fmt: skip


def test_a_refusal_names_the_engine_and_those_that_answer() -> None:
    """Who asks sees that it is no rule of the proxy's."""
    schema = _files(tpch_schema())
    for condition, hint in (
        ("o_comment ILIKE '%a'", "PostgreSQL and DuckDB (parquet:///) answer it as it stands"),
        ("l_quantity / 3 > l_discount", "; PostgreSQL"),
    ):
        sql = f"SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE {condition}"
        with pytest.raises(UnsupportedSQL, match="Spark") as refused:
            rewrite(planned(sql, schema), dialect="spark", schema=schema)
        assert hint in str(refused.value.hint), condition


def test_what_was_not_compared_is_refused() -> None:
    for text in REFUSED:
        with pytest.raises(UnsupportedSQL):
            _written(text)


def test_what_could_fail_for_a_row_is_unknown_instead() -> None:
    for text, written in [
        ("f / n", "TRY_DIVIDE(CAST(`h`.`f` AS DOUBLE), CAST(`h`.`n` AS DOUBLE))"),
        ("f / 2", "CAST(`h`.`f` AS DOUBLE) / CAST('2' AS DOUBLE)"),
        ("n % i", "TRY_MOD(CAST(`h`.`n` AS DECIMAL(21, 2)), CAST(`h`.`i` AS DECIMAL(21, 2)))"),
        ("-i", "-CAST(`h`.`i` AS DECIMAL(19, 0))"),
        ("CAST(f AS BIGINT)", "TRY_CAST(RINT(CAST(`h`.`f` AS DOUBLE)) AS BIGINT)"),
        ("CAST(n AS INT)", "TRY_CAST(ROUND(`h`.`n`, 0) AS INT)"),
        ("i + i", "CAST(`h`.`i` AS DECIMAL(19, 0)) + CAST(`h`.`i` AS DECIMAL(19, 0))"),
        ("s + INTERVAL '2 months'", "TRY_ADD(`h`.`s`, INTERVAL '2' MONTH)"),
        ("EXTRACT(DOW FROM d)", "(DAYOFWEEK(`h`.`d`) - 1)"), (r"t LIKE 'a\_b\c%'", r"`h`.`t` LIKE 'a\\_bc%'"),
        ("t = 'it''s \\ ${x}'", r"`h`.`t` = 'it\'s \\ ${x}'"),
    ]:  # fmt: skip
        assert _written(text) == written


def test_names_and_texts_cannot_leave_their_quotes() -> None:
    table = Table("a`b", "main", (Column("x` FROM y --", "text", True),), (), ())
    column = bound_column("h", "x` FROM y --")
    select = exp.Select(
        expressions=[exp.EQ(this=column, expression=exp.Literal.string("\\' OR 1=1 --"))],
        from_=exp.From(this=table_sql(table, "h")),
    )
    written = spark_sql(select, Schema({"a`b": table}))
    assert written == r"SELECT `h`.`x`` FROM y --` = '\\\' OR 1=1 --' FROM `a``b` AS `h`"


def test_a_weight_is_floor_of_what_is_clamped_already() -> None:
    weight = guard_weight(cast_sql(bound_column("h", "f"), "DOUBLE PRECISION"), 50.0).sql
    assert spark_sql(_select(weight), SCHEMA) == (
        "SELECT FLOOR(GREATEST(CAST('0' AS DOUBLE), LEAST(CAST('1073741824' AS DOUBLE), COALESCE(CAST(`h`.`f` AS "
        "DOUBLE) / CAST('50' AS DOUBLE) * CAST('1073741824' AS DOUBLE) + CAST('0.5' AS DOUBLE), "
        "CAST('0' AS DOUBLE))))) AS `c0` "
        "FROM `h` AS `h`"
    )


def test_contributions_are_counted_with_totals_that_saturate() -> None:
    written = spark_contributions_sql(count_contributions(2, 2, [2, MOST_BOUND]))
    assert "SUM(`contribution`)" in written.replace("TRY_SUM", "SUM") and " SUM(" not in written
    assert "LEAST(COALESCE(TRY_SUM(`contribution`), 4611686018427387904), 4611686018427387904)" in written


def test_lengths_are_added_up_with_totals_that_saturate() -> None:
    for euclidean in (False, True):
        relations = scale_contributions(1, 2, [2, MOST_BOUND], euclidean=euclidean, known={0: ("a", None)})
        written = " ".join(map(spark_contributions_sql, relations.values()))
        assert "TRY_SUM" in written and " SUM(" not in written.replace("(SUM(", " SUM(")
        assert "(`k0` IN ('a') OR `k0` IS NULL)" in written


def test_a_sample_is_a_draw_for_each_row_under_a_seed_that_the_statement_does_not_hold() -> None:
    sampled = sample_rows(_select(bound_column("h", "i")), "h", "12.5")
    assert spark_sql(sampled, SCHEMA) == (
        "SELECT `h`.`i` AS `c0` FROM (SELECT * FROM `h` WHERE RAND(:seed) < CAST('0.125' AS DOUBLE)) AS `h`"
    )


def test_statements_over_public_tables_are_written_or_refused() -> None:
    count = exp.Sum(this=bound_column("h", "n"))
    select = exp.Select(expressions=[count], from_=exp.From(this=table_sql(TABLE, "h")))
    assert spark_public_sql(select, {"h": TABLE}) == "SELECT SUM(CAST(`h`.`n` AS DECIMAL(15, 2))) FROM `h` AS `h`"
    assert " UNION " in spark_public_sql(exp.union(select, select.copy()), {"h": TABLE})
    inner = exp.Select(expressions=[bound_column("h", "t")], from_=exp.From(this=table_sql(TABLE, "g")))
    grouped = exp.Select(
        expressions=[exp.Subquery(this=inner)],
        from_=exp.From(this=table_sql(TABLE, "h")),
        group=exp.Group(expressions=[bound_column("h", "t")]),
    )
    with pytest.raises(UnsupportedSQL, match="a subquery about each group is not supported on Spark"):
        spark_public_sql(grouped, {"h": TABLE, "g": TABLE})
    inner.set("expressions", [bound_column("g", "t")])  # the same for all groups
    assert "(SELECT `g`.`t` FROM `h` AS `g`)" in spark_public_sql(grouped, {"h": TABLE, "g": TABLE})


def test_nothing_surrounds_answers() -> None:
    outer = parse_one("SELECT n FROM q", dialect="postgres")
    assert isinstance(outer, exp.Query)
    with pytest.raises(UnsupportedSQL, match="Spark cannot evaluate SQL around noisy answers"):
        check_allowed(outer, (), "spark")


def test_a_pattern_keeps_what_it_escapes() -> None:
    assert spark_pattern(r"\%\_\\\a") == r"\%\_\\a"


def test_nan_is_null_of_doubles_and_no_matter_of_decimals() -> None:
    assert _written("NULLIF(f, 'NaN')") == "NULLIF(CAST(`h`.`f` AS DOUBLE), CAST('NaN' AS DOUBLE))"
    assert _written("NULLIF(n, 'NaN')") == "`h`.`n`"
