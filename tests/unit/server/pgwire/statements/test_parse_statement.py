from __future__ import annotations

import pytest

from planner.errors import InvalidSyntax, PlannerError, ReadOnly, UnsupportedSQL
from server.pgwire.statements import commands as c
from server.pgwire.statements.parse_statement import command_of
from server.pgwire.statements.split_statements import split


def read(sql: str) -> c.Command:
    (statement,) = split(sql)
    return command_of(statement)


def test_what_drivers_say() -> None:
    cases: list[tuple[str, c.Command]] = [
        ("begin", c.Transaction("begin", "BEGIN")),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", c.Transaction("begin", "BEGIN")),
        ("start transaction read only", c.Transaction("begin", "START TRANSACTION")),
        ("END", c.Transaction("commit", "COMMIT")),
        ("rollback work", c.Transaction("rollback", "ROLLBACK")),
        ("ROLLBACK TO SAVEPOINT a", c.Transaction("rollback to", "ROLLBACK", "a")),
        ("savepoint _pg3_1", c.Transaction("savepoint", "SAVEPOINT", "_pg3_1")),
        ("RELEASE a", c.Transaction("release", "RELEASE", "a")),
        ("SET noisegate.epsilon = 0.5", c.SetSetting("noisegate.epsilon", "0.5")),
        ("set local noisegate.epsilon to '0.5'", c.SetSetting("noisegate.epsilon", "0.5", local=True)),
        ('SET search_path TO a, "B"', c.SetSetting("search_path", 'a, "B"')),
        ("SET application_name = 'it''s'", c.SetSetting("application_name", "it's")),
        ("SET TIME ZONE 'Europe/Berlin'", c.SetSetting("timezone", "Europe/Berlin")),
        ("SET NAMES 'utf8'", c.SetSetting("client_encoding", "utf8")),
        ("SET datestyle = DEFAULT", c.SetSetting("datestyle", None)),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", c.Nothing("SET")),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", c.Nothing("SET")),
        ("RESET ALL", c.SetSetting("all", None, tag="RESET")),
        ("RESET noisegate.epsilon", c.SetSetting("noisegate.epsilon", None, tag="RESET")),
        ("SHOW noisegate.budget", c.Show("noisegate.budget")),
        ("SHOW TRANSACTION ISOLATION LEVEL", c.Show("transaction_isolation")),
        ("DISCARD ALL", c.Discard("ALL")),
        ("EXECUTE a", c.ExecutePrepared("a")),
        ("execute A (1, -2.5, 'it''s', NULL, true)", c.ExecutePrepared("a", (b"1", b"-2.5", b"it's", None, b"true"))),
        ("DEALLOCATE PREPARE ALL", c.Deallocate(None)),
        ('DEALLOCATE "_PG3_0"', c.Deallocate("_PG3_0")),
        ("FETCH FORWARD 100 FROM c", c.Fetch("c", 100)),
        ("FETCH c", c.Fetch("c", 1)),
        ("fetch all in c", c.Fetch("c", None)),
        ("MOVE 3 FROM c", c.Fetch("c", 3, move=True)),
        ("CLOSE ALL", c.CloseCursor(None)),
        ("UNLISTEN *", c.Nothing("UNLISTEN")),
    ]
    for sql, command in cases:
        assert read(sql) == command, sql


def test_who_answers_a_question() -> None:
    for sql, catalog in [
        ("SELECT * FROM unnest(current_schemas(true))", True),
        ("SELECT count(*) FROM t WHERE current_schema = 1", False),
        ("SELECT count(*) FROM orders", False),
        ("with a as (select 1 from orders) select count(*) from a", False),
        ("EXPLAIN SELECT 1", False),
        ("SELECT 1", True),
        ("select version()", True),
        ("VALUES (1)", True),
        ("SELECT oid FROM pg_class", True),
        ("SELECT * FROM information_schema.tables", True),
        ("select 'pg_class' from orders", False),
        ("SELECT * FROM current_database()", True),
        ("SELECT version() FROM nation", False),
        ("TABLE nation", False),
        ("EXPLAIN TABLE nation", False),
        ("SELECT EXISTS (TABLE nation)", False),
        ("SELECT 1 AS table", True),
        ("TABLE pg_am", True),
        ("EXPLAIN SELECT oid FROM pg_class", True),
    ]:
        command = read(sql)
        assert isinstance(command, c.Question), sql
        assert command.catalog is catalog, sql


def test_a_question_stands_inside_another_statement() -> None:
    sql = "SELECT 1; DECLARE a NO SCROLL CURSOR WITH HOLD FOR  SELECT count(*) FROM orders"
    command = command_of(split(sql)[1])
    assert isinstance(command, c.Declare)
    assert command.hold
    assert command.question.sql == "SELECT count(*) FROM orders"


def test_a_question_is_prepared_with_the_types_that_are_said() -> None:
    sql = "PREPARE a (int, double precision, character varying(10), numeric(4, 2)) AS SELECT count(*) FROM orders"
    command = read(sql)
    assert isinstance(command, c.Prepare)
    assert (command.name, command.types) == ("a", (23, 701, 1043, 1700))
    assert command.question.sql == "SELECT count(*) FROM orders"
    for refused in (
        "PREPARE TRANSACTION 'a'", "PREPARE a (point) AS SELECT 1", "PREPARE a AS DELETE FROM t", "PREPARE a",
        "EXECUTE a (1 + 1)", "EXECUTE a (b)", "EXECUTE a (1", "EXECUTE a ('1'::int)", "EXECUTE a (1) b",
    ):  # fmt: skip
        with pytest.raises(PlannerError):
            read(refused)


def test_copy_of_a_select_is_read_with_its_options() -> None:
    sql = "copy ( select count(*) from orders ) to stdout (format csv, header)"
    command = read(sql)
    assert isinstance(command, c.Copy)
    assert command.question.sql == "select count(*) from orders"
    assert command.options.strip() == "(format csv, header)"


def test_copy_of_a_table_is_a_question_of_its_columns() -> None:
    for sql, question in [
        ("COPY ward TO STDOUT", "SELECT * FROM ward"),
        ('copy public."To" to stdout (format csv)', 'SELECT * FROM public."To"'),
        ("COPY ward (id, name) TO STDOUT WITH CSV", "SELECT id, name FROM ward"),
        ("COPY a.ward(id) TO STDOUT", "SELECT id FROM a.ward"),
    ]:
        command = read(sql)
        assert isinstance(command, c.Copy), sql
        assert command.question.sql == question


def test_a_transaction_may_be_said_to_write() -> None:
    """Drivers say so of every transaction; what writes is refused by itself."""
    for sql in ("BEGIN READ WRITE", "START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE"):
        assert read(sql) == c.Transaction("begin", sql.split(" READ")[0].split(" ISO")[0])
    assert isinstance(read("SET TRANSACTION READ WRITE"), c.Nothing)
    assert isinstance(read("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE"), c.Nothing)


def test_what_is_refused() -> None:
    cases: list[tuple[str, type[PlannerError]]] = [
        ("INSERT INTO t VALUES (1)", ReadOnly),
        ("create table t ()", ReadOnly),
        ("COPY t FROM STDIN", ReadOnly),
        ("COPY TO STDOUT", UnsupportedSQL),
        ("COPY t WHERE a TO STDOUT", InvalidSyntax),
        ("COPY t. TO STDOUT", InvalidSyntax),
        ("COPY t (a TO STDOUT", UnsupportedSQL),
        ("COPY (SELECT 1) t TO STDOUT", InvalidSyntax),
        ("COPY t TO 'file'", ReadOnly),
        ("COPY (DELETE FROM t) TO STDOUT", InvalidSyntax),
        ("SET ROLE admin", UnsupportedSQL),
        ("SET SESSION AUTHORIZATION admin", UnsupportedSQL),
        ("PREPARE TRANSACTION 'x'", UnsupportedSQL),
        ("COMMIT PREPARED 'x'", UnsupportedSQL),
        ("FETCH BACKWARD 1 FROM c", UnsupportedSQL),
        ("FETCH -1 FROM c", UnsupportedSQL),
        ("DECLARE c CURSOR FOR DELETE FROM t", InvalidSyntax),
        ("SET", InvalidSyntax),
        ("SET a", InvalidSyntax),
        ("DISCARD EVERYTHING", InvalidSyntax),
        ("COMMIT AND CHAIN", InvalidSyntax),
        ("?", UnsupportedSQL),
        ("frobnicate", UnsupportedSQL),
    ]
    for sql, error in cases:
        with pytest.raises(error) as caught:
            read(sql)
        assert caught.value.position == 1, sql


def test_what_stands_in_quotes_and_comments_is_no_keyword() -> None:
    declared = read('DECLARE "for" CURSOR /* for */ FOR SELECT count(*) FROM orders')
    assert isinstance(declared, c.Declare)
    assert (declared.name, declared.question.sql) == ("for", "SELECT count(*) FROM orders")
    sql = "COPY /* ( */ (SELECT count(*) FROM a WHERE x = ') TO STDOUT') -- )\n TO STDOUT WITH (FORMAT csv)"
    copied = read(sql)
    assert isinstance(copied, c.Copy)
    assert copied.question.sql == "SELECT count(*) FROM a WHERE x = ') TO STDOUT'"
    assert copied.options.strip() == "WITH (FORMAT csv)"
