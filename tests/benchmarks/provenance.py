"""Where and when a figure was measured: at which commit, on which machine, on which day."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime

_BESIDE = (
    "benchmarks/results",
    "benchmarks/provenance.py",
    "benchmarks/bars.py",
    "unit",
    "property",
    "integration",
    "e2e",
    "audit",
)
_NOT_CODE = (":(top)", ":(top,exclude,glob)**/*.md", *(f":(top,exclude)tests/{one}" for one in _BESIDE))
"""Results, pages and tests move no figure. So benchmarks that store some one after the other are of one commit."""


def commit() -> str:
    """The last commit that changed code, with `-dirty` if code has changes; `unknown` outside of a checkout."""
    named = _git("log", "-1", "--format=%h", "--", *_NOT_CODE)
    return f"{named}-dirty" if named and _git("status", "--porcelain", "--", *_NOT_CODE) else named or "unknown"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.strip()


def machine() -> str:
    """The system, its cores, and Python."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def today() -> str:
    """In UTC."""
    return datetime.now(UTC).date().isoformat()
