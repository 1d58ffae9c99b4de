"""What a mechanism demands of a truncated answer before it draws noise."""

from __future__ import annotations

import numpy as np

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import MAX_UNITS


def check_answer(answer: TruncatedAnswer, ladder: Ladder, gap: float) -> None:
    """Refuse an answer that breaks its contract or was made for other parameters.

    A failure here is a bug in the caller, not an outcome: a correct answer never fails, whatever the data.
    Raises: InvalidParameter; the message holds no value.
    """
    if answer.ladder != ladder:
        raise InvalidParameter("the truncated answer is on another ladder than the mechanism")
    if not 0 <= answer.gap <= gap:
        raise InvalidParameter("the truncated answer's gap is larger than the noise is scaled for")
    shape = (answer.n_groups, len(ladder))
    for bound in answer.bounds():
        if bound.shape != shape or bound.dtype != np.int64:
            raise InvalidParameter("a truncated answer has one int64 per group and threshold")
        if bound.size and (bound.min() < 0 or bound.max() > MAX_UNITS):
            raise InvalidParameter("a truncated answer lies in [0, 2^62] units")
    lower, upper = answer.bounds()
    if np.any(lower > upper):
        raise InvalidParameter("a truncated answer's lower bound is above its upper bound")
