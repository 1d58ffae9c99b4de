"""The randomness of samples, and which tuples stay.

A Protocol, and the one source of production. Each tuple stays with the same probability by itself, exactly. The
database counts equal tuples first, so the cost is that of the tuples that stay.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples
from privacy.units import MAX_UNITS, ONE, Ints

MAX_COUNT = 1 << 32
"""Counts of tuples saturate here, as weights do at 2^32 full ones."""


class Draws(Protocol):
    """Independent draws that no outsider can predict; a source has no seed."""

    def binomial(self, counts: Ints, rate: float) -> Ints:
        """(m,) draws: how many of `counts` things stay if each stays with probability `rate`.

        Raises: InvalidParameter unless counts lie in [0, MAX_COUNT] and 0 < rate <= 1.
        """

    def uniform(self, things: int, size: int) -> Ints:
        """(size,) draws from 0..things-1, each equally likely, with replacement.

        Raises: InvalidParameter unless 1 <= things <= MAX_COUNT and size >= 0.
        """


def check_draw(counts: Ints, rate: float) -> None:
    """Refuse a rate or counts out of range. Raises: InvalidParameter."""
    if not 0 < rate <= 1:
        raise InvalidParameter("the sampling rate must be above 0 and at most 1")
    if counts.dtype != np.int64 or (counts.size and (counts.min() < 0 or counts.max() > MAX_COUNT)):
        raise InvalidParameter("a count of tuples must be from 0 to 2^32")


def check_choice(things: int, size: int) -> None:
    """Refuse numbers of things or draws out of range. Raises: InvalidParameter."""
    if not 0 <= size <= MAX_COUNT or not 1 <= things <= MAX_COUNT:
        raise InvalidParameter("a choice must have at most 2^32 options")


class SystemDraws:
    """numpy's generator, seeded by the operating system with 256 bits for each call.

    Noise comes from opendp alone, since it is published and has to be exact. A sample is never published. A charge
    without amplification only needs that the draw for one row of tuples does not depend on other rows. Rows without
    the unit are then alike in both worlds, and truncation bounds the rest for any draws. Amplification also needs the
    right distribution, which holds up to the rounding of doubles.
    Cost: about 20 million draws a second.
    """

    def binomial(self, counts: Ints, rate: float) -> Ints:
        """(m,) draws. Raises: InvalidParameter."""
        check_draw(counts, rate)
        drawn: Ints = _generator().binomial(counts, rate)
        return drawn

    def uniform(self, things: int, size: int) -> Ints:
        """(size,) draws, exactly uniform: by rejection. Raises: InvalidParameter."""
        check_choice(things, size)
        return _generator().integers(0, things, size)


def _generator() -> np.random.Generator:
    seed = np.random.SeedSequence(secrets.randbits(256), pool_size=8)
    return np.random.Generator(np.random.PCG64DXSM(seed))


_WORD = 32
"""Bits of the first look at a uniform number; more are drawn where they do not decide."""
_GUARD = 64
"""Further bits of a table, so that its bounds are a few units apart."""
_BLOCKS = 1 << 20
"""Blocks that are drawn at a time."""

MAX_THINGS = 1 << 62
"""More are not counted: their sample would not fit into memory at any usual rate."""


def bernoulli_places(things: int, rate: float, draws: Draws) -> Iterator[Ints]:
    """Each of 0..things-1 with probability `rate`, independently, in rising order.

    The things are cut into blocks of n = 2^j, n q in (1/2, 1], the last of which reaches beyond them. The number of a
    block's things that stay is Binomial(n, q): an inverse of its distribution function at a uniform number. 32 bits
    of that number usually decide, and as many as needed always do. The function is known between two integers at
    every precision, and `rate` is a fraction of a power of 2. So no rounding enters: a number is compared once it
    lies outside of what is uncertain. Given their number, each set of places is equally likely: places are drawn
    uniformly until so many are distinct. Such blocks side by side are independent trials of probability q each; those
    beyond the last thing are ignored.

    So the places that stay have the exact product distribution for any `things`. A unit that leaves shortens the line
    of things, and nothing changes for the others.

    Args:
      things: N in [0, MAX_THINGS].
      draws: only its uniform numbers are used.
    Returns: (k,) places, some million of q N at a time.
    Raises: InvalidParameter.
    Cost: O(q N log(q N)), by sorting.
    """
    if not 0 < rate <= 1 or not 0 <= things <= MAX_THINGS:
        raise InvalidParameter(
            "the sampling rate must be above 0 and at most 1, and the number of things at most 2^62"
        )
    if rate == 1:
        yield from (np.arange(start, min(things, start + _BLOCKS)) for start in range(0, things, _BLOCKS))
        return
    block = _block_bits(rate)
    blocks = -(-things >> block)
    for start in range(0, blocks, _BLOCKS):
        size = min(_BLOCKS, blocks - start)
        counts = _binomials(size, block, rate, draws)
        places = _distinct(start + np.repeat(np.arange(size), counts), block, draws)
        yield places[places < things] if start + size == blocks else places


def _block_bits(rate: float) -> int:
    """j with 2^j q in (1/2, 1]."""
    bits = 0
    while 2.0 ** (bits + 1) * rate <= 1:  # exact: a power of 2 shifts a double
        bits += 1
    return bits


def _binomials(size: int, block: int, rate: float, draws: Draws) -> Ints:
    """(size,) independent draws from Binomial(2^block, rate)."""
    below, above = _table(block, rate, _WORD)
    words = draws.uniform(1 << _WORD, size)
    # U lies in [w, w + 1) / 2^32. Where w + 1 <= the lower bound of P(X <= c), the count is at most c for sure; where
    # w >= the upper one, it is more.
    at_least = np.searchsorted(np.array(above, np.int64), words, side="right")
    at_most = np.searchsorted(np.array(below, np.int64), words, side="right")
    for place in np.flatnonzero(at_least != at_most).tolist():
        at_least[place] = _refined(int(words[place]), block, rate, draws)
    return at_least


def _refined(word: int, block: int, rate: float, draws: Draws) -> int:
    """The count at a uniform number whose first bits decide nothing, with as many more bits as needed."""
    bits = _WORD
    while True:
        for _ in range(bits // _WORD):
            word = word << _WORD | int(draws.uniform(1 << _WORD, 1)[0])
        bits *= 2
        below, above = _table(block, rate, bits)
        at_least = sum(bound <= word for bound in above)
        if at_least == sum(bound <= word for bound in below):
            return at_least


@lru_cache(maxsize=16)
def _table(block: int, rate: float, bits: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Bounds of 2^bits P(X <= c) for c = 0, 1, ... and X ~ Binomial(2^block, rate), from below and from above.

    The first is rounded down, the second up, each term by what bounds it: p_0 = (1 - q)^n by squaring, and
    p_(c+1) = p_c (n - c) q / ((c + 1) (1 - q)). It ends before the first c that holds for every word.

    Cost: O(bits / log bits) terms.
    """
    n, digits = 1 << block, bits + _GUARD
    numerator, denominator = rate.as_integer_ratio()
    rest, one = denominator - numerator, 1 << digits
    low, high = rest * one // denominator, -(-rest * one // denominator)
    for _ in range(block):
        low, high = low * low >> digits, -(-high * high >> digits)
    below, above = [], []
    lower, upper = 0, 0
    for count in range(n):  # P(X <= n) is 1
        lower, upper = lower + low, min(one, upper + high)
        below.append(lower >> _GUARD)
        above.append(-(-upper >> _GUARD))
        if one - lower <= 1 << _GUARD - 1 and below[-1] == above[-1] - 1 == (1 << bits) - 1:
            break
        more, fewer = (n - count) * numerator, (count + 1) * rest
        low, high = low * more // fewer, -(-high * more // fewer)
    return tuple(below), tuple(above)


def _distinct(blocks: Ints, block: int, draws: Draws) -> Ints:
    """A place of its own in its block for every entry, in rising order.

    Args:
      blocks: (k,) rising, none more often than it has places.
      block: each has 2^block places.
    """
    places = (blocks << block) + draws.uniform(1 << block, len(blocks)) if len(blocks) else blocks
    places.sort()
    while len(again := np.flatnonzero(places[1:] == places[:-1])):
        fresh = draws.uniform(1 << block, len(again))
        places[again] = (places[again] >> block << block) + fresh
        places.sort()
    return places


def thin(counted: JoinTuples, rate: float, draws: Draws) -> JoinTuples:
    """The weights of a Bernoulli sample of join tuples.

    Args:
      counted: rows of equal tuples; the last row of `weights` is how many tuples each stands for, the others are the
        weights of one such tuple.
    Returns: one release fewer; weights are those of the tuples that stay, one and the same sample for all releases.
    Raises: InvalidParameter for counts or weights out of range.
    Source: docs/mathematics.md, section 7.4. Rows of different weights are apart, so thinning is right for any
      weights.
    """
    if len(counted.weights) < 2:
        raise InvalidParameter("counted tuples must have a weight and a count")
    weights, counts = counted.weights[:-1], counted.weights[-1]
    if weights.size and (weights.min() < 0 or weights.max() > ONE):
        raise InvalidParameter("the weight of one tuple must be between 0 and 1")
    kept = draws.binomial(counts, rate)  # at most 2^32 times at most 2^30: within MAX_UNITS
    return replace(counted, weights=np.minimum(weights * kept, MAX_UNITS))
