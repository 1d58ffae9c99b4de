"""Reading the structure of a real database."""

from __future__ import annotations

import psycopg

from planner.schema import Column, ForeignKey
from planner.sql.sql_types import Family, sql_type
from server.backends.postgres_catalog import read_schema
from tests.support.tpch_schema import tpch_schema


def _execute(url: str, *statements: str) -> None:
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_columns_keys_and_references(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE person (id bigint PRIMARY KEY, email text UNIQUE, born date NOT NULL)",
        "CREATE TABLE visit (person bigint REFERENCES person, at timestamp, cost numeric(8,2), UNIQUE (person, at))",
    )
    with psycopg.connect(scratch_url) as connection:
        schema = read_schema(connection)
    person, visit = schema.tables["person"], schema.tables["visit"]
    assert person.columns == (
        Column("id", "bigint", False),
        Column("email", "text", True),
        Column("born", "date", False),
    )
    assert person.unique_keys == (("id",), ("email",))
    assert visit.unique_keys == (("person", "at"),)
    assert (person.primary_key, visit.primary_key) == (("id",), None)
    assert visit.foreign_keys == (ForeignKey(("person",), "person", ("id",)),)
    assert visit.column("cost") == Column("cost", "numeric(8,2)", True, nan=True)


def test_a_key_that_two_indexes_enforce_is_one_key(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE a (x int NOT NULL UNIQUE, y int)",
        "ALTER TABLE a ADD PRIMARY KEY (x)",
        "CREATE UNIQUE INDEX ON a (x)",
    )
    with psycopg.connect(scratch_url) as connection:
        found = read_schema(connection).tables["a"]
    assert (found.unique_keys, found.primary_key) == ((("x",),), ("x",))


def test_a_number_may_be_nan_unless_a_constraint_or_a_key_says_otherwise(scratch_url: str) -> None:
    _execute(
        scratch_url,
        """CREATE TABLE a (k numeric PRIMARY KEY, i int NOT NULL, open numeric NOT NULL, r real,
           b numeric CHECK (b BETWEEN -1 AND 2.5), f float8 CHECK (f >= 0 AND f < 'inf'),
           "Q" real CHECK ("Q" <> 'nan'), e float8 CHECK (e > 0),
           o numeric CHECK (o < 1 OR o > 2), s float8 CHECK (sign(s) <= 1),
           later numeric NOT NULL)""",
        "ALTER TABLE a ADD CHECK (later < 5) NOT VALID",
    )
    with psycopg.connect(scratch_url) as connection:
        columns = read_schema(connection).tables["a"].columns
    assert {column.name for column in columns if column.nan} == {"open", "r", "e", "o", "s", "later"}
    assert [column.name for column in columns if not column.nullable] == ["k", "i"]


def test_keys_that_are_not_enforced_at_once_and_over_all_rows_do_not_count(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE a (id bigint PRIMARY KEY, x int, y int, z int)",
        "CREATE UNIQUE INDEX ON a (x) WHERE y > 0",
        "CREATE UNIQUE INDEX ON a (abs(y))",
        "ALTER TABLE a ADD UNIQUE (z) DEFERRABLE",
        "CREATE TABLE b (id bigint PRIMARY KEY DEFERRABLE)",
        "CREATE TABLE c (id bigint NOT NULL UNIQUE)",
    )
    with psycopg.connect(scratch_url) as connection:
        schema = read_schema(connection)
    assert schema.tables["a"].unique_keys == (("id",),)
    assert [schema.tables[name].primary_key for name in "abc"] == [("id",), None, None]


def test_a_covering_index_is_a_key_of_its_key_columns_only(scratch_url: str) -> None:
    _execute(scratch_url, "CREATE TABLE a (x int NOT NULL, y int)", "CREATE UNIQUE INDEX ON a (x) INCLUDE (y)")
    with psycopg.connect(scratch_url) as connection:
        assert read_schema(connection).tables["a"].unique_keys == (("x",),)


def test_a_key_over_a_column_that_the_role_may_not_read_proves_nothing(scratch_url: str) -> None:
    role = f"reads_{abs(hash(scratch_url))}"  # roles belong to the whole cluster
    _execute(
        scratch_url,
        "CREATE TABLE person (id bigint PRIMARY KEY, email text UNIQUE, born date, UNIQUE (id, born))",
        f"CREATE ROLE {role}",
        f"GRANT SELECT (id, email) ON person TO {role}",
    )
    try:
        with psycopg.connect(scratch_url) as connection:
            connection.execute(f"SET ROLE {role}".encode())
            person = read_schema(connection).tables["person"]
    finally:
        _execute(scratch_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")
    assert [column.name for column in person.columns] == ["id", "email"]
    assert person.unique_keys == (("id",), ("email",))


def test_views_inheritance_parents_and_partitions_are_left_out(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "CREATE TABLE child () INHERITS (parent)",
        "CREATE VIEW v AS SELECT 1 AS one",
        "CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
    )
    with psycopg.connect(scratch_url) as connection:
        assert set(read_schema(connection).tables) == {"child", "parts"}


def test_the_fingerprint_follows_the_structure(scratch_url: str) -> None:
    _execute(scratch_url, "CREATE TABLE a (id int PRIMARY KEY, b int)")
    with psycopg.connect(scratch_url) as connection:
        before = read_schema(connection).fingerprint
        connection.execute("INSERT INTO a VALUES (1, 2)")
        assert read_schema(connection).fingerprint == before
        connection.commit()
        for change in (
            "ALTER TABLE a ADD COLUMN c int",
            "ALTER TABLE a DROP CONSTRAINT a_pkey",
            "ALTER TABLE a ALTER COLUMN b TYPE bigint",
            "ALTER TABLE a ALTER COLUMN b SET NOT NULL",
            "DROP TABLE a",
        ):
            connection.execute(change.encode())
            assert read_schema(connection).fingerprint != before, change
            connection.rollback()


def test_a_foreign_key_counts_though_nothing_enforces_it(scratch_url: str) -> None:
    """Who owns a row does not hang on whether the database checks it; a key that is overlooked protects nobody."""
    _execute(
        scratch_url,
        "CREATE TABLE a (id bigint PRIMARY KEY)",
        "CREATE SCHEMA other",
        "CREATE TABLE other.c (id bigint PRIMARY KEY)",
        "CREATE TABLE b (x bigint, y bigint, z bigint REFERENCES other.c) PARTITION BY RANGE (z)",
        "CREATE TABLE b_1 PARTITION OF b FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE d (x bigint, y bigint)",
        "INSERT INTO d VALUES (1, 1)",
        "ALTER TABLE d ADD FOREIGN KEY (x) REFERENCES a NOT VALID",
        "ALTER TABLE d ADD FOREIGN KEY (y) REFERENCES a NOT ENFORCED",
        "ALTER TABLE b_1 ADD FOREIGN KEY (x) REFERENCES a",
    )
    with psycopg.connect(scratch_url) as connection:
        tables = read_schema(connection).tables
    assert tables["d"].foreign_keys == (ForeignKey(("x",), "a", ("id",)), ForeignKey(("y",), "a", ("id",)))
    assert tables["b"].foreign_keys == (ForeignKey(("x",), "a", ("id",)), ForeignKey(("z",), "other.c", ("id",)))


def test_a_foreign_key_is_proven_where_the_database_holds_it_against_every_row(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE a (id bigint PRIMARY KEY)",
        "CREATE TABLE b (x bigint) PARTITION BY RANGE (x)",
        "CREATE TABLE b_1 PARTITION OF b FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE b_2 PARTITION OF b FOR VALUES FROM (10) TO (20)",
    )
    cases: list[tuple[tuple[str, ...], bool]] = [
        (("ALTER TABLE b ADD FOREIGN KEY (x) REFERENCES a",), True),
        (("ALTER TABLE b ADD FOREIGN KEY (x) REFERENCES a NOT VALID",), False),
        (("ALTER TABLE b ADD CONSTRAINT k FOREIGN KEY (x) REFERENCES a NOT VALID",
          "ALTER TABLE b VALIDATE CONSTRAINT k"), True),
        (("ALTER TABLE b ADD FOREIGN KEY (x) REFERENCES a NOT VALID",
          "ALTER TABLE b ADD FOREIGN KEY (x) REFERENCES a"), True),
        (("ALTER TABLE b_1 ADD FOREIGN KEY (x) REFERENCES a",), False),
        (("ALTER TABLE b_1 ADD FOREIGN KEY (x) REFERENCES a",
          "ALTER TABLE b_2 ADD FOREIGN KEY (x) REFERENCES a"), False),
        (("ALTER TABLE b ADD FOREIGN KEY (x) REFERENCES a", "ALTER TABLE a DISABLE TRIGGER ALL"), False),
        (("ALTER TABLE b ADD FOREIGN KEY (x) REFERENCES a", "ALTER TABLE b_2 DISABLE TRIGGER ALL"), False),
    ]  # fmt: skip
    key = ForeignKey(("x",), "a", ("id",))
    with psycopg.connect(scratch_url) as connection:
        for changes, proven in cases:
            for change in changes:
                connection.execute(change.encode())
            table = read_schema(connection).tables["b"]
            assert table.foreign_keys == (key,), changes
            assert table.enforces(key) == proven, changes
            connection.rollback()


def test_that_a_foreign_key_is_held_against_every_row_is_no_part_of_the_structure(scratch_url: str) -> None:
    """No plan rests on it: a VALIDATE CONSTRAINT does not refuse the questions that were planned before."""
    _execute(
        scratch_url,
        "CREATE TABLE a (id bigint PRIMARY KEY)",
        "CREATE TABLE b (x bigint)",
        "ALTER TABLE b ADD CONSTRAINT k FOREIGN KEY (x) REFERENCES a NOT VALID",
    )
    with psycopg.connect(scratch_url) as connection:
        before = read_schema(connection)
        connection.execute("ALTER TABLE b VALIDATE CONSTRAINT k")
        after = read_schema(connection)
    assert (before.tables["b"].unproven_keys, after.tables["b"].unproven_keys) == (
        before.tables["b"].foreign_keys,
        (),
    )
    assert before.fingerprint == after.fingerprint


def test_a_column_that_was_not_null_too_late_may_be_null(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE person (id int UNIQUE)",
        "INSERT INTO person VALUES (NULL)",
        "ALTER TABLE person ADD CONSTRAINT late NOT NULL id NOT VALID",
    )
    with psycopg.connect(scratch_url) as connection:
        assert read_schema(connection).tables["person"].columns == (Column("id", "integer", True),)


def test_a_column_that_is_computed_when_it_is_read_is_left_out(scratch_url: str) -> None:
    _execute(scratch_url, "CREATE TABLE t (x int, y int, z int GENERATED ALWAYS AS (x / y) VIRTUAL)")
    with psycopg.connect(scratch_url) as connection:
        assert [column.name for column in read_schema(connection).tables["t"].columns] == ["x", "y"]


def test_a_collation_of_its_own_makes_another_type(scratch_url: str) -> None:
    _execute(scratch_url, 'CREATE TABLE person (email text COLLATE "C" PRIMARY KEY, name text, short char(3))')
    with psycopg.connect(scratch_url) as connection:
        email, name, short = read_schema(connection).tables["person"].columns
    assert email.type == "text with collation C"
    assert sql_type(email.type).family is Family.OTHER
    assert sql_type(name.type).family is Family.TEXT
    assert sql_type(short.type).family is Family.CHAR


def test_a_domain_is_its_base_type_with_its_size_and_its_collation(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE DOMAIN age AS integer CHECK (VALUE > 0)",
        "CREATE DOMAIN young AS age CHECK (VALUE < 100)",
        "CREATE DOMAIN price AS numeric(8,2)",
        "CREATE DOMAIN low_price AS price",
        'CREATE DOMAIN email AS text COLLATE "C"',
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN known_mood AS mood NOT NULL",
        "CREATE TABLE t (a age, y young, p low_price, e email, m known_mood, n numeric(5,1), l age[])",
        "CREATE VIEW v AS SELECT y, p FROM t",
    )
    with psycopg.connect(scratch_url) as connection:
        schema = read_schema(connection)
    assert [column.type for column in schema.tables["t"].columns] == [
        "integer",
        "integer",
        "numeric(8,2)",
        "text with collation C",
        "enum('sad', 'ok')",
        "numeric(5,1)",
        "age[]",
    ]
    assert [column.type for column in schema.views["v"].table.columns] == ["integer", "numeric(8,2)"]


def test_the_planners_fixture_is_the_demonstrations_catalog(tpch_url: str) -> None:
    with psycopg.connect(tpch_url) as connection:
        real = read_schema(connection).tables
    fixture = tpch_schema().tables
    assert set(real) == set(fixture)
    for name, table in real.items():
        assert {column.name for column in table.columns} == {column.name for column in fixture[name].columns}
        assert set(table.unique_keys) == set(fixture[name].unique_keys)
        assert table.primary_key == fixture[name].primary_key
        assert set(table.foreign_keys) == set(fixture[name].foreign_keys)
