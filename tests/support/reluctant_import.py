"""A module that workers preload: what it does at its import says a file in the folder that the environment names.

For each file `fail-N` one import fails; `slow` holds how many seconds each takes, but for one for each `quick-N`.
`begun-N` and `ended-N` are written then, and hold when an import began and ended.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

FOLDER = "NOISEGATE_TEST_RELUCTANT"

_folder = Path(os.environ[FOLDER]) if FOLDER in os.environ else None

if _folder is not None:
    (_folder / f"begun-{os.getpid()}").write_text(str(time.monotonic()))
    failures = sorted(_folder.glob("fail-*"))
    for failure in failures:
        try:
            failure.unlink()
        except FileNotFoundError:  # another worker has taken it
            continue
        os._exit(3)
    quick = next(iter(sorted(_folder.glob("quick-*"))), None)
    if quick is not None:
        quick.unlink()
    elif (_folder / "slow").exists():
        time.sleep(float((_folder / "slow").read_text()))
    (_folder / f"ended-{os.getpid()}").write_text(str(time.monotonic()))


def importer() -> int:
    """The process that has imported this module to run this."""
    return os.getpid()
