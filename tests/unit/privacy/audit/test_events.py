from __future__ import annotations

import numpy as np

from privacy.audit.events import EventFamily
from privacy.audit.outputs import Outputs


def test_the_quick_count_is_the_count() -> None:
    generator = np.random.default_rng(2)
    first, second = (Outputs(generator.normal(size=300).round(1), generator.integers(-2, 4, 300)) for _ in range(2))
    family = EventFamily.of(first, second)
    assert family.counts(first).tolist() == [event.count(first) for event in family.events()]


def test_tries_both_tails_of_scores_and_of_labels() -> None:
    outputs = Outputs(np.arange(10.0), np.arange(10))
    events = EventFamily.of(outputs, outputs).events()
    assert {event.score_above for event in events} == {True, False}
    assert {(event.label_low, event.label_high) for event in events} >= {(0, 9), (0, 3), (3, 9), (3, 3)}
