"""Every golden question on Spark: the rows that PostgreSQL has, or a refusal by name before anything runs."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from duckdb import connect
from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.plan import BackendQuery
from planner.rewriting.compact_tuples import bernoulli_percent, sample_rows
from planner.rewriting.dialects.spark import spark_sql
from planner.rewriting.rewrite import rewrite, write_public
from planner.schema import Schema
from planner.sql.trees import bound_column, named_sql, table_sql
from server.backends.postgres_catalog import read_schema
from server.backends.spark import SparkBackend
from server.backends.spark_session import SparkSession, opened_session
from server.errors import ComputationFailed
from tests.golden.public.cases import CASES
from tests.golden.public.test_public import UNSORTED, assert_same, bound
from tests.golden.sampling.write_cases import RATE, before_files
from tests.golden.test_executed import EMPTY, policy_of, statements
from tests.golden.untruncated import Run, postgres
from tests.support.planning import planned
from tests.support.spark import address, folder_of, rows_of
from tests.support.tpch_duckdb import NAMESPACE

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

REFUSED = {"days_between": "the function age is not supported on Spark"}
"""Of the golden questions, those that Spark is not asked, and why."""

_DEVIATIONS = 8
"""By Bernstein's inequality a count of draws leaves them once in 10^12 runs where its variance is 1,000 or more."""

OnSpark = tuple[Schema, SparkSession, SparkBackend]


@pytest.fixture(scope="module")
def on_spark(tpch_duckdb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnSpark]:
    """The same rows as files; what the policy declares as keys is declared by it."""
    folder = tmp_path_factory.mktemp("spark")
    with connect(tpch_duckdb, read_only=True) as connection:
        names = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = ?", [NAMESPACE])
        for (name,) in names.fetchall():
            connection.execute(f'COPY "{NAMESPACE}"."{name}" TO \'{folder / name}.parquet\'')
    backend = SparkBackend.of_folder(address(), folder_of(folder))
    with opened_session(address(), None) as session:
        session.with_files(backend.tables)
        yield backend.schema(), session, backend


@pytest.fixture(scope="module")
def on_postgres(tpch_url: str, tpch_owner_url: str) -> tuple[Schema, Run]:
    with psycopg.connect(tpch_url) as connection:
        return read_schema(connection), postgres(tpch_owner_url)


def _with_keys(schema: Schema, known: Schema) -> Schema:
    """The tables of files with the other database's keys, as a policy would declare them; where nothing is NULL."""
    tables = {}
    for name, table in schema.tables.items():
        like = known.tables[name]
        nullable = {column.name: column.nullable for column in like.columns}
        columns = tuple(replace(column, nullable=nullable[column.name]) for column in table.columns)
        tables[name] = replace(like, namespace=table.namespace, columns=columns)
    return replace(schema, tables=tables)


def _statements(query: BackendQuery) -> list[str]:
    every = (query.join, query.contributions, *dict.fromkeys(query.distinct), *query.domains)
    return [text for text in every if text is not None]


def test_spark_gives_the_same_rows(on_postgres: tuple[Schema, Run], on_spark: OnSpark) -> None:
    """Join tuples, how many units have how much, distinct values and public groups: all to the last whole number."""
    known, run = on_postgres
    schema = _with_keys(on_spark[0], known)
    for name in sorted(statements().keys() - REFUSED.keys()):
        theirs = rewrite(planned(statements()[name], known, policy_of(name)), schema=known)
        ours = rewrite(planned(statements()[name], schema, policy_of(name)), dialect="spark", schema=schema)
        assert (ours.relations, ours.values, ours.thresholds) == (theirs.relations, theirs.values, theirs.thresholds)
        compared = 0
        for one, other in zip(_statements(theirs), _statements(ours), strict=True):
            rows = Counter(map(tuple, run(one)))
            assert Counter(rows_of(on_spark[1], other)) == rows, other
            compared += len(rows)
        assert compared > 0 or name in EMPTY


def test_what_was_not_compared_is_refused_by_name(on_postgres: tuple[Schema, Run], on_spark: OnSpark) -> None:
    for name in sorted(REFUSED):
        schema = _with_keys(on_spark[0], on_postgres[0])
        plan = planned(statements()[name], schema, policy_of(name))
        with pytest.raises(UnsupportedSQL, match=REFUSED[name]):
            rewrite(plan, dialect="spark", schema=schema)


@pytest.mark.statistical(2e-12)  # two questions that are drawn from
def test_a_sample_of_everything_is_everything_and_a_drawn_one_is_a_part(
    on_postgres: tuple[Schema, Run], on_spark: OnSpark
) -> None:
    known, run = on_postgres
    schema, session = _with_keys(on_spark[0], known), on_spark[1]
    for before in before_files():
        sql = before.read_text()
        rate = None if "TABLESAMPLE" in sql else RATE
        on_other = rewrite(planned(sql, known, sampling_rate=rate), schema=known)
        plan = planned(sql, schema, sampling_rate=rate)
        on_this = rewrite(plan, dialect="spark", schema=schema)
        assert on_this.tree == on_other.tree
        if on_this.tree is not None:  # the proxy draws, from the same parts
            for other, this in zip(on_other.parts, on_this.parts, strict=True):
                assert Counter(rows_of(session, this)) == Counter(map(tuple, run(other)))
            continue
        theirs, ours = on_other.join, on_this.join
        assert theirs is not None and ours is not None and plan.sampling is not None
        drawn = "RAND(:seed)" in ours
        assert drawn == ("BERNOULLI" in theirs)
        if drawn:  # at exactly the rate that the answer is scaled up by
            assert f"RAND(:seed) < CAST('{plan.sampling.rate!r}' AS DOUBLE)" in ours
        whole = re.sub(r"BERNOULLI \([0-9.]+", "BERNOULLI (100", theirs)
        every = re.sub(r"RAND\(:seed\) < CAST\('[0-9.e-]+' AS DOUBLE\)", "TRUE", ours)
        expected = Counter(map(tuple, run(whole)))
        assert Counter(rows_of(session, every)) == expected
        if drawn and before.name.startswith("pushdown"):
            total = sum(row[-1] * times for row, times in expected.items())
            part = sum(row[-1] for row in rows_of(session, ours))
            ((rows,),) = run("SELECT count(*) FROM lineitem")
            spread = _DEVIATIONS * math.sqrt(rows * RATE * (1 - RATE)) * 2**30
            assert part < total and abs(part - plan.sampling.rate * total) <= spread


@pytest.mark.statistical(1.3e-11)  # 13 counts
def test_each_row_is_drawn_by_itself_and_anew(tmp_path: Path) -> None:
    """Bernoulli: counts of a binomial, rows side by side independent, and no two statements draw the same."""
    size, rate, draws = 20_000, 0.25, 12
    pq.write_table(pa.table({"n": range(size)}), tmp_path / "row.parquet", row_group_size=1_000)
    backend = SparkBackend.of_folder(address(), folder_of(tmp_path))
    schema = backend.schema()
    (table,) = schema.tables.values()
    tree = _sampled_rows(schema, table.name, rate)
    with opened_session(address(), None) as session:
        session.with_files(backend.tables)
        kept = [{row[0] for row in rows_of(session, tree)} for _ in range(draws)]
    total = sum(map(len, kept))
    assert abs(total - rate * size * draws) <= _DEVIATIONS * math.sqrt(rate * (1 - rate) * size * draws)
    pairs = sum(1 for one in kept for row in one if row + 1 in one)
    expected = rate**2 * (size - 1) * draws
    assert abs(pairs - expected) <= _DEVIATIONS * math.sqrt(3 * rate**2 * size * draws)
    both = [len(one & other) for one, other in itertools.pairwise(kept)]
    spread = _DEVIATIONS * math.sqrt(rate**2 * (1 - rate**2) * size)
    assert all(abs(found - rate**2 * size) <= spread for found in both)


def _sampled_rows(schema: Schema, name: str, rate: float) -> str:
    select = exp.Select(
        expressions=[named_sql(bound_column("r", "n"), "n")], from_=exp.From(this=table_sql(schema.tables[name], "r"))
    )
    return spark_sql(sample_rows(select, "r", bernoulli_percent(rate)[0]), schema)


PUBLIC_REFUSED = {
    "whole quotient": "this whole quotient is not supported on Spark",
    "columns of a primary key": "the function upper is not supported on Spark",
    "operators of doubles": "the function exp is not supported on Spark",
    "joins in parentheses": "this way to read a table is not supported on Spark",
    "a subquery over groups": "a subquery about each group is not supported on Spark",
    "texts": "the function upper is not supported on Spark",
    "doubles": "the function ln is not supported on Spark",
}
"""Of the golden questions over public tables, those that Spark is not asked, and why."""


def test_public_statements_give_what_postgresql_itself_gives(
    on_postgres: tuple[Schema, Run], on_spark: OnSpark
) -> None:
    _, run = on_postgres
    schema, backend = _with_keys(on_spark[0], on_postgres[0]), on_spark[2]
    for name, sql in CASES.items():
        query = bound(sql.replace("public.", "main."), schema)
        if name in PUBLIC_REFUSED:
            with pytest.raises(UnsupportedSQL, match=PUBLIC_REFUSED[name]):
                write_public(query, dialect="spark")
            continue
        statement = replace(write_public(query, dialect="spark"), fingerprint=backend.schema().fingerprint)
        assert_same(backend.public(statement), list(map(tuple, run(sql))), sort=name in UNSORTED)


def test_a_public_statement_without_a_value_says_so(on_postgres: tuple[Schema, Run], on_spark: OnSpark) -> None:
    schema, backend = _with_keys(on_spark[0], on_postgres[0]), on_spark[2]
    statement = write_public(bound("SELECT (SELECT n_name FROM nation)", schema), dialect="spark")
    with pytest.raises(ComputationFailed, match="no value"):
        backend.public(replace(statement, fingerprint=backend.schema().fingerprint))
