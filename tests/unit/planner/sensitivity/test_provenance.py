"""Ownership over schemas that the demonstration lacks: NULL keys, chains, circles of keys, owned units."""

from __future__ import annotations

import re

import pytest

from planner.errors import PlannerError, SensitivityUnbounded
from planner.policy.policy import Policy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table
from tests.support.planning import join_sql, planned, unbounded


def _table(name: str, columns: str, keys: list[tuple[str, ...]], *references: ForeignKey) -> Table:
    """Columns are bigint; one that ends in ? may be NULL."""
    parsed = tuple(Column(column.rstrip("?"), "bigint", column.endswith("?")) for column in columns.split())
    return Table(name, "s", parsed, tuple(keys), references)


def _key(column: str, references: str, key: str = "id") -> ForeignKey:
    return ForeignKey(tuple(column.split("+")), references, tuple(key.split("+")))


def _policy(units: str, tables: str, more: str = "") -> Policy:
    return parse_policy(
        'name = "x"\ndatabase = { url = "env:DB" }\nledger = { path = "l" }\n'
        "privacy = { epsilon = 1, max_epsilon = 1 }\n"
        f"privacy_units = {{ {units} }}\ntables = {{ {', '.join(f'{t} = {{}}' for t in tables.split())} }}\n{more}"
    )


PERSON = _table("person", "id badge boss? home? birth?", [("id",), ("badge",)])
POST = _table("post", "id author? topic?", [("id",)], _key("author", "person"))
COMMENT = _table("comment", "id post? author?", [("id",)], _key("post", "post"), _key("author", "person"))
VOTE = _table("vote", "id comment", [("id",)], _key("comment", "comment"))
FORUM = Schema({table.name: table for table in (PERSON, POST, COMMENT, VOTE)})
FORUM_POLICY = _policy('person = "id"', "person post comment vote")


def _owners(sql: str, schema: Schema = FORUM, policy: Policy = FORUM_POLICY) -> list[str]:
    return [owner.key.this.sql() for owner in planned(sql, schema, policy).owners]


def test_several_paths_all_count() -> None:
    assert _owners("SELECT count(*) FROM comment") == ['"post_1"."author"', '"comment_0"."author"']
    assert _owners("SELECT count(*) FROM vote") == ['"post_2"."author"', '"comment_1"."author"']


def test_null_keys_pass_the_filter_and_missing_parents_do_not() -> None:
    join = join_sql("SELECT count(*) FROM comment", FORUM, FORUM_POLICY)
    assert 'WHERE ("comment_0"."post" IS NULL OR "post_1"."id" IS NOT NULL) GROUP' in join


def test_below_a_key_that_cannot_be_null_only_the_parent_is_asked_for() -> None:
    join = join_sql("SELECT count(*) FROM vote", FORUM, FORUM_POLICY)
    assert 'WHERE "comment_1"."id" IS NOT NULL AND ("comment_1"."post" IS NULL OR "post_2"."id" IS NOT NULL)' in join


def test_above_a_missing_parent_every_column_may_be_null() -> None:
    likes = _table("likes", "id vote?", [("id",)], _key("vote", "vote"))
    schema = Schema({**FORUM.tables, "likes": likes})
    join = join_sql("SELECT count(*) FROM likes", schema, _policy('person = "id"', "person post comment vote likes"))
    assert '("likes_0"."vote" IS NULL OR "vote_1"."id" IS NOT NULL)' in join
    assert '("vote_1"."comment" IS NULL OR "comment_2"."id" IS NOT NULL)' in join  # NOT NULL in its own table


def test_an_equality_makes_a_nullable_key_known() -> None:
    join = join_sql("SELECT count(*) FROM comment a JOIN comment b ON a.post = b.post", FORUM, FORUM_POLICY)
    assert 'WHERE "post_2"."id" IS NOT NULL' in join
    assert join.count("LEFT JOIN") == 1


def test_a_key_other_than_the_units_needs_the_unit_joined() -> None:
    visit = _table("visit", "id badge", [("id",)], _key("badge", "person", "badge"))
    schema = Schema({"person": PERSON, "visit": visit})
    policy = _policy('person = "id"', "person visit")
    assert _owners("SELECT count(*) FROM visit", schema, policy) == ['"person_1"."id"']
    joined = "SELECT count(*) FROM visit JOIN person ON visit.badge = person.badge"
    assert _owners(joined, schema, policy) == ['"person_1"."id"']
    assert "LEFT JOIN" not in join_sql(joined, schema, policy)


def test_a_unit_may_own_rows_of_another_unit_relation() -> None:
    shop = _table("shop", "id holder", [("id",)], _key("holder", "person"))
    sale = _table("sale", "id shop", [("id",)], _key("shop", "shop"))
    schema = Schema({"person": PERSON, "shop": shop, "sale": sale})
    policy = _policy('person = "id", shop = "id"', "person shop sale")
    plan = planned("SELECT count(*) FROM sale", schema, policy)
    assert [(owner.relation, owner.key.this.sql()) for owner in plan.owners] == [
        ("shop", '"shop_1"."id"'),
        ("person", '"shop_1"."holder"'),
    ]


def test_a_composite_key_with_a_null_part_references_nothing() -> None:
    cell = _table("cell", "row col owner", [("row", "col")], _key("owner", "person"))
    note = _table("note", "id row? col", [("id",)], _key("row+col", "cell", "row+col"))
    schema = Schema({"person": PERSON, "cell": cell, "note": note})
    policy = _policy('person = "id"', "person cell note")
    join = join_sql("SELECT count(*) FROM note", schema, policy)
    assert 'ON "note_0"."row" = "cell_1"."row" AND "note_0"."col" = "cell_1"."col"' in join
    assert 'WHERE ("note_0"."row" IS NULL OR "cell_1"."row" IS NOT NULL) GROUP' in join


def test_half_a_composite_key_does_not_make_two_rows_one() -> None:
    """With note.row NULL the parent is absent though note.col is not NULL: the cell joined by col keeps its owner."""
    cell = _table("cell", "row col owner", [("row", "col"), ("col",)], _key("owner", "person"))
    note = _table("note", "id row? col", [("id",)], _key("row+col", "cell", "row+col"))
    schema = Schema({"person": PERSON, "cell": cell, "note": note})
    policy = _policy('person = "id"', "person cell note")
    owners = _owners("SELECT count(*) FROM note JOIN cell ON note.col = cell.col", schema, policy)
    assert owners == ['"cell_2"."owner"', '"cell_1"."owner"']


def test_a_key_declared_not_owning_owns_nothing() -> None:
    declared = (
        '[[foreign_keys]]\ntable = "comment"\ncolumns = ["post"]\nreferences = "post"\nkey = ["id"]\nowning = false'
    )
    policy = _policy('person = "id"', "person post comment vote", declared)
    assert _owners("SELECT count(*) FROM comment", policy=policy) == ['"comment_0"."author"']


def test_a_key_that_only_the_policy_declares_owns() -> None:
    log = _table("log", "id who", [("id",)])
    schema = Schema({"person": PERSON, "log": log})
    with pytest.raises(SensitivityUnbounded, match="has no owner"):
        planned("SELECT count(*) FROM log", schema, _policy('person = "id"', "person log"))
    declared = '[[foreign_keys]]\ntable = "log"\ncolumns = ["who"]\nreferences = "person"\nkey = ["id"]'
    assert _owners("SELECT count(*) FROM log", schema, _policy('person = "id"', "person log", declared)) == [
        '"log_0"."who"'
    ]


def test_ownership_runs_through_tables_that_nobody_may_query() -> None:
    policy = _policy('person = "id"', "person comment")
    assert _owners("SELECT count(*) FROM comment", policy=policy) == ['"post_1"."author"', '"comment_0"."author"']


def test_a_circle_that_the_policy_left_is_an_error_not_a_loop() -> None:
    person = _table("person", "id boss?", [("id",)], _key("boss", "person"))
    with pytest.raises(PlannerError, match="circle"):
        planned("SELECT count(*) FROM person", Schema({"person": person}), _policy('person = "id"', "person"))


PLACES = parse_policy(
    'name = "x"\ndatabase = { url = "env:DB" }\nledger = { path = "l" }\n'
    'privacy = { epsilon = 1, max_epsilon = 1 }\nprivacy_units = { person = "id" }\n'
    "[tables.post]\n[tables.comment]\n[tables.person.columns]\n"
    "home = { domain = [1, 2] }\nbirth = { domain = [1, 2] }\n"
)


def test_groups_per_unit() -> None:
    cases: list[tuple[str, int | None]] = [
        ("SELECT home, count(*) FROM person GROUP BY home", 1),
        ("SELECT home, birth, count(*) FROM person GROUP BY home, birth", 1),
        ("SELECT home, count(*) FROM person JOIN post ON author = person.id GROUP BY home", 1),
        ("SELECT home, count(*) FROM person JOIN post ON author > person.id GROUP BY home", None),
        # two people in one place: both determine the same thing of themselves
        ("SELECT a.home, count(*) FROM person a JOIN person b ON a.home = b.home GROUP BY a.home", 1),
        # a is counted where a was born, b where b lives: one person stands in two groups
        ("SELECT a.birth, count(*) FROM person a JOIN person b ON a.birth = b.home GROUP BY a.birth", 2),
        ("SELECT a.home, count(*) FROM person a CROSS JOIN person b GROUP BY a.home", None),
    ]
    for sql, groups in cases:
        assert planned(sql, FORUM, unbounded(PLACES)).bounds.groups == groups


def test_a_nullable_unique_key_finds_no_row_unless_it_is_joined() -> None:
    person = _table("person", "id badge? home?", [("id",), ("badge",)])
    schema = Schema({"person": person})
    strict = "SELECT p.home, count(*) FROM person q JOIN person p ON q.badge = p.badge GROUP BY p.home"
    loose = "SELECT p.home, count(*) FROM person q JOIN person p ON q.badge <= p.badge GROUP BY p.home"
    assert planned(strict, schema, PLACES).bounds.groups == 1
    assert len(planned(strict, schema, PLACES).owners) == 1  # the same row, so the same person
    assert planned(loose, schema, unbounded(PLACES)).bounds.groups is None


NODE = _table("node", "id parent? author? town?", [("id",)], _key("parent", "node"), _key("author", "person"))
DEPTH = '[[foreign_keys]]\ntable = "node"\ncolumns = ["parent"]\nreferences = "node"\nkey = ["id"]\ndepth = {}\n'
TREE = Schema({"person": PERSON, "node": NODE})


def _tree(depth: int) -> Policy:
    return _policy('person = "id"', "person node", DEPTH.format(depth))


def test_a_self_reference_is_followed_as_deep_as_the_policy_says() -> None:
    sql = "SELECT count(*) FROM node"
    assert _owners(sql, TREE, _tree(1)) == ['"node_1"."author"', '"node_0"."author"']
    assert _owners(sql, TREE, _tree(2)) == ['"node_2"."author"', '"node_1"."author"', '"node_0"."author"']
    join = join_sql(sql, TREE, _tree(2))
    assert join is not None
    assert '("node_0"."parent" IS NULL OR "node_1"."id" IS NOT NULL)' in join
    assert '("node_1"."parent" IS NULL OR "node_2"."id" IS NOT NULL)' in join
    assert 'AND "node_2"."parent" IS NULL GROUP' in join


def _ends(join: str) -> list[str]:
    return re.findall(r'(?:AND|WHERE) \(?"(\w+)"."parent" IS NULL(?! OR)', join)


def test_a_chain_through_joined_parents_is_as_long_as_any() -> None:
    """How deep a row may lie does not depend on what else the question joins."""
    for source, depth, owners, ends in [
        ("node a JOIN node b ON a.parent = b.id", 1, 2, 1), ("node b JOIN node a ON a.parent = b.id", 1, 2, 1),
        ("node a JOIN node b ON a.parent = b.id", 2, 3, 1),
        ("node a JOIN node b ON a.parent = b.id JOIN node c ON b.parent = c.id", 2, 3, 1),
        ("node a JOIN node b ON a.parent = b.parent", 1, 3, 1),
        ("node a JOIN node b ON a.parent = b.id JOIN node c ON c.id = b.id", 1, 2, 1),
    ]:  # fmt: skip
        sql = f"SELECT count(*) FROM {source}"
        assert len(_owners(sql, TREE, _tree(depth))) == owners
        assert len(_ends(join_sql(sql, TREE, _tree(depth)))) == ends


def test_a_circle_of_rows_is_deeper_than_any_depth() -> None:
    for depth in (1, 3, 1_000_000):
        for source in ("node a WHERE a.parent = a.id", "node a, node b WHERE a.parent = b.id AND b.parent = a.id"):
            assert _ends(join_sql(f"SELECT count(*) FROM {source}", TREE, _tree(depth)))


def test_a_circle_of_two_tables_needs_one_depth() -> None:
    boss = _table("team", "id lead? person?", [("id",)], _key("lead", "member"), _key("person", "person"))
    member = _table("member", "id team?", [("id",)], _key("team", "team"))
    schema = Schema({"person": PERSON, "team": boss, "member": member})
    with pytest.raises(PlannerError, match="circle"):
        planned("SELECT count(*) FROM member", schema, _policy('person = "id"', "person team member"))
    declared = (
        '[[foreign_keys]]\ntable = "team"\ncolumns = ["lead"]\nreferences = "member"\nkey = ["id"]\ndepth = 1\n'
    )
    policy = _policy('person = "id"', "person team member", declared)
    assert _owners("SELECT count(*) FROM member", schema, policy) == ['"team_3"."person"', '"team_1"."person"']


def test_rows_that_nobody_owns_may_be_their_own_units() -> None:
    policy = parse_policy(
        'name = "x"\ndatabase = { url = "env:DB" }\nledger = { path = "l" }\nprivacy = { epsilon = 1 }\n'
        'privacy_units = { person = "id" }\n[tables]\nperson = {}\npost = { rows_are_units = true }\ncomment = {}\n'
    )
    plan = planned("SELECT count(*) FROM post", FORUM, policy)
    assert [(owner.relation, owner.key.sql()) for owner in plan.owners] == [
        ("post", 'CASE WHEN "post_0"."author" IS NULL THEN CAST("post_0"."id" AS BIGINT) END'),
        ("person", 'CAST("post_0"."author" AS BIGINT)'),
    ]
    joined = planned("SELECT count(*) FROM post JOIN person ON author = person.id", FORUM, policy)
    assert [owner.relation for owner in joined.owners] == ["person"]


def test_keys_of_two_columns_are_one_text() -> None:
    place = _table("place", "country zone", [("zone", "country")])
    house = _table("house", "id zone? land?", [("id",)], _key("zone+land", "place", "zone+country"))
    schema = Schema({"place": place, "house": house})
    policy = _policy('place = ["country", "zone"]', "place house")
    (owner,) = planned("SELECT count(*) FROM house", schema, policy).owners
    land, zone = (f'CAST(CAST("house_0"."{name}" AS BIGINT) AS TEXT)' for name in ("land", "zone"))
    assert owner.key.sql("postgres") == " || ".join(
        f"CAST(LENGTH({part}) AS TEXT) || ':' || {part}" for part in (land, zone)
    )
    grouped = planned("SELECT land > 3 AS far, count(*) FROM house GROUP BY 1", schema, policy)
    assert grouped.bounds.groups == 1


def test_groups_of_left_joins_and_fixed_columns() -> None:
    for clause, groups in [
        ("FROM person LEFT JOIN place ON home = place.id", 1),
        ("FROM person LEFT JOIN place ON home = place.id AND birth = 1", 1),
        ("FROM person JOIN post ON author = person.id LEFT JOIN place ON topic = place.id", None),
        ("FROM person JOIN post ON author = person.id LEFT JOIN place ON home = place.id AND topic = 1", None),
        ("FROM person LEFT JOIN place ON home = place.zone", None),
        ("FROM person JOIN post ON author = person.id JOIN place ON topic = place.id WHERE zone = 3", 1),
        ("FROM person JOIN post ON author = person.id JOIN place ON topic = place.id WHERE topic = 3", 1),
        ("FROM person JOIN post ON author = person.id JOIN place ON topic = place.id WHERE zone > 3", None),
    ]:  # fmt: skip
        place = _table("place", "id zone", [("id",)])
        schema = Schema({**FORUM.tables, "place": place})
        policy = parse_policy(
            'name = "x"\ndatabase = { url = "env:DB" }\nledger = { path = "l" }\nprivacy = { epsilon = 1 }\n'
            'privacy_units = { person = "id" }\n[tables]\nperson = {}\npost = {}\nplace = { public = true }\n'
        )
        assert planned(f"SELECT zone, count(*) {clause} GROUP BY zone", schema, policy).bounds.groups == groups


def test_only_what_compares_exactly_fixes_a_column() -> None:
    cases: list[tuple[str, int | None]] = [
        ("3::numeric", 1),
        ("-(3)", 1),
        ("3.0", 1),
        ("'3'", 1),
        ("4611686018427387904", 1),
        # compared as doubles, which near 2^62 stand for a thousand whole numbers each
        ("4611686018427387904::float8", None),
        ("ceil(4611686018427387904)", None),
        ("sign(3) * 4611686018427387904", None),
        ("greatest(ceil(4611686018427387904), 1)", None),
        ("sqrt(3)", None),
        ("4611686018427387904." + "0" * 20, 1),
        ("4611686018427387904." + "0" * 19 + "1", None),  # a double to DuckDB
    ]
    for constant, groups in cases:
        for kind in ("bigint", "numeric(38,0)"):
            columns = (Column("id", "bigint", False), Column("code", kind, False), Column("zone", "bigint", False))
            place = Table("place", "s", columns, (("id",), ("code",)), ())
            policy = parse_policy(
                'name = "x"\ndatabase = { url = "env:DB" }\nledger = { path = "l" }\nprivacy = { epsilon = 1 }\n'
                'privacy_units = { person = "id" }\n[tables]\nperson = {}\nplace = { public = true }\n'
            )
            joined = "person JOIN place ON person.id < place.id"
            sql = f"SELECT zone, count(*) FROM {joined} WHERE code = {constant} GROUP BY zone"
            assert planned(sql, Schema({"person": PERSON, "place": place}), policy).bounds.groups == groups
