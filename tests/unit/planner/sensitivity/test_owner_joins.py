"""LEFT JOIN to an owner: the inner join where rows without that owner are in no answer, otherwise refused."""

from __future__ import annotations

import pytest

from planner.errors import UnsupportedSQL
from planner.policy.policy import Policy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table
from tests.support.planning import join_sql


def _table(name: str, columns: str, *references: tuple[str, str]) -> Table:
    """Columns are bigint, the first one is the key; one that ends in ? may be NULL."""
    parsed = tuple(Column(column.rstrip("?"), "bigint", column.endswith("?")) for column in columns.split())
    keys = tuple(ForeignKey((column,), parent, ("id",)) for column, parent in references)
    return Table(name, "public", parsed, ((parsed[0].name,),), keys)


TABLES = (
    _table("person", "id"),
    _table("doctor", "id"),
    _table("edge", "id src? dst?", ("src", "person"), ("dst", "person")),
    _table("arc", "id src dst", ("src", "person"), ("dst", "person")),
    _table("visit", "id person? doctor?", ("person", "person")),
    _table("signed", "id visit? doctor", ("visit", "visit"), ("doctor", "doctor")),
    _table("bill", "id visit?", ("visit", "visit")),
)
SCHEMA = Schema({table.name: table for table in TABLES})


def _policy() -> Policy:
    tables = ", ".join(f"{table.name} = {{}}" for table in TABLES)
    return parse_policy(
        'name = "x"\ndatabase = { url = "env:DB" }\nledger = { path = "l" }\nprivacy = { epsilon = 1 }\n'
        f'privacy_units = {{ person = "id", doctor = "id" }}\ntables = {{ {tables} }}\n'
    )


def test_where_rows_without_the_owner_are_nobodys_it_is_the_inner_join() -> None:
    cases = [
        "visit v JOIN person p ON v.person = p.id",
        "bill b JOIN visit v ON b.visit = v.id",
        "bill b JOIN visit v ON b.visit = v.id JOIN person p ON v.person = p.id",
        "arc a JOIN person p ON a.src = p.id",  # of two owners, neither of whom is missing
        "arc a JOIN person p ON a.src = p.id JOIN person q ON q.id = a.dst",
    ]
    for joins in cases:
        first, others = joins.split(" ", 1)
        left = f"SELECT count(*) FROM {first} {others.replace('JOIN', 'LEFT JOIN')}"
        assert join_sql(left, SCHEMA, _policy()) == join_sql(f"SELECT count(*) FROM {joins}", SCHEMA, _policy())


def test_where_a_row_without_the_owner_is_somebody_elses_it_is_refused() -> None:
    """The inner join would leave out rows that the question counts: they are others', and so in answers."""
    for joins, key in [
        ("edge e ^LEFT JOIN person p ON e.src = p.id", "src"),
        ("edge e JOIN person q ON e.dst = q.id ^LEFT JOIN person p ON e.src = p.id", "src"),
        ("visit v JOIN doctor d ON v.doctor = d.id ^LEFT JOIN person p ON v.person = p.id", "person"),
        ("visit v ^LEFT JOIN person p ON v.person = p.id JOIN doctor d ON v.doctor = d.id", "person"),
        ("signed s ^LEFT JOIN visit v ON s.visit = v.id", "visit"),
        ("(SELECT e.dst FROM edge e ^LEFT JOIN person p ON e.src = p.id) x", "src"),
    ]:  # fmt: skip
        sql = f"SELECT count(*) FROM {joins}"
        with pytest.raises(UnsupportedSQL, match=f"rows with a NULL {key} may have other owners") as refused:
            join_sql(sql.replace("^", ""), SCHEMA, _policy())
        assert refused.value.position == sql.index("^") + 1
        assert refused.value.hint == "use an inner JOIN, which leaves these rows out"
