"""People, their towns and their visits in a DuckDB file: one unit in many groups, and groups of a few units."""

from __future__ import annotations

from pathlib import Path

import duckdb

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from server.backends.duckdb import DuckdbBackend
from server.query import Budget, QueryResponse
from server.results.response import response
from server.workers.measure import measure, plan_measurements

PEOPLE = 3_000
PLACES = 40
VISITS = 5
"""Places that each person visits, of which every place has its share."""

EMPTY = """
    CREATE TABLE person (id bigint PRIMARY KEY, town varchar, age integer NOT NULL);
    CREATE TABLE visit (
        id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, place varchar NOT NULL, reason varchar,
        minutes double NOT NULL
    );
    CREATE TABLE meeting (
        id bigint PRIMARY KEY, host bigint NOT NULL REFERENCES person, guest bigint NOT NULL REFERENCES person,
        place varchar NOT NULL
    );
"""
"""The tables without rows."""

TABLES = f"""{EMPTY}
    INSERT INTO person SELECT i, CASE
        WHEN i < 2000 THEN 'Aalen' WHEN i < 2900 THEN 'Berne' WHEN i < 2980 THEN 'Calw' WHEN i < 2999 THEN NULL
        ELSE 'Dornhan' END, i % 100 FROM range({PEOPLE}) t(i);
    INSERT INTO visit SELECT i, i // {VISITS}, 'p' || ((i // {VISITS} * 7 + i % {VISITS} * 3) % {PLACES}),
        CASE WHEN i = 14999 THEN 'secret' WHEN i % {VISITS} < 2 THEN 'work' ELSE 'leisure' END, 10 + i % 50
        FROM range({PEOPLE * VISITS}) t(i);
    INSERT INTO meeting SELECT i, i % {PEOPLE}, (i * 13 + 1) % {PEOPLE}, 'p' || (i % {PLACES})
        FROM range(9000) t(i) WHERE i % {PEOPLE} <> (i * 13 + 1) % {PEOPLE};
"""

POLICY = """
    name = "visits"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 10.0
    delta = 1e-6
    global_sensitivity = 16
    {privacy}
    [privacy_units]
    person = "id"
    [groups_per_unit]
    {groups}
    [tables.person.columns]
    town = {{ discover = true{town} }}
    age = {{ range = [0, 99] }}
    [tables.visit.columns]
    place = {{ domain = [{places}] }}
    reason = {{ discover = true }}
    minutes = {{ range = [0, 60] }}
    [tables.meeting.columns]
    place = {{ domain = [{places}] }}
"""


def visits(path: Path) -> DuckdbBackend:
    """A file with the rows."""
    with duckdb.connect(path) as connection:
        connection.execute(TABLES)
    return DuckdbBackend(path)


def visits_policy(*, privacy: str = "", groups: str = "", town: str = "") -> Policy:
    """The policy, with more settings of [privacy], [groups_per_unit] and person.town."""
    places = ", ".join(f'"p{place}"' for place in range(PLACES))
    return parse_policy(POLICY.format(privacy=privacy, groups=groups, town=town, places=places))


def plan_visits(
    backend: DuckdbBackend,
    policy: Policy,
    sql: str,
    *,
    epsilon: float = 4.0,
    delta: float | None = None,
    mechanism: str | None = None,
    sampling_rate: float | None = None,
    at_most: float | None = None,
) -> Plan:
    """Parse, bind and plan."""
    schema = backend.schema()
    bound = bind(parse(sql), schema, policy)
    return make_plan(
        bound,
        schema,
        policy,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        sampling_rate=sampling_rate,
        at_most=at_most,
    )


def answer_visits(backend: DuckdbBackend, policy: Policy, plan: Plan) -> QueryResponse:
    """All of the way but the ledger and the worker process."""
    query = rewrite(plan, dialect="duckdb", schema=backend.schema())
    domain, noisy = measure(backend, query, plan_measurements(plan, policy))
    return response(plan, domain, noisy, Budget(10.0, 1e-3, 1.0, 1e-4), "request")
