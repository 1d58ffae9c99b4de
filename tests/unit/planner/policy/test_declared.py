"""Views that a policy calls public: none that shows people's own rows, and none beside private rows that may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import PolicyInvalid, SensitivityUnbounded, UnsupportedSQL
from planner.examine_views import check_declared_views
from planner.parsing.parse import read
from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.public.bind import bind_public
from planner.schema import Column, ForeignKey, Schema, Table, View
from tests.support.planning import planned, rewritten

TEXT = """
name = "x"
database = { url = "env:DB" }
ledger = { path = "l" }
privacy = { epsilon = 1, max_epsilon = 1, unbounded_joins = true }
privacy_units = { person = "id" }
[tables.person]
[tables.visit]
keys = ["id"]
rows_are_units = true
[tables.wards]
public = true
keys = ["ward"]
[[foreign_keys]]
table = "visit"
columns = ["ward"]
references = "wards"
key = ["ward"]
owning = false
"""
PERSON = Table("person", "public", (Column("id", "bigint", False),), (("id",),), ())
VISIT = Table(
    "visit",
    "public",
    (Column("id", "bigint", False), Column("person", "bigint", True), Column("ward", "bigint", True)),
    (),
    (),
)
WARDS = Table("wards", "public", (Column("ward", "bigint", True), Column("n", "bigint", True)), (), ())
COUNTED = "SELECT visit.ward, count(*) AS n FROM public.visit GROUP BY visit.ward"


def _schema(definition: str, kind: str = "view", *, owned: bool = True) -> Schema:
    keys = (ForeignKey(("person",), "person", ("id",)),) if owned else ()
    view = View(WARDS, kind, definition, ("visit",))
    tables = {"person": PERSON, "visit": replace(VISIT, foreign_keys=keys)}
    return Schema(tables, {"wards": view}).declaring(["wards"])


def test_a_view_of_rows_that_only_declared_keys_make_peoples_is_not_public() -> None:
    """Without the key the rows would seem to be nobody's, and their view no view of anybody's."""
    for owned in (True, False):
        policy = parse_policy(TEXT)
        schema = _schema("SELECT visit.ward, visit.person AS n FROM public.visit", owned=owned)
        with pytest.raises(PolicyInvalid, match=r"tables.wards: cannot be public, because it shows rows of private"):
            check_declared_views(policy, schema)


def test_a_public_view_over_people_is_asked_by_itself_and_not_beside_their_rows() -> None:
    """One person's visit may add a ward, or change the number of one that a thousand others' visits are joined by."""
    policy, schema = parse_policy(TEXT), _schema(COUNTED)
    validate(policy, schema)
    check_declared_views(policy, schema)
    schema = with_declared_keys(schema, policy)
    assert bind_public(read("SELECT ward, n FROM wards").tree, schema, policy).reads == ("wards",)
    for joined in ("JOIN", "LEFT JOIN"):
        with pytest.raises(UnsupportedSQL, match="'wards' may be computed from owned rows"):
            planned(f"SELECT count(*) FROM visit v {joined} wards w ON v.ward = w.ward AND w.n > 1", schema, policy)


def test_nor_are_its_rows_the_groups_of_theirs() -> None:
    policy, schema = parse_policy(TEXT), _schema(COUNTED)
    schema = with_declared_keys(schema, policy)
    for asked in ("ward, count(*)", "ward"):
        with pytest.raises(SensitivityUnbounded, match=r"values of the group key visit\.ward are not public"):
            planned(f"SELECT {asked} FROM visit GROUP BY ward", schema, policy)


def test_what_a_materialized_view_holds_does_not_change_with_a_person() -> None:
    policy = parse_policy(TEXT)
    schema = with_declared_keys(_schema(COUNTED, "materialized view"), policy)
    joined = "SELECT v.ward, count(*) FROM visit v JOIN wards w ON v.ward = w.ward GROUP BY 1"
    query = rewritten(joined, schema, policy)
    assert query.join is not None and '"wards"' in query.join
    (domain,) = rewritten("SELECT ward, count(*) FROM visit GROUP BY ward", schema, policy).domains
    assert domain is not None and '"wards"' in domain


CODES = """
[tables.codes]
public = true
[tables.wards]
public = true
keys = ["ward"]
"""


def test_a_view_is_not_sampled_and_a_materialized_one_is() -> None:
    """PostgreSQL refuses to sample a view: such a question would be charged, and fail."""
    for kind, relation in (("view", "person"), ("materialized view", "wards")):
        policy = parse_policy(TEXT[: TEXT.index("[tables.visit]")] + CODES)
        codes = replace(PERSON, name="codes")
        view = View(WARDS, kind, "SELECT codes.id AS ward, 1 AS n FROM public.codes", ("codes",))
        schema = Schema({"person": PERSON, "codes": codes}, {"wards": view}).declaring(["wards"])
        schema = with_declared_keys(schema, policy)
        asked = "SELECT count(*) FROM wards {} JOIN person p ON p.id = wards.ward"
        plan = planned(asked.format(""), schema, policy, sampling_rate=0.5)
        assert plan.sampling is not None and (plan.sampling.strategy, plan.sampling.relation) == (
            "pushdown",
            relation,
        )
        written = asked.format("TABLESAMPLE BERNOULLI (50)")
        if kind == "view":
            with pytest.raises(UnsupportedSQL, match="TABLESAMPLE on a view"):
                planned(written, schema, policy)
        else:
            assert planned(written, schema, policy).sampling == plan.sampling
