"""L0 by functional dependency or by the custodian's rule, whichever is less."""

from __future__ import annotations

from dataclasses import replace

from planner.plan import GroupDomain, UnitBounds
from planner.sensitivity.groups_per_unit import limited_groups_per_unit
from planner.sensitivity.provenance import OwnerPosition
from tests.support.planning import demo_policy

PUBLIC = GroupDomain((0,), ("a", "b"), None, "declared")
FOUND = GroupDomain((0,), None, None, "found")
OWNER = OwnerPosition("customer", (("c", "c_custkey"),))


def test_the_rule_yields_to_less() -> None:
    for determined, rule, values, reach in [
        (None, None, 2, UnitBounds(None)), (1, 5, None, UnitBounds(1)), (5, 5, None, UnitBounds(5)),
        (6, 5, None, UnitBounds(5, 5)), (None, 5, None, UnitBounds(5, 5)),
        (None, 5, 6, UnitBounds(5, 5)), (None, 5, 5, UnitBounds(5)), (11, 5, 4, UnitBounds(4)),
        (1, 5, 7, UnitBounds(1)), (None, 5, 0, UnitBounds(1)),
    ]:  # fmt: skip
        policy = replace(demo_policy(), groups_per_unit={} if rule is None else {"customer": rule})
        listed = replace(PUBLIC, values=None if values is None else tuple(map(str, range(values))))
        assert limited_groups_per_unit(determined, [OWNER], [listed], policy) == reach


def test_the_groups_of_several_keys_are_their_combinations() -> None:
    policy = replace(demo_policy(), groups_per_unit={"customer": 4})
    assert limited_groups_per_unit(None, [OWNER], [PUBLIC, PUBLIC], policy) == UnitBounds(4)
    assert limited_groups_per_unit(None, [OWNER], [PUBLIC, PUBLIC, PUBLIC], policy) == UnitBounds(4, 4)
    assert limited_groups_per_unit(None, [OWNER], [PUBLIC, FOUND], policy) == UnitBounds(4, 4)


def test_the_rule_is_for_one_owner() -> None:
    policy = replace(demo_policy(), groups_per_unit={"customer": 2})
    other = replace(OWNER, columns=(("d", "c_custkey"),))
    assert limited_groups_per_unit(None, [OWNER, other], [PUBLIC], policy) == UnitBounds(None)
    assert limited_groups_per_unit(None, [replace(OWNER, relation="supplier")], [PUBLIC], policy) == UnitBounds(None)
