"""Where the next release of a question starts from: what earlier answers to it say of its threshold. Public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter

WINDOW = 32
"""The answers that are looked at, the newest."""

ANEW = 16
"""With no threshold among so many answers that was chosen privately, the next one's is."""

FADING = 8.0
"""Answers over which an older one comes to count as if it had twice the noise."""

GROWTH, UNSURE = 0.02, 30.0
"""How much larger or smaller an answer is believed to become from one to the next, of itself; and how much doubling a
threshold may add, in multiples of the noise that it adds, before anything is known."""

_SHAPE = 3
"""A level, a trend and its bend, which grows as compound interest does."""

SURE = 1.0
"""Standard deviations by which what a larger threshold adds has to exceed its price."""

AGAIN = 4
"""Answers after which a threshold that seemed to be worth its price, but not surely, is tried again."""

SURPRISE, PART = 6.0, 0.1
"""An answer so many standard deviations, and such a part of itself, from what those before it say is of other data:
what they say of thresholds is forgotten."""


@dataclass(frozen=True)
class Told:
    """What one earlier answer says of its threshold.

    Attributes:
      rung: the exponent of its threshold, a power of 2 in normalised weight.
      value: the released values of all groups together, in normalised weight.
      noise: > 0, the standard deviation of the noise of that.
      selected: was the threshold chosen privately for this answer, rather than remembered, and with about as much
        budget as the next one has? A choice with less leaves more unseen than the next answer may cut away.
    """

    rung: int
    value: float
    noise: float
    selected: bool

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and 0 < self.noise < math.inf):
            raise InvalidParameter("what is remembered is a number with noise")


@dataclass(frozen=True)
class Foretold:
    """What earlier answers let expect of the next one. Public.

    Attributes:
      value: of the next release, all groups together, in normalised weight.
      spread: the standard deviation of that, apart from the next release's noise.
    """

    value: float
    spread: float

    def allows(self, value: float, noise: float) -> bool:
        """Is a value released with noise of this standard deviation of the data that the earlier ones are of?"""
        return abs(value - self.value) <= max(SURPRISE * math.hypot(self.spread, noise), PART * abs(value))


def foretold(told: Sequence[Told], rung: int, price: float) -> Foretold | None:
    """What earlier answers let expect of a release at a remembered threshold: what is not so is marked as cut.

    Where nothing is chosen, nothing says what the threshold cuts off. Where all loads grow at once the released sum
    leaps, and shows it; loads that grow slowly, or only beyond the threshold, are not seen before one is chosen anew.
    Post-processing of released numbers.

    Args:
      told: earlier answers, the oldest first.
      rung: the exponent of the threshold.
      price: as in `remembered_rung`.
    Returns: None where nothing is known, or no floats can be fitted.
    """
    known = list(told[-WINDOW:])
    if not known:
        return None
    try:
        with np.errstate(all="ignore"):
            found = _foretold([*_since_a_surprise(known, price), Told(rung, 0.0, 1.0, False)], price)
    except np.linalg.LinAlgError:
        return None
    return found if math.isfinite(found.value) and math.isfinite(found.spread) else None


def remembered_rung(told: Sequence[Told], price: float) -> int | None:
    """The threshold of the next release: of those that were used the best by their answers, or the next larger one.

    Answers to one question at rising versions of the data are taken for x_j = a + b j + c j^2 / 2 + sum of g_k over
    the rungs k below the answer's own, plus its noise: growth, and what each doubling of the threshold adds. All of
    these follow by least squares from public numbers, older ones counting less; where answers scatter more than their
    noise says, they are that much less sure. The error at a threshold is its noise, and what larger ones surely add.
    One above the best is tried once after every private choice, which overlooks more than a doubled noise costs where
    the whole budget is the release's; and again after a while if it seemed to be worth it. None below all that were
    chosen privately is: only such a choice can find out that less would do without risking most of the sum.

    Post-processing: a function of released numbers alone. A release at the threshold that it names spends what it
    spends at any public one; by adaptive composition nothing more is lost, however the threshold was found.

    Args:
      told: earlier answers to the question, the oldest first.
      price: > 0, the error that the noise of all groups together is charged at in the next release, per unit of tau.
    Returns: the exponent of a threshold; None where the threshold is to be chosen privately: nothing is known, no
      private choice is among the newest ANEW answers, or the newest is not what those before it let expect.
    Source: privacy-reach.md section 8.
    """
    try:
        with np.errstate(all="ignore"):
            return _rung(list(told[-WINDOW:]), price)
    except np.linalg.LinAlgError:
        return None  # numbers that no floats can be fitted to say nothing


def _rung(known: list[Told], price: float) -> int | None:
    if not known or (not known[-1].selected and _is_surprising(known, price)):
        return None
    known = _since_a_surprise(known, price)
    if not any(one.selected for one in known[-ANEW:]):
        return None
    lowest, highest = min(one.rung for one in known), max(one.rung for one in known)
    likely, surely = _gains(known, price)
    prices = price * 2.0 ** np.arange(lowest, highest + 1)
    missed = np.concatenate((np.cumsum(surely[::-1])[::-1], [0.0]))
    least = min(one.rung for one in known if one.selected) - lowest
    best = least + int(np.argmin((missed + prices)[least:]))
    still_more = 0 < best == len(likely) and surely[-1] / 2 > prices[-1]
    if still_more or _should_be_tried(known, lowest + best, best < len(likely) and likely[best] > prices[best]):
        return lowest + best + 1
    return lowest + best


def _should_be_tried(known: Sequence[Told], best: int, seems_worth_it: bool) -> bool:
    """Is it time to see what the next larger threshold adds?"""
    chosen = max(place for place, one in enumerate(known) if one.selected)
    above = [place for place, one in enumerate(known) if one.rung > best]
    if not above or above[-1] < chosen:
        return True
    return seems_worth_it and len(known) - above[-1] >= AGAIN


def _since_a_surprise(known: Sequence[Told], price: float) -> list[Told]:
    """The newest answers that are of one kind of data."""
    for start in range(len(known) - 1, 1, -1):
        if _is_surprising(known[: start + 1], price):
            return list(known[start:])
    return list(known)


def _is_surprising(known: Sequence[Told], price: float) -> bool:
    """Is the last answer none that those before it let expect?"""
    if len(known) < 2:
        return False
    last = known[-1]
    return not _foretold(known, price).allows(last.value, last.noise)


def _foretold(known: Sequence[Told], price: float) -> Foretold:
    """What all answers but the last let expect of the last, whose own value is not looked at."""
    mean, covariance, rows = _fitted(known, price, known[:-1])
    spread = math.sqrt(max(0.0, float(rows[-1] @ covariance @ rows[-1])))
    return Foretold(float(rows[-1] @ mean), spread)


def _gains(known: Sequence[Told], price: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each doubling between the lowest and the highest threshold adds: likely, and surely."""
    mean, covariance, _ = _fitted(known, price, known)
    likely, spread = mean[_SHAPE:], np.sqrt(np.maximum(np.diag(covariance)[_SHAPE:], 0.0))
    return np.maximum(likely, 0.0), np.maximum(likely - SURE * spread, 0.0)


def _fitted(
    known: Sequence[Told], price: float, used: Sequence[Told]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Growth and gains by least squares from the answers `used`, and (n, p) what each of `known` is made of."""
    lowest, highest = min(one.rung for one in known), max(one.rung for one in known)
    rung = np.array([one.rung for one in known])
    steps = np.arange(lowest, highest)
    age = np.arange(1 - len(known), 1, dtype=np.float64)
    rows = np.column_stack((np.ones(len(known)), age, age**2 / 2, *(rung > step for step in steps)))
    values = np.array([one.value for one in used])
    precise = np.array([1 / one.noise for one in used]) * 2.0 ** (age[: len(used)] / FADING)
    size = max(float(np.abs(values).max()), price * 2.0**lowest)
    believed = np.concatenate(([float(values.mean())], np.zeros(_SHAPE - 1 + len(steps))))
    doubt = np.concatenate((size * GROWTH ** np.arange(_SHAPE), UNSURE * price * 2.0**steps))
    weighted = rows[: len(used)] * precise[:, None]
    # In multiples of what is believed beforehand, so that the numbers are of one size.
    system = (weighted * doubt).T @ (weighted * doubt) + np.eye(len(doubt))
    inverse = np.linalg.pinv(system, hermitian=True)
    mean = believed + doubt * (inverse @ (doubt * (weighted.T @ ((values - rows[: len(used)] @ believed) * precise))))
    left = (values - rows[: len(used)] @ mean) * precise
    spare = len(used) - _SHAPE
    scatter = max(1.0, float(left @ left) / spare) if spare > 0 else 1.0
    return mean, inverse * np.outer(doubt, doubt) * scatter, rows
