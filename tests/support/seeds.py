"""How many cases a test tries, and which: few and always the same in `make test`, all of them in `make test-all`.

NOISEGATE_TEST_SEED chooses which, and is printed at the head of a run (`make test SEED=7`). With one seed a run tries
the same cases in the same order, so that a change is judged by its own doing and not by what others happened to try.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")

ALL = os.environ.get("NOISEGATE_TESTS") == "all"
"""Is this `make test-all`?"""

SEED = int(os.environ.get("NOISEGATE_TEST_SEED", "1"))


def examples(few: int, many: int) -> int:
    """How many examples a property is tried on: for Hypothesis's `max_examples`, or a loop."""
    return many if ALL else few


def sampled(cases: Sequence[Case], few: int) -> Sequence[Case]:
    """At most `few` of the cases, chosen by the seed and in their order; all of them in `make test-all`."""
    if ALL or len(cases) <= few:
        return cases
    kept = random.Random(SEED).sample(range(len(cases)), few)
    return [cases[position] for position in sorted(kept)]
