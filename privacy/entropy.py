"""The source of noise: a Protocol, and the one source of production.

opendp draws from the operating system and takes no seed, so a server cannot be given one. Tests replay recorded draws
through the same Protocol (docs/mathematics.md, section 6.9).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from opendp.domains import atom_domain, vector_domain  # each by itself: opendp.prelude loads all that is installed
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from privacy.errors import EntropyFailed, InvalidParameter
from privacy.units import Ints

MIN_SCALE = 2.0**-20
"""Below this scale every draw is zero, so the caller has made a mistake."""

MAX_SCALE = 2.0**50
"""Above this an int64 could overflow: a draw reaches MAX_DRAW with probability exp(-2048) at this scale."""

MAX_DRAW = 1 << 61
"""No draw is as large, so adding one to a value of at most 2^62 stays inside int64."""

_CHUNK = 1 << 16
_CACHED_SCALES = 64


class Entropy(Protocol):
    """Integer noise with an exact distribution. Draws are independent; a source has no seed."""

    def laplace(self, scale: float, size: int) -> Ints:
        """(size,) draws with P(x) proportional to exp(-|x| / scale) over all integers."""

    def geometric(self, scale: float, size: int) -> Ints:
        """(size,) draws with P(x) = (1 - a) a^x for x >= 0, where a = exp(-1 / scale)."""

    def gaussian(self, scale: float, size: int) -> Ints:
        """(size,) draws with P(x) proportional to exp(-x^2 / (2 scale^2)) over all integers."""


def check_scale(scale: float) -> None:
    """Refuse a scale that opendp would accept and turn into something that is not noise.

    Raises: InvalidParameter unless scale is finite and in [MIN_SCALE, MAX_SCALE].
    """
    if not (math.isfinite(scale) and MIN_SCALE <= scale <= MAX_SCALE):
        raise InvalidParameter("a noise scale must be finite, positive and within [2^-20, 2^50]")


def checked(draws: Ints, size: int) -> Ints:
    """The draws, if the source returned as many integers as requested. Raises: EntropyFailed otherwise."""
    if draws.shape != (size,) or draws.dtype != np.int64:
        raise EntropyFailed("the noise source returned something other than the requested integers")
    return draws


def checked_geometric(draws: Ints, size: int) -> Ints:
    """`checked`, for one-sided draws. Raises: EntropyFailed."""
    if np.any(checked(draws, size) < 0):
        raise EntropyFailed("the noise source returned negative one-sided noise")
    return draws


def fold(draws: Ints) -> Ints:
    """Turn discrete Laplace draws into one-sided geometric draws of the same scale, exactly, one for one.

    x >= 0 stays and x < 0 becomes -x - 1, so P(k) = (1 - a) / (1 + a) * (a^k + a^(k + 1)) = (1 - a) a^k.
    """
    return np.where(draws < 0, ~draws, draws)


class OpendpEntropy:
    """Noise from opendp: exact discrete sampling, seeded by the operating system alone.

    Cost: about 140,000 draws a second on one core, whatever the scale.
    """

    def laplace(self, scale: float, size: int) -> Ints:
        """(size,) discrete Laplace draws.

        Raises: InvalidParameter before anything is drawn; EntropyFailed if opendp returns anything but
        `size` integers below MAX_DRAW.
        """
        return _draws("laplace", scale, size)

    def geometric(self, scale: float, size: int) -> Ints:
        """(size,) one-sided geometric draws: folded discrete Laplace draws. Raises: as `laplace`."""
        return fold(self.laplace(scale, size))

    def gaussian(self, scale: float, size: int) -> Ints:
        """(size,) discrete Gaussian draws, about 50,000 a second. Raises: as `laplace`."""
        return _draws("gaussian", scale, size)


def _draws(kind: Literal["laplace", "gaussian"], scale: float, size: int) -> Ints:
    check_scale(scale)
    if size < 0:
        raise InvalidParameter("cannot draw a negative number of noise values")
    measurement = _measurement(kind, float(scale))
    chunks = [_draw(measurement, min(_CHUNK, size - start)) for start in range(0, size, _CHUNK)]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.int64)


@lru_cache(maxsize=_CACHED_SCALES)
def _measurement(kind: Literal["laplace", "gaussian"], scale: float) -> Any:
    enable_features("contrib")
    domain = vector_domain(atom_domain(T="i64"))
    if kind == "gaussian":
        return make_gaussian(domain, l2_distance(T="f64"), scale=scale)
    return make_laplace(domain, l1_distance(T="i64"), scale=scale)


def _draw(measurement: Any, size: int) -> Ints:
    draws = checked(np.asarray(measurement([0] * size)), size)
    if np.any((draws >= MAX_DRAW) | (draws <= -MAX_DRAW)):
        raise EntropyFailed("the noise source returned an impossible value; nothing was released")
    return draws
