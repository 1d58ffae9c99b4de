"""What an answer shows of its releases."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sqlglot import exp

from planner.errors import StatementTooComplex
from planner.limits import MAX_CELLS, most_groups
from planner.plan import GroupSelection, Owner, Plan, Ranked, UnitBounds
from planner.released_expression import Apply, Display, Given, KeyValue, ReleasedExpression, ReleasedValue, SortKey
from planner.sql.rank_grid import AskedRank, Grid
from server.backends.columns import Domain
from server.note import kind_of
from server.query import Budget, Interval, QueryResponse
from server.results.response import response
from tests.support.planning import planned, unbounded
from tests.support.released_plan import answer_plan, noisy_answer

PART = "SELECT count(*) FROM lineitem JOIN partsupp ON l_partkey = ps_partkey"
X, Y = ReleasedValue(0), ReleasedValue(1)
KEY = KeyValue(0)
BUDGET = Budget(1.0, 0.0, 1.0, 0.0)
PLAIN = Domain(())
LETTERS = Domain((("a", "b", "c", "d"),))


def more_than(value: ReleasedExpression, bound: float) -> ReleasedExpression:
    return Apply(">", (value, Given(bound)))


def letters(answer: QueryResponse) -> str:
    return "".join(str(row[0]) for row in answer.rows)


def test_counts_are_whole_and_their_intervals_outward() -> None:
    answer = response(answer_plan(X, types=["int8"]), PLAIN, [noisy_answer([3.4], reach=1.5)], BUDGET, "r")
    assert answer.rows == ((3,),) and isinstance(answer.rows[0][0], int)
    assert answer.intervals == ((Interval(1.0, 5.0),),)
    assert answer.raw == () and list(answer.as_released()) == [((3,), (Interval(1.0, 5.0),))]


def test_a_count_is_not_below_0_and_what_was_released_stands_beside_it() -> None:
    plan = answer_plan(KEY, X, Apply("-", (X, Y)), types=["text", "int8", "float8"], keys=["text"], n_releases=2)
    noisy = [noisy_answer([-3.4, 7, 2, 1], reach=5.0), noisy_answer([1, 1, 1, 1], reach=1.0)]
    answer = response(plan, LETTERS, noisy, BUDGET, "r")
    assert [row[1:] for row in answer.rows[:2]] == [(0, -4.4), (7, 6.0)], "a difference may be below 0"
    assert answer.intervals[0][1] == Interval(0.0, 5.0) and answer.intervals[1][1] == Interval(2.0, 12.0)
    assert [row[1:] for row in answer.raw[:2]] == [(-3, None), (7, None)]
    released = list(answer.as_released())
    assert released[0][0] == ("a", -3, -4.4) and released[0][1][1] == Interval(-9.0, 2.0)
    assert "too large on average" in answer.notes[-1]


def test_an_interval_below_0_is_as_wide_above_0_as_the_noise() -> None:
    answer = response(answer_plan(X, types=["int8"]), PLAIN, [noisy_answer([-9], reach=1.0)], BUDGET, "r")
    assert (answer.rows, answer.intervals, answer.raw) == (((0,),), ((Interval(0.0, 1.0),),), ((-9,),))


def test_a_row_is_weak_whose_interval_is_wider_than_its_value() -> None:
    plan = answer_plan(KEY, X, types=["text", "float8"], keys=["text"])
    answer = response(plan, LETTERS, [noisy_answer([-1, 10, 11, 0], reach=5.25)], BUDGET, "r")
    assert (answer.low_precision, answer.clipped) == ((True, True, False, True), (False,) * 4)
    assert any("3 of 4 rows (low_precision)" in note for note in answer.notes)
    far_below = response(plan, LETTERS, [noisy_answer([-100] * 4, reach=5.0)], BUDGET, "r")
    assert far_below.low_precision == (True,) * 4, "it is shown as 0"


def test_a_mean_that_may_be_any_value_of_its_range_is_weak() -> None:
    """Of a group with nearly no rows: 40 in 39 to 41 is narrower than its value, and says nothing."""
    for low, high, marked in ((0.0, 100.0, False), (39.0, 100.0, False), (39.0, 41.0, True), (38.5, 41.0, True)):
        mean = Apply("within", (X, Given(low), Given(high)))
        answer = response(answer_plan(mean, types=["float8"]), PLAIN, [noisy_answer([40], reach=1.5)], BUDGET, "r")
        assert answer.low_precision == (marked,), (low, high)
        rounded = answer_plan(Apply("round", (mean, Given(1))), types=["float8"])
        assert response(rounded, PLAIN, [noisy_answer([40], reach=1.5)], BUDGET, "r").low_precision == (marked,)


def test_a_value_of_0_is_marked_if_its_answer_may_be_clipped() -> None:
    """Noise of whole numbers makes 0 often, and a part of 0 is 0."""
    plan = answer_plan(KEY, X, types=["text", "int8"], keys=["text"])
    noisy = noisy_answer([0, 0, 9, 9], signal=[0.5, 9.0, 0.5, 9.0], reach=1.0)
    assert response(plan, LETTERS, [noisy], BUDGET, "r").clipped == (True, False, True, False)


def test_a_sum_has_no_upper_end_if_as_many_people_may_be_overlooked_as_it_has() -> None:
    """Signal 1/4: the overlooked people have as much at tau as the value has. A count keeps its end."""
    plan, whole = answer_plan(X, types=["float8"]), answer_plan(X, types=["int8"])
    assert not plan.releases[0].whole
    whole = replace(whole, releases=(replace(whole.releases[0], whole=True),))
    for signal, end in ((0.25, None), (0.26, 41.0 + 40 / 1.04)):
        noisy = noisy_answer([40], signal=[signal], reach=1.0)
        answer = response(plan, PLAIN, [noisy], BUDGET, "r")
        assert answer.clipped == (True,)
        summed = answer.intervals[0][0]
        assert summed is not None and (summed.low, summed.high) == (39.0, end if end is None else pytest.approx(end))
        counted = response(whole, PLAIN, [noisy], BUDGET, "r").intervals[0][0]
        assert counted is not None and counted.high is not None


def test_with_several_owners_a_marked_value_has_no_upper_end() -> None:
    """The margins between far thresholds may hide all of so few people, who may have any amount."""
    plan = answer_plan(X, types=["int8"])
    several = replace(plan, owners=(*plan.owners, Owner("staff", exp.Literal.number(2))))
    for signal, marked in ((0.0, True), (0.99, True), (1.0, False)):
        answer = response(several, PLAIN, [noisy_answer([40], signal=[signal], reach=1.0)], BUDGET, "r")
        (((interval,),), (clipped,)) = answer.intervals, answer.clipped
        assert interval is not None and (interval.high is None) == marked, signal
        assert clipped or not marked, signal


def test_of_a_lower_bound_a_row_is_weak_that_may_be_0() -> None:
    plan = answer_plan(KEY, X, types=["text", "float8"], keys=["text"])
    noisy = noisy_answer([3] * 4, low=[-1, 0, 0.5, 2], high=[math.inf] * 4, covers="truth_lower")
    assert response(plan, LETTERS, [noisy], BUDGET, "r").low_precision == (True, True, False, False)


def test_an_interval_reaches_up_by_what_may_be_missing_and_a_row_that_lacks_much_is_marked() -> None:
    """A signal of 5: a twentieth of the value may be missing, above alone; of 0.9 more than a quarter."""
    plan = answer_plan(KEY, X, types=["text", "float8"], keys=["text"])
    noisy = noisy_answer([100] * 4, reach=1.0, signal=[math.inf, 5, 2, 0.9])
    answer = response(plan, LETTERS, [noisy], BUDGET, "r")
    highs = [one.high for _, one in answer.intervals if one is not None]
    assert highs == pytest.approx([101, 106, 101 + 100 / 8, 101 + 100 / 3.6])
    assert [one.low for _, one in answer.intervals if one is not None] == [99.0] * 4
    assert answer.clipped == (False, False, True, True)
    noisy = noisy_answer([100] * 4, reach=30.0, signal=[math.inf, 5, 2, 0.9])
    assert response(plan, LETTERS, [noisy], BUDGET, "r").clipped == (False, False, False, True), "noise is larger"
    bounded = replace(plan, bounds=replace(plan.bounds, tuples=2))
    uncut = response(bounded, LETTERS, [noisy], BUDGET, "r")
    assert uncut.clipped == (False,) * 4
    assert {one.high for _, one in uncut.intervals if one is not None} == {130.0}


def test_what_is_missing_may_be_on_either_side_of_sums_of_either_sign() -> None:
    plan = answer_plan(X, types=["float8"])
    signed = replace(plan, releases=(replace(plan.releases[0], less=plan.releases[0].weight),))
    ((around,),) = response(signed, PLAIN, [noisy_answer([-100], reach=1.0, signal=[5])], BUDGET, "r").intervals
    assert around is not None
    assert (around.low, around.high) == (-106.0, -94.0)


def test_an_interval_is_for_the_truth_if_nobody_adds_more_than_was_said() -> None:
    cases: list[tuple[float | None, str]] = [(None, "clipped value"), (30.0, "truth")]
    for bounded, covers in cases:
        plan = replace(
            answer_plan(KEY, X, types=["text", "int8"], keys=["text"]), bounds=UnitBounds(1, assumed=bounded)
        )
        answer = response(plan, LETTERS, [noisy_answer([5] * 4)], BUDGET, "r")
        assert (answer.covers, answer.at_most) == (covers, bounded), bounded
        assert ("If nobody adds more than 30 to a group" in answer.notes[0]) == (bounded is not None), bounded
        ruled = response(
            replace(plan, bounds=replace(plan.bounds, rule=1)), LETTERS, [noisy_answer([5] * 4)], BUDGET, "r"
        )
        assert (ruled.covers, ruled.at_most) == ("clipped value", None), "a rule leaves rows out"


def test_values_are_multiplied_by_their_bound() -> None:
    plan = answer_plan(X, weight_bound=50.0)
    answer = response(plan, PLAIN, [noisy_answer([3.0], reach=1.0)], BUDGET, "r")
    assert answer.rows == ((150.0,),)
    assert answer.intervals == ((Interval(100.0, 200.0),),)
    assert answer.taus == (((100.0,),),)


def test_an_unbounded_end_is_none() -> None:
    answer = response(answer_plan(X), PLAIN, [noisy_answer([3.0], high=[math.inf])], BUDGET, "r")
    assert answer.intervals == ((Interval(3.0, None),),)


def test_a_ratio_whose_denominator_may_be_nothing_is_weak() -> None:
    ratio = Apply("/", (X, Y))
    many, few = noisy_answer([9.0, 9.0], reach=1.0), noisy_answer([9.0, 1.0], reach=2.0)
    plan = answer_plan(ratio, n_releases=2, keys=["text"])
    answer = response(plan, Domain((("a", "b"),)), [many, few], BUDGET, "r")
    assert [interval is None or interval.high is None for (interval,) in answer.intervals] == [False, True]
    assert answer.low_precision == (False, True)


def test_a_ratio_without_a_denominator_is_null() -> None:
    ratio = Apply("/", (X, Given(0)))
    answer = response(answer_plan(ratio), PLAIN, [noisy_answer([3.0], reach=1.0)], BUDGET, "r")
    assert answer.rows == ((None,),)
    assert answer.intervals == ((None,),)


def test_keys_texts_and_conditions_have_their_types_and_no_interval() -> None:
    label = Apply("case", (more_than(X, 2), Given("many"), Given("few")))
    plan = answer_plan(KEY, label, more_than(X, 2), Given(7), types=["text", "text", "bool", "int8"])
    answer = response(plan, LETTERS, [noisy_answer([1, 2, 3, 4], reach=1.0)], BUDGET, "r")
    assert answer.rows[1:3] == (("b", "few", False, 7), ("c", "many", True, 7))
    assert answer.intervals[0] == (None, None, None, None)
    assert answer.taus[0] == (None, (2.0,), (2.0,), None)


def test_whole_keys_are_not_rounded_to_doubles() -> None:
    large = 2**60 + 1
    answer = response(answer_plan(KEY, types=["int8"]), Domain(((large,),)), [noisy_answer([1])], BUDGET, "r")
    assert answer.rows == ((large,),)


def test_having_shows_what_is_true() -> None:
    plan = answer_plan(KEY, types=["text"], having=more_than(Apply("nullif", (X, Given(4))), 1))
    assert letters(response(plan, LETTERS, [noisy_answer([1, 2, 3, 4])], BUDGET, "r")) == "bc"


def test_having_agrees_with_the_count_that_is_shown() -> None:
    plan = answer_plan(KEY, X, types=["text", "int8"], having=more_than(X, 2))
    answer = response(plan, LETTERS, [noisy_answer([2.4, 2.6, 1, 1])], BUDGET, "r")
    assert answer.rows == (("b", 3),)


def test_order_is_stable_and_puts_nulls_where_they_belong() -> None:
    for descending, nulls_first, expected in [
        (False, False, "bdca"),
        (False, True, "abdc"),
        (True, False, "cbda"),
        (True, True, "acbd"),
    ]:
        order = (SortKey(Apply("nullif", (X, Given(9))), descending, nulls_first),)
        plan = answer_plan(KEY, types=["text"], order=order)
        assert letters(response(plan, LETTERS, [noisy_answer([9, 1, 2, 1])], BUDGET, "r")) == expected, descending


def test_order_by_several_keys_then_limit_and_offset() -> None:
    order = (SortKey(X), SortKey(KEY, descending=True))
    plan = answer_plan(KEY, types=["text"], order=order, limit=2, offset=1)
    assert letters(response(plan, LETTERS, [noisy_answer([1, 1, 0, 1])], BUDGET, "r")) == "db"
    past = answer_plan(KEY, types=["text"], offset=9)
    assert response(past, LETTERS, [noisy_answer([1, 1, 0, 1])], BUDGET, "r").rows == ()


def test_confidence_counts_the_distinct_releases_of_a_column() -> None:
    total = Apply("+", (X, Apply("-", (X, Y))))
    answer = response(answer_plan(total, X, n_releases=2), PLAIN, [noisy_answer([1])] * 2, BUDGET, "r")
    assert answer.confidence == pytest.approx(0.9)
    assert answer.taus == (((2.0, 2.0), (2.0,)),)
    assert response(answer_plan(Given(1)), PLAIN, [noisy_answer([1])], BUDGET, "r").confidence == 1.0


def test_mechanisms_are_joined() -> None:
    noisy = [noisy_answer([1]), noisy_answer([1], mechanism="fixed"), noisy_answer([1])]
    assert response(answer_plan(X, n_releases=3), PLAIN, noisy, BUDGET, "r").mechanism == "gem, fixed"


def test_a_lower_bound_anywhere_is_said() -> None:
    noisy = [noisy_answer([1], mechanism="fixed"), noisy_answer([1], high=[math.inf], covers="truth_lower")]
    answer = response(answer_plan(Apply("-", (X, Y)), n_releases=2), PLAIN, noisy, BUDGET, "r")
    assert answer.covers == "truth from below"
    assert "one-sided" not in answer.notes[0]


def test_a_row_is_cut_when_all_releases_of_a_column_may_be() -> None:
    split = answer_plan(Apply("-", (X, Y)), n_releases=2)
    strong, low_precision = noisy_answer([100], signal=[9.0]), noisy_answer([1], signal=[0.5])
    assert response(split, PLAIN, [strong, low_precision], BUDGET, "r").clipped == (False,)
    assert response(split, PLAIN, [low_precision, low_precision], BUDGET, "r").clipped == (True,)


def test_a_quotient_may_be_cut_where_one_of_its_sides_may() -> None:
    mean = answer_plan(Apply("/", (X, Y)), n_releases=2)
    strong, low_precision = noisy_answer([1], signal=[9.0]), noisy_answer([1], signal=[1.0])
    for sides in ([strong, low_precision], [low_precision, strong]):
        assert response(mean, PLAIN, sides, BUDGET, "r").clipped == (True,)
    assert response(mean, PLAIN, [strong, strong], BUDGET, "r").clipped == (False,)


def test_marked_rows_are_those_that_are_shown() -> None:
    plan = answer_plan(KEY, X, types=["text", "int8"], order=(SortKey(X, descending=True),), limit=2)
    noisy = noisy_answer([1, 2, 3, 4], signal=[9, 9, 1, 9])
    answer = response(plan, LETTERS, [noisy], BUDGET, "r")
    assert (letters(answer), answer.clipped) == ("dc", (False, True))
    assert "1 of 2 rows" in answer.notes[-1]


def test_rows_that_noise_has_chosen_are_announced() -> None:
    chosen = answer_plan(KEY, X, types=["text", "int8"], order=(SortKey(X),), limit=2)
    sorted_only = answer_plan(KEY, X, types=["text", "int8"], order=(SortKey(X),))
    first = answer_plan(KEY, X, types=["text", "int8"], order=(SortKey(KEY),), limit=2)
    noisy = [noisy_answer([1, 2, 3, 4])]
    assert [len(response(plan, LETTERS, noisy, BUDGET, "r").notes) for plan in (chosen, sorted_only, first)] == [
        2,
        1,
        1,
    ]


def said_of_the_order(values: list[float], reach: float, **settings: object) -> list[str]:
    plan = answer_plan(KEY, X, types=["text", "int8"], **settings)  # type: ignore[arg-type]
    answer = response(plan, LETTERS, [noisy_answer(values, reach=reach)], BUDGET, "r")
    return [note for note in answer.notes if "does not separate" in note]


def test_neighbours_that_noise_does_not_tell_apart_are_named_where_limit_cuts() -> None:
    falling = (SortKey(X, descending=True),)
    (note,) = said_of_the_order([100, 50, 48, 10], 3.0, order=falling, limit=3)
    assert note.startswith("The noise does not separate rows 2 and 3: their intervals overlap")
    assert kind_of(note) == "order"
    (note,) = said_of_the_order([100, 50, 48, 10], 3.0, order=falling, limit=2)
    assert "the last row and the first one after LIMIT" in note and "rows" not in note.split(":")[0]
    (note,) = said_of_the_order([100, 50, 48, 10], 3.0, order=falling, limit=1, offset=1)
    assert "the first one after LIMIT" in note
    (note,) = said_of_the_order([100, 50, 48, 10], 1000.0, order=falling, limit=4)
    assert "rows 1 and 2, or rows 2 and 3, or rows 3 and 4" in note
    assert said_of_the_order([100, 50, 30, 10], 3.0, order=falling, limit=3) == []
    assert said_of_the_order([100, 50, 48, 10], 3.0, order=falling) == [], "all rows are there to be looked at"
    assert said_of_the_order([100, 50, 48, 10], 3.0, order=(SortKey(KEY), *falling), limit=3) == []
    assert said_of_the_order([100, 50, 48, 10], 3.0, order=falling, limit=0) == []


def test_a_plan_of_the_planner() -> None:
    plan = planned(
        "SELECT CASE WHEN l_tax > 0 THEN 'taxed' ELSE 'free' END AS kind, count(*) AS n, avg(l_quantity) AS mean "
        "FROM lineitem GROUP BY 1 HAVING count(*) > 10 ORDER BY n DESC LIMIT 1"
    )
    domain = Domain((("taxed", "free"),))
    count, left = noisy_answer([5, 25], reach=1.0), noisy_answer([1, -5], reach=1.0)
    answer = response(plan, domain, [count, count, noisy_answer([0.5, 0.5]), left], BUDGET, "r")
    assert [column.name for column in answer.columns] == ["kind", "n", "mean"]
    whole = plan.releases[2].weight_bound  # a little more than 50, the largest quantity
    assert answer.rows[0][:2] == ("free", 25)
    assert answer.rows[0][2] == pytest.approx(whole * (0.5 - 5 / 25))
    assert answer.intervals[0][1] == Interval(24.0, 26.0)
    around = answer.intervals[0][2]
    assert around is not None
    assert around.low == pytest.approx(whole * (0.5 - 6 / 24))
    assert around.high == pytest.approx(whole * (0.5 - 4 / 26))


def test_keys_that_are_moments_of_a_time_zone_say_utc() -> None:
    plan = answer_plan(KEY, X, types=["timestamptz", "int8"], keys=["timestamp"])
    domain = Domain((("2024-05-17 12:00:00", None),))
    answer = response(plan, domain, [noisy_answer([5, 6])], BUDGET, "r")
    assert [row[0] for row in answer.rows] == ["2024-05-17 12:00:00+00", None]
    later = replace(
        plan,
        display=Display((replace(plan.display.outputs[0], expression=Apply("coalesce", (KEY, Given("never")))),)),
    )
    assert response(later, domain, [noisy_answer([5, 6])], BUDGET, "r").rows[0] == ("2024-05-17 12:00:00+00",)


def _selected(delta: float, minimum: int | None) -> Plan:
    plan = answer_plan(KEY, X, types=["text", "int8"], keys=["text"])
    return replace(plan, selection=GroupSelection(exp.Literal.number(1), 0.5, delta, minimum))


def test_withheld_groups_are_counted_where_the_public_knows_them() -> None:
    shown = LETTERS.only(np.array([0, 2]), withheld=2)
    answer = response(_selected(0.0, 10), shown, [noisy_answer([5, 6])], BUDGET, "r")
    assert answer.rows == (("a", 5), ("c", 6))
    assert answer.mechanism == "gem, group_threshold"
    assert any("2 of 4 groups are withheld" in note and "below 10" in note for note in answer.notes)
    everything = LETTERS.only(np.arange(4))
    assert len(response(_selected(0.0, 10), everything, [noisy_answer([1] * 4)], BUDGET, "r").notes) == 1


def test_groups_that_votes_have_found_are_told_as_such() -> None:
    plan = _selected(1e-6, 10)
    assert plan.selection is not None
    voted = replace(plan, selection=replace(plan.selection, votes=True))
    answer = response(voted, LETTERS.only(np.array([0])), [noisy_answer([5])], BUDGET, "r")
    assert answer.mechanism == "gem, vote_threshold"
    assert any("selected from private rows" in note and "counted for less" in note for note in answer.notes)
    assert any("noisy number of privacy units' votes is below 10" in note for note in answer.notes)
    assert not any("votes" in note for note in response(plan, LETTERS, [noisy_answer([5] * 4)], BUDGET, "r").notes)


def test_what_the_rule_for_groups_leaves_out_is_told() -> None:
    shown = LETTERS.only(np.array([0, 2]), withheld=2)
    for rule, told in ((1, True), (4, False), (None, False)):
        plan = replace(_selected(0.0, 10), bounds=UnitBounds(1, rule))
        notes = response(plan, shown, [noisy_answer([5, 6])], BUDGET, "r").notes
        assert any("counts in at most" in note for note in notes) == told
    found = replace(_selected(1e-6, None), bounds=UnitBounds(1, 9))
    notes = response(found, LETTERS.only(np.array([0])), [noisy_answer([5])], BUDGET, "r").notes
    assert any("counts in at most 9 groups" in note for note in notes)


def test_a_rule_that_no_value_and_no_vote_is_under_is_not_told() -> None:
    counted = _selected(1e-6, None)
    values = replace(counted.releases[0], distinct=exp.Literal.number(1))
    ruled = replace(counted, bounds=UnitBounds(1, 1), releases=(values,))
    assert ruled.selection is not None
    for votes in (False, True):
        plan = replace(ruled, selection=replace(ruled.selection, votes=votes))
        notes = response(plan, LETTERS.only(np.array([0])), [noisy_answer([5])], BUDGET, "r").notes
        assert any("counted each person in at most 1 group," in note for note in notes) != votes


def test_rows_that_the_rule_for_groups_can_cut_are_marked() -> None:
    strong = noisy_answer([5] * 4, signal=[100.0] * 4)
    for rule, marked in ((1, True), (4, False), (None, False)):
        plan = replace(answer_plan(KEY, X, types=["text", "int8"], keys=["text"]), bounds=UnitBounds(1, rule))
        answer = response(plan, LETTERS, [strong], BUDGET, "r")
        assert answer.clipped == (marked,) * 4
        assert any("in all 4 groups counts with only 25% of each value" in note for note in answer.notes) == marked
        assert not any("Use a larger epsilon or fewer groups" in note for note in answer.notes), "no epsilon helps"
        distinct = replace(plan, releases=(replace(plan.releases[0], distinct=exp.Literal.number(1)),))
        assert response(distinct, LETTERS, [strong], BUDGET, "r").clipped == (False,) * 4, "no rule for these"
        together = replace(plan, mechanism="l2_clip")
        assert response(together, LETTERS, [strong], BUDGET, "r").clipped == (False,) * 4, (
            "nor for all groups together"
        )
    found = replace(_selected(1e-6, None), bounds=UnitBounds(1, 9))
    one = response(found, LETTERS.only(np.array([0])), [noisy_answer([5], signal=[100.0])], BUDGET, "r")
    assert one.clipped == (True,) and any("any share of a value" in note for note in one.notes)


def test_of_found_groups_no_number_is_told() -> None:
    shown = LETTERS.only(np.array([0]))
    for minimum, count in ((None, 2), (10, 3)):
        notes = response(_selected(1e-6, minimum), shown, [noisy_answer([5])], BUDGET, "r").notes
        assert len(notes) == count
        assert any("selected from private rows" in note for note in notes)
        assert not any("of 4" in note or "of 1" in note for note in notes)


def test_an_answer_that_has_room_for_no_more_groups_says_so() -> None:
    """Whether any were left out is not kept: what is shown decides, which everybody sees."""
    plan = _selected(1e-6, None)
    most = most_groups(plan.columns)
    for count, full in ((most, True), (most - 1, False)):
        shown = Domain((tuple(range(count)),), ((0,),), count)
        noisy = noisy_answer([5.0] * count, signal=[100.0] * count)
        notes = response(plan, shown, [noisy], BUDGET, "r").notes
        assert any("at most 100,000 groups" in note for note in notes) == full
    public = _selected(0.0, 10)
    notes = response(public, Domain((tuple(range(most)),)), [noisy_answer([5.0] * most)], BUDGET, "r").notes
    assert not any("left out" in note for note in notes), "what is public is refused if it is too much"


def test_a_bought_answer_that_is_too_large_says_that_fewer_columns_are_free() -> None:
    """It is refused after its charge: how many groups another analyst's answer has is part of what is sold."""
    plan = _selected(1e-6, None)
    count = MAX_CELLS // plan.columns + 1
    shown = Domain((tuple(range(count)),), ((0,),), count)
    with pytest.raises(StatementTooComplex, match="cells, more than 1,000,000") as refused:
        response(plan, shown, [noisy_answer([5.0] * count)], BUDGET, "r")
    assert "fewer columns of them is free" in (refused.value.hint or "")


def test_a_join_on_a_part_of_a_key_is_said_in_the_answer() -> None:
    """With what its intervals cover, and once."""
    noisy = [noisy_answer([5.0])]
    part, whole = planned(PART, policy=unbounded()), planned(f"{PART} AND l_suppkey = ps_suppkey")
    notes = response(part, PLAIN, noisy, BUDGET, "r").notes
    assert sum("lineitem joins partsupp on a part of its key, without l_suppkey" in note for note in notes) == 1
    assert not any("part of its key" in note for note in response(whole, PLAIN, noisy, BUDGET, "r").notes)


def test_an_answer_that_is_withheld_has_no_row() -> None:
    plan = replace(_selected(0.0, 10), group_keys=(), display=answer_plan(X, types=["int8"]).display)
    answer = response(plan, PLAIN.only(np.arange(0), withheld=1), [noisy_answer([])], BUDGET, "r")
    assert answer.rows == ()
    assert any("The answer is withheld" in note for note in answer.notes)


def test_where_the_true_answer_may_lie_is_said_of_each_kind() -> None:
    plain = response(answer_plan(X), PLAIN, [noisy_answer([1])], BUDGET, "r")
    ratio = response(answer_plan(Apply("/", (X, Y)), n_releases=2), PLAIN, [noisy_answer([1])] * 2, BUDGET, "r")
    assert plain.notes[0].endswith("may lie above.")
    assert "on either side" in ratio.notes[0]
    ranked = Ranked(exp.Null(), Grid(0.0, 1.0, 2, "float8"), AskedRank(0.5))
    median = replace(answer_plan(X), releases=(replace(answer_plan(X).releases[0], ranked=ranked),))
    assert "on either side" in response(median, PLAIN, [noisy_answer([1])], BUDGET, "r").notes[0]
    for reach, marked in ((19, False), (20, True)):
        noisy = noisy_answer([40], signal=[np.inf], reach=reach)
        assert response(median, PLAIN, [noisy], BUDGET, "r").low_precision == (marked,), "an interval as wide as 40"


def test_a_count_that_one_person_changes_by_one_is_of_the_truth() -> None:
    for determined, mechanism, truth in [(True, "fixed", True), (False, "fixed", False), (True, "gem", False)]:
        plan = answer_plan(X)
        plan = replace(plan, releases=(replace(plan.releases[0], determined=determined),))
        noisy = replace(noisy_answer([3.0], reach=1.0), mechanism=mechanism)
        answer = response(plan, PLAIN, [noisy], BUDGET, "r")
        assert (answer.covers == "truth") == truth, (determined, mechanism)
        assert answer.notes[0].startswith("Nothing was clipped: one person") == truth


def test_an_answer_says_where_nothing_was_cut() -> None:
    cases: list[tuple[float, int | None, bool]] = [(200.0, 200, True), (128.0, 200, False), (256.0, None, False)]
    for tau, most, uncut in cases:
        plan = replace(answer_plan(X), bounds=UnitBounds(1, tuples=most))
        noisy = replace(noisy_answer([3.0], reach=1.0), tau=np.array([tau]))
        notes = response(plan, PLAIN, [noisy], BUDGET, "r").notes
        assert any("Nothing was clipped" in note for note in notes) == uncut, tau
        assert any("clipping" in note for note in notes) != uncut, tau
