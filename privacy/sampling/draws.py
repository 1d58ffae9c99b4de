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


def check_draw(counts: NDArray[np.int64], rate: float) -> None:
    """Refuse what is no sampling. Raises: InvalidParameter."""
    if not 0 < rate <= 1:
        raise InvalidParameter("a sampling rate lies in (0, 1]")
    if counts.dtype != np.int64 or (counts.size and (counts.min() < 0 or counts.max() > MAX_COUNT)):
        raise InvalidParameter("a count of tuples lies in [0, 2^32]")


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
        seed = np.random.SeedSequence(secrets.randbits(256), pool_size=8)
        drawn: NDArray[np.int64] = np.random.Generator(np.random.PCG64DXSM(seed)).binomial(counts, rate)
        return drawn
