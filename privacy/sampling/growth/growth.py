"""E[exp(h(K))] for the number K of a unit's join tuples in a sample, and an h made of parabolas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacy.errors import InvalidParameter
from privacy.sampling.growth.binomial import MAX_TRIALS
from privacy.sampling.growth.block_rule import block_rules
from privacy.sampling.growth.growth_kernel import log_growth

_MARGIN = 1 + 1e-10
"""Rounded up by more than the sum errs: against 60 digits it is right to 1e-12."""

_LARGEST = 1e5
"""Where h reaches beyond, no amplification is claimed: exp(h) P would lose more digits than the margin covers."""


@dataclass(frozen=True)
class Piece:
    """h(k) = constant + slope k + curve k^2 >= 0 for whole low <= k <= high.

    Attributes:
      low, high: 1 <= low <= high.
      constant, slope, curve: >= 0, finite.
    """

    low: int
    high: int
    constant: float
    slope: float
    curve: float = 0.0

    @property
    def most(self) -> float:
        """h(high), the largest value."""
        return self.constant + self.high * (self.slope + self.high * self.curve)


def log_moment(pieces: Sequence[Piece], trials: int, rate: float) -> float:
    """ln E[exp(h(K))], K ~ Binomial(trials, rate), where h(0) = 0.

    Args:
      pieces: h on 1..trials, each count in one of them; h does not fall.
      trials: Delta >= 1.
      rate: q in (0, 1].
    Returns: in [0, h(trials)], rounded up by a relative 1e-10; h(trials) where trials or h are beyond what
      a double can do.
    Raises: InvalidParameter for a parameter out of range.
    Cost: some tens of microseconds per piece, whatever `trials` is.
    Source: privacy.md section 3.
    """
    if not 0 < rate <= 1 or trials < 1:
        raise InvalidParameter("a sampling rate lies in (0, 1], and a unit has at least one tuple")
    most = pieces[-1].most
    if rate == 1 or trials > MAX_TRIALS or not most <= _LARGEST:
        return most
    table = np.array([(piece.low, piece.high, piece.constant, piece.slope, piece.curve) for piece in pieces], float)
    excess = float(log_growth(float(trials), rate, 1 - rate, table, *block_rules()))
    return min(most, _log1p_exp(excess) * _MARGIN)


def _log1p_exp(x: float) -> float:
    """ln(1 + exp(x)), accurate in relative terms."""
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))
