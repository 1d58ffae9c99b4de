"""What the serving process does so that nobody waits for its own upkeep."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from server.startup.serve import short_pauses


@pytest.mark.slow
def test_what_is_there_at_the_start_is_not_walked_over_again() -> None:
    before, interval = gc.get_freeze_count(), sys.getswitchinterval()
    here = [["in a cycle"]]
    here.append(here)  # type: ignore[arg-type]
    try:
        with short_pauses():
            assert gc.get_freeze_count() > before
            assert not any(known is here for known in gc.get_objects())
            assert sys.getswitchinterval() < interval
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.slow
def test_what_was_kept_from_collection_is_let_go_at_the_end() -> None:
    """Else a module in C++ finds its objects as the interpreter ends, and prints a page of them."""
    code = (
        "import gc, duckdb; from server.startup.serve import short_pauses\n"
        "with short_pauses():\n"
        "    assert gc.get_freeze_count() > 1000\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
