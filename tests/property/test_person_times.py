"""Dates, times and lengths of time of one person's rows: a person who leaves takes their own rows alone."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from planner.rewriting.rewrite import rewrite
from tests.property.clinic_world import SCHEMA, Database, check_random, opened, plan_of, some_rows, stands
from tests.support.seeds import SEED, examples


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with opened() as database:
        yield database


_MOMENTS = (
    "to_timestamp(a.x * 100000 + a.id)",
    "make_date(2024, a.x, a.id)::timestamp",
    "date_trunc('week', to_timestamp(a.id * 400000))",
    "(make_date(2023, 11 + a.x, 30) + a.id * INTERVAL '1 month')",
    "make_date(2024, a.id, 31)::timestamp",
)
"""Of a row; the last one has none where the month has no 31st day."""

_OF_A_MOMENT = (
    "extract(dow FROM {0}) < 3",
    "{0} < TIMESTAMP '1970-01-02 12:00'",
    "to_char({0}, 'YYYY-MM') = '2024-01'",
    "{0} - TIMESTAMP '2024-01-15' > INTERVAL '10 days'",
    "extract(month FROM age({0}, TIMESTAMP '2023-12-31')) = 1",
    "{0} IS NULL",
)

_OF_TWO = (
    "n - m > INTERVAL '2 days'",
    "extract(epoch FROM n - m) = 0",
    "coalesce(n - m, INTERVAL '1 hour') < INTERVAL '1 day'",
    "age(n, m) < INTERVAL '1 month'",
    "n = m",
)


def _question(rng: random.Random) -> str:
    source, key = rng.choice(
        [("visit AS a", "a.person"), ("note AS a", "a.person"), ("branch AS a", "a.person"), ("person AS a", "a.id")]
    )
    moment = rng.choice(_MOMENTS)
    if rng.random() < 0.3:
        return f"SELECT count(*) FROM {source} WHERE {rng.choice(_OF_A_MOMENT).format(moment)}"
    condition = rng.choice(_OF_TWO)
    if rng.random() < 0.5:
        grouped = f"SELECT {key} AS k, min({moment}) AS m, max({moment}) AS n FROM {source} GROUP BY {key}"
        return f"SELECT count(*) FROM ({grouped}) AS t WHERE {condition}"
    function = rng.choice([f"lag({moment})", f"min({moment})", f"first_value({moment})"])
    ordered = rng.choice(["a.id", moment])
    windows = f"{function} OVER (PARTITION BY {key} ORDER BY {ordered})"
    return f"SELECT count(*) FROM (SELECT {moment} AS n, {windows} AS m FROM {source}) AS t WHERE {condition}"


def test_one_person_changes_only_rows_of_their_own_in_random_questions(database: Database) -> None:
    rng, questions = random.Random(41 * SEED), examples(40, 1_000)
    check_random(database, lambda: _question(rng), rng, questions=questions, trials=3, least=questions // 4)


def test_they_mean_what_plain_sql_says(database: Database) -> None:
    """DuckDB's own answer, where it has the same functions."""
    rng = random.Random(43 * SEED)
    for moment in ("to_timestamp(a.x * 100000 + a.id)", "date_trunc('day', to_timestamp(a.id * 40000))"):
        for form in ("min", "max"):
            grouped = f"SELECT a.person AS k, {form}({moment}) AS m FROM visit AS a GROUP BY 1"
            text = (
                f"SELECT count(*) FROM ({grouped}) AS t WHERE m - TIMESTAMP '1970-01-01' > INTERVAL '100001 seconds'"
            )
            plan = plan_of(text)
            assert plan is not None, text
            query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
            for _ in range(examples(6, 60)):
                rows = some_rows(rng)
                database.fill(
                    {name: [row for row in held if stands(rows, name, row)] for name, held in rows.items()}, query
                )
                own = text.replace("m - TIMESTAMP '1970-01-01'", "(m AT TIME ZONE 'UTC') - TIMESTAMP '1970-01-01'")
                ((plain,),) = database.connection.execute(own).fetchall()
                assert sum(database.tuples(query).values()) == plain << 30, text
