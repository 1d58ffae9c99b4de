"""Which threshold the next release starts from, by what earlier ones told."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.selection.remembered import ANEW, Told, remembered_rung

PRICE = 1.0
NOISE = 3.0
"""Of a release at the threshold 1, as the price is."""


def told(*answers: tuple[int, float], selected: int = 1) -> list[Told]:
    """Answers, the oldest first, of which the first ones were chosen privately."""
    return [Told(rung, value, NOISE * 2.0**rung, place < selected) for place, (rung, value) in enumerate(answers)]


def test_without_an_answer_the_threshold_is_chosen() -> None:
    assert remembered_rung([], PRICE) is None


def test_the_second_release_tries_the_threshold_above() -> None:
    """What a choice overlooks costs more than twice the noise of a release that has the whole budget."""
    assert remembered_rung(told((3, 50_000.0)), PRICE) == 4
    # a threshold that added nothing is left again
    history = told(*([(0, 1_000.0), (1, 1_001.0)] * 4))
    assert remembered_rung(history, PRICE) == 0


def test_a_threshold_that_added_much_is_kept_or_raised() -> None:
    history = told(*([(0, 1_000.0), (1, 1_060.0)] * 4))
    found = remembered_rung(history, PRICE)
    assert found is not None and found >= 1


def test_growth_is_not_taken_for_what_a_threshold_adds() -> None:
    """One per cent a day of a large sum is far more than the noise."""
    days = [100_000 * 1.01**day for day in range(8)]
    history = told(*((0 if day in (0, 3, 5, 6, 7) else 1, value) for day, value in enumerate(days)))
    assert remembered_rung(history, PRICE) == 0


def test_other_data_are_chosen_for_anew_and_what_was_before_a_surprise_is_forgotten() -> None:
    history = told(*([(0, 1_000.0)] * 5), (0, 8_000.0))
    assert remembered_rung(history, PRICE) is None
    before = told(*([(0, 1_000.0)] * 5), (0, 8_000.0))
    after = [*before, Told(3, 40_000.0, 8 * NOISE, True)]
    found = remembered_rung(after, PRICE)
    assert found is not None and found >= 3


def test_a_choice_is_made_again_after_a_while() -> None:
    history = told(*([(0, 1_000.0)] * ANEW))
    assert remembered_rung(history, PRICE) is not None
    assert remembered_rung([*history, Told(0, 1_000.0, NOISE, False)], PRICE) is None


def test_no_threshold_below_all_that_were_used_is_tried() -> None:
    """Only a private choice may find out that less would do: a blind step down could cut most of a sum."""
    history = told((5, 10.0), (6, 12.0), (5, 9.0))
    found = remembered_rung(history, PRICE)
    assert found is not None and found >= 5


def test_answers_that_scatter_more_than_their_noise_say_less() -> None:
    rng = np.random.default_rng(3)
    values = 1e6 * np.exp(rng.normal(0.0, 0.03, 10))
    history = told(*((place % 2, float(value)) for place, value in enumerate(values)))
    found = remembered_rung(history, PRICE)
    assert found is None or 0 <= found <= 2


def test_what_is_no_number_with_noise_is_not_remembered() -> None:
    for value, noise in [(np.nan, 1.0), (np.inf, 1.0), (1.0, 0.0), (1.0, np.inf)]:
        with pytest.raises(InvalidParameter):
            Told(0, value, noise, True)
