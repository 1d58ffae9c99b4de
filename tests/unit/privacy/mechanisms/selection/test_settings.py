from __future__ import annotations

import math

import pytest

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.selection.settings import SelectionSettings

LADDER = Ladder(0, 9)
NOISE = (1.5,) * len(LADDER)


def test_the_farthest_price_is_for_all_thresholds_of_all_groups() -> None:
    assert SelectionSettings(0.5, beta=0.1).farthest(LADDER, 0.5) == pytest.approx(4 * math.log(100))
    assert SelectionSettings(0.5, beta=0.1).farthest(LADDER, 0.5, n_groups=3) == pytest.approx(4 * math.log(300))


def test_each_doubling_has_its_margin_up_to_the_farthest_price() -> None:
    settings = SelectionSettings(0.5, beta=0.1, rarity=10.0, growth=0.0)
    scores = settings.scores(LADDER, 0.01, NOISE, 0.5)
    step, far = 4 * math.log(10), settings.farthest(LADDER, 0.5)
    assert scores.margins == pytest.approx([0.0, step] + [far] * 8)
    assert (scores.prices, scores.gap, scores.monotone) == (NOISE, 0.01, False)


def test_each_further_doubling_is_rarer_by_more() -> None:
    settings = SelectionSettings(0.5, rarity=2.0, growth=0.5)
    margins = settings.scores(LADDER, 0.0, NOISE, 0.5).margins
    wanted = [0.0, math.log(2), 2 * math.log(2) + 0.25, 3 * math.log(2) + 1.0, 4 * math.log(2) + 2.25]
    assert margins[:5] == pytest.approx([4 * one for one in wanted])
    assert margins[-1] == settings.farthest(LADDER, 0.5), "up to what beta asks for"


def test_the_published_scores_have_one_price_and_no_margins() -> None:
    settings = SelectionSettings(0.5, beta=0.1, rarity=None)
    scores = settings.scores(LADDER, 0.0, NOISE, 0.5)
    assert scores.prices == pytest.approx([1.5 + settings.farthest(LADDER, 0.5)] * len(LADDER))
    assert scores.margins == ()


@pytest.mark.parametrize(
    "parameters",
    [
        {"split": 0.0},
        {"split": 1.0},
        {"beta": 0.0},
        {"beta": 1.0},
        {"rarity": 1.0},
        {"rarity": math.inf},
        {"rarity": math.nan},
        {"growth": -0.1},
        {"growth": math.inf},
    ],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        SelectionSettings(**({"split": 0.5} | parameters))  # type: ignore[arg-type]
