"""A first policy from structure: what it leaves out, suggests, and never decides by itself."""

from __future__ import annotations

from datetime import date

from planner.policy.draft import Estimates, draft, referred_without_key, suggested_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import is_draft, validate
from planner.schema import Column, ForeignKey, Schema, Table


def table(name: str, columns: str, key: str | None = "id", *keys: ForeignKey) -> Table:
    pairs = (pair.split(" ") for pair in columns.split(", "))
    parsed = tuple(Column(column, kind, False) for column, kind in pairs)
    unique = () if key is None else (tuple(key.split("+")),)
    return Table(name, "public", parsed, unique, keys, unique[0] if unique else None)


SCHEMA = Schema(
    {
        one.name: one
        for one in (
            table("ward", "id smallint, Name text"),
            table("patients", "id uuid, birth_date date, registered_on date"),
            table(
                "visit",
                "id bigint, day date, patient uuid, ward smallint, cost numeric",
                "id+day",
                ForeignKey(("patient",), "patients", ("id",)),
                ForeignKey(("ward",), "ward", ("id",)),
            ),
            table("lab_result", "id bigint, patient_id uuid, visit_id bigint, ward_id bigint"),
            table("post", "id bigint, parent bigint", "id", ForeignKey(("parent",), "post", ("id",))),
            table("access_log", "at date, what text", None),
            table("schema_migrations", "version text", "version"),
            table("Flyway_Schema_History", "installed_rank integer", "installed_rank"),
        )
    }
)


def test_it_parses_and_fits_and_is_known_as_a_draft() -> None:
    text = draft(SCHEMA, "clinic")
    policy = parse_policy(text)
    validate(policy, SCHEMA)
    assert is_draft(policy, SCHEMA)
    assert (policy.epsilon, policy.max_epsilon, policy.delta) == (0.5, 2.0, 1e-8)
    assert policy.budgets.analyst is not None and policy.budgets.dataset is not None
    assert policy.delta <= policy.budgets.analyst.delta <= policy.budgets.dataset.delta
    assert not any(declared.public for declared in policy.tables.values())


def test_tables_of_migration_tools_are_left_out_and_named() -> None:
    text = draft(SCHEMA, "clinic")
    policy = parse_policy(text)
    assert not {"schema_migrations", "Flyway_Schema_History"} & {*policy.privacy_units, *policy.tables}
    for name in ("Flyway_Schema_History", "schema_migrations"):
        assert f"#   {name}: a migration tool records its work in it" in text


def test_keys_that_the_catalog_lacks_are_suggested_by_name_and_type() -> None:
    """Not `visit_id`, whose table has no key `id` alone; not `ward_id`, of another type."""
    assert [(key.table, key.columns, key.references, key.key) for key in suggested_keys(SCHEMA)] == [
        ("lab_result", ("patient_id",), "patients", ("id",))
    ]
    text = draft(SCHEMA, "clinic")
    assert "lab_result.patient_id -> patients.id is not declared in" in text
    assert [key.table for key in parse_policy(text).foreign_keys] == ["post", "lab_result"]


def test_a_key_that_names_its_table_is_one_that_others_name() -> None:
    """`patient_id` of `patient`, in a partitioned table with it alone; not `note_id`, whose table has no such key."""
    clinic = (
        table("patient", "patient_id bigint, born text", "patient_id"),
        table("visit", "visit_id bigint, patient_id bigint, month date", "visit_id+month"),
        table("lab", "lab_id bigint, visit_id bigint, note_id bigint, pat bigint", "lab_id"),
        table("care.note", "text text", None),
    )
    schema = Schema({one.name: one for one in clinic})
    assert [(key.table, *key.columns, key.references, *key.key) for key in suggested_keys(schema)] == [
        ("visit", "patient_id", "patient", "patient_id")
    ]
    text = draft(schema, "clinic", units={"patient": ("patient_id",)})
    policy = parse_policy(text)
    validate(policy, schema)
    assert set(policy.tables) == {"patient", "visit"}
    assert "lab.visit_id -> visit.visit_id is not declared, and\n# no constraint makes the key unique." in text
    assert '# a text that holds dates is a date by its form: born = { format = "DD.MM.YYYY" }' in text
    decided = text.replace('# keys = ["visit_id"]', 'keys = ["visit_id"]').replace("# [tables.lab]", "[tables.lab]")
    assert decided.count("# keys") == 0, "one proposal"
    lines = (
        "[[foreign_keys]]",
        'table = "lab"',
        'columns = ["visit_id"]',
        'references = "visit"',
        'key = ["visit_id"]',
    )
    block = "".join(f"# {line}\n" for line in lines)
    assert block in decided
    policy = parse_policy(decided.replace(block, block.replace("# ", "")))
    validate(policy, schema)
    assert policy.tables["visit"].keys == (("visit_id",),) and "lab" in policy.tables
    other = block.replace("visit_id", "COLUMN", 1).replace('"visit"', '"patient"').replace("visit_id", "patient_id")
    assert other in text, "for a column that no name suggests"


def test_people_without_a_key_are_named() -> None:
    """`patients`, which visits name; not `note`, which nothing names, nor `ward`, which has a key.

    Nor `visit`, which diagnoses name, and which is of patients in its ward.
    """
    clinic = (
        table("patients", "patient_id bigint, born text", None),
        table("ward", "id bigint, name text"),
        table("visit", "number bigint, patient_id bigint, ward_id bigint", None),
        table("diagnosis", "id bigint, visit_id bigint"),
        table("note", "note_id bigint, text text", None),
    )
    assert referred_without_key(Schema({one.name: one for one in clinic})) == ["patients"]


def test_people_who_reference_their_own_rows_are_no_circle() -> None:
    """`customer.last_order` of the database, and `customer.address_id` by its name, beside `address.customer_id`."""
    shop = (
        table(
            "customer", "id bigint, last bigint, address_id bigint", "id", ForeignKey(("last",), "orders", ("id",))
        ),
        table("orders", "id bigint, customer_id bigint", "id", ForeignKey(("customer_id",), "customer", ("id",))),
        table("address", "id bigint, customer_id bigint"),
    )
    schema = Schema({one.name: one for one in shop})
    policy = parse_policy(draft(schema, "shop", units={"customer": ("id",)}))
    validate(policy, schema)
    assert {(key.table, *key.columns) for key in policy.foreign_keys if not key.owning} == {
        ("customer", "last"), ("customer", "address_id"),
    }  # fmt: skip
    assert set(policy.tables) == {"customer", "orders", "address"}


def test_owning_is_settled_only_where_it_must_be_and_fanouts_are_open() -> None:
    text = draft(SCHEMA, "clinic")
    assert [line for line in text.splitlines() if line.startswith(("owning", "fanout", "# owning"))] == [
        "owning = false"
    ]
    assert [key.references for key in parse_policy(text).foreign_keys if not key.owning] == ["post"]
    assert "A fan-out, the most rows" in text


def test_dates_have_ranges_by_what_they_mean() -> None:
    text = draft(SCHEMA, "clinic", Estimates(today=date(2026, 11, 22)))
    assert "# birth_date = { range = [1900-01-01, 2026-11-22]" in text
    assert "# registered_on = { range = [2000-01-01, 2026-11-22]" in text


def test_lookup_tables_are_proposed_from_estimates_and_decided_by_nobody_else() -> None:
    estimates = Estimates({"ward": 8.0, "patients": 50.0, "access_log": 3.0})
    text = draft(SCHEMA, "clinic", estimates)
    policy = parse_policy(text)
    assert "ward" not in policy.privacy_units and "ward" not in policy.tables
    assert "# DECIDE: ward looks like a lookup table: about 8 rows, referenced by visit; looked at the data" in text
    assert "patients" in policy.privacy_units and is_draft(policy, SCHEMA)
    assert "ward" in parse_policy(draft(SCHEMA, "clinic")).privacy_units, "structure alone does not tell"


def test_with_the_people_named_it_can_be_served_at_once() -> None:
    policy = parse_policy(draft(SCHEMA, "clinic", units={"patients": ("id",)}))
    validate(policy, SCHEMA)
    assert policy.privacy_units == {"patients": ("id",)}
    assert set(policy.tables) == {"patients", "visit", "lab_result"}, "what no path leads from cannot be asked"


def test_what_was_looked_at_is_a_comment_and_says_so() -> None:
    estimates = Estimates({}, {("visit", "cost"): "range = [0, 900]"})
    text = draft(SCHEMA, "clinic", estimates)
    assert "# cost = { range = [0, 900] }   # looked at the data: decide whether that may be public" in text
    assert parse_policy(text) == parse_policy(draft(SCHEMA, "clinic"))


def test_a_name_with_a_line_break_writes_no_setting() -> None:
    """Whoever may create a table must not write the policy with its name."""
    inside = "\npublic=true\n#"
    parent = table(f"codes{inside}", f"id{inside} bigint")
    others = (
        parent,
        table(f"codes{inside}_x", f"id bigint, codes{inside}_id{inside} bigint"),
        table("uses", "id bigint, code bigint", "id", ForeignKey(("code",), parent.name, (f"id{inside}",))),
        table(f"log{inside}", "id bigint", None),
    )
    schema = Schema({**SCHEMA.tables, **{one.name: one for one in others}})
    for estimates in (Estimates(), Estimates({parent.name: 3.0})):
        text = draft(schema, "clinic", estimates, left_out=[(f"secret{inside}", "no SELECT privilege")])
        policy = parse_policy(text)
        assert not any(declared.public for declared in policy.tables.values())
        assert "\npublic=" not in text and "\\npublic=true\\n#" in text
