"""Where and when a figure was measured: at which commit, on which machine, on which day."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime


def commit() -> str:
    """Of the checkout, with `-dirty` where it has changes; `unknown` where there is none."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def machine() -> str:
    """The system, its cores, and Python."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def today() -> str:
    """In UTC."""
    return datetime.now(UTC).date().isoformat()
