"""Random questions over random worlds, on both databases: what the rewriting adds up to is what was asked.

And the monotone property behind every proof of privacy: the rows of one person add join tuples that carry that
person, and change nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st

from planner.errors import StatementTooComplex
from planner.plan import BackendQuery, Plan
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from privacy.units import ONE
from server.backends.embedded import EmbeddedPostgres
from tests.golden.released_arithmetic import Value, plain
from tests.golden.untruncated import untruncated
from tests.property.sja_engines import CLEAN, Engine
from tests.property.sja_questions import SPELLINGS, Question, questions
from tests.property.sja_world import Rows, Unit, World, rows_of, worlds
from tests.support.planning import planned
from tests.support.seeds import ALL, examples

HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
TRIED = settings(max_examples=examples(25, 2_000), suppress_health_check=HEALTH)
FEWER = settings(max_examples=examples(15, 500), suppress_health_check=HEALTH)


@pytest.fixture(scope="module")
def on_duckdb() -> Iterator[Engine]:
    with duckdb.connect(config={"threads": 1}) as connection:
        yield Engine("duckdb", connection)


@pytest.fixture(scope="module")
def on_postgres(embedded_postgres: EmbeddedPostgres) -> Iterator[Engine]:
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield Engine("postgres", connection)


@st.composite
def worlds_and_questions(draw: st.DrawFn) -> tuple[World, Question]:
    world = draw(worlds())
    return world, draw(questions(world))


@st.composite
def instances(draw: st.DrawFn) -> tuple[Question, str, Rows]:
    """A question, its text in one spelling, and rows to ask it of."""
    world, question = draw(worlds_and_questions())
    return question, question.sql(draw(st.sampled_from(SPELLINGS)), world), draw(rows_of(world))


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[str, Rows, Rows, Unit]:
    """A question's text, rows, and the same without one person and all that the person owns."""
    _, text, rows = draw(instances())
    units = sorted({unit for table, held in rows.tables.items() for row in held for unit in rows.owners(table, row)})
    unit = draw(st.sampled_from(units or [("t0", 1)]))
    less = {
        table: tuple(row for row in held if unit not in rows.owners(table, row))
        for table, held in rows.tables.items()
    }
    return text, rows, Rows(rows.world, less), unit


def _statements(text: str, world: World, engine: Engine) -> tuple[Plan, BackendQuery]:
    try:
        plan = planned(text, world.schema, world.policy)
    except StatementTooComplex:  # some chains of references need more joins than a statement may have
        reject()
    return plan, rewrite(plan, dialect=engine.dialect, schema=world.schema)


def check_answer(instance: tuple[Question, str, Rows], *engines: Engine) -> None:
    """On each database the untruncated answer is the question's; the join tuples are the same on all."""
    question, text, rows = instance
    validate(rows.world.policy, rows.world.schema)
    found = []
    for engine in engines:
        plan, query = _statements(text, rows.world, engine)
        with engine.holding(rows):
            answer = untruncated(plan, engine.run, query)
            found.append([Counter(engine.run(statement)) for statement in (query.join, *query.distinct) if statement])
            asked = engine.run(_in_clean(question.meaning(rows.world)))
        _assert_same(answer.rows, asked, plan, grouped=question.key is not None)
        event("tuples" if asked and asked[0][0] else "no tuples")
    assert all(other == found[0] for other in found)


def _in_clean(meaning: str) -> str:
    for table in ("t0", "t1", "t2", "t3", "t4"):
        meaning = meaning.replace(f" {table} AS ", f" {CLEAN}.{table} AS ")
    return meaning


def _assert_same(
    rows: dict[tuple[Value, ...], tuple[Value, ...]], asked: list[tuple[Any, ...]], plan: Plan, *, grouped: bool
) -> None:
    """Groups outside of the domain are dropped, empty ones are zero; a sum is off by the rounding of its weights."""
    first = 1 if grouped else 0
    truth = {tuple(map(plain, row[1 : 1 + first])): row for row in asked}
    bound = sum(Fraction(release.weight_bound) for release in plan.releases)
    for group, values in rows.items():
        joined, *expected = truth.get(group, (0, *group, *[None] * len(values)))
        for output, value, true in list(zip(plan.display.outputs, values, expected, strict=False))[first:]:
            whole = output.type == "int8"  # which the answer rounds
            off = abs((round(_number(value)) if whole else _number(value)) - _number(true))
            most = 0 if whole else joined * bound / ONE + abs(_number(true)) / 10**9
            assert off <= most, f"{output.name} of {group}: {value} instead of {true}"


def _number(value: object) -> Fraction:
    """An empty sum is zero here and NULL in SQL."""
    number = Fraction(0) if value is None else plain(value)
    assert isinstance(number, Fraction)
    return number


def check_neighbours(pair: tuple[str, Rows, Rows, Unit], engine: Engine) -> None:
    """Tuples that do not carry the person are the same with and without; those that do are gone."""
    text, rows, less, unit = pair
    _, query = _statements(text, rows.world, engine)
    for statement in (query.join, *query.distinct):
        if statement is None:
            continue
        weights = 1 if statement in query.distinct else query.n_releases
        with engine.holding(rows, clean=False):
            more = {row[:-weights]: row[-weights:] for row in engine.run(statement)}
        with engine.holding(less, clean=False):
            fewer = {row[:-weights]: row[-weights:] for row in engine.run(statement)}
        for tuple_ in more.keys() | fewer.keys():
            carried = (unit[0], unit[1]) in zip(query.relations, tuple_, strict=False)
            assert fewer.get(tuple_) == (None if carried else more.get(tuple_))
        event("carried" if len(more) > len(fewer) else "the same")


@TRIED
@given(instance=instances())
def test_the_rewriting_is_the_question_on_both_databases(
    on_postgres: Engine, on_duckdb: Engine, instance: tuple[Question, str, Rows]
) -> None:
    check_answer(instance, on_postgres, on_duckdb)


@TRIED
@given(pair=neighbours())
def test_one_person_adds_only_tuples_of_their_own(
    on_postgres: Engine, on_duckdb: Engine, pair: tuple[str, Rows, Rows, Unit]
) -> None:
    check_neighbours(pair, on_duckdb)
    if ALL:
        check_neighbours(pair, on_postgres)


def check_kinds(text: str, rows: Rows, engine: Engine) -> None:
    """No unit is in more groups than its relation's proofs say: of one key that follows, one for each position."""
    plan, query = _statements(text, rows.world, engine)
    most = {kind.relation: len(kind.determines) for kind in plan.bounds.kinds if all(kind.determines)}
    if not most or query.join is None:
        event("no kind is bounded, or the database counts its units")
        return
    with engine.holding(rows, clean=False):
        found = engine.run(query.join)
    groups: dict[tuple[str, object], set[object]] = {}
    for row in found:
        for relation, unit in zip(query.relations, row, strict=False):
            if unit is not None:
                groups.setdefault((relation, unit), set()).add(row[len(query.relations)])
    event(f"a unit in {max(map(len, groups.values()), default=0)} groups, {len(plan.bounds.kinds)} kinds")
    assert all(len(own) <= most.get(relation, len(own)) for (relation, _), own in groups.items())


@FEWER
@given(instance=instances().filter(lambda drawn: drawn[0].key is not None))
def test_no_unit_is_in_more_groups_than_follow_from_it(
    on_duckdb: Engine, instance: tuple[Question, str, Rows]
) -> None:
    _, text, rows = instance
    check_kinds(text, rows, on_duckdb)


@FEWER
@given(worlds_and_questions())
def test_spellings_of_a_join_are_one_query(asked: tuple[World, Question]) -> None:
    """JOIN ON, USING and a comma are word for word the same statement."""
    world, question = asked
    try:
        first, *others = (
            rewrite(planned(question.sql(way, world), world.schema, world.policy)) for way in SPELLINGS[:3]
        )
    except StatementTooComplex:  # a chain of references needs more joins than a statement may have
        reject()
    assert all(other == first for other in others)
