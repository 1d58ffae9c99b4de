"""Where the randomness of a sample comes from: a Protocol, and the one source that production uses."""

from __future__ import annotations

import secrets
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter

MAX_COUNT = 1 << 32
"""Counts of tuples saturate here, as weights do at 2^32 full ones."""


class Draws(Protocol):
    """Independent draws that nobody outside can foresee; a source has no seed."""

    def binomial(self, counts: NDArray[np.int64], rate: float) -> NDArray[np.int64]:
        """(m,) draws, each how many of `counts` things stay when each stays with probability `rate`.

        Raises: InvalidParameter unless counts lie in [0, MAX_COUNT] and 0 < rate <= 1.
        """
        ...

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        """(size,) draws from 0..things-1, each equally likely, with replacement.

        Raises: InvalidParameter unless 1 <= things <= MAX_COUNT and size >= 0.
        """
        ...

    def choose(self, things: int, size: int) -> NDArray[np.int64]:
        """(size,) distinct members of 0..things-1 in any order, every set of that size equally likely.

        Raises: InvalidParameter unless 0 <= size <= things <= MAX_COUNT.
        """
        ...


def check_draw(counts: NDArray[np.int64], rate: float) -> None:
    """Refuse what is no sampling. Raises: InvalidParameter."""
    if not 0 < rate <= 1:
        raise InvalidParameter("a sampling rate lies in (0, 1]")
    if counts.dtype != np.int64 or (counts.size and (counts.min() < 0 or counts.max() > MAX_COUNT)):
        raise InvalidParameter("a count of tuples lies in [0, 2^32]")


def check_choice(things: int, size: int, distinct: bool) -> None:
    """Refuse what cannot be chosen. Raises: InvalidParameter."""
    if not 0 <= size <= MAX_COUNT or not (0 if distinct else 1) <= things <= MAX_COUNT:
        raise InvalidParameter("a choice is made among at most 2^32 things")
    if distinct and size > things:
        raise InvalidParameter("there are fewer things than are to be chosen")


class SystemDraws:
    """numpy's generator, seeded by the operating system with 256 bits for each call.

    Not the source of noise, which is opendp's alone: noise is published and has to be exact to the last bit. A
    sample is never published. What is charged without amplification needs only that the draw for one row of
    tuples does not depend on other rows: rows without the unit are then alike in both worlds, and truncation
    bounds the rest whatever the draws are. That the binomial is computed in doubles costs nothing there.
    Amplification also needs the distribution to be right, which it is up to the rounding of doubles.
    Cost: about 20 million draws a second.
    """

    def binomial(self, counts: NDArray[np.int64], rate: float) -> NDArray[np.int64]:
        """(m,) draws. Raises: InvalidParameter."""
        check_draw(counts, rate)
        drawn: NDArray[np.int64] = _generator().binomial(counts, rate)
        return drawn

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        """(size,) draws, exactly uniform: by rejection. Raises: InvalidParameter."""
        check_choice(things, size, distinct=False)
        return _generator().integers(0, things, size)

    def choose(self, things: int, size: int) -> NDArray[np.int64]:
        """(size,) distinct draws, exactly uniform over sets. Cost: O(size), or O(things) for a large share of them.

        Raises: InvalidParameter.
        """
        check_choice(things, size, distinct=True)
        if size == things:
            return np.arange(things)
        return _generator().choice(things, size, replace=False, shuffle=False)


def _generator() -> np.random.Generator:
    """A fresh generator."""
    seed = np.random.SeedSequence(secrets.randbits(256), pool_size=8)
    return np.random.Generator(np.random.PCG64DXSM(seed))
