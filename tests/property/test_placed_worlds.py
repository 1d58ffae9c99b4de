"""Random worlds of several schemas, with views, in a real PostgreSQL: one person's rows change that person's tuples.

Beside the monotone property behind every proof of privacy, what is claimed of one person is counted: how many tuples
there are, in how many groups, and that each row of a sampled table stands in one at most. And a question means what
PostgreSQL says that it means, under its search path and through its views.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.bound_query import BoundQuery
from planner.errors import PlannerError, PolicyInvalid
from planner.examine_views import check_declared_views
from planner.expand_views import expanded
from planner.parsing.parse import private_select, read_of
from planner.plan import BackendQuery, Plan
from planner.planning import make_plan as planning
from planner.planning.make_plan import make_plan
from planner.policy.declared import with_declared_keys
from planner.policy.ownership import Ownership
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from planner.public.route import names_private_table
from planner.rewriting import join_tables
from planner.rewriting.rewrite import rewrite, to_sql
from planner.schema import Schema
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres_catalog import read_schema
from tests.golden.released_arithmetic import plain
from tests.golden.untruncated import untruncated
from tests.property.placed_questions import Asker, Relation
from tests.property.placed_world import SCHEMAS, PlacedWorld, Row, Unit, literal, quoted, sql_place
from tests.support.seeds import examples

_QUESTIONS, _REMOVALS = 10, 2

Tuples = dict[tuple[Any, ...], tuple[Any, ...]]
"""By owners and group keys, the weights."""


class Violation(Exception):
    """A claim that a question over these rows belies."""


@pytest.fixture(scope="module")
def connection(embedded_postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        yield connection


class _Case:
    """A world in the database, what the planner knows of it, and what was counted."""

    def __init__(self, connection: psycopg.Connection[Any], seed: int, *, whole: bool) -> None:
        self.connection = connection
        self.seed = seed
        self.world = PlacedWorld(seed, whole=whole)
        self.draw = self.world.draw
        self.asker = Asker(self.world)
        self.seen: Counter[str] = Counter()

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement.encode()).fetchall()

    @contextmanager
    def rolled_back(self, name: str) -> Iterator[None]:
        self.connection.execute(f"SAVEPOINT {name}".encode())
        try:
            yield
        finally:
            self.connection.execute(f"ROLLBACK TO {name}".encode())

    def ask(self) -> Counter[str]:
        """Make the world, and ask it some questions. Raises: Violation."""
        self.connection.execute("BEGIN")
        try:
            schema, policy = self._made()
            for _ in range(_QUESTIONS):
                self._ask(schema, policy)
        finally:
            self.connection.execute("ROLLBACK")
        return self.seen

    def _made(self) -> tuple[Schema, Policy]:
        self.connection.execute("SET LOCAL search_path = pg_catalog")
        self.connection.execute("SET LOCAL session_replication_role = replica")
        for statement in (*self.world.ddl(), *self.world.inserts()):
            self.connection.execute(statement.encode())
        views = [self.asker.view for _ in range(self.draw.randint(0, 4))]
        made = [view for draw in views if (view := self._view(draw))]
        public = [view for view in [self._view(self.asker.public_view)] if view] * (self.draw.random() < 0.5)
        for view in made:
            if self.draw.random() < 0.3:
                self._rename(view)
        try:
            policy, raw = self._declared(public)
        except PolicyInvalid:  # a view of one row per person, which no policy may call public
            self.asker.relations = [one for one in self.asker.relations if one not in public]
            policy, raw = self._declared([])
        self.world.schema = with_declared_keys(raw, policy)
        return self.world.schema, policy

    def _declared(self, public: list[Relation]) -> tuple[Policy, Schema]:
        policy = parse_policy(self.world.policy_text(tuple(view.place for view in public)))
        raw = read_schema(self.connection, policy.namespaces).declaring(policy.tables)
        validate(policy, raw)
        check_declared_views(policy, raw)
        return policy, raw

    def _view(self, draw: Callable[[], Relation]) -> Relation | None:
        """A view, if PostgreSQL makes one of the statement."""
        view = draw()
        try:
            with self.connection.transaction():
                self.connection.execute(f"CREATE VIEW {sql_place(view.place)} AS {view.query}".encode())
        except psycopg.errors.UndefinedFunction:
            return None
        self.asker.relations.append(view)
        return view

    def _rename(self, view: Relation) -> None:
        """Call a column, or the view itself, otherwise than other views did when they were made."""
        old, place = view.columns[-1], view.place
        view.columns[-1] = type(old)("renamed", old.type, old.origin)
        self.connection.execute(
            f'ALTER VIEW {sql_place(place)} RENAME COLUMN {quoted(old.name)} TO "renamed"'.encode()
        )
        view.place = (place[0], f"{place[1]} renamed")
        self.connection.execute(f"ALTER VIEW {sql_place(place)} RENAME TO {quoted(view.place[1])}".encode())

    def _ask(self, schema: Schema, policy: Policy) -> None:
        sql = self.asker.question()
        path = self.draw.choice((None, tuple(self.draw.sample(SCHEMAS, self.draw.randint(1, 3)))))
        try:
            statement = expanded(read_of(sql, "world"), schema, policy, path)
            if not names_private_table(statement.tree, schema, policy, path):
                return
            bound = bind(private_select(statement), schema, policy, None, path)
            plan = make_plan(bound, schema, policy, epsilon=None, delta=None, mechanism=None)
        except PlannerError:
            return
        self.seen["asked"] += 1
        try:
            query = rewrite(plan)
            before = [self._tuples(query, one) for one in (query.join, *query.distinct) if one is not None]
            self._count(plan, query, before)
            self._sample(bound, schema, policy)
            for _ in range(_REMOVALS):
                self._remove(query, before)
            if self.world.whole and not plan.group_keys:
                self._compare(plan, query, sql, path or policy.schemas)
        except Violation as found:
            raise Violation(f"world {self.seed}: {found}\n{sql}\n{query.join}") from None

    def _tuples(self, query: BackendQuery, statement: str) -> Tuples:
        weights = 1 if statement in query.distinct else query.n_releases
        return {row[:-weights]: row[-weights:] for row in self.run(statement)}

    def _people(self, query: BackendQuery, owners: tuple[Any, ...]) -> set[tuple[str, Any]]:
        """The owners of a tuple, as its first columns show them."""
        return {(name, key) for name, key in zip(query.relations, owners, strict=False) if key is not None}

    def _rows(self, plan: Plan, *columns: exp.Expr) -> list[tuple[Any, ...]]:
        """Each join tuple by itself."""
        source = plan.source.copy()
        source.set("expressions", [column.copy().as_(f"x{place}") for place, column in enumerate(columns)])
        return self.run(to_sql(source))

    def _count(self, plan: Plan, query: BackendQuery, found: list[Tuples]) -> None:
        """Delta, L0, and the size of the join, against the rows."""
        owners = self._rows(plan, *(owner.key for owner in plan.owners))
        if plan.size.most_tuples is not None and len(owners) > plan.size.most_tuples:
            raise Violation(f"{len(owners)} tuples, where {plan.size.most_tuples} are the most")
        each = Counter(person for row in owners for person in self._people(query, row))
        if plan.bounds.tuples is not None:
            self.seen["bounded"] += 1
            if max(each.values(), default=0) > plan.bounds.tuples:
                raise Violation(f"a unit has {max(each.values())} tuples, where Delta is {plan.bounds.tuples}")
        if plan.bounds.groups is None or not plan.group_keys:
            return
        self.seen["grouped"] += 1
        reached: dict[tuple[str, Any], set[tuple[Any, ...]]] = defaultdict(set)
        first, last = len(plan.owners), len(plan.owners) + len(plan.group_keys)
        declared = [(domain.keys[0], domain.values) for domain in plan.domains if domain.values is not None]
        for row in (row for tuples in found for row in tuples):
            group = row[first:last]
            if all(group[place] in values for place, values in declared):  # others are left out
                for person in self._people(query, row):
                    reached[person].add(group)
        most = max(map(len, reached.values()), default=0)
        if most > plan.bounds.groups:
            raise Violation(f"a unit reaches {most} groups, where {plan.bounds.groups} are the most")

    def _sample(self, bound: BoundQuery, schema: Schema, policy: Policy) -> None:
        """Where rows of one table are sampled for the tuples, each stands in one of them at most."""
        try:
            plan = make_plan(bound, schema, policy, epsilon=None, delta=None, mechanism=None, sampling_rate=0.5)
        except PlannerError:
            return
        if plan.sampling is None or plan.sampling.alias is None or not plan.sampling.amplifies:
            return
        self.seen["sampled"] += 1
        whole = make_plan(bound, schema, policy, epsilon=None, delta=None, mechanism=None)
        names = [exp.column(name, plan.sampling.alias, quoted=True) for name in ("tableoid", "ctid")]
        if max(Counter(self._rows(whole, *names)).values(), default=0) > 1:
            raise Violation(f"a row of {plan.sampling.relation} stands in several tuples")

    def _remove(self, query: BackendQuery, before: list[Tuples]) -> None:
        """Take away one person and all that is the person's: no other tuple changes, and none of theirs stays."""
        units = self.world.units()
        if not units:
            return
        there = {person for tuples in before for row in tuples for person in self._people(query, row)}
        shown = [unit for unit in units if (self.world.tables[unit[0]].name, _shown(unit)) in there]
        unit = self.draw.choice(shown if shown and self.draw.random() < 0.7 else units)
        with self.rolled_back("whole"):
            for table in self.world.tables:
                self._delete(table.place, [row for row in table.rows if unit in self.world.owners(table, row)])
            after = [self._tuples(query, one) for one in (query.join, *query.distinct) if one is not None]
        self.seen["removed"] += 1
        person = (self.world.tables[unit[0]].name, _shown(unit))
        for more, fewer in zip(before, after, strict=True):
            for row in more.keys() | fewer.keys():
                weights, left = more.get(row), fewer.get(row)
                people = self._people(query, row)
                if weights == left or not people:
                    continue
                self.seen["changed"] += 1
                if person not in people:
                    raise Violation(f"{row} of others has {weights} with {unit}, and {left} without")
                if left:
                    raise Violation(f"{row} has {left} without {unit}")

    def _delete(self, place: tuple[str, str], rows: list[Row]) -> None:
        if rows:
            listed = ", ".join(literal(row["id"]) for row in rows)
            self.connection.execute(f"DELETE FROM {sql_place(place)} WHERE id IN ({listed})".encode())

    def _compare(self, plan: Plan, query: BackendQuery, sql: str, path: tuple[str, ...]) -> None:
        """PostgreSQL's own answer, with what it makes of each name."""
        for table in self.world.tables:
            if not table.public and not all(self.world.owners(table, row) for row in table.rows):
                return
        with self.rolled_back("ours"):
            self.connection.execute(f"SET LOCAL search_path = {', '.join(map(quoted, path))}".encode())
            (expected,) = self.run(sql.replace("world.", ""))
        self.seen["compared"] += 1
        (found,) = untruncated(plan, self.run, query).rows.values()
        for value, true in zip(found, map(plain, expected), strict=True):
            truth = Fraction(0) if true is None else true  # an empty sum
            assert isinstance(value, Fraction) and isinstance(truth, Fraction)
            if abs(value - truth) > max(Fraction(1), abs(truth)) / 10**5:
                raise Violation(f"{found} instead of {expected}")


def _shown(unit: Unit) -> object:
    """The key of a unit as its column shows it: of several parts, each behind its length."""
    return unit[1][0] if len(unit[1]) == 1 else "".join(f"{len(str(part))}:{part}" for part in unit[1])


def _asked(connection: psycopg.Connection[Any], seeds: range, *, whole: bool = False) -> Counter[str]:
    return sum((_Case(connection, seed, whole=whole).ask() for seed in seeds), Counter())


def test_in_random_worlds_one_person_changes_tuples_of_their_own_alone(connection: psycopg.Connection[Any]) -> None:
    seen = _asked(connection, range(examples(8, 300)))
    kinds = ("asked", "removed", "changed", "bounded", "sampled")
    assert min(seen[what] for what in kinds) >= examples(1, 50), seen


def test_in_random_worlds_a_question_means_what_it_means_to_postgresql(connection: psycopg.Connection[Any]) -> None:
    worlds = examples(6, 300)
    assert _asked(connection, range(1_000, 1_000 + worlds), whole=True)["compared"] >= worlds


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["filter", "public views", "owner joins"])
def test_a_broken_rule_is_seen(
    connection: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """The mutants: rows whose parent is gone stay, views of people are joined, LEFT JOINs lose others' rows."""
    if broken == "filter":
        monkeypatch.setattr(join_tables, "add_conditions", lambda select, conditions: None)
    elif broken == "public views":
        monkeypatch.setattr(Ownership, "may_show_owned", lambda *_: False)
    else:
        monkeypatch.setattr(planning, "check_owner_joins", lambda *_: None)
    with pytest.raises(Violation):
        _asked(connection, range(2_000, 2_200), whole=broken == "owner joins")
