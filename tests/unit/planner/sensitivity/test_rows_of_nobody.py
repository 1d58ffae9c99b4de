"""Rows without an owner are counted by no answer: it says so, and a question for them alone is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import UnsupportedSQL
from planner.policy.policy import Policy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table
from tests.support.planning import planned

POLICY = """
    name = "forum"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 4.0
    delta = 0.0
    [privacy_units]
    member = "id"
    [tables.member.columns]
    age = { range = [0, 120] }
    [tables.post]
    [tables.comment.columns]
    length = { range = [0, 1000] }
"""


def schema() -> Schema:
    def table(name: str, columns: dict[str, bool], *references: tuple[str, str]) -> Table:
        listed = tuple(Column(column, "bigint", nullable) for column, nullable in columns.items())
        keys = tuple(ForeignKey((column,), parent, ("id",)) for column, parent in references)
        return Table(name, "public", listed, (("id",),), keys, ("id",))

    tables = (
        table("member", {"id": False, "age": True}),
        table("post", {"id": False, "author": True}, ("author", "member")),
        table(
            "comment",
            {"id": False, "post": False, "writer": True, "length": True},
            ("post", "post"),
            ("writer", "member"),
        ),
    )
    return Schema({one.name: one for one in tables})


def notes(sql: str, policy: str = POLICY) -> tuple[str, ...]:
    parsed: Policy = parse_policy(policy)
    return planned(sql, schema(), parsed).notes


def test_an_answer_says_that_rows_of_nobody_are_not_counted() -> None:
    post = "Rows whose post.author is NULL have no owner and are not counted."
    assert notes("SELECT count(*) FROM post") == (post,)
    assert notes("SELECT count(*) FROM comment c") == (
        "Rows whose post.author and c.writer is NULL have no owner and are not counted.",
    )


def test_nothing_is_said_where_every_row_has_an_owner() -> None:
    for sql in (
        "SELECT count(*) FROM member",
        "SELECT count(*) FROM post JOIN member ON author = member.id",
        "SELECT count(*) FROM post WHERE author IS NOT NULL",
        "SELECT count(*) FROM post WHERE author > 7",
        "SELECT count(*) FROM comment WHERE writer = 3",
    ):
        assert notes(sql) == (), sql
    own = POLICY.replace("[tables.post]", "[tables.post]\n    rows_are_units = true")
    assert notes("SELECT count(*) FROM post WHERE author IS NULL", own) == ()


def test_a_question_for_them_alone_is_refused() -> None:
    for sql in (
        "SELECT count(*) FROM post WHERE author IS NULL",
        "SELECT max(length) FROM comment c JOIN post p ON p.id = c.post WHERE p.author IS NULL AND c.writer IS NULL",
        "SELECT count(*) FROM post p LEFT JOIN member m ON m.id = p.author WHERE m.id IS NULL",
        "SELECT author IS NULL, count(*) FROM post GROUP BY 1",
        "SELECT count(*) FROM post GROUP BY author IS NOT NULL",
        "SELECT count(*) FROM post GROUP BY NOT author IS NULL",
    ):
        with pytest.raises(UnsupportedSQL, match="have no owner") as refused:
            notes(sql)
        assert "rows_are_units" in (refused.value.hint or ""), sql
        assert refused.value.position is not None, sql
    assert notes("SELECT count(*) FROM comment WHERE writer IS NULL") != ()
    assert notes("SELECT writer IS NULL, count(*) FROM comment GROUP BY 1") != ()
    assert notes("SELECT author IS NULL, count(*) FROM post WHERE author > 7 GROUP BY 1") == ()


def test_a_left_join_to_the_owner_says_which_rows_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is entered as an inner join, which counts neither NULL nor a key of nobody."""
    joined = "SELECT count(*) FROM post LEFT JOIN member ON author = member.id"
    said = "Rows whose post.author {} are not counted, although this is a LEFT JOIN."
    assert notes(joined) == (said.format("is NULL"),)
    declared = """
    [[foreign_keys]]
    table = "post"
    columns = ["author"]
    references = "member"
    key = ["id"]
    """
    whole = schema()
    loose = replace(whole.tables["post"], foreign_keys=())
    monkeypatch.setattr(f"{__name__}.schema", lambda: replace(whole, tables={**whole.tables, "post": loose}))
    assert notes(joined, POLICY + declared) == (said.format("is NULL or names no row of member"),)
    assert notes("SELECT count(*) FROM post JOIN member ON author = member.id", POLICY + declared) == ()
