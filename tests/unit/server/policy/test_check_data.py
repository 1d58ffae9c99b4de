"""What the custodian's check would count, without a database: only what is declared and not already enforced."""

from planner.policy.policy import ColumnPolicy, DeclaredForeignKey, Policy, TablePolicy
from planner.schema import Column, ForeignKey, Schema, Table
from server.policy.check_data import probes

PERSON = Table("person", "public", (Column("id", "bigint", False),), (("id",),), ())
KEY_COLUMN = Column("person_id", "bigint", True)
KEY = ForeignKey(("person_id",), "person", ("id",))


def purchase(*keys: ForeignKey) -> Table:
    columns = (Column("person_id", "bigint", True), Column("price", "numeric", True))
    return Table("purchase", "public", columns, (), keys)


def policy(**changes: object) -> Policy:
    settings: dict[str, object] = {
        "name": "shop",
        "database_url": "env:UNUSED",
        "ledger_path": "ledger.sqlite",
        "epsilon": 1.0,
        "max_epsilon": 1.0,
        "delta": 0.0,
        "global_sensitivity": None,
        "privacy_units": {"person": ("id",)},
        "foreign_keys": (),
        "tables": {"person": TablePolicy(), "purchase": TablePolicy()},
    }
    return Policy(**(settings | changes))  # type: ignore[arg-type]


def subjects(policy: Policy, *tables: Table) -> list[str]:
    return [probe.subject for probe in probes(policy, Schema({table.name: table for table in tables}))]


def test_an_enforced_unit_key_is_asked_for_nulls_only() -> None:
    assert subjects(policy(), PERSON, purchase()) == ["person.id"]
    loose = Table("person", "public", PERSON.columns, (), ())
    assert subjects(policy(), loose, purchase()) == ["person.id", "person.id"]


def test_a_range_and_a_domain_are_one_probe_each() -> None:
    declared = TablePolicy(columns={"price": ColumnPolicy((0.0, 10.0), (1, 2))})
    found = subjects(policy(tables={"purchase": declared}), PERSON, purchase())
    assert found == ["person.id", "purchase.price", "purchase.price"]


def test_a_declared_key_is_asked_for_orphans_unless_the_database_enforces_it() -> None:
    declared = policy(foreign_keys=(DeclaredForeignKey("purchase", ("person_id",), "person", ("id",)),))
    assert subjects(declared, PERSON, purchase()) == ["person.id", "purchase.person_id", "purchase"]
    assert subjects(declared, PERSON, purchase(KEY)) == ["person.id", "purchase"]


def test_rows_of_nobody_are_asked_for_where_there_can_be_any() -> None:
    sure = Table("purchase", "public", (Column("person_id", "bigint", False),), (), (KEY,))
    assert subjects(policy(), PERSON, purchase(KEY)) == ["person.id", "purchase"]
    assert subjects(policy(), PERSON, sure) == ["person.id"]
    own = TablePolicy(rows_are_units=True)
    keyed = Table("purchase", "public", (Column("id", "bigint", False), KEY_COLUMN), (("id",),), (KEY,))
    assert subjects(policy(tables={"purchase": own}), PERSON, keyed) == ["person.id"]


def test_a_key_that_does_not_own_is_not_asked_for_orphans() -> None:
    key = DeclaredForeignKey("purchase", ("person_id",), "person", ("id",), owning=False)
    assert subjects(policy(foreign_keys=(key,)), PERSON, purchase()) == ["person.id"]


def test_what_the_catalog_lacks_is_left_to_the_validation() -> None:
    declared = policy(
        privacy_units={"nobody": ("id",), "person": ("nothing",)},
        tables={"nowhere": TablePolicy(), "purchase": TablePolicy(columns={"prise": ColumnPolicy((0.0, 1.0))})},
        foreign_keys=(DeclaredForeignKey("purchase", ("nothing",), "person", ("id",)),),
    )
    assert subjects(declared, PERSON, purchase()) == []
