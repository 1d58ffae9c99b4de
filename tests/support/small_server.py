"""`noisegate serve` with few workers instead of five: what tests need that ask one question or two at a time.

NOISEGATE_TEST_WORKERS says how many read private rows; one more reads public tables. Worker processes import the
module that their parent was started with, so nothing here may start another.
"""

from __future__ import annotations

import os

from server.cli import main as command_line
from server.startup.open_services import open_services
from server.workers.pool import WorkerLimits

if __name__ == "__main__":
    _, announce = open_services.__wrapped__.__defaults__  # type: ignore[attr-defined]
    limits = WorkerLimits(workers=int(os.environ.get("NOISEGATE_TEST_WORKERS", "1")), public_workers=1)
    open_services.__wrapped__.__defaults__ = (limits, announce)  # type: ignore[attr-defined]
    command_line.main()
