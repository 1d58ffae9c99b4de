"""What an auditor sees of a mechanism: many independent outputs on one input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Outputs:
    """n independent outputs of a mechanism on the same input, each reduced to a label and a score.

    Any function of an output may serve: it is post-processing, and can only hide a loss, not invent one.

    Attributes:
      score: (n,) float64, for example the released value.
      label: (n,) int64 in a small range, for example the chosen threshold; or all zero.
    """

    score: NDArray[np.float64]
    label: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.score.ndim != 1 or self.score.shape != self.label.shape or len(self.score) < 2:
            raise InvalidParameter("outputs are two columns of the same length, at least two rows")
        if np.isnan(self.score).any():
            raise InvalidParameter("a score must be a number")

    def __len__(self) -> int:
        return len(self.score)

    @classmethod
    def joined(cls, parts: Sequence[Outputs]) -> Outputs:
        """Runs that were made in several goes, at least one."""
        return cls(np.concatenate([part.score for part in parts]), np.concatenate([part.label for part in parts]))

    def halves(self) -> tuple[Outputs, Outputs]:
        """The first and the second half of the runs."""
        middle = len(self) // 2
        return (
            Outputs(self.score[:middle], self.label[:middle]),
            Outputs(self.score[middle:], self.label[middle:]),
        )
