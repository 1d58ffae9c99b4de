"""What the serving process does so that nobody waits for its own upkeep."""

from __future__ import annotations

import gc
import sys

from server.startup.serve import keep_pauses_short


def test_what_is_there_at_the_start_is_not_walked_over_again() -> None:
    before, interval = gc.get_freeze_count(), sys.getswitchinterval()
    here = [["in a cycle"]]
    here.append(here)  # type: ignore[arg-type]
    try:
        keep_pauses_short()
        assert gc.get_freeze_count() > before
        assert not any(known is here for known in gc.get_objects())
        assert sys.getswitchinterval() < interval
    finally:
        gc.unfreeze()
        sys.setswitchinterval(interval)
