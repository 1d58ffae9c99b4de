"""Which kept releases estimate one number, so that they are combined: averages hang on every threshold of theirs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from server.answers.reusing import estimand
from tests.support.released_plan import noisy_answer


def source(mechanism: str, *taus: float) -> Any:
    """A kept answer of two sums over two groups, with the threshold of each."""
    one = replace(noisy_answer([10.0, 20.0], reach=1.0), mechanism=mechanism)
    noisy = tuple(replace(one, tau=np.full(2, tau)) for tau in taus)
    outline = SimpleNamespace(conditions="c", keys="k", releases=("sum", "count"))
    return SimpleNamespace(
        owned=SimpleNamespace(outline=outline), released=SimpleNamespace(noisy=noisy, domain="groups")
    )


def told(one: Any, place: int) -> tuple[object, ...]:
    return estimand(one.owned, one.released, place)


def test_one_factor_hangs_on_the_thresholds_of_all_sums() -> None:
    for mechanism, alike in [("joint_scale", False), ("l1_clip", True), ("group_lp", True)]:
        first, other = source(mechanism, 4.0, 8.0), source(mechanism, 4.0, 32.0)
        assert (told(first, 0) == told(other, 0)) == alike, mechanism
        assert told(first, 0) == told(source(mechanism, 4.0, 8.0), 0), mechanism
        assert told(first, 1) != told(other, 1), mechanism
        assert told(first, 0) != told(source(mechanism, 8.0, 8.0), 0), mechanism
