"""Whether queries can be answered, looked up every few seconds at most, however often it is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from server.errors import ServerError

_REMEMBERED_S = 5.0


class Readiness:
    """Remembers what the last look-up found.

    Args:
      check: raises what stands in the way.
      clock: seconds.
    """

    def __init__(self, check: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._check = check
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_up: float | None = None
        self._found: ServerError | None = None

    def raise_if_not(self) -> None:
        """Raises what stands in the way of answers; any thread may call it."""
        with self._lock:
            if self._looked_up is None or self._clock() - self._looked_up >= _REMEMBERED_S:
                self._found = self._look()
                self._looked_up = self._clock()
        if self._found is not None:
            raise self._found.with_traceback(None)  # else each raise would lengthen it

    def _look(self) -> ServerError | None:
        try:
            self._check()
        except ServerError as error:
            return error
        return None
