"""Statements around answers before real databases, a real ledger and real workers: charged for the answers alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from planner.errors import InvalidSyntax, PlannerError, StatementTooComplex, UnsupportedSQL
from planner.policy.declared import with_declared_keys
from planner.postprocessing.composed import MAX_PARTS
from planner.postprocessing.write_outer import OuterStatement, Relation
from server.answers.work import Compose
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.errors import BackendFailed, BudgetExhausted
from server.ledger.ledger import Ledger
from server.note import one_note
from server.pipeline import Pipeline
from server.query import Interval, QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.golden.tpch.queries import policy
from tests.support.asking import ask
from tests.support.planning import people_policy
from tests.support.tpch_duckdb import NAMESPACE

ANALYSTS = {"ada": (20.0, 1e-3)}


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.slow), "duckdb"])
def pipeline(
    request: pytest.FixtureRequest, ledger: Ledger, workers: WorkerPool, tpch_url: str, tpch_duckdb: Path
) -> Pipeline:
    if request.param == "duckdb":
        file = DuckdbBackend(tpch_duckdb, NAMESPACE)
        return Pipeline(policy(), file.schema(), file, ledger, workers)
    with psycopg.connect(tpch_url) as connection:
        schema = read_schema(connection)
    return Pipeline(policy(), schema, PostgresBackend(tpch_url), ledger, workers)


POSTGRES = pytest.mark.parametrize("pipeline", ["postgres"], indirect=True)
"""Here PostgreSQL means something else, or more."""


def _asked(pipeline: Pipeline, sql: str, **settings: Any) -> QueryResponse:
    return ask(pipeline, QueryRequest("ada", sql, request_id="request-1", **settings))


BY_SEGMENT = "SELECT c_mktsegment AS s, count(*) AS n FROM customer GROUP BY c_mktsegment"
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]


def _number(cell: object) -> float:
    assert isinstance(cell, (int, float, str))
    return float(cell)


@pytest.mark.parametrize("pipeline", ["duckdb"], indirect=True)
def test_the_case_of_quoted_names_does_not_matter_in_files(pipeline: Pipeline, ledger: Ledger) -> None:
    """As in DuckDB itself. The answer's columns are called as they were written."""
    asked = 'SELECT t."C_MktSegment" AS "C_MKTSEGMENT", count(*) AS n FROM "Customer" t GROUP BY t."C_MktSegment"'
    answer = _asked(pipeline, f'{asked} ORDER BY "C_MKTSEGMENT" DESC', epsilon=1.0)
    assert [column.name for column in answer.columns] == ["C_MKTSEGMENT", "n"]
    assert [row[0] for row in answer.rows] == SEGMENTS[::-1]
    same = _asked(pipeline, f'SELECT n FROM ({asked}) AS "Customer" WHERE "Customer"."c_mktsegment" = \'BUILDING\'')
    assert [row[0] for row in same.rows] == [row[1] for row in answer.rows if row[0] == "BUILDING"]
    assert len(ledger.charges("ada")) == 1


@pytest.mark.parametrize("pipeline", ["postgres", "duckdb"], indirect=True)
def test_a_window_over_groups_ranks_released_counts(pipeline: Pipeline) -> None:
    sql = f"SELECT s, n, rank() OVER (ORDER BY n DESC) AS r FROM ({BY_SEGMENT}) AS t ORDER BY r"
    answer = _asked(pipeline, sql, epsilon=1.0)
    assert [(column.name, column.type) for column in answer.columns] == [("s", "text"), ("n", "int8"), ("r", "int8")]
    counts = [_number(row[1]) for row in answer.rows]
    assert {row[0] for row in answer.rows} == set(SEGMENTS)
    assert counts == sorted(counts, reverse=True)
    assert [row[2] for row in answer.rows] == [counts.index(count) + 1 for count in counts], "the equal share a rank"
    assert (answer.epsilon, answer.mechanism) == (1.0, "group_lp")


def test_quotients_of_whole_numbers_are_whole_as_in_postgresql(pipeline: Pipeline) -> None:
    """Of keys, numbers in the statement and public columns. DuckDB's own `/` would give fractions and more groups."""
    by_year = "SELECT extract(year FROM o_orderdate)::int AS y, count(*) AS n FROM orders GROUP BY 1"
    answer = _asked(
        pipeline, f"SELECT y / 10 AS decade, sum(n) AS n FROM ({by_year}) AS q GROUP BY y / 10 ORDER BY 1"
    )
    assert [row[0] for row in answer.rows] == [199]
    public = "(SELECT max(n_nationkey) FROM nation) / 7 AS w"
    beside = f"SELECT s, n / 2 AS half, {public}, -7 / 2 AS m FROM ({BY_SEGMENT}) AS t"
    rows = _asked(pipeline, beside, epsilon=1.0).rows
    assert {row[2:] for row in rows} == {(3, -3)}


def test_a_limit_that_cannot_be_is_refused_before_any_charge(pipeline: Pipeline, ledger: Ledger) -> None:
    for sql, values in [
        (f"SELECT s, n + 1 AS m FROM ({BY_SEGMENT}) AS t LIMIT $1", (-1,)),
        ("SELECT count(*) FROM customer LIMIT $1", (-1,)),
        ("SELECT count(*) FROM customer OFFSET -1", ()),
    ]:
        with pytest.raises(InvalidSyntax, match="must not be negative"):
            _asked(pipeline, sql, parameters=values)
    assert ledger.charges() == ()


def test_a_statement_over_public_tables_is_not_said_to_surround_answers(pipeline: Pipeline) -> None:
    with pytest.raises(UnsupportedSQL, match="the statement cannot be computed"):
        _asked(pipeline, "SELECT n_name FROM nation LIMIT n_nationkey")


def test_shown_groups_may_be_those_of_a_public_subquery(pipeline: Pipeline) -> None:
    per_region = (
        "SELECT r_name, count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey"
        " JOIN region ON n_regionkey = r_regionkey GROUP BY r_name"
    )
    few = (
        f"SELECT r_name, n FROM ({per_region}) AS t WHERE r_name IN (SELECT r_name FROM region WHERE r_regionkey < 2)"
    )
    assert [row[0] for row in _asked(pipeline, few).rows] == ["AFRICA", "AMERICA"]
    assert len(_asked(pipeline, few.replace(" IN (", " NOT IN (")).rows) == 3


def test_an_interval_goes_through_what_is_monotone_and_no_further(pipeline: Pipeline) -> None:
    columns = "s, n, -2 * n + 7 AS fallen, n * n AS square, n + sum(n) OVER () AS windowed"
    answer = _asked(pipeline, f"SELECT {columns} FROM ({BY_SEGMENT}) AS t", epsilon=1.0)
    for _, n, fallen, square, windowed in answer.intervals:
        assert n is not None and fallen is not None and square is not None and windowed is not None
        assert n.low is not None and n.high is not None
        assert (fallen.low, fallen.high) == (-2 * n.high + 7, -2 * n.low + 7)
        assert n.low < n.high


def test_an_interval_stands_beside_rows_that_an_outer_join_fills(pipeline: Pipeline) -> None:
    """Of a segment that no answer has, nothing is known: NULL has no interval, and 0 in its place an open one."""
    spine = "(VALUES ('BUILDING'), ('FURNITURE'), ('NOBODY')) AS d(name)"
    joined = f"SELECT d.name, q.n, COALESCE(q.n, 0) AS filled FROM {spine} LEFT JOIN q ON q.s = d.name ORDER BY 1"
    answer = _asked(pipeline, f"WITH q AS ({BY_SEGMENT}) {joined}", epsilon=1.0)
    assert [column.type for column in answer.columns] == ["text", "int8", "int8"]
    (_, first, filled), (_, second, _), (_, none, nothing) = answer.intervals
    assert first is not None and first.low is not None and first.high is not None and second is not None
    assert first.low < _number(answer.rows[0][1]) < first.high
    assert filled == first
    assert answer.rows[2] == ("NOBODY", None, 0)
    assert (none, nothing) == (None, Interval(None, None))


def test_an_interval_goes_through_a_star(pipeline: Pipeline) -> None:
    ranked = "SELECT *, rank() OVER (ORDER BY n DESC) AS r FROM q"
    names = "SELECT q.*, o.r FROM q JOIN o ON o.s = q.s ORDER BY 1"
    answer = _asked(pipeline, f"WITH q AS ({BY_SEGMENT}), o AS ({ranked}) {names}", epsilon=1.0)
    plain = _asked(pipeline, f"SELECT s, n FROM ({BY_SEGMENT}) AS t ORDER BY 1", epsilon=1.0)
    assert [row[:2] for row in answer.rows] == list(plain.rows)
    assert [row[:2] for row in answer.intervals] == list(plain.intervals)


def test_sums_and_differences_of_counts_are_whole_numbers(pipeline: Pipeline) -> None:
    """As in PostgreSQL, where clients read them as integers. A product may be too large for one."""
    columns = (
        "n + 1, -n, n - lag(n) OVER (ORDER BY s), COALESCE(n, 0), greatest(n, 2), sum(n) OVER (), n * n, n + 0.5"
    )
    answer = _asked(pipeline, f"SELECT {columns} FROM ({BY_SEGMENT}) AS t", epsilon=1.0)
    kinds = [column.type for column in answer.columns]
    assert kinds[:6] == ["int8"] * 6 and set(kinds[6:]) <= {"float8", "numeric"}
    assert all(isinstance(cell, int) for row in answer.rows for cell in row[:6] if cell is not None)


def test_counts_below_one_another_and_as_values_are_whole_numbers(pipeline: Pipeline) -> None:
    one = "SELECT count(*) FROM customer WHERE c_acctbal > 0"
    below = _asked(
        pipeline, f"SELECT 'a' AS w, count(*) AS n FROM customer UNION ALL SELECT 'b', ({one})", epsilon=1.0
    )
    beside = _asked(pipeline, f"SELECT ({one}) AS some, ({one}) + 1 AS more", epsilon=1.0)
    assert [column.type for column in (*below.columns, *beside.columns)] == ["text", "int8", "int8", "int8"]
    lagged = f"SELECT s, lag(n, 1, 0.5) OVER (ORDER BY s) FROM ({BY_SEGMENT}) AS t ORDER BY s"
    assert _asked(pipeline, lagged, epsilon=1.0).rows[0][1] == 0.5, "a default that is no whole number"


def test_rows_below_one_another_inside_from_have_the_types_and_intervals_of_their_parts(pipeline: Pipeline) -> None:
    """And what noise decides there is known to be noise."""
    parts = f"{BY_SEGMENT} UNION ALL SELECT 'all', count(*) FROM customer"
    plain = _asked(pipeline, f"{parts} ORDER BY 1", epsilon=2.0)
    inside = _asked(pipeline, f"SELECT s, n FROM ({parts}) AS t ORDER BY s", epsilon=2.0)
    assert (inside.rows, inside.intervals) == (plain.rows, plain.intervals)
    assert [column.type for column in inside.columns] == ["text", "int8"] and all(row[1] for row in inside.intervals)
    added = "SELECT s, n + 1 AS n FROM t WHERE n < 1 OR s = 'all' ORDER BY s"
    more = f"WITH t AS ({parts} UNION ALL SELECT 'none', 0) {added}"
    summed = _asked(pipeline, more, epsilon=2.0)
    shown = {row[0]: (row[1], ends[1]) for row, ends in zip(summed.rows, summed.intervals, strict=True)}
    assert shown["none"] == (1, Interval(1.0, 1.0)) and shown["all"][0] == _number(inside.rows[-1][1]) + 1
    chosen = _asked(pipeline, f"SELECT s, n FROM ({parts}) AS t ORDER BY n DESC LIMIT 2", epsilon=2.0)
    assert "Noise may have chosen which rows are shown" in one_note(chosen)
    with pytest.raises(UnsupportedSQL, match="grouping by a noisy number"):
        _asked(pipeline, f"SELECT n, count(*) FROM ({parts}) AS t GROUP BY n", epsilon=2.0)


def test_people_by_levels_are_whole_numbers_with_intervals(pipeline: Pipeline) -> None:
    """Each level is a question of its own, as a person may be in several groups."""
    people = "SELECT o_orderpriority AS p, count(DISTINCT o_custkey) AS n FROM orders GROUP BY ROLLUP (1) ORDER BY 1"
    answer = _asked(pipeline, people, epsilon=4.0)
    assert [column.type for column in answer.columns] == ["text", "int8"] and len(answer.rows) == 6
    for (_, n), (_, ends) in zip(answer.rows, answer.intervals, strict=True):
        assert ends is not None and ends.low is not None and ends.high is not None
        assert isinstance(n, int) and 0 <= ends.low <= n <= ends.high


def test_ends_of_sums_are_divided_as_the_sum_is(pipeline: Pipeline) -> None:
    """And what is added to each group, which may have no row, is said to be of groups."""
    total = _asked(pipeline, f"WITH v AS ({BY_SEGMENT}) SELECT sum(n) AS a, sum(n) / 12 AS b, -sum(n) AS c FROM v")
    (low, high), divided, negated = ((one.low, one.high) for one in total.intervals[0] if one is not None)
    assert low is not None and high is not None and low < high
    assert divided == pytest.approx((low / 12, high / 12))
    assert negated == pytest.approx((-high, -low))
    assert total.low_precision == (False,)


def test_names_that_differ_in_case_alone_are_refused_in_files(pipeline: Pipeline) -> None:
    """DuckDB reads one for the other; PostgreSQL tells them apart."""
    sql = 'WITH v AS (SELECT c_mktsegment AS s, count(*) AS "N", sum(c_acctbal) AS n FROM customer GROUP BY 1)'
    sql += ' SELECT s, "N", n, rank() OVER (ORDER BY n) FROM v'
    if pipeline.backend.dialect == "duckdb":
        with pytest.raises(UnsupportedSQL, match="differ only in case"):
            _asked(pipeline, sql)
    else:
        assert all(row[1] != row[2] for row in _asked(pipeline, sql).rows)


def test_it_is_said_where_noise_chooses_rows(pipeline: Pipeline) -> None:
    """By a condition on a rank, or by LIMIT; and not by a condition on a group key, or on the number itself."""
    ranked = f"SELECT s, n, row_number() OVER (ORDER BY n DESC) AS r FROM ({BY_SEGMENT}) AS t"
    for sql in (
        f"WITH q AS ({ranked}) SELECT s, n FROM q WHERE r <= 2",
        f"{ranked} ORDER BY r LIMIT 2",
        f"{ranked} ORDER BY 2 LIMIT 2",
    ):
        assert "Noise may have chosen which rows are shown" in one_note(_asked(pipeline, sql, epsilon=1.0)), sql
    for sql in (
        f"WITH q AS ({ranked}) SELECT s, n FROM q WHERE s <> 'BUILDING'",
        f"{ranked} ORDER BY s LIMIT 2",
        f"WITH q AS ({ranked}) SELECT s, r FROM q WHERE n > 10",
    ):
        assert "Noise may have chosen" not in one_note(_asked(pipeline, sql, epsilon=1.0)), sql


def test_a_count_may_be_a_group_key_by_its_place_and_stand_in_other_columns(pipeline: Pipeline) -> None:
    """The key is the column itself, though the answer shows a bigint."""
    two = f"({BY_SEGMENT}) AS t, ({BY_SEGMENT}) AS u WHERE t.s = u.s"
    sql = f"SELECT t.s, u.n, 1.0 * sum(t.n) / u.n FROM {two} GROUP BY 1, 2"
    answer = _asked(pipeline, sql, epsilon=1.0)
    assert [column.type for column in answer.columns][:2] == ["text", "int8"]
    assert {row[2] for row in answer.rows} == {1}


def test_a_statement_is_described_as_it_is_answered(pipeline: Pipeline) -> None:
    """Where a column meets an answer, its values may be listed or be group keys: one of the two may be refused."""
    averages = "SELECT c_mktsegment AS s, avg(c_acctbal) AS a FROM customer GROUP BY 1"
    sql = f"SELECT count(*) FROM customer AS c JOIN ({averages}) AS q ON c.c_mktsegment = q.s WHERE c.c_acctbal > q.a"
    answer = _asked(pipeline, sql, epsilon=1.0)
    assert pipeline.describe(sql).columns == answer.columns


def test_an_average_of_groups_that_may_be_empty_is_marked_and_says_so(pipeline: Pipeline) -> None:
    """A segment with a condition that nobody meets is no row of SQL, and one of five of the answer."""
    some = "SELECT c_mktsegment AS s, count(*) FILTER (WHERE {}) AS n FROM customer GROUP BY c_mktsegment"
    empty, full = some.format("c_mktsegment <> 'BUILDING'"), some.format("c_mktsegment <> ''")
    for inside, columns, marked, said in (
        (full, "avg(n)", False, False),
        (empty, "sum(n)", True, False),
        (empty, "avg(n)", True, True),
        (empty, "max(n), count(*)", True, True),
    ):
        answer = _asked(pipeline, f"SELECT {columns} FROM ({inside}) AS t", epsilon=1.0)
        assert any("SQL would leave those out" in str(note) for note in answer.notes) == said, columns
        assert said <= all(answer.low_precision) and (marked or not any(answer.low_precision)), columns
    ranked = _asked(pipeline, f"SELECT s, n, rank() OVER (ORDER BY n DESC) FROM ({empty}) AS t", epsilon=1.0)
    assert any("SQL would leave those out" in str(note) for note in ranked.notes)
    assert not all(ranked.low_precision)


def test_a_share_beside_a_count_leaves_the_count_as_it_is_shown_alone(pipeline: Pipeline) -> None:
    """Ten of thirty groups have no row, so that noise puts some of them below 0."""
    few = "FROM customer WHERE c_acctbal > 9990 GROUP BY c_mktsegment, c_nationkey"
    plain = f"SELECT c_mktsegment AS s, c_nationkey AS k, count(*) AS n {few}"
    alone = _asked(pipeline, plain, epsilon=1.0)
    beside = _asked(pipeline, plain.replace(" AS n", " AS n, count(*) / sum(count(*)) OVER () AS share"), epsilon=1.0)
    assert beside.epsilon == 0.0 and len(alone.raw) == len(alone.rows) > 0
    by_key = {row[:2]: place for place, row in enumerate(alone.rows)}
    for place, row in enumerate(beside.rows):
        own = by_key[row[:2]]
        assert (row[2], beside.intervals[place][2]) == (alone.rows[own][2], alone.intervals[own][2])
        assert (beside.low_precision[place], beside.clipped[place]) == (alone.low_precision[own], alone.clipped[own])
        assert beside.intervals[place][3] is not None and _number(row[3]) >= 0.0
    own_values, values = ([_number(cells[2]) for cells, _ in one.as_released()] for one in (alone, beside))
    assert sorted(own_values) == sorted(values) and min(values) < 0


def test_values_of_answers_and_rows_below_one_another_have_the_intervals_of_their_parts(pipeline: Pipeline) -> None:
    stacked = "SELECT 'c' AS what, count(*) AS n FROM customer UNION ALL SELECT 'o', count(*) FROM orders ORDER BY 1"
    rows = _asked(pipeline, stacked, epsilon=2.0)
    ends = [(row[1].low, row[1].high) for row in rows.intervals if row[1] is not None]
    (least, most), (few, many) = ends
    assert None not in (least, most, few, many) and rows.confidence == 0.95
    quotient = "SELECT (SELECT count(*) FROM customer) * 1.0 / (SELECT count(*) FROM orders) AS r"
    answer = _asked(pipeline, quotient, epsilon=2.0)
    assert (answer.epsilon, answer.confidence) == (0.0, 0.9)
    ((both,),) = answer.intervals
    assert both is not None
    assert (both.low, both.high) == pytest.approx((least / many, most / few))  # type: ignore[operator]
    exact = _asked(pipeline, stacked.replace("SELECT 'o', count(*) FROM orders", "SELECT 'o', 5"), epsilon=2.0)
    assert exact.intervals[1][1] == Interval(5.0, 5.0)
    twice = "SELECT (SELECT count(*) FROM orders) - (SELECT count(*) FROM orders) AS nothing"
    assert _asked(pipeline, twice, epsilon=2.0).confidence == 0.9, "each time that it is written it may be wrong"
    for none in (stacked.replace(" ALL", ""), f"SELECT (SELECT n FROM ({BY_SEGMENT}) t ORDER BY s LIMIT 1)"):
        assert all(one is None for row in _asked(pipeline, none, epsilon=2.0).intervals for one in row), none


def test_an_interval_of_two_noisy_values_is_their_sum_at_a_confidence_for_both(pipeline: Pipeline) -> None:
    inner = (
        "SELECT c_mktsegment AS s, count(*) AS n, count(*) FILTER (WHERE c_acctbal > 0) AS m FROM customer GROUP BY 1"
    )
    one = _asked(pipeline, f"SELECT s, n, m, rank() OVER (ORDER BY s) FROM ({inner}) t ORDER BY s", epsilon=1.0)
    both = _asked(
        pipeline,
        f"WITH t AS ({inner}), u AS (SELECT s, n - m AS rest FROM t) SELECT u.s, 2 * u.rest FROM u, region "
        "WHERE r_regionkey = 0 ORDER BY s",
        epsilon=1.0,
    )
    assert (both.epsilon, both.cached) == (0.0, True)
    for (_, n, m, _), (_, twice) in zip(one.intervals, both.intervals, strict=True):
        assert n is not None and m is not None and twice is not None
        assert None not in (n.low, n.high, m.low, m.high)
        assert twice.low == 2 * (n.low - m.high) and twice.high == 2 * (n.high - m.low)  # type: ignore[operator]
    assert (one.confidence, both.confidence) == (0.95, 0.9)
    assert [sum("90% instead of 95%" in note for note in answer.notes) for answer in (one, both)] == [0, 1]


def test_a_quotient_says_why_its_interval_has_less_confidence(pipeline: Pipeline) -> None:
    """Once, whether it is asked alone or computed with; and again where it is kept."""
    alone = "SELECT avg(c_acctbal) FROM customer"
    for sql in (alone, alone, "SELECT a + 1 FROM (SELECT avg(c_acctbal) AS a FROM customer) t"):
        answer = _asked(pipeline, sql, epsilon=1.0)
        assert answer.confidence == 0.9, "a count, and what a centre leaves of the sum"
        assert sum("90% instead of 95%" in note for note in answer.notes) == 1, sql


def test_shares_of_the_whole_add_up_and_are_true_quotients(pipeline: Pipeline) -> None:
    sql = "SELECT c_mktsegment, count(*) / sum(count(*)) OVER () AS share FROM customer GROUP BY 1 ORDER BY 1"
    answer = _asked(pipeline, sql, epsilon=1.0)
    shares = [_number(row[1]) for row in answer.rows]
    assert sum(shares) == pytest.approx(1.0)
    assert all(0.1 < share < 0.3 for share in shares)


def test_a_count_as_text_is_a_whole_number(pipeline: Pipeline) -> None:
    """A cast, `||` and concat on either database; DuckDB has answers as doubles, and would write 150.0."""
    shown = "n::text, 'of ' || n, concat(s, ':', n), sum(n) OVER () || ' in all'"
    answer = _asked(pipeline, f"SELECT s, n, {shown} FROM ({BY_SEGMENT}) AS t", epsilon=1.0)
    total = sum(int(_number(row[1])) for row in answer.rows)
    for s, n, *texts in answer.rows:
        assert texts == [f"{n}", f"of {n}", f"{s}:{n}", f"{total} in all"]


def test_levels_of_a_rollup_are_sums_of_the_same_released_values(pipeline: Pipeline, ledger: Ledger) -> None:
    sql = (
        "SELECT c_mktsegment, n_name, count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey "
        "WHERE n_regionkey = 0 GROUP BY ROLLUP (1, 2) ORDER BY 1, 2"
    )
    answer = _asked(pipeline, sql, epsilon=1.0)
    finest = {(s, name): n for s, name, n in answer.rows if name is not None}
    totals = {s: n for s, name, n in answer.rows if name is None}
    assert len(finest) == 25 and {s for s in totals if s is not None} == set(SEGMENTS)
    for segment in SEGMENTS:
        assert totals[segment] == sum(_number(n) for (s, _), n in finest.items() if s == segment)
    assert totals[None] == sum(map(_number, finest.values()))
    assert [charge.charge.epsilon for charge in ledger.charges("ada")] == [1.0]


TIMED = """
    [tables.person]
    [tables.visit.columns]
    began = { range = [2024-01-01, 2024-03-31] }
"""


def test_a_frame_beside_a_time_with_zone_is_computed(ledger: Ledger, workers: WorkerPool, tmp_path: Path) -> None:
    """The database tries frames before the charge. Python needs a library more to read its times with a zone."""
    with duckdb.connect(tmp_path / "visits.duckdb") as connection:
        connection.execute("CREATE TABLE person (id bigint PRIMARY KEY)")
        connection.execute(
            "CREATE TABLE visit (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, began timestamptz)"
        )
        connection.execute("INSERT INTO person FROM range(300)")
        connection.execute("INSERT INTO visit SELECT i, i, '2024-02-10 12:00:00+00' FROM range(300) t(i)")
    file, timed = DuckdbBackend(tmp_path / "visits.duckdb", "main"), people_policy(TIMED)
    pipeline = Pipeline(timed, with_declared_keys(file.schema(), timed), file, ledger, workers)
    frame = "ORDER BY date_trunc('month', began) ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"
    sql = (
        f"SELECT date_trunc('month', began) AS m, sum(count(*)) OVER ({frame}) AS n FROM visit GROUP BY 1 ORDER BY 1"
    )
    rows = _asked(pipeline, sql, epsilon=8.0).rows
    assert [str(m)[:7] for m, _ in rows] == ["2024-01", "2024-02", "2024-03"]
    assert _number(rows[1][1]) == pytest.approx(300, abs=20) and _number(rows[2][1]) == pytest.approx(300, abs=20)


SIGNED = """
    [tables.person]
    [tables.booking.columns]
    year = { range = [2023, 2060], step = 1 }
    amount = { range = [-5, 5] }
"""


def test_sums_below_zero_stay_so_around_answers_and_counts_do_not(
    ledger: Ledger, workers: WorkerPool, tmp_path: Path
) -> None:
    """Each person has a row of either sign, and nobody one after 2024: a level shows what the plain question shows.

    Noise puts one of 36 counts of nobody below 0, but for a chance of 2^-36.
    """
    with duckdb.connect(tmp_path / "bookings.duckdb") as connection:
        connection.execute("CREATE TABLE person (id bigint PRIMARY KEY)")
        connection.execute(
            "CREATE TABLE booking (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person,"
            " year integer NOT NULL, amount integer NOT NULL)"
        )
        connection.execute("INSERT INTO person FROM range(2000)")
        connection.execute(
            "INSERT INTO booking SELECT i, i // 2, 2023 + i % 2, CASE i % 2 WHEN 0 THEN 3 ELSE -4 END"
            " FROM range(4000) t(i)"
        )
    file = DuckdbBackend(tmp_path / "bookings.duckdb", "main")
    signed = people_policy(SIGNED)
    pipeline = Pipeline(signed, with_declared_keys(file.schema(), signed), file, ledger, workers)
    sums = "SELECT year, sum(amount) AS s, avg(amount) AS a, count(*) AS n FROM booking GROUP BY"
    plain = {row[0]: row[1:] for row in _asked(pipeline, f"{sums} year", epsilon=8.0).rows}
    levels = _asked(pipeline, f"{sums} ROLLUP (year)", epsilon=8.0)
    shown = {row[0]: row[1:] for row in levels.rows}
    assert _number(shown[2024][0]) == pytest.approx(_number(plain[2024][0]), abs=0.5) and _number(shown[2024][0]) < 0
    assert _number(shown[2024][1]) == pytest.approx(-4, abs=1) and _number(shown[None][1]) == pytest.approx(
        -0.5, abs=1
    )
    assert _number(shown[None][0]) == pytest.approx(sum(_number(row[0]) for row in plain.values()), abs=20)
    (low,) = (ends[1] for row, ends in zip(levels.rows, levels.intervals, strict=True) if row[0] == 2024)
    assert low is not None and low.low is not None and low.low < -8000 + 1500
    assert [charge.charge.epsilon for charge in ledger.charges("ada")] == [8.0]
    counts = _asked(pipeline, "SELECT year, count(*) AS n FROM booking GROUP BY ROLLUP (year)", epsilon=0.5)
    assert any(n is not None and _number(n) < 0 for _, n in counts.raw), "else nothing is put to 0"
    assert all(_number(n) >= 0 for _, n in counts.rows)


def test_several_answers_share_epsilon_and_are_free_again(pipeline: Pipeline, ledger: Ledger) -> None:
    sql = (
        f"WITH a AS ({BY_SEGMENT}), b AS (SELECT count(*) AS whole FROM customer) "
        "SELECT s, round(100.0 * n / whole, 1) AS pct FROM a CROSS JOIN b ORDER BY s"
    )
    answer = _asked(pipeline, sql, epsilon=1.0)
    assert (answer.epsilon, answer.budget.epsilon_left, answer.cached) == (1.0, 19.0, False)
    assert sorted(charge.charge.epsilon for charge in ledger.charges("ada")) == [0.5, 0.5]
    again = _asked(pipeline, sql.replace("round", "floor").replace(", 1)", ")"), epsilon=1.0)
    assert (again.epsilon, again.budget.epsilon_left, again.cached) == (0.0, 19.0, True)
    assert len(answer.rows) == len(again.rows) == 5


@pytest.mark.slow
def test_the_same_question_twice_in_a_statement_is_one_answer(pipeline: Pipeline, ledger: Ledger) -> None:
    sql = f"SELECT a.s, a.n - b.n AS difference FROM ({BY_SEGMENT}) a JOIN ({BY_SEGMENT}) b ON a.s = b.s"
    answer = _asked(pipeline, sql, epsilon=1.0)
    assert [row[1] for row in answer.rows] == [0] * 5
    assert len(ledger.charges("ada")) == 1


def test_the_same_question_in_other_words_is_charged_once(pipeline: Pipeline, ledger: Ledger) -> None:
    sql = "SELECT (SELECT count(*) FROM orders) - (SELECT count(*) FROM orders o) AS nothing"
    answer = _asked(pipeline, sql, epsilon=1.0, idempotency_key="once")
    assert (answer.rows, answer.budget.epsilon_left) == (((0,),), 19.0)
    assert [charge.charge.epsilon for charge in ledger.charges("ada")] == [1.0]


def test_a_statement_is_planned_once_for_all_who_ask_and_charged_to_each(pipeline: Pipeline, ledger: Ledger) -> None:
    ledger.add_analyst("bea", "1" * 64, epsilon=20.0, delta=1e-3)
    sql = "SELECT 'orders', count(*) FROM orders UNION ALL SELECT 'customers', count(*) FROM customer"
    asked = QueryRequest("ada", sql, epsilon=1.0, request_id="request-1")
    first, second = pipeline.find(asked), pipeline.find(replace(asked, analyst="bea"))
    assert isinstance(first, Compose) and isinstance(second, Compose)
    assert first.composition is second.composition
    assert pipeline.find(replace(asked, epsilon=2.0)) != first
    answers = [ask(pipeline, replace(asked, analyst=analyst)) for analyst in ("ada", "bea")]
    assert answers[0].rows == answers[1].rows
    assert {ledger.budget(analyst).epsilon_left for analyst in ("ada", "bea")} == {19.0}


def test_rows_side_by_side_are_counted_together(pipeline: Pipeline, ledger: Ledger) -> None:
    """UNION ALL of private rows under one aggregate; each SELECT of it is a question that hides a person alone."""
    rows = (
        "SELECT 'customers' AS what, n_name AS nation, c_acctbal AS amount FROM customer JOIN nation "
        "ON c_nationkey = n_nationkey UNION ALL SELECT 'suppliers', n_name, s_acctbal FROM supplier JOIN nation "
        "ON s_nationkey = n_nationkey"
    )
    by_kind = _asked(pipeline, f"SELECT what, count(*) AS n FROM ({rows}) AS u GROUP BY what ORDER BY 1", epsilon=8.0)
    assert [row[0] for row in by_kind.rows] == ["customers", "suppliers"]
    assert sorted(charge.charge.epsilon for charge in ledger.charges("ada")) == [4.0, 4.0]
    all_of_them = _asked(pipeline, f"WITH u AS ({rows}) SELECT count(*) FROM u", epsilon=8.0)
    assert all_of_them.epsilon == 0.0, "the same two answers, added up"
    assert _number(all_of_them.rows[0][0]) == sum(_number(row[1]) for row in by_kind.rows)
    for refused in (
        f"SELECT count(DISTINCT nation) FROM ({rows}) AS u",
        f"SELECT nation FROM ({rows}) AS u",
        f"SELECT max(amount) FROM ({rows}) AS u",
        f"SELECT sum(amount / 2) FROM ({rows}) AS u",
        f"SELECT count(*) FROM ({rows}) AS u RIGHT JOIN nation ON n_name = nation",
        f"SELECT count(*) FROM ({rows.replace('UNION ALL', 'UNION')}) AS u",
        f"SELECT count(*) FROM ({rows} LIMIT 3) AS u",
    ):
        with pytest.raises(PlannerError):
            _asked(pipeline, refused, epsilon=1.0)


@POSTGRES
def test_answers_side_by_side_and_with_public_tables(pipeline: Pipeline) -> None:
    union = "SELECT 'orders' AS what, count(*) FROM orders UNION ALL SELECT 'customers', count(*) FROM customer"
    answer = _asked(pipeline, union, epsilon=2.0)
    assert [row[0] for row in answer.rows] == ["orders", "customers"]
    joined = (
        "SELECT r_name, t.n FROM region JOIN (SELECT n_regionkey AS k, count(*) AS n FROM customer JOIN nation "
        "ON c_nationkey = n_nationkey GROUP BY n_regionkey) AS t ON k = r_regionkey ORDER BY r_name"
    )
    rows = _asked(pipeline, joined, epsilon=2.0).rows
    assert [row[0] for row in rows] == ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]


def test_a_deviation_is_computed_from_one_answer(pipeline: Pipeline, ledger: Ledger) -> None:
    """Balances are spread evenly over 11,000 units, so their deviation is 11,000 / sqrt(12)."""
    answer = _asked(pipeline, "SELECT stddev(c_acctbal), variance(c_acctbal) FROM customer", epsilon=4.0)
    deviation, variance = map(_number, answer.rows[0])
    assert deviation == pytest.approx(3175, rel=0.1)
    assert variance == pytest.approx(deviation**2)
    assert len(ledger.charges("ada")) == 1


def test_a_statement_of_too_many_questions_says_how_many(pipeline: Pipeline, ledger: Ledger) -> None:
    each = [f"(SELECT count(*) FROM customer WHERE c_nationkey = {nation})" for nation in range(MAX_PARTS + 1)]
    words = f"asks {MAX_PARTS + 1} questions, more than {MAX_PARTS}"
    with pytest.raises(StatementTooComplex, match=words) as caught:
        _asked(pipeline, f"SELECT {', '.join(each)}")
    assert caught.value.position == len(f"SELECT {', '.join(each[:MAX_PARTS])}, (") + 1
    assert not ledger.charges("ada")


def test_what_cannot_be_computed_costs_nothing(pipeline: Pipeline, ledger: Ledger) -> None:
    for sql in (
        f"SELECT s + 1 FROM ({BY_SEGMENT}) t",
        f"SELECT nothing FROM ({BY_SEGMENT}) t, region WINDOW w AS (ORDER BY n)",
        f"SELECT s, lag(n, 'x'::date) OVER () FROM ({BY_SEGMENT}) t",
        "SELECT generate_series(min(o_orderdate, 20), DATE '1998-01-01', INTERVAL '1 month') AS m FROM orders",
    ):
        with pytest.raises(PlannerError):
            _asked(pipeline, sql, epsilon=1.0)
    assert not ledger.charges("ada")


def test_what_postgresql_does_not_read_is_refused_around_answers_too(pipeline: Pipeline, ledger: Ledger) -> None:
    for sql, at in (
        (f"SELECT s, rank() OVER (ORDER BY n), FROM ({BY_SEGMENT}) t", "FROM"),
        (f"SELECT s, rank() OVER (ORDER BY n) FROM ({BY_SEGMENT}) t WHERE 1 < 2 < 3", "< 3"),
        (f"SELECT s FROM ({BY_SEGMENT}) t LIMIT 1 LIMIT 2", "LIMIT 2"),
    ):
        with pytest.raises(InvalidSyntax) as caught:
            _asked(pipeline, sql, epsilon=1.0)
        assert sql[(caught.value.position or 0) - 1 :].startswith(at)
    assert not ledger.charges("ada")


def test_a_budget_that_is_too_small_for_all_answers_pays_for_none(pipeline: Pipeline, ledger: Ledger) -> None:
    union = "SELECT 'orders', count(*) FROM orders UNION ALL SELECT 'customers', count(*) FROM customer"
    ledger.add_analyst("bea", "1" * 64, epsilon=0.6, delta=0.0)
    with pytest.raises(BudgetExhausted):
        ask(pipeline, QueryRequest("bea", union, epsilon=1.0))
    assert {charge.state for charge in ledger.charges("bea")} <= {"released"}
    assert ledger.budget("bea").epsilon_left == 0.6


@POSTGRES
def test_private_rows_are_never_listed_or_mixed_with_answers(pipeline: Pipeline, ledger: Ledger) -> None:
    for sql in (
        "SELECT c_custkey, rank() OVER (ORDER BY c_acctbal) FROM customer",
        "SELECT c_mktsegment, rank() OVER (ORDER BY count(*)) FROM customer GROUP BY c_mktsegment WITH ROLLUP",
        f"SELECT c_custkey, n FROM customer JOIN ({BY_SEGMENT}) t ON s = c_mktsegment",
        f"SELECT s, (SELECT max(c_acctbal) FROM customer WHERE c_mktsegment = s) FROM ({BY_SEGMENT}) t",
        f"SELECT s FROM ({BY_SEGMENT}) t WHERE EXISTS (SELECT 1 FROM customer WHERE c_mktsegment = s)",
        f"SELECT s FROM ({BY_SEGMENT}) t UNION SELECT c_name FROM customer",
        f"SELECT s, x FROM ({BY_SEGMENT}) t, LATERAL (SELECT c_name AS x FROM customer LIMIT 1) u",
        f"SELECT query_to_xml('SELECT * FROM customer', true, true, ''), s FROM ({BY_SEGMENT}) t",
        f"SELECT pg_read_file('/etc/passwd'), s FROM ({BY_SEGMENT}) t",
        f"SELECT current_setting('is_superuser'), s FROM ({BY_SEGMENT}) t",
        f"SELECT s, pg_sleep(9) FROM ({BY_SEGMENT}) t",
        f"SELECT s::regclass FROM ({BY_SEGMENT}) t",
        "SELECT count(*) FROM customer FOR UPDATE",
        "SELECT count(*), rank() OVER () FROM customer FOR SHARE",
        "SELECT count(*) INTO copied FROM customer",
        f"SELECT * FROM ({BY_SEGMENT}) t FOR UPDATE",
        f"SELECT s, rank() OVER () INTO copied FROM ({BY_SEGMENT}) t",
        f"SELECT s FROM ({BY_SEGMENT}) t, region TABLESAMPLE BERNOULLI (10)",
    ):
        with pytest.raises(PlannerError):
            _asked(pipeline, sql, epsilon=1.0)
    assert not ledger.charges("ada")


def test_explain_names_every_answer_and_what_surrounds_them(pipeline: Pipeline, ledger: Ledger) -> None:
    union = "EXPLAIN SELECT 'orders', count(*) FROM orders UNION ALL SELECT 'customers', count(*) FROM customer"
    lines = "\n".join(str(row[0]) for row in _asked(pipeline, union, epsilon=1.0).rows)
    assert "orders" in lines and "customer" in lines and "computed from" in lines
    assert not ledger.charges("ada")


def test_public_tables_alone_have_the_same_freedom(pipeline: Pipeline, ledger: Ledger) -> None:
    sql = "SELECT n_name, row_number() OVER (PARTITION BY n_regionkey ORDER BY n_name) AS r FROM nation ORDER BY 1"
    answer = _asked(pipeline, sql)
    assert answer.rows[0] == ("ALGERIA", 1) and len(answer.rows) == 25
    assert (answer.epsilon, answer.covers) == (0.0, "exact")
    assert not ledger.charges("ada")


def test_a_shape_is_known_before_anything_is_charged(pipeline: Pipeline, ledger: Ledger) -> None:
    shape = pipeline.describe(
        f"SELECT s, n, rank() OVER (ORDER BY n DESC) AS r FROM ({BY_SEGMENT}) AS t WHERE n > $1 AND s <> $2"
    )
    assert [(column.name, column.type) for column in shape.columns] == [("s", "text"), ("n", "int8"), ("r", "int8")]
    assert shape.noisy == (False, True, False)
    assert shape.parameters == ("text", "text")
    assert not ledger.charges("ada")


@POSTGRES
def test_a_column_that_would_be_a_function_of_the_row_is_refused(
    pipeline: Pipeline, ledger: Ledger, subtests: pytest.Subtests
) -> None:
    """In PostgreSQL `g.f` means f(g), and of a function in FROM the whole of g is a number."""
    for item in (
        "generate_series(16384, 16385) AS g",
        "generate_series(16384, 16385) AS g(n)",
        "region CROSS JOIN generate_series(1, r_regionkey) AS g",
        "region CROSS JOIN LATERAL generate_series(1, r_regionkey) AS g",
        "(VALUES (16384), (16385)) AS g",
        "(SELECT r_regionkey FROM region) AS g",
        "(SELECT * FROM generate_series(1, 2) AS x) AS g",
        "region AS g",
    ):
        for sql in (
            f"SELECT g.pg_stat_get_live_tuples FROM {item}",
            f"SELECT 1 FROM {item} ORDER BY g.pg_relation_size",
            f"SELECT (SELECT count(*) FROM orders), max(g.abs) FROM {item}",
            f"SELECT count(*) FROM {item} WHERE g.pg_sleep IS NOT NULL",
        ):
            with subtests.test(sql), pytest.raises(PlannerError):
                _asked(pipeline, sql, epsilon=1.0)
    assert not ledger.charges("ada")


@POSTGRES
def test_functions_in_from_are_rows_like_any_other(pipeline: Pipeline) -> None:
    for sql, expected in (
        ("SELECT g, g * 2, row_number() OVER () FROM generate_series(1, 2) AS g", ((1, 2, 1), (2, 4, 2))),
        ("SELECT g.n, rank() OVER (ORDER BY n) FROM generate_series(1, 2) AS g(n)", ((1, 1), (2, 2))),
        (
            "SELECT r_regionkey, x, sum(x) OVER () FROM region, generate_series(1, r_regionkey) AS g(x) "
            "WHERE r_regionkey < 3 ORDER BY 1, 2",
            ((1, 1, 4), (2, 1, 4), (2, 2, 4)),
        ),
    ):
        rows = _asked(pipeline, sql).rows
        assert [tuple(map(_number, row)) for row in rows] == list(expected)


def test_the_database_itself_is_asked_what_a_statement_would_read(tpch_url: str) -> None:
    with psycopg.connect(tpch_url) as connection:
        fingerprint = read_schema(connection).fingerprint
    backend = PostgresBackend(tpch_url)
    named = OuterStatement("SELECT r_name FROM public.region", "postgres", fingerprint, (("public", "region"),), ())
    assert len(backend.compute(named, rows=True).rows) == 5
    for sql in (
        "SELECT c_name FROM public.customer",
        "SELECT r_name, (SELECT max(c_name) FROM public.customer) FROM public.region",
        "SELECT r_name FROM public.region WHERE EXISTS (SELECT 1 FROM public.orders WHERE o_orderkey = r_regionkey)",
    ):
        for rows in (False, True):
            with pytest.raises(BackendFailed, match="may not read other tables"):
                backend.compute(replace(named, sql=sql), rows=rows)
    answer = Relation("noisegate answer 1", (("a1", "numeric"),), ((3.0,), (4.0,)))
    beside = 'SELECT a1, (SELECT max(c_name) FROM public.customer WHERE c_custkey > a1) FROM "noisegate answer 1"'
    with pytest.raises(BackendFailed, match="may not read other tables"):
        backend.compute(replace(named, sql=beside, reads=(), relations=(answer,)), rows=True)


def test_parts_that_are_one_question_are_charged_and_told_once(pipeline: Pipeline, ledger: Ledger) -> None:
    largest = "SELECT c_mktsegment FROM customer GROUP BY c_mktsegment ORDER BY count(*) DESC LIMIT 2"
    joined = f"customer c JOIN ({largest}) t ON t.c_mktsegment = c.c_mktsegment"
    sql = f"SELECT t.c_mktsegment, count(*) FROM {joined} GROUP BY t.c_mktsegment"
    assert pipeline.explain(QueryRequest("ada", sql, epsilon=0.5, request_id="request-1")).epsilon == 0.5
    answer = _asked(pipeline, sql, epsilon=0.5)
    assert (answer.epsilon, len(answer.rows)) == (0.5, 2)
    assert answer.notes[0].startswith("One noisy answer")
    assert ledger.budget("ada").epsilon_left == 19.5
