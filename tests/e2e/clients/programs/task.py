"""What the programs in Python share: where to connect, and a task that is named by the arguments. Runs by itself.

These programs run in environments of their own, without pytest and without Noisegate.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

HOST = "localhost"
PORT, USER, PASSWORD, AUTHORITY = (os.environ[f"NG_{name}"] for name in ("PORT", "USER", "PASSWORD", "AUTHORITY"))
TLS = {"sslmode": "verify-full", "sslrootcert": AUTHORITY}
URI = f"postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/demo?sslmode=verify-full&sslrootcert={AUTHORITY}"

TABLES_SQL = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"

Task = Callable[[Sequence[str]], Any]


def later(cancel: Callable[[], object]) -> None:
    """Cancel once the statement has run for as long as the test says."""
    threading.Timer(int(os.environ["NG_RUNNING_MS"]) / 1000, cancel).start()


def do(tasks: Mapping[str, Task]) -> None:
    """Do what the arguments say, and write what came of it as JSON."""
    task, *rest = sys.argv[1:]
    found = tasks[task](rest)
    json.dump(found, sys.stdout, default=str)
