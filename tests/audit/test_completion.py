"""Provenance completion without its filter is caught: what a removed row leaves dangling must vanish with it.

That the rows of a real database come to this is shown by `tests/property/test_partial_removal.py`.
"""

from __future__ import annotations

import numpy as np

from privacy.ladder import Ladder
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from tests.audit.auditing import audit
from tests.audit.pairs import Table
from tests.audit.sampled_auditing import Pairs, tuples_of

HUB = 51
WHOLE: Pairs = [(person, HUB, 1.0) for person in range(50)]
"""Fifty people's lines, each joined with the one line of the hub, which owns all fifty tuples."""

DANGLING: Pairs = [(person, -1, 1.0) for person in range(50)]
"""The hub's order is gone and its line is not: without the filter it still joins, and nobody bounds it."""


def table(rows: Pairs, ladder: Ladder) -> Table:
    answer = truncate(encode(tuples_of(rows)), 0, ladder, 0.0)
    return np.array([answer.solve(0, i) for i in range(len(ladder))], np.int64)


def test_a_hub_whose_order_is_gone_is_hidden() -> None:
    for mechanism in (Fixed(1.0, 1), Gem(1.0, 1, ladder=Ladder(-2, 4))):
        assert audit(mechanism, (table(WHOLE, mechanism.ladder), table([], mechanism.ladder))) <= 1.0


def test_catches_completion_without_its_filter() -> None:
    for mechanism in (Fixed(1.0, 1), Gem(1.0, 1, ladder=Ladder(-2, 4))):
        assert audit(mechanism, (table(WHOLE, mechanism.ladder), table(DANGLING, mechanism.ladder))) > 1.0
