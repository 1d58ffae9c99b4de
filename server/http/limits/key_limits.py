"""How often, and how many times at once, one key may ask: a token bucket per key, and a count of what is open."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from server.errors import RateLimited
from server.scheduling.fair_shares import FairShares


@dataclass(frozen=True)
class Rate:
    """What one key may do. Generous: it keeps one client from taking the server from all others, no more.

    Attributes:
      per_second: requests, in the long run.
      burst: requests at once after a pause, >= 1.
      open: requests that are being answered at the same time, >= 1.
    """

    per_second: float = 300.0
    burst: float = 600.0
    open: int = 64


@dataclass
class _Key:
    tokens: float
    at: float


class KeyLimits:
    """The requests of each key's holder. Used on the event loop only; as large as the number of analysts.

    Args:
      clock: seconds.
    """

    def __init__(self, rate: Rate = Rate(), clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._keys: dict[str, _Key] = {}
        self._open = FairShares(rate.open)

    def enter(self, holder: str) -> Callable[[], None]:
        """Count one request.

        Returns: what to call once it is answered.
        Raises: RateLimited, with the seconds until the next one fits; nothing was charged.
        """
        now = self._clock()
        key = self._keys.setdefault(holder, _Key(self._rate.burst, now))
        key.tokens = min(self._rate.burst, key.tokens + (now - key.at) * self._rate.per_second)
        key.at = now
        if self._open.refusal(holder) is not None:
            raise RateLimited(f"{self._open.held(holder)} requests with your key are being answered already", 1)
        if key.tokens < 1:
            wait_s = math.ceil((1 - key.tokens) / self._rate.per_second)
            raise RateLimited(f"with one key, {self._rate.per_second:g} requests a second are answered", wait_s)
        key.tokens -= 1
        self._open.take(holder)
        return partial(self._open.give_back, holder)
