"""Which questions are decided by closed rows of one append-only table, and the days of their groups."""

from __future__ import annotations

from datetime import date

from planner.planning.make_plan import make_plan
from planner.reuse.period_scope import PeriodScope, period_scope, ways
from tests.support.planning import bound
from tests.unit.planner.reuse.test_time_keys import clinic

MOMENT = "timestamp without time zone"


def scope(sql: str) -> PeriodScope | None:
    schema, policy = clinic(MOMENT)
    return period_scope(bound(sql, schema, policy), schema, policy)


def test_the_ways_from_a_row_lead_to_one_row_each() -> None:
    schema, policy = clinic(MOMENT)
    assert [way.name for way in ways(schema.tables["visit"], schema, policy)] == [
        "/patient (patient_id)",
        "/ward (ward)",
    ]


def test_days_are_those_that_conditions_leave() -> None:
    found = scope(
        "SELECT count(*) FROM visit WHERE admitted_at >= DATE '2026-02-01' AND admitted_at < DATE '2026-05-01'"
    )
    assert found is not None
    assert (found.table, found.column, found.ways, found.whole) == ("visit", "admitted_at", ("",), ())
    assert (found.first, found.last) == (date(2026, 2, 1), date(2026, 4, 30))
    assert found.classes() == {(): ((date(2026, 2, 1), date(2026, 4, 30)),)}


def test_without_conditions_they_have_no_end() -> None:
    found = scope("SELECT ward, count(*) FROM visit GROUP BY 1")
    assert found is not None and (found.first, found.last) == (None, None)


def test_groups_at_the_ends_of_the_declared_range_take_in_what_lies_beyond() -> None:
    found = scope("SELECT date_trunc('quarter', admitted_at), count(*) FROM visit GROUP BY 1")
    assert found is not None
    runs = found.classes()
    assert runs[("2026-01-01 00:00:00",)] == ((None, date(2026, 3, 31)),)
    assert runs[("2026-04-01 00:00:00",)] == ((date(2026, 4, 1), date(2026, 6, 30)),)
    assert runs[("2026-10-01 00:00:00",)] == ((date(2026, 10, 1), None),)


def test_a_key_that_comes_again_has_several_stretches() -> None:
    found = scope(
        "SELECT extract(dow from admitted_at), count(*) FROM visit WHERE admitted_at >= DATE '2026-01-04' "
        "AND admitted_at < DATE '2026-01-18' GROUP BY 1"
    )
    assert found is not None
    assert found.classes()[(0,)] == ((date(2026, 1, 4), date(2026, 1, 4)), (date(2026, 1, 11), date(2026, 1, 11)))


def test_other_tables_are_reached_or_compared_as_a_whole() -> None:
    for sql, reached, whole in [
        ("SELECT count(*) FROM visit v JOIN patient p ON p.id = v.patient_id", ("", "/patient (patient_id)"), ()),
        ("SELECT count(*) FROM visit v JOIN ward w ON w.name = v.ward", ("", "/ward (ward)"), ()),
        ("SELECT count(*) FROM visit v LEFT JOIN ward w ON w.name = v.ward", ("", "/ward (ward)"), ()),
        ("SELECT count(*) FROM visit v JOIN ward w ON w.floor = v.cost", ("",), ("ward",)),
        ("SELECT count(*) FROM visit WHERE ward IN (SELECT name FROM ward WHERE floor = 1)", ("",), ("ward",)),
    ]:  # fmt: skip
        found = scope(sql)
        assert found is not None and (found.ways, found.whole) == (reached, whole)


def test_what_is_not_proved_has_no_scope() -> None:
    for sql in [
        "SELECT count(*) FROM patient", "SELECT count(*) FROM visit v JOIN visit w ON w.patient_id = v.patient_id",
        "SELECT count(*) FROM visit v WHERE EXISTS (SELECT 1 FROM visit w WHERE w.patient_id = v.patient_id)",
        "SELECT count(*) FROM (SELECT patient_id, count(*) AS n FROM visit GROUP BY patient_id) s WHERE n > 2",
        "SELECT count(*) FROM patient p LEFT JOIN visit v ON v.patient_id = p.id",
        "SELECT count(*) FROM visit v JOIN patient p ON p.id = v.cost",
        "SELECT count(*) FROM visit WHERE admitted_at > DATE '2026-05-01' AND admitted_at < DATE '2026-04-01'",
    ]:  # fmt: skip
        assert scope(sql) is None


def test_a_question_of_some_days_is_the_same_question() -> None:
    schema, policy = clinic(MOMENT)
    asked = bound("SELECT date_trunc('month', admitted_at), sum(cost) FROM visit GROUP BY 1", schema, policy)
    found = period_scope(asked, schema, policy)
    assert found is not None
    narrowed = found.narrowed(asked, [(date(2026, 3, 1), date(2026, 3, 31)), (date(2026, 6, 1), None)])
    whole, part = (
        make_plan(one, schema, policy, epsilon=1.0, delta=None, mechanism=None) for one in (asked, narrowed)
    )
    assert (whole.releases, whole.owners, whole.group_keys) == (part.releases, part.owners, part.group_keys)
    assert whole.source.args["joins"] == part.source.args["joins"] if whole.source.args.get("joins") else True
    written = part.source.sql("postgres")
    assert "2026-03-01" in written and "2026-04-01" in written and "2026-06-01" in written
