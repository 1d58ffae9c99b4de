"""What one measurement released: all that an answer is made from."""

from __future__ import annotations

from dataclasses import dataclass

from privacy.noisy_answer import NoisyAnswer
from server.backends.columns import Domain


@dataclass(frozen=True)
class Released:
    """The public groups and one noisy answer per release. All of it may be published, and may be kept.

    An answer follows from it and the plan by post-processing. So what is kept is this, and not the rows that one
    client was shown: the same releases sorted or cut differently cost nothing.
    """

    domain: Domain
    noisy: tuple[NoisyAnswer, ...]
