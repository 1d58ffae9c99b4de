from __future__ import annotations

import pytest

from planner.errors import PolicyInvalid
from planner.policy.draft import draft
from planner.policy.policy import SideChannels, parse_policy
from planner.policy.validate import validate
from planner.schema import Column, ForeignKey, Schema, Table
from tests.support.planning import DEMO_POLICY, demo_policy
from tests.support.tpch_schema import tpch_schema


def test_demo_policy_fits_the_demo_catalog() -> None:
    validate(demo_policy(), tpch_schema())


CASES = [
    ('customer = "c_custkey"', 'customer = "c_id"', "privacy_units.customer: no column c_id"),
    ('customer = "c_custkey"', 'custom = "c_custkey"', "privacy_units.custom: no such table; did you mean customer"),
    ('customer = "c_custkey"', 'customer = "c_nationkey"', "not an enforced primary or unique key"),
    ('customer = "c_custkey"', 'customer = "c_acctbal"', "whole number, text or uuid"),
    ("[tables.orders]", "[tables.order]", "tables.order: no such table.*; did you mean orders"),
    ("[tables.part]", "[groups_per_unit]\ncustmer = 1\n[tables.part]", "not a privacy unit; did you mean customer"),
    ("l_tax = {", "l_taxes = {", "columns.l_taxes: no such column; did you mean l_tax"),
    ("[0, 0.08]", "[1, 0.08]", "is empty"), ("[0, 0.08]", "[1e-200, 0.08]", "ends must be"),
    ("l_tax = {", "l_linenumber = {", "must end in whole numbers"),
    ("l_tax = {", "l_comment = {", "a range needs a number"),
    ("range = [0, 0.08]", 'domain = ["x"]', "not of type numeric"),
    ("range = [0, 0.08]", "domain = [1, 1]", "twice"), ("range = [0, 0.08]", "domain = []", "empty"),
    ("[tables.orders]", "[tables.orders]\npublic = true", "tables.orders: cannot be public"),
    ("[tables.customer]", "[tables.customer]\npublic = true", "tables.customer: cannot be public"),
    ("[tables.nation]\npublic = true", "[tables.nation]", "tables.nation: private, but no owning"),
    ('references = "supplier"', 'references = "suppliers"', "no such table; did you mean supplier"),
    ('key = ["s_suppkey"]', 'key = ["s_key"]', "no column s_key; did you mean s_suppkey"),
    ('key = ["s_suppkey"]\nowning = false', 'key = ["s_nationkey"]', "different types"),
    ('key = ["s_suppkey"]\nowning = false', 'key = ["s_nationkey"]', "not an enforced primary or unique key"),
    ("[tables.nation]", "[groups_per_unit]\nnation = 3\n[tables.nation]",
     "groups_per_unit.nation: is not a privacy unit"),
    ("l_tax = { range = [0, 0.08] }", "l_linenumber = { range = [1, 7], discover = true }",
     "`discover` has no meaning"),
    ("[tables.nation]\npublic = true", "[tables.nation]\npublic = true\ncolumns = { n_name = { discover = true } }",
     "n_name: a public column needs no `discover`"),
    ("[tables.orders]", '[tables.orders]\none_owner = ["o_clerks"]', "orders.one_owner: no column o_clerks"),
    ("[tables.knows]", '[tables.knows]\none_owner = ["src"]', "knows.one_owner: needs rows that one foreign key"),
]  # fmt: skip


def test_contradictions_are_named() -> None:
    for before, after, problem in CASES:
        text = DEMO_POLICY.read_text()
        assert before in text
        policy = parse_policy(text.replace(before, after))
        schema = tpch_schema()
        if "different types" in problem:
            supplier = schema.tables["supplier"]
            columns = tuple(
                Column(column.name, "text" if column.name == "s_nationkey" else column.type, column.nullable)
                for column in supplier.columns
            )
            changed = Table("supplier", "public", columns, supplier.unique_keys, ())
            schema = Schema({**schema.tables, "supplier": changed})
        with pytest.raises(PolicyInvalid, match=problem):
            validate(policy, schema)


def test_all_problems_are_listed_at_once() -> None:
    text = DEMO_POLICY.read_text().replace("[0, 0.08]", "[1, 0.08]").replace("[tables.orders]", "[tables.order]")
    with pytest.raises(PolicyInvalid) as caught:
        validate(parse_policy(text), tpch_schema())
    assert "is empty" in caught.value.message
    assert "tables.order: no such table" in caught.value.message


def _people(*, nullable: bool = False, boss: bool = False) -> Schema:
    columns = (Column("id", "bigint", nullable), Column("boss", "bigint", True))
    keys = (ForeignKey(("boss",), "person", ("id",)),) if boss else ()
    return Schema({"person": Table("person", "public", columns, (("id",),), keys)})


PEOPLE = """
name = "x"
database = { url = "env:DB" }
ledger = { path = "l" }
privacy = { epsilon = 1, max_epsilon = 1 }
privacy_units = { person = "id" }
tables = { person = {} }
"""


def test_a_nullable_unit_key_is_refused() -> None:
    validate(parse_policy(PEOPLE), _people())
    with pytest.raises(PolicyInvalid, match="may be NULL"):
        validate(parse_policy(PEOPLE), _people(nullable=True))


def test_a_self_reference_must_be_settled() -> None:
    schema = _people(boss=True)
    with pytest.raises(PolicyInvalid, match="in a circle"):
        validate(parse_policy(PEOPLE), schema)
    settled = (
        '[[foreign_keys]]\ntable = "person"\ncolumns = ["boss"]\nreferences = "person"\nkey = ["id"]\nowning = false'
    )
    validate(parse_policy(PEOPLE + settled), schema)


def test_a_reference_to_what_the_role_cannot_read_is_refused() -> None:
    table = Table(
        "person", "public", (Column("id", "bigint", False),), (("id",),), (ForeignKey(("id",), "x", ("y",)),)
    )
    with pytest.raises(PolicyInvalid, match="cannot read"):
        validate(parse_policy(PEOPLE), Schema({"person": table}))


def test_the_draft_protects_everything() -> None:
    schema = tpch_schema()
    policy = parse_policy(draft(schema, "shop"))
    assert policy.name == "shop"
    assert set(policy.tables) == set(schema.tables)
    assert not any(table.public for table in policy.tables.values())
    assert set(policy.privacy_units) == {"customer", "nation", "orders", "part", "region", "supplier"}
    assert not policy.database_url.startswith("postgres")
    validate(policy, schema)


def test_the_draft_settles_self_references_and_quotes_names() -> None:
    columns = (Column("Id 1", "bigint", False), Column("boss", "bigint", True))
    table = Table('odd "name"', "public", columns, (("Id 1",),), (ForeignKey(("boss",), 'odd "name"', ("Id 1",)),))
    schema = Schema({table.name: table})
    policy = parse_policy(draft(schema, 'a "b"'))
    assert policy.privacy_units == {'odd "name"': ("Id 1",)}
    assert [key.owning for key in policy.foreign_keys] == [False]
    validate(policy, schema)


def test_the_draft_mentions_the_promises_that_are_not_proved() -> None:
    """Commented, with one number for all: nothing is observed. A unique foreign key has nothing to promise."""
    text = draft(tpch_schema(), "shop")
    promises = [line for line in text.splitlines() if "fanout" in line]
    keys = [
        (table, key)
        for table in tpch_schema().tables.values()
        for key in table.foreign_keys
        if not any(set(unique) <= set(key.columns) for unique in table.unique_keys)
    ]
    assert len(promises) == len(keys) > 0
    assert len(set(promises)) == 1
    assert all(line.startswith("#") for line in text.splitlines() if "fanout" in line or "rows_per_unit" in line)
    one = Table(
        "passport", "public", (Column("id", "bigint", False),), (("id",),), (ForeignKey(("id",), "p", ("id",)),)
    )
    assert "fanout" not in draft(Schema({"passport": one}), "a")


def test_the_draft_says_what_may_be_grouped_by_without_a_word() -> None:
    columns = (Column("id", "bigint", False), Column("state\nof = 1", "enum('in', 'out')", True))
    schema = Schema({"visit": Table("visit", "public", columns, (("id",),), ())})
    assert '# "state\\nof = 1": enums, which can be grouped by' in draft(schema, "ward")
    validate(parse_policy(draft(schema, "ward")), schema)
    assert "enums" not in draft(tpch_schema(), "shop")


def test_the_draft_names_the_settings_of_what_no_epsilon_covers() -> None:
    """Each is a comment, and a custodian who removes its sign has a policy that says so, or the default."""
    text = draft(tpch_schema(), "shop")
    assert parse_policy(text).side_channels == SideChannels()
    chosen = SideChannels(unbounded_joins=True, max_join_tuples=1_000_000, hold_all_answers=True)
    for setting in ("min_epsilon", "unbounded_joins", "answer_quantum", "hold_all_answers", "max_join_tuples"):
        assert text.count(f"\n# {setting} = ") == 1
        text = text.replace(f"\n# {setting} = ", f"\n{setting} = ")
    assert parse_policy(text).side_channels == chosen
    rows = parse_policy(text.replace("\n# rows = ", "\nrows = "))
    assert {table.rows for table in rows.tables.values()} == {100_000}
    validate(rows, tpch_schema())


def test_the_drafts_promises_can_be_made() -> None:
    """A custodian who removes the comment signs of one foreign key and of the owned rows has a policy that fits."""
    lines = draft(tpch_schema(), "shop").splitlines()
    start = next(i for i, line in enumerate(lines) if line == '# table = "lineitem"') - 1
    block = [line.removeprefix("# ") for line in lines[start : start + 7] if "owning" not in line]
    owned = "# rows_per_unit = { unit = 100 }"
    place = lines.index("[tables.lineitem]")
    promised = [line.replace(owned, "rows_per_unit = { customer = 100 }") for line in lines[place:]]
    policy = parse_policy("\n".join([*lines[:start], *block, *lines[start + 7 : place], *promised]))
    assert [key.fanout for key in policy.foreign_keys] == [100]
    assert policy.tables["lineitem"].rows_per_unit == {"customer": 100}
    validate(policy, tpch_schema())
