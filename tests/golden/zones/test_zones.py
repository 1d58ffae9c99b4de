"""Time zones of sessions: what is asked in one means what it means in a session of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest

from planner.binding.bind import bind
from planner.errors import InvalidSetting, PlannerError, UnsupportedSQL
from planner.parsing.parse import parse, read
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import parse_policy
from planner.public.bind import bind_public
from planner.rewriting.rewrite import rewrite, write_public
from planner.sql import zones
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.untruncated import untruncated

COLUMNS = "id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, met timestamptz, seen timestamp, day date"
MOMENTS = (
    "'2023-12-31 21:00+00'::timestamptz + n * INTERVAL '47 hours 13 minutes', "
    "'2024-01-01'::timestamp + n * INTERVAL '31 hours', '2024-01-01'::date + n::integer"
)
STATEMENTS = (
    "CREATE TABLE person (id bigint PRIMARY KEY)",
    f"CREATE TABLE visit ({COLUMNS})",
    "CREATE TABLE shop (id bigint PRIMARY KEY, opened timestamptz)",
    "INSERT INTO person VALUES (1), (2)",
    f"INSERT INTO visit SELECT n, 1 + n % 2, {MOMENTS} FROM generate_series(1, 180) AS g(n)",
    """INSERT INTO visit VALUES
       (901, 1, '2024-03-31 00:59:59+00', NULL, NULL), (902, 1, '2024-03-31 01:00:00+00', NULL, NULL),
       (903, 1, '2024-10-27 00:30:00+00', NULL, NULL), (904, 1, '2024-10-27 01:30:00+00', NULL, NULL),
       (905, 2, NULL, NULL, NULL), (906, 2, '2024-06-30 22:30:00+00', NULL, NULL)""",
    f"CREATE TABLE edge ({COLUMNS})",
    """INSERT INTO edge VALUES (1, 1, 'infinity', 'infinity', 'infinity'),
       (2, 1, '-infinity', '-infinity', '-infinity'),
       (3, 2, '0001-01-01 00:00+00', '0001-01-01', '0001-01-01'),
       (4, 2, '9999-12-31 23:59:59.999999+00', '9999-12-31 23:59:59.999999', '9999-12-31'),
       (5, 2, '0001-01-01 03:00+00', '0001-01-02', '0001-01-02'), (6, 2, NULL, NULL, NULL)""",
    "INSERT INTO shop VALUES (1, '2024-03-30 23:30+00'), (2, '2024-07-01 00:30+00')",
)
POLICY = parse_policy("""
name = "zones"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1000.0
time_grain = "day"
[privacy_units]
person = "id"
[tables.shop]
public = true
[tables.person]
[tables.visit]
[tables.edge]
[tables.visit.columns]
met = { range = [2023-12-31, 2024-12-31] }
""")
NOW = datetime(2024, 7, 1, 22, 30, tzinfo=UTC)
ZONES = ("Europe/Zurich", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "<-07>+07")

CONDITIONS = (
    "met >= '2024-03-31'", "met < '2024-03-31 02:30'", "met >= '2024-10-27 02:30'", "met >= '2024-03-31 00:00+00'",
    "met >= DATE '2024-03-31'", "met BETWEEN '2024-01-01' AND TIMESTAMP '2024-02-01 12:00'",
    "met > TIMESTAMPTZ '2024-03-30 02:30' + INTERVAL '1 day'", "met > TIMESTAMPTZ '2024-03-31' + INTERVAL '26 hours'",
    "met > '2024-01-31'::timestamptz + INTERVAL '1 month'", "met::date = '2024-03-31'", "met::date > '2024-07-01'",
    "met::timestamp < '2024-03-31 02:30'", "extract(hour FROM met) = 3", "extract(dow FROM met) IN (0, 6)",
    "date_part('day', met) = 1", "extract(epoch FROM met) > 1711846800",
    "to_char(met, 'YYYY-MM-DD HH24') > '2024-03-31 02'",
    "date_trunc('day', met) = '2024-03-31'", "date_trunc('hour', met) < '2024-03-31 03:00'",
    "date_trunc('month', met) > '2024-02-01'", "date_trunc('day', met, 'Asia/Tokyo') > '2024-05-01'",
    "met + INTERVAL '1 day' > '2024-03-31 12:00'", "met - INTERVAL '3 months' < '2024-01-01'",
    "met + INTERVAL '36 hours' > '2024-03-31 12:00'", "met AT TIME ZONE 'America/New_York' > '2024-03-31'",
    "timezone('UTC', met) > '2024-03-31'", "seen AT TIME ZONE 'Asia/Tokyo' < met", "seen::timestamptz < met",
    "seen > '2024-03-31'", "coalesce(met, '2024-05-01') > '2024-04-30 12:00'",
    "met IN ('2024-06-30 22:30+00', '2024-05-05')",
    "extract(epoch FROM met - seen::timestamptz) > 86400",
    "extract(day FROM age(met, '2024-01-01'::timestamptz)) = 3",
    "CASE WHEN met > '2024-06-01' THEN met ELSE '2024-01-01' END > '2024-05-05'",
)  # fmt: skip

KEYS = (
    "met::date", "date_trunc('month', met)", "date_trunc('week', met)", "date_trunc('month', met)::date",
    "date_trunc('day', met AT TIME ZONE 'Europe/Zurich')", "extract(hour FROM met)", "extract(month FROM met)",
)  # fmt: skip


@pytest.fixture(scope="module")
def url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    with on_server(embedded_postgres, "zones", STATEMENTS) as found:
        yield found


@pytest.fixture(scope="module")
def both(url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Engine]:
    return engines(url, in_file(tmp_path_factory.mktemp("zones") / "tables.duckdb", STATEMENTS))


def _planned(engine: Engine, sql: str, zone: str) -> Plan:
    query = bind(parse(sql), engine.schema, POLICY, NOW, None, zone)
    return make_plan(query, engine.schema, POLICY, epsilon=None, delta=None, mechanism=None)


def _in_session(url: str, sql: str, zone: str) -> list[tuple[object, ...]]:
    """What PostgreSQL says in a session of the zone."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('TimeZone', %s, false)", (zone,))
        return connection.execute(sql.encode()).fetchall()


@pytest.mark.parametrize("zone", ZONES)
def test_conditions_mean_what_they_mean_in_a_session_of_the_zone(
    both: tuple[Engine, Engine], url: str, zone: str
) -> None:
    counts = ", ".join(f"count(*) FILTER (WHERE {condition}) AS c{n}" for n, condition in enumerate(CONDITIONS))
    [expected] = _in_session(url, f"SELECT {counts} FROM visit", zone)
    plan = _planned(both[0], f"SELECT {counts} FROM visit", zone)
    [found] = untruncated(plan, both[0].run).rows.values()
    assert list(map(int, found)) == list(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "<-14>+14"])
def test_no_moment_makes_a_question_of_a_zone_fail(both: tuple[Engine, Engine], url: str, zone: str) -> None:
    """Beyond the years that every database has, and where a zone leads out of them."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO edge VALUES (901, 1, '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC'), "
            "(902, 1, '294276-12-31 23:59+00', '294276-12-31 23:59', '294276-12-31') ON CONFLICT DO NOTHING"
        )
    counts = ", ".join(f"count(*) FILTER (WHERE {condition}) AS c{n}" for n, condition in enumerate(CONDITIONS))
    assert untruncated(_planned(both[0], f"SELECT {counts} FROM edge", zone), both[0].run).rows
    for key in KEYS[-2:]:
        assert untruncated(_planned(both[0], f"SELECT sum({key}) FROM edge", zone), both[0].run).rows


@pytest.mark.parametrize("zone", ["Europe/Zurich", "America/New_York"])
def test_groups_are_those_of_the_zone(both: tuple[Engine, Engine], url: str, zone: str) -> None:
    for key in KEYS:
        plan = _planned(both[0], f"SELECT {key}, count(*) FROM visit GROUP BY 1", zone)
        rows = untruncated(plan, both[0].run).rows
        found = {str(group): int(row[-1]) for (group,), row in rows.items() if row[-1]}  # type: ignore[arg-type]
        text = f"({key}) AT TIME ZONE 'UTC'" if key.startswith("date_trunc") and key.endswith("met)") else key
        sql = f"SELECT ({text})::text, count(*) FROM visit WHERE met IS NOT NULL GROUP BY 1"
        assert found == {row[0]: row[1] for row in _in_session(url, sql, zone)}, key


def test_moments_with_a_zone_are_keys_of_a_person_too(both: tuple[Engine, Engine], url: str) -> None:
    months = "SELECT person, date_trunc('month', met) AS m, count(*) AS n FROM visit GROUP BY 1, 2"
    outside = "count(*) FILTER (WHERE n > 14), sum(n)"
    sql = f"SELECT m AT TIME ZONE 'UTC', {outside} FROM ({months}) AS t WHERE m IS NOT NULL GROUP BY 1 ORDER BY 1"
    expected = {str(month): (many, total) for month, many, total in _in_session(url, sql, zones.UTC)}
    for engine in both:
        plan = _planned(engine, f"SELECT m, {outside} FROM ({months}) AS t GROUP BY m", zones.UTC)
        rows = untruncated(plan, engine.run).rows
        found = {str(month): tuple(map(int, row[-2:])) for (month,), row in rows.items() if row[-1]}  # type: ignore[arg-type]
        assert found == expected
    with pytest.raises(UnsupportedSQL, match="GROUP BY a key of type timestamptz"):
        _planned(both[0], f"SELECT m, count(*) FROM ({months}) AS t GROUP BY m", "Europe/Zurich")


def test_constants_are_moments_on_every_database(both: tuple[Engine, Engine]) -> None:
    within = "met >= '2024-03-31' AND met < now() - INTERVAL '7 days' AND day < current_date"
    answers = []
    for engine in both:
        plan = _planned(engine, f"SELECT count(*) FROM visit WHERE {within}", "Europe/Zurich")
        query = rewrite(plan, dialect=engine.dialect, schema=engine.schema)
        written = str(query)
        assert all(text in written for text in ("2024-03-30 23:00:00", "2024-06-24 22:00:00", "2024-07-02"))
        answers.append([*untruncated(plan, engine.run, query).rows.values()])
    assert answers[0] == answers[1]


def test_the_clock_is_snapped_to_days_of_the_zone(both: tuple[Engine, Engine]) -> None:
    for zone, day, midnight in (
        ("Europe/Zurich", "2024-07-02", "2024-07-01 22:00:00"),
        ("America/New_York", "2024-07-01", "2024-07-01 04:00:00"),
        ("UTC", "2024-07-01", "2024-07-01 00:00:00"),
    ):  # fmt: skip
        query = bind(
            parse("SELECT count(*) FROM visit WHERE day = current_date AND met < now()"),
            both[0].schema, POLICY, NOW, None, zone,
        )  # fmt: skip
        written = " ".join(condition.sql("postgres") for condition in query.predicates)
        assert f"CAST('{day}' AS DATE)" in written and f"CAST('{midnight}' AS TIMESTAMP)" in written


def test_zones_share_a_question_only_where_it_is_the_same(both: tuple[Engine, Engine]) -> None:
    def asked(condition: str) -> int:
        """How many questions it is in three zones."""
        sql = f"SELECT count(*) FROM visit WHERE {condition}"
        return len({str(rewrite(_planned(both[0], sql, zone))) for zone in ("UTC", "Europe/Zurich", "Asia/Tokyo")})

    for condition in (
        "met >= '2024-03-31 00:00+00'", "day = '2024-03-31'", "extract(epoch FROM met) > 5", "seen > '2024-03-31'",
        "met AT TIME ZONE 'America/New_York' > '2024-03-31'",
        "met > timestamptz '2024-01-01 00:00+00' + INTERVAL '36 hours'",
    ):  # fmt: skip
        assert asked(condition) == 1, condition
    for condition in (
        "met >= '2024-03-31'", "met::date = '2024-03-31'", "extract(hour FROM met) = 3", "met > now()",
        "date_trunc('day', met) = '2024-03-31 00:00+00'", "to_char(met, 'HH24') = '03'", "seen::timestamptz < met",
        "met + INTERVAL '1 day' > '2024-01-01 00:00+00'", "day = date(now())",
    ):  # fmt: skip
        assert asked(condition) > 1, condition


def test_what_no_zone_can_be_made_sound_for_is_refused_by_name(both: tuple[Engine, Engine]) -> None:
    for condition, words in (
        ("met = seen", "write x AT TIME ZONE 'Europe/Zurich'"), ("met > day", "AT TIME ZONE"),
        ("met::text = 'x'", "to_char"),
        ("concat(met, '') = 'x'", "to_char"), ("extract(epoch FROM met - seen) > 3", "AT TIME ZONE"),
        ("day AT TIME ZONE 'UTC' > '2024-01-01'", "timestamp AT TIME ZONE"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedSQL) as refused:
            _planned(both[0], f"SELECT count(*) FROM visit WHERE {condition}", "Europe/Zurich")
        assert words in str(refused.value.hint), condition
        _planned(both[0], f"SELECT count(*) FROM visit WHERE {condition}", zones.UTC)
    with pytest.raises(UnsupportedSQL, match="a condition on a group key with time zone"):
        month = "date_trunc('month', met)"
        sql = f"SELECT {month} AS m, count(*) FROM visit GROUP BY 1 HAVING {month} > '2024-03-01'"
        _planned(both[0], sql, "Europe/Zurich")
    with pytest.raises(InvalidSetting, match="'Mars/Olympus' is not known"):
        _planned(
            both[0], "SELECT count(*) FROM visit WHERE met AT TIME ZONE 'Mars/Olympus' > '2024-01-01'", zones.UTC
        )
    for hour in ("extract(hour FROM met) = 3", "date_trunc('day', met) > '2024-03-01'"):
        plan = _planned(both[1], f"SELECT count(*) FROM visit WHERE {hour}", "Europe/Zurich")
        with pytest.raises(PlannerError, match="a column in the time zone Europe/Zurich"):
            rewrite(plan, dialect="duckdb", schema=both[1].schema)


def test_names_of_utc_cost_nothing(both: tuple[Engine, Engine]) -> None:
    for name in ("UTC", "utc", "Etc/UTC", "GMT", "Z", "0", "+00:00"):
        zone = zones.zone_named(name)
        assert zone is not None and zones.is_utc(zone)
    for name in ("GMT", "Etc/UTC", "Zulu"):
        written = f"SELECT count(*) FROM visit WHERE met AT TIME ZONE '{name}' > '2024-01-01'"
        plain = "SELECT count(*) FROM visit WHERE met AT TIME ZONE 'UTC' > '2024-01-01'"
        assert rewrite(_planned(both[0], written, zones.UTC)) == rewrite(_planned(both[0], plain, zones.UTC))


def test_public_tables_follow_the_zone(both: tuple[Engine, Engine], url: str) -> None:
    sql = "SELECT id, opened::date, extract(hour FROM opened) AS h FROM shop WHERE opened >= '2024-03-31' ORDER BY id"
    query = bind_public(read(sql).tree, both[0].schema, POLICY, NOW, None, "Europe/Zurich")
    found = both[0].run(write_public(query, dialect="postgres").sql)
    expected = _in_session(url, sql.replace("opened::date", "opened::date::text"), "Europe/Zurich")
    assert [tuple(map(str, row)) for row in found] == [tuple(map(str, row)) for row in expected]
