"""When an answer may leave, and what a question must cost at least, from its public size.

An answer that is held leaves at first, 2 first, 4 first, ... seconds after it was put, whichever is next, and so
does a failure. With L the longest that a question may take, its moment is one of ceil(log2(L / first)) + 1, and with
failure or not a question has twice as many outcomes beside its noisy values, N in all.

The price of that: an answer of pure epsilon tells at most epsilon nats about the data, and N outcomes tell at most
ln N. So a question of an unbounded join, which may be written such that its outcome is any fact about one person,
costs at least ln N. A join along keys needs people with many rows to explode: it costs

    min_epsilon 4^k, at most ln N,

with k the rows that no key and no fan-out finds: a fan-out of four moves the end of a join by two moments. A linear
join, and one whose declared numbers of rows bound its duration, costs min_epsilon. Nothing costs more than
max_epsilon, which is the custodian's word for what one question may tell.
"""

from __future__ import annotations

import math

from planner.plan import JoinSize
from planner.policy.side_channels import SideChannels

LONGEST_S = 512.0
"""Beyond the longest that a question waits for a worker and is measured, twice where a connection is lost."""

TUPLES_PER_S = 1e6
"""A slow database joins, and a slow solver cuts, so many tuples in a second."""

_PLANNED = 8
"""The most quanta that a question is held to its planned duration: where bounds are loose, that is never."""

_PER_STEP = 4.0
_DIGITS = 3


def first_moment_s(size: JoinSize, settings: SideChannels) -> float:
    """The first moment at which a question's answer may leave, in seconds after it was put; 0: at any time.

    Where the public bound on tuples is small enough it is the planned duration, which all answers should keep.
    """
    quantum = settings.answer_quantum_s
    if not quantum or (size.kind == "linear" and not settings.hold_all_answers):
        return 0.0
    planned = _planned_quanta(size, settings)
    return quantum if planned is None else quantum * planned


def moment_s(first_s: float, elapsed_s: float) -> float:
    """The next moment of the ladder, at or after `elapsed_s`; 0 where answers are not held.

    >>> [moment_s(0.5, elapsed) for elapsed in (0.1, 0.5, 0.6, 3.0)], moment_s(0.0, 3.0)
    ([0.5, 0.5, 1.0, 4.0], 0.0)
    """
    if not first_s:
        return 0.0
    moment = first_s
    while moment < elapsed_s:
        moment *= 2
    return moment


def outcomes(first_s: float) -> float:
    """N: the moments at which an answer may leave, each with an answer or a failure; inf where it is not held.

    >>> outcomes(1.0), outcomes(8.0), outcomes(0.0)
    (20, 14, inf)
    """
    if not first_s:
        return math.inf
    return 2 * (max(0, math.ceil(math.log2(LONGEST_S / first_s))) + 1)


def least_epsilon(size: JoinSize, settings: SideChannels, max_epsilon: float) -> float:
    """The least that a question may cost."""
    least = settings.min_epsilon
    if size.kind != "linear":
        told = math.log(outcomes(first_moment_s(size, settings)))
        if size.kind == "unbounded":
            least = max(least, told)
        elif _planned_quanta(size, settings) is None:
            least = max(least, min(told, least * _PER_STEP**size.free_steps))
    return min(rounded_up(min(least, max_epsilon)), max_epsilon)


def rounded_up(epsilon: float, digits: int = _DIGITS) -> float:
    """Up to so many significant digits.

    >>> rounded_up(0.123456), rounded_up(0.5), rounded_up(2.0001)
    (0.124, 0.5, 2.01)
    """
    place = digits - 1 - math.floor(math.log10(epsilon))
    rounded = math.ceil(epsilon * 10**place - 1e-9) / 10**place
    return float(f"{rounded:.{digits}g}")


def _planned_quanta(size: JoinSize, settings: SideChannels) -> int | None:
    """How long a question takes at most by the declared sizes, a power of two of quanta; None: nobody knows."""
    if size.most_tuples is None or not settings.answer_quantum_s:
        return None
    quanta = size.most_tuples / TUPLES_PER_S / settings.answer_quantum_s
    if quanta > _PLANNED:
        return None
    return 1 << max(0, math.ceil(math.log2(max(quanta, 1))))
