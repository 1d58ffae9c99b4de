from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.checks import check_answer
from privacy.registry import measurement
from privacy.truncation.tabulated_answer import TabulatedAnswer
from tests.support.revealing_answer import RevealingAnswer

LADDER = Ladder(1, 2)
ZEROS = np.zeros((1, 2), np.int64)


class NoNoise:
    """An entropy source that must not be asked."""

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        pytest.fail("drew")

    def geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        pytest.fail("drew")

    def gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        pytest.fail("drew")


def test_accepts_an_answer_that_keeps_its_contract() -> None:
    check_answer(TabulatedAnswer(ZEROS, LADDER), LADDER, 0.01)


@pytest.mark.parametrize(
    "answer",
    [
        TabulatedAnswer(ZEROS, Ladder(0, 1)),
        TabulatedAnswer(ZEROS, LADDER, gap=0.02),
        TabulatedAnswer(ZEROS, LADDER, gap=float("nan")),
        TabulatedAnswer(ZEROS[:, :1], LADDER),
        TabulatedAnswer(ZEROS.astype(np.float64), LADDER),
        TabulatedAnswer(ZEROS - 1, LADDER),
        TabulatedAnswer(ZEROS + (1 << 62) + 1, LADDER),
    ],
    ids=["ladder", "gap", "no gap", "shape", "floats", "negative", "too large"],
)
@pytest.mark.parametrize("name", ["gem", "r2t"])
def test_a_broken_answer_is_refused_before_noise_is_drawn(answer: TabulatedAnswer, name: str) -> None:
    with pytest.raises(InvalidParameter):
        check_answer(answer, LADDER, 0.01)
    with pytest.raises(InvalidParameter):
        measurement(name, 1.0, gap=0.01, global_sensitivity=4.0).release(answer, NoNoise())


def test_bounds_that_cross_are_refused() -> None:
    answer = RevealingAnswer(ZEROS, LADDER, ZEROS, ZEROS)
    answer._upper = ZEROS - 0
    answer._lower = ZEROS + 1
    with pytest.raises(InvalidParameter):
        check_answer(answer, LADDER, 0.01)
