"""What drivers, dashboards and notebooks write, on the wire: a regression test for every form that stopped one."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import psycopg
import pytest
from psycopg import pq

from tests.support.shop import NAME, PEOPLE
from tests.support.wire_proxy import WireProxy

RECORDED = Path(__file__).parent / "recorded"
BUDGET = 1_000.0
TIMESTAMPTZ = 1184

Row = tuple[Any, ...]


class Session:
    """A session of a fresh analyst."""

    def __init__(self, proxy: WireProxy, options: str = "") -> None:
        self.name, key = proxy.analyst(BUDGET)
        self.conninfo = f"host=127.0.0.1 port={proxy.port} dbname={NAME} user={self.name} password={key}"
        self.options = options
        self.notices: list[str] = []
        self.connection = psycopg.connect(self.conninfo, autocommit=True, options=options, connect_timeout=300)
        self.connection.add_notice_handler(lambda told: self.notices.append(told.message_primary or ""))

    @contextmanager
    def practising(self) -> Iterator[None]:
        """The same analyst on the practice database."""
        real = self.connection
        practice = self.conninfo.replace(f"dbname={NAME}", f"dbname={NAME}_practice")
        with psycopg.connect(practice, autocommit=True, options=self.options, connect_timeout=300) as self.connection:
            yield
        self.connection = real

    def ask(self, sql: str, *values: object, binary: bool = False) -> list[Row]:
        """The rows; with values by the extended protocol, else by the simple one."""
        return self.cursor(sql, *values, binary=binary).fetchall()

    def cursor(self, sql: str, *values: object, binary: bool = False) -> psycopg.Cursor[Row]:
        if values or binary:
            return psycopg.RawCursor(self.connection).execute(sql.encode(), values, binary=binary)
        return psycopg.ClientCursor(self.connection).execute(sql.encode())

    def types(self, sql: str) -> list[tuple[str, int]]:
        """Names and OIDs of the columns."""
        return [(column.name, column.type_code) for column in self.cursor(sql).description or ()]

    def bound(self, sql: str, oids: list[int], values: list[bytes], format_: pq.Format) -> list[bytes | None]:
        """The first row, with values that are bound as these bytes."""
        done = self.connection.pgconn.exec_params(sql.encode(), values, oids, [format_] * len(values))
        assert done.status == pq.ExecStatus.TUPLES_OK, done.error_message
        return [done.get_value(0, column) for column in range(done.nfields)]

    def parameters(self, sql: str) -> list[int]:
        """The OIDs of the placeholders as they are described."""
        prepared = self.connection.pgconn.prepare(b"", sql.encode())
        assert prepared.status == pq.ExecStatus.COMMAND_OK, prepared.error_message
        described = self.connection.pgconn.describe_prepared(b"")
        return [described.param_type(place) for place in range(described.nparams)]

    def left(self) -> float:
        return float(self.ask("SHOW noisegate.budget")[0][2])


@pytest.fixture
def session(shop: WireProxy) -> Iterator[Session]:
    opened = Session(shop)
    yield opened
    opened.connection.close()


# timestamps


def test_a_timestamp_with_time_zone_is_one(session: Session) -> None:
    months = "SELECT date_trunc('month', created_at) AS m, count(*) FROM orders GROUP BY 1 ORDER BY 1"
    assert session.types(months)[0] == ("m", TIMESTAMPTZ)
    assert session.types("SELECT created_at FROM products LIMIT 1") == [("created_at", TIMESTAMPTZ)]
    for binary in (False, True):
        assert session.ask(months, binary=binary)[0][0] == datetime(2022, 1, 1, tzinfo=UTC)
        first = session.ask("SELECT min(created_at), min(created_at AT TIME ZONE 'UTC') FROM products", binary=binary)
        assert first == [(datetime(2021, 1, 2, tzinfo=UTC), datetime(2021, 1, 2))]
    public = "SELECT date_trunc('month', created_at) AS m, count(*) FROM products GROUP BY 1 ORDER BY 1"
    assert session.types(public)[0] == ("m", TIMESTAMPTZ)
    assert session.types("SELECT date_trunc('month', shipped_at) m, count(*) FROM orders GROUP BY 1")[0] == (
        "m",
        1114,
    )


def test_literals_and_parameters_have_zones_and_offsets(session: Session) -> None:
    counted = "SELECT count(*) FROM orders WHERE created_at >= {}"
    spelled = [
        "'2024-01-01 00:00:00+02'",
        "'2023-12-31T22:00:00Z'",
        "'2024-01-01 00:00:00+02'::timestamptz",
        "timestamp with time zone '2023-12-31 22:00:00.000Z'",
        "CAST('2023-12-31 22:00:00' AS timestamp with time zone)",
        "TIMESTAMP '2023-12-31 22:00:00' AT TIME ZONE 'UTC'",
        "to_timestamp(1704060000)",
    ]
    answers = [session.ask(counted.format(each)) for each in spelled]
    eastern = datetime(2024, 1, 1, tzinfo=UTC) - timedelta(hours=2)
    answers += [session.ask(counted.format("$1"), eastern)]
    answers += [session.ask(counted.format("$1"), eastern.isoformat())]
    assert answers == [answers[0]] * len(answers)
    assert session.left() == BUDGET - 1, "one question, charged once"


def test_a_session_has_a_time_zone(shop: WireProxy) -> None:
    session = Session(shop, "-c TimeZone=europe/berlin")
    with closing(session.connection) as connection:
        assert session.ask("SHOW TimeZone") == session.ask("SHOW TIME ZONE") == [("Europe/Berlin",)]
        assert connection.info.parameter_status("TimeZone") == "Europe/Berlin"
        assert session.ask("SELECT '2024-07-01'::timestamptz::text") == [("2024-07-01 00:00:00+02",)]
        for nonsense in ("Mars/Olympus", "", "99"):
            with pytest.raises(psycopg.errors.InvalidParameterValue, match="unknown time zone"):
                session.cursor(f"SET TimeZone = '{nonsense}'")
        public = "SELECT count(*) FROM products WHERE created_at {} '2021-02-01 00:00:00{}'"
        assert session.ask(public.format("<", "")) == session.ask(public.format("<", "+01"))
        month = "SELECT date_trunc('month', created_at) AS m, count(*) FROM products GROUP BY 1 ORDER BY 1 LIMIT 1"
        assert session.ask(month, binary=True) == session.ask(month)
        assert session.ask(month)[0][0] == datetime(2020, 12, 31, 23, tzinfo=UTC)
        days = "SELECT date_trunc('month', birth_date) AS m, count(*) FROM people GROUP BY 1 ORDER BY 1 LIMIT 1"
        ((first, _),) = session.ask(days)
        assert session.ask(days, binary=True)[0][0] == first and first.astimezone(ZoneInfo("Europe/Berlin")).hour == 0
        with connection.cursor() as cursor, cursor.copy(f"COPY ({month}) TO STDOUT") as copied:
            assert b"".join(map(bytes, copied)).startswith(b"2021-01-01 00:00:00+01\t"), "as PostgreSQL writes it"
        session.cursor("SET TIME ZONE -7")
        assert session.ask("SHOW TimeZone") == [("<-07>+07",)]
        session.cursor("SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE")
        assert session.ask("SHOW TimeZone") == [("UTC",)]
        session.cursor("RESET TimeZone")
        assert session.ask("SHOW TimeZone") == [("Europe/Berlin",)]
    with pytest.raises(psycopg.OperationalError, match="unknown time zone"):
        Session(shop, "-c TimeZone=Mars/Olympus")


def test_questions_that_depend_on_the_time_zone_share_no_answer(session: Session) -> None:
    local = "SELECT count(*) FROM orders WHERE created_at >= '2024-01-01'"
    fixed = "SELECT count(*) FROM orders WHERE created_at >= '2024-01-01 00:00:00+00'"
    days = "SELECT created_at::date AS d, count(*) FROM orders WHERE created_at::date = '2024-01-01' GROUP BY 1"
    at_utc = session.ask(local)
    assert session.left() == BUDGET - 1
    session.ask(days)
    session.cursor("SET TimeZone = 'Europe/Berlin'")
    session.ask(local)
    assert session.left() == BUDGET - 3
    assert session.ask(fixed) == at_utc and session.left() == BUDGET - 3
    session.ask(days)
    assert session.left() == BUDGET - 4
    session.cursor("SET TimeZone = 'GMT'")
    assert session.ask(local) == at_utc and session.left() == BUDGET - 4
    bound = "SELECT count(*) FROM orders WHERE created_at >= $1"
    session.cursor("SET TimeZone = 'Asia/Tokyo'")
    assert session.ask(bound, datetime(2024, 1, 1, tzinfo=UTC)) == at_utc and session.left() == BUDGET - 4


def test_keys_and_parts_of_a_time_zone(session: Session) -> None:
    session.cursor("SET TimeZone = 'Europe/Berlin'")
    months = "SELECT date_trunc('month', created_at) AS m, count(*) FROM orders GROUP BY 1 ORDER BY 1"
    assert session.types(months)[0] == ("m", TIMESTAMPTZ)
    assert [row[0].astimezone(UTC) for row in session.ask(months)][6] == datetime(2022, 6, 30, 22, tzinfo=UTC)
    there = "SELECT date_trunc('day', created_at AT TIME ZONE 'Asia/Tokyo') AS d, count(*) FROM orders {} GROUP BY 1"
    assert session.ask(there.format("WHERE created_at BETWEEN '2024-01-01' AND '2024-01-31'"))
    around = f"SELECT m, n, rank() OVER (ORDER BY n) FROM ({months.replace('count(*)', 'count(*) AS n')}) AS t"
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="times with time zone around answers"):
        session.ask(around)


# arrays, and parameters that are planned when they are bound


ARRAYS: list[tuple[str, object, int, str]] = [
    ("people.state", "CA", 1009, "text"),
    ("orders.id", 7, 1016, "int8"),
    ("orders.quantity", 3, 1016, "int4"),
    ("orders.subtotal", Decimal("12.50"), 1231, "numeric"),
    ("orders.tax", 0.7, 1022, "float8"),
    ("orders.paid", True, 1000, "bool"),
    ("orders.day", date(2024, 1, 3), 1182, "date"),
    ("orders.shipped_at", datetime(2024, 1, 3), 1115, "timestamp"),
    ("orders.created_at", datetime(2024, 1, 3, tzinfo=UTC), 1185, "timestamptz"),
    ("orders.token", UUID(int=7), 2951, "uuid"),
]


@pytest.mark.slow
def test_any_of_a_bound_array(session: Session) -> None:
    for place, (column, element, array, kind) in enumerate(ARRAYS):
        table, name = column.split(".")
        asked = f"SELECT count(*) FROM {table} WHERE {name} = ANY($1)"
        assert session.parameters(asked) == [array], column
        counted = session.ask(asked, [element])
        assert session.ask(asked, [element], binary=True) == counted
        texts = psycopg.adapt.Transformer(session.connection).get_dumper([element], psycopg.adapt.PyFormat.TEXT)
        written = texts.dump([element])
        assert written is not None
        literal = bytes(written).decode().replace("'", "''")
        assert session.ask(f"SELECT count(*) FROM {table} WHERE {name} = ANY('{literal}')") == counted
        assert session.ask(f"SELECT count(*) FROM {table} WHERE {name} = ANY('{literal}'::{kind}[])") == counted
        assert session.left() == BUDGET - 1 - place, "one question, charged once"


def test_arrays_of_small_numbers_in_either_format(session: Session) -> None:
    asked = "SELECT count(*) FROM orders WHERE quantity = ANY($1)"
    sizes = {1005: ("!h", 21), 1007: ("!i", 23), 1016: ("!q", 20)}
    answers = []
    for array, (form, oid) in sizes.items():
        cells = b"".join(struct.pack("!i", struct.calcsize(form)) + struct.pack(form, value) for value in (1, 2))
        binary = struct.pack("!iiIii", 1, 0, oid, 2, 1) + cells
        answers += [
            session.bound(asked, [array], [b"{1,2}"], pq.Format.TEXT),
            session.bound(asked, [array], [binary], pq.Format.BINARY),
        ]
    assert answers == [answers[0]] * 6
    assert session.left() == BUDGET - 1


@pytest.mark.statistical(1e-15)
def test_any_and_all_of_arrays_that_are_written_out(session: Session) -> None:
    """Of a row a person, at epsilon 1: noise of scale 1, of which two are never 50 apart (27 exp(-50))."""
    some = session.ask("SELECT count(*) FROM people WHERE state IN ('CA', 'NY')")
    for same in (
        "= ANY(ARRAY['CA', 'NY'])",
        "= ANY(ARRAY['CA','NY']::text[])",
        "= SOME('{CA,NY}')",
        "= ANY('{NY,CA}')",
    ):
        assert abs(session.ask(f"SELECT count(*) FROM people WHERE state {same}")[0][0] - some[0][0]) < 50
    others = session.ask("SELECT count(*) FROM people WHERE state <> ALL(ARRAY['CA', 'NY'])")
    assert abs(others[0][0] + some[0][0] - PEOPLE) < 100
    assert session.ask("SELECT count(*) FROM products WHERE id = ANY($1)", [1, 2, 3]) == [(3,)]
    assert session.ask("SELECT count(*) FROM products WHERE id = ANY($1)", []) == [(0,)]
    assert session.ask("SELECT count(*) FROM products WHERE id <> ALL('{}')") == [(60,)]
    with pytest.raises(psycopg.Error, match="array, but one value is expected"):
        session.ask("SELECT count(*) FROM products WHERE id = $1::int8", [1, 2])


@pytest.mark.slow
def test_parameters_where_the_plan_depends_on_them(session: Session) -> None:
    months = "SELECT date_trunc($1, created_at) AS m, count(*) FROM orders GROUP BY 1"
    assert len(session.ask(months, "year")) == 3
    assert len(session.ask(months, "quarter")) == 12
    like = "SELECT count(*) FROM products WHERE title LIKE '%' || $1 || '%'"
    assert session.ask(like, "t 4") == session.ask("SELECT count(*) FROM products WHERE title LIKE '%t 4%'")
    assert len(session.ask("SELECT state, count(*) FROM people GROUP BY 1 LIMIT $1", 2)) == 2
    since = "SELECT count(*) FROM products WHERE created_at > TIMESTAMP '2021-02-10' - {}"
    expected = session.ask(since.format("INTERVAL '7' DAY"))
    assert expected == [(session.ask("SELECT count(*) FROM products WHERE created_at > '2021-02-03'")[0][0],)]
    assert session.ask(since.format("$1::interval"), timedelta(days=7)) == expected
    assert session.ask(since.format("$1::interval"), timedelta(days=7), binary=True) == expected
    assert session.ask(since.format("$1::interval"), "7 days") == expected
    assert session.ask(since.format("INTERVAL '1 day' * $1"), 7) == expected
    assert session.parameters(since.format("$1::interval")) == [1186]


def test_parameters_with_casts_as_sqlalchemy_writes_them(session: Session) -> None:
    years = (
        "SELECT date_trunc({}, created_at) AS m, count(*) AS n FROM products WHERE title ILIKE {} AND id = ANY({}) "
        "GROUP BY 1 ORDER BY 1 LIMIT {}"
    )
    cast = years.format("$1::VARCHAR", "$2::VARCHAR", "$3::INTEGER[]", "$4::INTEGER")
    assert session.parameters(cast) == [1043, 1043, 1007, 23]
    plain = session.ask(years.format("'year'", "'%t 4%'", "'{4,40,41}'", "3"))
    for binary in (False, True):
        assert session.ask(cast, "year", "%t 4%", [4, 40, 41], 3, binary=binary) == plain
    late = "SELECT count(*) FROM products WHERE created_at < now() - {}"
    week = session.ask(late.format("INTERVAL '7' DAY"))
    assert session.ask(late.format("$1"), timedelta(days=7), binary=True) == week
    assert session.ask(late.format("make_interval(days => $1)"), 7) == week
    assert session.ask(late.format("($1 || ' days')::interval"), "7") == week
    assert session.ask(late.format("INTERVAL '0' DAY") + " AND id = ANY($1)", None) == [(0,)]


# what tools send around a question


NO_ROWS = [
    "SELECT state, count(*) AS n FROM people WHERE 1=0 GROUP BY 1",
    "SELECT state, count(*) AS n FROM people WHERE false GROUP BY 1",
    "SELECT state, count(*) AS n FROM people GROUP BY 1 LIMIT 0",
    "SELECT * FROM (SELECT state, count(*) AS n FROM people GROUP BY 1) AS t WHERE 1 = 0",
    "select * from (SELECT state, count(*) AS n FROM people GROUP BY 1) as __dbt_sbq where false limit 0",
    "SELECT * FROM (SELECT state, count(*) AS n FROM people GROUP BY 1) AS t LIMIT 0",
]


def test_no_row_is_asked_for_and_none_is_charged(session: Session) -> None:
    for sql in NO_ROWS:
        assert session.types(sql) == [("state", 1043), ("n", 20)], sql
        assert session.ask(sql) == session.ask(sql, binary=True) == [], sql
        assert session.left() == BUDGET, sql


def test_the_columns_of_tables_are_free(session: Session) -> None:
    for end in ("WHERE 1=0", "WHERE false", "LIMIT 0"):
        assert session.types(f"SELECT * FROM orders {end}")[-3:] == [
            ("created_at", TIMESTAMPTZ), ("shipped_at", 1114), ("day", 1082)
        ]  # fmt: skip
        assert session.types(f"SELECT * FROM products {end}")[-1] == ("created_at", TIMESTAMPTZ)
        assert session.left() == BUDGET
        with pytest.raises(psycopg.Error, match="would show rows"):
            session.ask("SELECT * FROM orders LIMIT 1")


def test_the_rows_of_an_answer_are_counted_and_then_free(session: Session) -> None:
    inside = "SELECT state, avg(latitude) AS mean FROM people GROUP BY state"
    assert session.ask(f"SELECT count(*) FROM ({inside}) AS CXTMPTAB_COUNT") == [(5,)]
    assert session.left() == BUDGET - 1
    assert len(session.ask(f"SELECT * FROM ({inside}) t")) == 5
    assert session.ask(
        f'SELECT COUNT(*) AS "count" FROM ({inside}) AS "source" WHERE "source".state IS NOT NULL'
    ) == [(5,)]
    assert session.ask(f"SELECT count(1) FROM ({inside} LIMIT 3) t") == [(3,)]
    assert len(session.ask(f"SELECT * FROM ({inside}) t WHERE state > '' ORDER BY mean DESC LIMIT 2")) == 2
    assert session.left() == BUDGET - 1


def test_the_one_row_of_an_answer_is_counted_free(session: Session) -> None:
    asked = "SELECT count(*) FROM people"
    for counted in (
        f"WITH root as ({asked}) SELECT COUNT(*) as rows FROM root",
        f"SELECT COUNT(*) FROM ({asked}) AS t",
        f"SELECT COUNT(1) AS n FROM (SELECT avg(latitude), {asked[7:]} LIMIT 10) AS t",
    ):
        assert session.ask(counted) == session.ask(counted, binary=True) == [(1,)]
    assert session.types(f"WITH root as ({asked}) SELECT COUNT(*) as rows FROM root") == [("rows", 20)]
    assert "Nothing is released" in str(session.ask(f"EXPLAIN SELECT count(*) FROM ({asked}) AS t"))
    session.cursor("SET noisegate.intervals = on")
    assert session.ask(f"SELECT COUNT(*) FROM ({asked}) AS t") == [(1,)]
    assert session.left() == BUDGET
    assert session.ask(f"SELECT COUNT(*) FROM ({asked}) AS t WHERE count > -1000000") == [(1,)]
    assert session.left() == BUDGET - 1


def test_the_data_sets_own_name_stands_before_a_schema(session: Session) -> None:
    named = session.ask('SELECT count(*) FROM "shop"."public"."people"')
    assert session.ask("SELECT count(*) FROM people") == named
    assert session.left() == BUDGET - 1
    assert session.ask('SELECT max("shop"."public"."products"."id") FROM "shop"."public"."products"') == [(60,)]
    with pytest.raises(psycopg.Error, match="does not exist"):
        session.ask("SELECT count(*) FROM other.public.people")


def test_copy_in_the_binary_format_is_what_select_gives(session: Session) -> None:
    for sql in ("SELECT state, count(*) FROM people GROUP BY 1", "SELECT * FROM products ORDER BY id"):
        types = [psycopg.postgres.types[oid].name for _, oid in session.types(sql)]
        with session.connection.cursor().copy(f"COPY ({sql}) TO STDOUT (FORMAT binary)".encode()) as copy:
            copy.set_types(types)
            rows = list(copy.rows())
        assert rows == session.ask(sql)


def test_copy_of_a_catalog_in_the_binary_format(session: Session) -> None:
    asked = "SELECT relname::text, relkind = 'r' FROM pg_catalog.pg_class WHERE relname = 'people'"
    with session.connection.cursor().copy(f"COPY ({asked}) TO STDOUT WITH BINARY".encode()) as copy:
        copy.set_types(["text", "bool"])
        assert list(copy.rows()) == [("people", True)]


# who, what and where


def test_the_user_is_the_analyst(session: Session) -> None:
    asked = "SELECT current_user, session_user, user AS u, current_role, current_user AS user"
    assert session.types(asked)[0] == ("current_user", 19)
    assert session.ask(asked) == [(session.name,) * 5]
    assert session.ask("SELECT current_user = $1", session.name) == [(True,)]


def test_one_version_however_it_is_asked(session: Session) -> None:
    version = session.connection.pgconn.parameter_status(b"server_version")
    assert version is not None
    number = session.connection.info.server_version
    assert session.ask("SHOW server_version") == [(version.decode(),)]
    for asked in ("version()", "pg_catalog.version()"):
        assert f"PostgreSQL {version.decode()} " in session.ask(f"SELECT {asked}")[0][0]
    assert session.ask("SHOW server_version_num") == [(str(number),)]
    of_catalog = "SELECT setting::int, current_setting(name)::int FROM pg_catalog.pg_settings WHERE name = $1"
    assert session.ask(of_catalog, "server_version_num") == [(number, number)]
    assert session.ask("SELECT current_setting('server_version_num')::int") == [(number,)]


def test_privileges_are_those_of_the_policy(session: Session) -> None:
    true = (
        "has_table_privilege('public.orders', 'SELECT')",
        "has_table_privilege(current_user, 'orders', 'select')",
        "pg_catalog.has_any_column_privilege(current_user, '\"public\".\"people\"', 'select')",
        "has_column_privilege('people', 'state', 'SELECT')",
        "has_schema_privilege(current_user, 'public', 'USAGE')",
        "has_database_privilege(current_database(), 'CONNECT')",
        "pg_has_role(current_user, 'USAGE')",
        "has_function_privilege('now()', 'EXECUTE')",
    )
    false = (
        "has_table_privilege('public.orders', 'INSERT')",
        "has_table_privilege('public.orders', 'delete')",
        "has_any_column_privilege('people', 'update')",
        "has_schema_privilege('public', 'CREATE')",
        "has_database_privilege(current_database(), 'TEMP')",
        "has_function_privilege('pg_sleep(double precision)', 'EXECUTE')",
    )
    for expected, calls in ((True, true), (False, false)):
        for call in calls:
            assert session.ask(f"SELECT {call}") == [(expected,)], call


METABASE_SYNC = """
with table_privileges as (
  select NULL as role, t.schemaname as schema, t.objectname as table,
    pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"'
      || replace(t.objectname, '"', '""') || '"', 'update') as update,
    pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"'
      || replace(t.objectname, '"', '""') || '"', 'select') as select
  from (
    select schemaname, tablename as objectname from pg_catalog.pg_tables
    union select schemaname, viewname as objectname from pg_catalog.pg_views
    union select schemaname, matviewname as objectname from pg_catalog.pg_matviews
  ) t
  where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema'
    and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'USAGE')
)
select t.table from table_privileges t where t.select and not t.update order by 1
"""


ASKED = ("orders", "orders_by_place", "people", "people_per_state", "products", "well_rated")
"""Tables of the policy, and the views that can be asked."""


def test_metabase_finds_every_table_and_view_that_can_be_asked(session: Session) -> None:
    assert session.ask(METABASE_SYNC) == [(name,) for name in ASKED]


READABLE = [
    "SELECT relname FROM pg_catalog.pg_class WHERE has_table_privilege(oid, 'SELECT')",
    "SELECT relname FROM pg_class WHERE relkind IN ('r', 'v')"
    " AND has_any_column_privilege(current_user, oid, 'SELECT')",
    "SELECT table_name FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'VIEW')",
    "SELECT table_name FROM information_schema.table_privileges"
    " WHERE privilege_type = 'SELECT' AND grantee = current_user",
    "SELECT table_name FROM information_schema.role_table_grants WHERE privilege_type = 'SELECT'",
    "SELECT DISTINCT table_name FROM information_schema.column_privileges WHERE privilege_type = 'SELECT'",
]


def test_a_view_is_shown_as_readable_wherever_a_table_is(session: Session) -> None:
    for asked in READABLE:
        names = {name for (name,) in session.ask(asked)}
        assert names >= set(ASKED) and "hashed_people" not in names


def test_a_table_or_view_with_the_right_to_select_is_still_read_by_no_catalog_question(session: Session) -> None:
    for asked in (
        "SELECT count(*) FROM well_rated, pg_catalog.pg_class",
        "SELECT count(*) FROM orders_by_place, pg_catalog.pg_class WHERE false",
        "SELECT relname FROM pg_class WHERE EXISTS (SELECT 1 FROM well_rated)",
        "WITH t AS (SELECT * FROM orders_by_place) SELECT count(*) FROM pg_class, t LIMIT 0",
        "SELECT c.relname FROM pg_class c LEFT JOIN well_rated o ON false",
        "SELECT (SELECT count(*) FROM well_rated), relname FROM pg_class",
        "SELECT n, relname FROM people_per_state, pg_class",
        "SELECT count(*) FROM orders, pg_catalog.pg_class",
        "SELECT count(*) FROM orders, pg_catalog.pg_class WHERE false",
        "SELECT relname FROM pg_class WHERE EXISTS (SELECT 1 FROM people)",
        "WITH t AS (SELECT * FROM people) SELECT count(*) FROM pg_class, t LIMIT 0",
        "SELECT c.relname FROM pg_class c LEFT JOIN orders o ON false",
        "SELECT (SELECT count(*) FROM people), relname FROM pg_class",
    ):
        with pytest.raises(
            psycopg.errors.InsufficientPrivilege, match="cannot combine tables of the data set"
        ) as refused:
            session.ask(asked)
        assert re.fullmatch(f"query ({'|'.join(ASKED)}) separately", refused.value.diag.message_hint or "")


# sessions


STARTUPS = {
    "ActiveRecord": "SET client_min_messages TO 'warning'; SET standard_conforming_strings = on; "
    "SET intervalstyle = iso_8601; SET SESSION timezone TO 'UTC'; SET SESSION statement_timeout TO 5000; "
    "SHOW max_identifier_length; SHOW TIME ZONE",
    "Sequel": "SET standard_conforming_strings = ON; SET client_min_messages = 'WARNING'; SET DateStyle = 'ISO'",
    "Django": "SELECT set_config('TimeZone', 'UTC', false); SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL TIME ZONE 'UTC'",
    "JDBC": "SET extra_float_digits = 3; SET application_name = 'PostgreSQL JDBC Driver'; "
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; SHOW TRANSACTION ISOLATION LEVEL; SELECT current_schema()",
    "npgsql": "CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); "
    "DISCARD SEQUENCES; DISCARD TEMP",
    "asyncpg": "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL",
    "pgx": "SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0",
    "sequelize": "SHOW SERVER_VERSION; SET client_min_messages TO warning; "
    "SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE",
    "knex": 'select version(); set search_path to "public"; SELECT 1',
    "Hasura": "SELECT current_setting('server_version_num'); SET client_encoding = 'UTF8'; "
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; COMMIT",
    "dbt": 'BEGIN; set search_path to "public"; select current_database(); COMMIT; RESET ROLE',
    "Looker": "SET TIME ZONE 'UTC'; SET application_name = 'Looker'; SET lock_timeout = '10s'; SET work_mem = '64MB'",
    "Tableau": "SET DateStyle = 'ISO'; SET extra_float_digits = 2; show transaction_isolation; "
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "Power BI": "SELECT version(); SELECT current_schema(); SET ssl_renegotiation_limit = 0; DISCARD ALL",
    "Grafana": "SELECT version(); SET application_name = 'grafana'; SET jit = off",
    "PDO": "SET NAMES 'utf8'; SET SCHEMA 'public'",
    "PgBouncer": "SET ROLE NONE; DISCARD ALL",
    "pgAdmin": "SET DateStyle=ISO; SET client_min_messages=notice; SELECT set_config('bytea_output','hex',false) "
    "FROM pg_show_all_settings() WHERE name = 'bytea_output'; SET client_encoding='utf-8'; SELECT version()",
    "DBeaver": "SET extra_float_digits = 3; SHOW search_path; SHOW default_tablespace; "
    "SELECT current_schema(), session_user",
    "psycopg2": "SHOW default_transaction_isolation; SHOW default_transaction_deferrable",
    "SQuirreL": "SHOW SESSION AUTHORIZATION; SHOW lc_collate; SHOW wal_level; SHOW jit; SHOW ALL",
    "Cube": "SET TIME ZONE LOCAL; SET default_transaction_read_only = on; SET row_security = on",
}


def test_what_a_tool_sends_before_its_first_question(shop: WireProxy) -> None:
    for tool, statements in STARTUPS.items():
        with closing(Session(shop).connection) as connection:
            for statement in statements.split("; "):
                psycopg.ClientCursor(connection).execute(statement.encode())
            counted = psycopg.ClientCursor(connection).execute(b"SELECT count(*) FROM products").fetchall()
            assert counted == [(60,)], tool


def test_show_knows_every_setting_that_postgresql_has(session: Session) -> None:
    for name in ("max_connections", "work_mem", "lc_ctype", "wal_level", "server_version", "timezone"):
        (shown,) = session.ask(f"SHOW {name}")
        assert session.ask(f"SELECT current_setting('{name}')") == [shown]
        assert session.ask("SELECT current_setting($1)", name) == [shown]
    assert [session.types(f"SHOW {name}")[0][0] for name in ("timezone", "DATESTYLE", "Search_Path", "jit")] == [
        "TimeZone", "DateStyle", "search_path", "jit"
    ]  # fmt: skip
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="there is no setting nothing"):
        session.ask("SHOW nothing")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.ask("SHOW data_directory")


def test_an_epsilon_that_no_question_may_spend_is_refused_when_it_is_set(shop: WireProxy, session: Session) -> None:
    for setting in ("SET noisegate.epsilon = 50", "SELECT set_config('noisegate.epsilon', '50', false)"):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="at most 4 for one query") as refused:
            session.ask(setting)
        assert "max_epsilon" in (refused.value.diag.message_hint or "")
    with pytest.raises(psycopg.OperationalError, match="at most 4 for one query"):
        Session(shop, options="-c noisegate.epsilon=50")
    assert session.ask("SELECT set_config('noisegate.epsilon', '0.5', false)") == [("0.5",)]
    session.ask("SELECT count(*) FROM people")
    assert session.left() == BUDGET - 0.5


def test_the_notice_beside_an_answer_can_be_silenced(session: Session) -> None:
    session.ask("SELECT count(*) FROM people")
    (told,) = session.notices
    assert told.startswith("charged epsilon 1; ") and len(told) < 120 and "noisegate.details" in told
    (note,) = (note for (note,) in session.ask("SHOW noisegate.details"))
    assert note.startswith("Nothing was clipped") and "at most one row" in note
    session.cursor("SET client_min_messages = warning")
    session.notices.clear()
    session.ask("SELECT count(*) FROM people")
    assert session.notices == []


def test_a_view_of_the_session_is_refused_with_what_to_write(session: Session) -> None:
    for statement in ("CREATE TEMP VIEW v AS SELECT 1", "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1"):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction) as refused:
            session.cursor(statement)
        assert "WITH name AS (SELECT" in (refused.value.diag.message_hint or "")
    assert len(session.ask("WITH v AS (SELECT id FROM orders) SELECT count(*) FROM v")) == 1


def test_a_balancers_check_without_the_data_sets_name_comes_to_the_proof(shop: WireProxy, session: Session) -> None:
    somewhere = session.conninfo.replace(f"dbname={NAME}", "dbname=postgres")
    with pytest.raises(psycopg.OperationalError, match="with this key"):
        psycopg.connect(re.sub("password=.*", "password=wrong", somewhere))
    with pytest.raises(psycopg.OperationalError, match="there is no such database"):
        psycopg.connect(somewhere)


# dashboards


def recorded(name: str) -> dict[str, str]:
    """Statements by their titles."""
    found = re.split(r"^-- (?:chart|panel): ", (RECORDED / name).read_text(), flags=re.MULTILINE)[1:]
    return {title: asked.strip() for title, _, asked in (entry.partition("\n") for entry in found)}


@pytest.mark.slow
def test_each_recorded_chart_is_answered_as_it_was_recorded(session: Session) -> None:
    charts, panels = recorded("metabase.sql"), recorded("grafana.sql")
    assert (len(charts), len(panels)) == (12, 8)
    form = {}
    with session.practising():
        for title, asked in (charts | panels).items():
            form[title] = session.types(asked)
            assert session.ask(asked), f"{title}: in practice"
        session.connection.execute("SET TimeZone = 'Europe/Berlin'")  # of which DuckDB has rules of its own
        assert session.ask("SELECT date_trunc('month', created_at), count(*) FROM orders GROUP BY 1")
    assert session.left() == BUDGET, "practice was charged"
    for title, asked in (charts | panels).items():
        assert session.ask(asked), title
        assert session.types(asked) == form[title], title


def test_a_left_join_to_the_owner_is_the_inner_one(session: Session) -> None:
    inner = "SELECT p.state, count(*) FROM orders o JOIN people p ON o.user_id = p.id GROUP BY 1 ORDER BY 1"
    assert session.ask(inner) == session.ask(inner.replace("JOIN", "LEFT JOIN"))
    assert session.left() == BUDGET - 1
    conditional = session.ask(inner.replace("JOIN", "LEFT JOIN").replace("p.id", "p.id AND p.state = 'CA'"))
    assert "CA" in {row[0] for row in conditional}, "rows of the same owner may be missing"


def test_weeks_from_sunday_are_narrowed_by_their_filter(session: Session) -> None:
    weekly = list(recorded("metabase.sql").values())[1]
    weeks = [row[0] for row in session.ask(weekly)]
    assert (len(weeks), weeks[0]) == (53, datetime(2023, 1, 1, tzinfo=UTC))
    assert all(week.weekday() == 6 for week in weeks)
    daily = session.ask(next(iter(recorded("grafana.sql").values())))
    assert (len(daily), daily[0][0]) == (31, 1_704_067_200)


# what surrounds answers


@pytest.mark.statistical(1e-15)
def test_a_window_over_groups_is_described_and_computed_with_bound_values(session: Session) -> None:
    sql = (
        "SELECT state, n, rank() OVER (ORDER BY n DESC) AS r, n / sum(n) OVER () AS share "
        "FROM (SELECT state, count(*) AS n FROM people GROUP BY 1) AS t WHERE n > $1 AND state <> $2 ORDER BY r"
    )
    assert [name for name, _ in session.types(sql.replace("$1", "0").replace("$2", "''"))] == [
        "state",
        "n",
        "r",
        "share",
    ]
    rows = session.ask(sql, "10", "CA")
    assert {row[0] for row in rows} == {"FL", "NY", "TX", "WA"}
    counts = [row[1] for row in rows]
    assert [row[2] for row in rows] == [
        1 + sum(other > n for other in counts) for n in counts
    ]  # noise makes ties, too
    assert counts == sorted(counts, reverse=True)
    assert sum(row[3] for row in rows) == pytest.approx(1)
    left = session.left()
    assert session.ask(sql, "20", "FL", binary=True)[0][2] == 1
    assert session.left() == left  # the same answer with something else around it


def test_a_months_growth_joins_two_answers_and_public_tables(session: Session) -> None:
    sql = (
        "WITH m AS (SELECT date_trunc('month', shipped_at) AS month, count(*) AS n FROM orders GROUP BY 1) "
        "SELECT to_char(month, 'YYYY-MM') AS label, n, n - lag(n) OVER (ORDER BY month) AS growth FROM m "
        "UNION ALL SELECT category, count(*), NULL FROM products GROUP BY 1 ORDER BY 1"
    )
    before = session.left()
    rows = session.ask(sql)
    assert {"2022-03", "Gadget"} <= {row[0] for row in rows}
    assert any(row[2] is not None for row in rows)
    assert before - session.left() == pytest.approx(1.0)


def test_what_postgres_cannot_compute_is_told_in_its_words_before_any_charge(session: Session) -> None:
    before = session.left()
    with pytest.raises(psycopg.Error, match="cannot be computed: operator does not exist"):
        session.ask(
            "SELECT rank() OVER (ORDER BY n), state || n < 1 FROM (SELECT state, count(*) n FROM people GROUP BY 1) t"
        )
    assert session.left() == before
