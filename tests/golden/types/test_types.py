"""Columns of less common types: each is counted, compared where databases agree on it, or refused by its name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planner.binding.bind import bind
from planner.describe import describe
from planner.errors import PolicyInvalid, UndefinedOperator, UnreadableValue, UnsupportedSQL
from planner.expand_views import expanded
from planner.parsing.parse import parse, private_select, read
from planner.planning.make_plan import make_plan
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.public.bind import bind_public
from planner.rewriting.rewrite import rewrite, write_public
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.untruncated import untruncated
from tests.support.planning import planned

ONE = "00000000-0000-0000-0000-000000000001"

BOTH = "id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, came time, token uuid, days integer[]"
ON_POSTGRES = (
    "CREATE DOMAIN age AS integer CHECK (VALUE >= 0)",
    "CREATE DOMAIN young AS age CHECK (VALUE < 100)",
    "CREATE DOMAIN code AS varchar(10)",
    "CREATE TYPE state AS ENUM ('waiting', 'in')",
    "CREATE DOMAIN known_state AS state NOT NULL",
    "CREATE TABLE person (id bigint PRIMARY KEY, age young)",
    "CREATE TABLE shop (id bigint PRIMARY KEY, opens time, address inet)",
    f"""CREATE TABLE visit ({BOTH}, age young, code code, state known_state, ip inet, network cidr, price money,
        bytes bytea, plain json, document jsonb, shift time with time zone, lasted interval, card macaddr,
        place point)""",
    "CREATE VIEW of_age AS SELECT id, person, age, code FROM visit WHERE age >= 18 AND code <> 'z'",
    "INSERT INTO person VALUES (1, 30), (2, NULL)",
    "INSERT INTO shop VALUES (1, '08:00', '10.0.0.1'), (2, '09:30:00.5', '::1')",
    f"""INSERT INTO visit VALUES
        (1, 1, '12:00', '{ONE}', '{{1,2}}', 17, 'x', 'in', '10.0.0.1', '10.0.0.0/8', '1.5', '\\x00ff', '{{}}',
         '{{"a": 1}}', '12:00+00', '1 day', '08:00:2b:01:02:03', '(1, 2)'),
        (2, 1, '12:00:00.5', '{ONE}', '{{1,2}}', 18, 'y', 'in', '10.0.0.1/8', '10.0.0.0/8', '1.5', '\\x00ff', '{{}}',
         '{{"a": 1.0}}', '13:00+01', '24 hours', '08:00:2b:01:02:03', '(1, 2)'),
        (3, 2, NULL, NULL, NULL, 18, 'z', 'waiting', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""",
)
ON_DUCKDB = (
    "CREATE TABLE person (id bigint PRIMARY KEY, age integer)",
    "CREATE TABLE shop (id bigint PRIMARY KEY, opens time)",
    f"""CREATE TABLE visit ({BOTH}, tiny utinyint, small usmallint, whole uinteger, big ubigint, huge hugeint,
        larger uhugeint, nanos timestamp_ns UNIQUE, millis timestamp_ms, seconds timestamp_s, bytes blob,
        document json, lasted interval, parts struct(a integer), texts varchar[])""",
    "INSERT INTO person VALUES (1, 30), (2, NULL)",
    "INSERT INTO shop VALUES (1, '08:00'), (2, '09:30:00.5')",
    f"""INSERT INTO visit VALUES
        (1, 1, '12:00', '{ONE}', [1, 2], 255, 65535, 4294967295, 18446744073709551615, 170141183460469231731687303715,
         340282366920938463463374607431768211455, '2020-01-01 00:00:00.123456789', '2020-01-01', '2020-01-01', 'ab',
         '{{}}', '1 day', {{'a': 1}}, ['a']),
        (2, 1, '12:00:00.5', '{ONE}', [1, 2], 1, 1, 1, 18, 18, 18, '2020-01-01 00:00:00.123456788', '2020-01-02',
         '290000-01-01', 'ab', '{{}}', '24 hours', {{'a': 1}}, ['a']),
        (3, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
         NULL)""",
)
TEXT = """
name = "types"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1000.0
[privacy_units]
person = "id"
[tables.shop]
public = true
[tables.person]
[tables.visit]
"""
POLICY = parse_policy(TEXT)


@pytest.fixture(scope="module")
def both(embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Engine]]:
    path = in_file(tmp_path_factory.mktemp("types") / "tables.duckdb", ON_DUCKDB)
    with on_server(embedded_postgres, "types", ON_POSTGRES) as url:
        yield list(engines(url, path))


def _asked(engine: Engine, sql: str, text: str = TEXT) -> list[object]:
    """The one row of the answer without noise."""
    plan = planned(sql, engine.schema, parse_policy(text))
    answer = untruncated(plan, engine.run, rewrite(plan, dialect=engine.dialect, schema=engine.schema))
    [row] = answer.rows.values()
    return list(map(round, row))  # type: ignore[arg-type]


def test_a_column_of_any_type_is_counted(both: list[Engine]) -> None:
    for engine in both:
        for column in engine.schema.tables["visit"].columns:
            name, expected = column.name, 3 if column.name in ("id", "person", "age", "code", "state") else 2
            counted = f"count({name}), count(*) FILTER (WHERE {name} IS NOT NULL)"
            beyond = name in ("larger",)  # of which DuckDB's decimals hold one
            assert _asked(engine, f"SELECT {counted} FROM visit") == [expected - beyond] * 2


def test_values_are_counted_once_where_equality_is_that_of_a_text(both: list[Engine]) -> None:
    for engine, values in zip(
        both,
        (
            {"came": 2, "token": 1, "days": 1, "ip": 2, "network": 1, "price": 1, "bytes": 1, "shift": 2, "card": 1,
             "age": 2, "code": 3, "state": 2},
            {"came": 2, "token": 1, "days": 1, "bytes": 1, "big": 2, "huge": 2, "larger": 1, "nanos": 1, "seconds": 2,
             "whole": 2},
        ),
        strict=True,
    ):  # fmt: skip
        for name, many in values.items():
            assert _asked(engine, f"SELECT count(DISTINCT {name}) FROM visit") == [many]
            if engine.dialect == "postgres":
                assert engine.run(f"SELECT count(DISTINCT {name}) FROM visit") == [(many,)]
        for name in ("document", "lasted"):
            with pytest.raises(UnsupportedSQL, match=r"COUNT\(DISTINCT ...\) over (json|jsonb|interval) is"):
                _asked(engine, f"SELECT count(DISTINCT {name}) FROM visit")


def test_what_databases_compare_is_compared(both: list[Engine]) -> None:
    everywhere = (
        "came = '12:00'", "came < '12:00:00.5'", "came BETWEEN TIME '11:59' AND '12:00:00'::time",
        "came IN ('12:00:00.50')",
        f"token = '{ONE}'", "coalesce(came, '00:00') = '00:00'",
    )  # fmt: skip
    alone = (
        ("ip = '10.0.0.1'", "ip = '10.0.0.1/32'::inet", "ip < inet '10.0.0.2'", "network = '10.0.0.0/8'", "age > 17",
         "age = '18'", "code = 'x'", "code LIKE 'x%'", "state::text = 'in'", "ip IN ('10.0.0.1/8', '::1')"),
        ("big > 18", "big = 18.0", "huge = 18", "huge <= 18", "whole = 4294967295", "millis > '2020-01-01'",
         "seconds = '2020-01-01'", "nanos < '2020-01-02'", "nanos = '2020-01-01 00:00:00.123456'"),
    )  # fmt: skip
    for engine, conditions in zip(both, alone, strict=True):
        for condition in (*everywhere, *conditions):
            sql = f"SELECT count(*) FROM visit WHERE {condition}"
            assert _asked(engine, sql) == list(engine.run(sql)[0]), condition


def test_a_domain_is_its_base_type(both: list[Engine]) -> None:
    engine = both[0]
    visit = engine.schema.tables["visit"]
    assert [getattr(visit.column(name), "type", None) for name in ("age", "code", "state")] == [
        "integer", "character varying(10)", "enum('waiting', 'in')",
    ]  # fmt: skip
    ranges = TEXT + "[tables.visit.columns]\nage = { range = [16, 20] }\n"
    policy = parse_policy(ranges)
    validate(policy, engine.schema)
    for sql in (
        "SELECT age, count(*) FROM visit GROUP BY age", "SELECT state, count(*) FROM visit GROUP BY state",
        "SELECT v.age, count(*) FROM visit v JOIN person p ON v.person = p.id AND p.age > v.age GROUP BY 1",
    ):  # fmt: skip
        answer = untruncated(planned(sql, engine.schema, policy), engine.run)
        found = {(key, int(row[-1])) for (key,), row in answer.rows.items() if row[-1]}  # type: ignore[arg-type]
        assert found == set(engine.run(sql))
    sql = "SELECT sum(age), count(age) FROM visit"
    assert _asked(engine, sql, ranges) == list(engine.run(sql)[0])
    sql = "SELECT count(*) FROM of_age WHERE age < 20"
    view = private_select(expanded(read(sql), engine.schema, policy))
    answer = untruncated(
        make_plan(bind(view, engine.schema, policy), engine.schema, policy, epsilon=None, delta=None, mechanism=None),
        engine.run,
    )
    assert [int(row[0]) for row in answer.rows.values()] == [1]  # type: ignore[arg-type]
    assert _asked(engine, "SELECT count(*) FROM visit WHERE state = 'in'") == [2]  # which PostgreSQL wants cast first


def test_what_is_only_counted_is_refused_by_its_name(both: list[Engine]) -> None:
    for engine, names in zip(
        both,
        (("plain", "document", "price", "bytes", "shift", "lasted", "card", "place", "days"),
         ("document", "bytes", "lasted", "parts", "texts", "days")),
        strict=True,
    ):  # fmt: skip
        for name in names:
            column = engine.schema.tables["visit"].column(name)
            assert column is not None
            for condition in (
                f"{name} = 'x'",
                f"{name} < {name}",
                f"{name} IN ('x')",
                f"coalesce({name}, 'x') = 'x'",
            ):
                with pytest.raises(UndefinedOperator) as refused:
                    _asked(engine, f"SELECT count(*) FROM visit WHERE {condition}")
                assert f"values of type {column.type} cannot be compared" in str(refused.value)
                assert "test IS NULL" in str(refused.value.hint)
            with pytest.raises(UnsupportedSQL) as key:
                _asked(engine, f"SELECT {name}, count(*) FROM visit GROUP BY 1")
            assert column.type in str(key.value)


def test_literals_that_no_database_reads_are_refused_here(both: list[Engine]) -> None:
    for condition in (
        "came = '24:00'::time",
        "came = 'noon'",
        "ip = '10.0.0.300'",
        "ip = '10.0.0.1/33'",
        "ip = '::1%eth0'",
    ):
        with pytest.raises(UnreadableValue):
            _asked(both[0], f"SELECT count(*) FROM visit WHERE {condition}")
    with pytest.raises(UnsupportedSQL, match="a cast from text to time") as refused:
        _asked(both[0], "SELECT count(*) FROM visit WHERE code::time = '12:00'")
    assert "extract(hour FROM x)" in str(refused.value.hint)


def test_placeholders_have_these_types_as_in_postgresql(both: list[Engine]) -> None:
    sql = "SELECT count(*) FROM visit WHERE came > $1 AND ip = $2 AND token = $3 AND age = $4"
    assert describe(parse(sql), both[0].schema, POLICY).parameters == ("time", "inet", "uuid", "int8")


def test_keys_of_values_that_are_not_read_as_they_are_prove_nothing(both: list[Engine]) -> None:
    visit = both[1].schema.tables["visit"]
    assert visit.unique_keys == (("id",),)
    assert all(column.nullable for column in visit.columns if column.name in ("nanos", "huge"))
    declared = parse_policy(TEXT + 'keys = ["nanos"]\n')
    with pytest.raises(PolicyInvalid, match="nanos, of type timestamp_ns, may be read as one"):
        validate(declared, both[1].schema)


def test_public_tables_show_them_as_text(both: list[Engine]) -> None:
    for engine in both:
        address = ", address" if engine.dialect == "postgres" else ""
        sql = (
            f"SELECT opens{address}, count(*) FROM shop WHERE opens > '07:00' GROUP BY opens{address} ORDER BY opens"
        )
        query = bind_public(read(sql).tree, engine.schema, POLICY)
        found = [row[0] for row in engine.run(write_public(query, dialect=engine.dialect).sql)]
        assert found == ["08:00:00", "09:30:00.5"]
