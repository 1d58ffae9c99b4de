"""Which changes of a policy must be confirmed."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from planner.policy.policy import DeclaredForeignKey, Policy, SideChannels, parse_policy
from planner.policy.weakening import weakenings
from tests.support.planning import DEMO_POLICY

TEXT = """
name = "clinic"
[database]
url = "env:URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 0.5
max_epsilon = 2.0
delta = 1e-7
time_grain = "day"
[privacy_units]
patient = "id"
doctor = "id"
[[foreign_keys]]
table = "visit"
columns = ["patient_id"]
references = "patient"
key = ["id"]
fanout = 10
[[foreign_keys]]
table = "visit"
columns = ["doctor_id"]
references = "doctor"
key = ["id"]
owning = false
[tables.ward]
public = true
[tables.visit]
rows_per_unit = { patient = 10 }
[tables.visit.columns]
cost = { range = [0, 100] }
[tables.bill]
rows_are_units = true
"""


GROUPS = '[groups_per_unit]\npatient = 3\n[[foreign_keys]]\ntable = "visit"\ncolumns = ["patient_id"]'


def changed(before: str, after: str) -> tuple[str, ...]:
    assert TEXT.count(before) == 1, before
    return weakenings(parse_policy(TEXT), parse_policy(TEXT.replace(before, after)))


def test_what_protects_as_much_needs_no_confirmation() -> None:
    for before, after in [
        ("max_epsilon = 2.0", "max_epsilon = 1.0"), ("epsilon = 0.5", "epsilon = 0.75"),
        ("delta = 1e-7", "delta = 0.0"), ('time_grain = "day"', 'time_grain = "hour"'),
        ('name = "clinic"', 'name = "hospital"'), ("delta = 1e-7", "delta = 1e-7\nglobal_sensitivity = 100"),
        ('doctor = "id"\n[[', 'doctor = "id"\nnurse = "id"\n[['), ("fanout = 10", "fanout = 11"),
        ("fanout = 10", ""), ("owning = false", "owning = true"), ("public = true", "public = false"),
        ("[tables.ward]\npublic = true", ""), ("patient = 10", "patient = 11"), ("patient = 10", ""),
        ("range = [0, 100]", "range = [0, 1000]"), ("range = [0, 100]", "range = [0, 100], step = 5, other = -1"),
        ("cost = { range", "cost = { discover = false, range"),
        ("delta = 1e-7", "delta = 1e-7\nminimum_frequency = 10"),
        ("delta = 1e-7", "delta = 1e-7\nmin_epsilon = 0.01\nanswer_quantum = 2.0\nhold_all_answers = true"),
        ("delta = 1e-7", "delta = 1e-7\nmax_join_tuples = 10"),
        ('[[foreign_keys]]\ntable = "visit"\ncolumns = ["patient_id"]', GROUPS),
    ]:  # fmt: skip
        assert changed(before, after) == ()


def test_a_column_that_no_longer_opts_out_of_partition_selection_is_named() -> None:
    every = TEXT.replace("delta = 1e-7", "delta = 1e-7\ndiscover = true")
    kept = every.replace("cost = { range", "cost = { discover = false, range")
    assert weakenings(parse_policy(every), parse_policy(kept)) == ()
    assert weakenings(parse_policy(every), parse_policy(TEXT)) == ()
    (said,) = weakenings(parse_policy(kept), parse_policy(every))
    assert "visit.columns.cost" in said


def test_what_protects_less_is_named() -> None:
    for before, after, named in [
        ("max_epsilon = 2.0", "max_epsilon = 2.5", "max_epsilon"), ("delta = 1e-7", "delta = 1e-6", "delta"),
        ('"env:URL"', '"env:OTHER"', "database.url"), ('"ledger.sqlite"', '"new.sqlite"', "ledger.path"),
        ('doctor = "id"\n[[', "[[", "privacy_units.doctor"),
        ('patient = "id"\n', 'patient = "number"\n', "privacy_units.patient"),
        ("fanout = 10", "fanout = 9", "fanout"),
        ("fanout = 10", "fanout = 10\nowning = false", "visit (patient_id) to patient"),
        ("fanout = 10", "fanout = 10\ndepth = 2", "depth"),
        ("owning = false", "owning = false\nfanout = 3", "visit (doctor_id) to doctor, fanout"),
        ('columns = ["doctor_id"]', 'columns = ["nurse_id"]', "visit (nurse_id) to doctor"),
        ("[tables.bill]\n", "[tables.bill]\npublic = true\n", "tables.bill.public: true"),
        ("[tables.bill]\n", "[tables.secrets]\n[tables.bill]\n", "tables.secrets"),
        ("rows_are_units = true", "rows_are_units = false", "tables.bill.rows_are_units"),
        ("[tables.bill]\nrows_are_units = true", "", "tables.bill.rows_are_units"),
        ("cost = { range", "cost = { discover = true, range", "visit.columns.cost: partition selection"),
        ("delta = 1e-7", "delta = 1e-7\ndiscover = true", "privacy.discover: partition selection may show"),
        ("patient = 10", "patient = 9", "rows_per_unit.patient"),
        ("delta = 1e-7", "delta = 1e-7\nmin_epsilon = 0.0009", "privacy.min_epsilon: lowered"),
        ("delta = 1e-7", "delta = 1e-7\nunbounded_joins = true", "privacy.unbounded_joins: allowed"),
        ("delta = 1e-7", "delta = 1e-7\nanswer_quantum = 0.5", "privacy.answer_quantum: lowered"),
        ("rows_are_units = true", "rows_are_units = true\nrows = 10", "tables.bill.rows: declares a smaller bound"),
        ("patient = 10", "patient = 10, doctor = 10", "rows_per_unit.doctor"),
    ]:  # fmt: skip
        found = changed(before, after)
        assert found and named in " ".join(found), found


def test_taking_a_switch_back_is_a_weakening_too() -> None:
    policy = parse_policy(TEXT)
    strict = replace(policy, side_channels=SideChannels(max_join_tuples=5, hold_all_answers=True))
    assert weakenings(policy, strict) == ()
    assert weakenings(strict, policy) == ("privacy.hold_all_answers: no longer", "privacy.max_join_tuples: raised")


def test_withholding_more_needs_no_confirmation_and_withholding_less_does() -> None:
    """The test for the minimum is a release of its own, within the same charge."""
    for before, after, named in [
        (None, 5, ()), (5, 6, ()), (5, 4, ("privacy.minimum_frequency: smaller groups are shown",)),
        (5, None, ("",)),
    ]:  # fmt: skip
        policy = parse_policy(TEXT)
        found = weakenings(replace(policy, minimum_frequency=before), replace(policy, minimum_frequency=after))
        assert len(found) == len(named)
        assert all(name in told for name, told in zip(named, found, strict=True))


def test_a_setting_that_nobody_has_thought_of_weakens() -> None:
    @dataclass(frozen=True)
    class Later(Policy):
        answers_in_clear: bool = False

    policy = parse_policy(TEXT)
    content = {field.name: getattr(policy, field.name) for field in fields(policy)}
    assert weakenings(policy, Later(**content, answers_in_clear=True)) == ("answers_in_clear: changed",)


def test_a_key_that_is_declared_twice_is_not_compared_silently() -> None:
    policy = parse_policy(TEXT)
    doubled = replace(policy, foreign_keys=(*policy.foreign_keys, replace(policy.foreign_keys[0], fanout=1)))
    assert weakenings(policy, doubled)


def test_the_order_of_foreign_keys_means_nothing() -> None:
    policy = parse_policy(TEXT)
    assert weakenings(policy, replace(policy, foreign_keys=policy.foreign_keys[::-1])) == ()


def test_foreign_keys_are_told_in_one_order() -> None:
    """Sets of texts have another order in each process: eight keys agree by chance once in 40,000 runs."""
    policy = parse_policy(TEXT)
    many = tuple(replace(policy.foreign_keys[0], table=f"visit{number}") for number in range(8))
    fewer = tuple(replace(key, fanout=1) for key in many)
    for before, after in (((), many), (many, ()), (many, fewer)):
        told = weakenings(replace(policy, foreign_keys=before), replace(policy, foreign_keys=after))
        assert len(told) == len(many) and list(told) == sorted(told)


def test_a_policy_is_as_strong_as_itself() -> None:
    policy = parse_policy(DEMO_POLICY.read_text())
    assert weakenings(policy, policy) == ()
    assert policy.foreign_keys and all(isinstance(key, DeclaredForeignKey) for key in policy.foreign_keys)


def test_a_key_that_is_believed_weakens_and_an_acknowledged_number_does_not() -> None:
    ward = "rows_per_unit = { patient = 10 }"
    assert changed(ward, f'{ward}\nkeys = ["id"]') == ("tables.visit.keys: (id) is trusted without a constraint",)
    assert changed(ward, f"{ward}\naccepted_null_owners = 7") == ()
    assert changed(ward, f'{ward}\none_owner = ["ward"]') == ()
    assert changed("fanout = 10", "fanout = 10\naccepted_orphans = 7") == ()
