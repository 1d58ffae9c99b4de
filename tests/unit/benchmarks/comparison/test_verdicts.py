"""Errors, the best of bounds, and what counts as silently wrong."""

from __future__ import annotations

import math

import pytest

from tests.benchmarks.comparison.data import HOSPITAL, SHOP
from tests.benchmarks.comparison.verdicts import (
    Answered,
    Said,
    as_answer,
    best_of_bounds,
    contribution_bounds,
    declared_bounds,
    likely_ratio,
    median_error,
    moved,
    ratio,
    relative_error,
    steadily_off,
    times_too_far,
    told_exactly,
    verdict,
)

TRUTH = {"": 100.0}
NOBODY = Said({}, {})


def answered(bounds: str, *values: float) -> Answered:
    return Answered(bounds, tuple({"": value} for value in values), tuple(1.0 for _ in values))


def test_rows_are_an_answer_by_key() -> None:
    assert as_answer([("a", 1), ("b", "2.5")]) == {"a": 1.0, "b": 2.5}
    assert as_answer([(3,)]) == {"": 3.0}
    assert math.isnan(as_answer([(None,)])[""])


def test_groups_that_are_missing_or_made_up_count() -> None:
    truth = {"a": 10.0, "b": 10.0}
    assert relative_error({"a": 11.0, "b": 9.0}, truth) == pytest.approx(0.1)
    assert relative_error({"a": 10.0}, truth) == pytest.approx(0.5)
    assert relative_error({"a": 10.0, "b": 10.0, "c": 5.0}, truth) == pytest.approx(0.25)


def test_no_number_is_infinitely_wrong() -> None:
    assert relative_error({"": float("nan")}, TRUTH) == float("inf")


def test_the_error_is_that_of_the_middle_release() -> None:
    assert median_error(answered("", 100, 110, 300), TRUTH) == pytest.approx(0.1)


def test_the_bounds_whose_middle_release_is_nearest_win() -> None:
    tried = [answered("rows 5", 50, 50), answered("rows 20", 90, 95), answered("rows 50", 80, 130)]
    best = best_of_bounds(tried, TRUTH)
    assert best is not None
    assert best[0] == pytest.approx(0.075)
    assert best[1].bounds == "rows 20"
    assert best_of_bounds([], TRUTH) is None
    assert best_of_bounds([Answered("rows 1", (), ())], TRUTH) is None


def test_an_exact_count_is_as_good_as_one_that_is_off_by_one() -> None:
    assert ratio(0.03, 0.0, TRUTH) == pytest.approx(3)
    assert ratio(0.0, 0.0, TRUTH) == 1
    assert ratio(0.1, 0.2, TRUTH) == pytest.approx(0.5)


def test_a_person_moves_the_middle() -> None:
    with_them, without = ({"a": 10.0, "b": 5.0},) * 3, ({"a": 4.0},) * 3
    assert moved(with_them, without) == 11.0
    assert likely_ratio(with_them, without) == (3, 0)


def test_noise_does_not_lie_apart() -> None:
    assert likely_ratio([{"": 1.0}, {"": 3.0}], [{"": 2.0}, {"": 0.0}]) != (2, 0)
    assert times_too_far(answered("rows 5", 1, 100, 50), answered("rows 5", 2, 60, 0)) == 0


def test_a_move_is_in_bounds_of_rows() -> None:
    assert times_too_far(answered("rows 5, cost 10", 100, 101), answered("rows 5, cost 10", 50, 51)) == 10
    assert times_too_far(answered("groups 2, rows 25", 100, 101), answered("groups 2, rows 25", 50, 51)) == 2


def test_the_truth_again_and_again_is_no_noise() -> None:
    """As where noisy counts are held below the number of rows."""
    assert told_exactly(answered("rows 20", 100, 88, 100, 93, 100), {"": 100.0}) == pytest.approx(0.6)
    assert told_exactly(answered("rows 1", 100, 99, 100, 101, 100), {"": 100.0}) == 0, "noise of one is often none"
    assert told_exactly(answered("rows 20", 100, 88, 117, 93, 71), {"": 100.0}) == 0
    said = Said({"q": [answered("rows 20", 100, 88, 100, 93, 100)]}, {})
    assert verdict("q", TRUTH, said, NOBODY).kind == "silently wrong"


def test_means_of_many_answers_lie_apart_where_single_ones_do_not() -> None:
    """Noise of 40 either way, and one person who moves the middle by 60 where 20 are claimed."""
    noise = range(-40, 41, 2)
    with_them, without = (answered("rows 20", *(middle + n for n in noise)) for middle in (160, 100))
    assert times_too_far(with_them, without) == 3
    nearer = answered("rows 20", *(115 + n for n in noise))
    assert times_too_far(nearer, without) <= 1


def test_what_is_steadily_far_is_another_answer_and_noise_is_not() -> None:
    assert steadily_off(answered("", 9, 10, 11), TRUTH) == pytest.approx(0.9)
    assert steadily_off(answered("", 9, 10, 101), TRUTH) == 0
    assert steadily_off(answered("", 90, 110), TRUTH) == 0
    assert steadily_off(answered("", -900, 1100), TRUTH) == 0, "its middle is right"


@pytest.mark.parametrize(
    ("said", "without", "kind"),
    [
        (Said({"q": [answered("rows 5", 99, 101)]}, {}), NOBODY, "answers"),
        (
            Said({"q": [answered("rows 5", 99, 101)]}, {}),
            Said({"q": [answered("rows 5", 20, 21)]}, {}),
            "silently wrong",
        ),
        (Said({"q": [answered("rows 5", 99, 101)]}, {}), Said({"q": [answered("rows 5", 97, 96)]}, {}), "answers"),
        (Said({"q": [answered("rows 5", 1, 2)]}, {}), NOBODY, "silently wrong"),
        (Said({}, {"q": "no joins"}), NOBODY, "refuses"),
        (Said({}, {}, "it ended"), NOBODY, "fails"),
    ],
)
def test_what_was_said_is_judged(said: Said, without: Said, kind: str) -> None:
    assert verdict("q", TRUTH, said, without).kind == kind


def test_a_refusal_is_in_the_library_s_words() -> None:
    assert verdict("q", TRUTH, Said({}, {"q": "no joins"}), NOBODY).words == "refuses: no joins"


def test_declared_ranges_and_lists_are_counted_for_the_columns_that_a_question_uses() -> None:
    assert declared_bounds(HOSPITAL.policy, ("ward", "cost")) == (1, 1)
    assert declared_bounds(HOSPITAL.policy, ()) == (0, 0)
    assert declared_bounds(SHOP.policy, ("segment", "price")) == (1, 1)


def test_bounds_on_a_person_are_found_wherever_a_policy_has_them() -> None:
    assert (contribution_bounds(HOSPITAL.policy), contribution_bounds(SHOP.policy)) == (0, 0)
    assert contribution_bounds(HOSPITAL.policy + "[tables.visit.rows_per_unit]\npatient = 200\n") == 1
    assert contribution_bounds(SHOP.policy.replace("owning = false", "owning = false\nfanout = 9")) == 1
