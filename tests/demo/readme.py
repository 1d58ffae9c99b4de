"""`make readme`: run the demonstration and write what it printed into README.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

BEGIN = "<!-- demo output: written by `make readme` -->"
END = "<!-- end of demo output -->"


def main() -> int:
    """Rewrite the block between the markers; returns the exit code."""
    readme = Path("README.md")
    text = readme.read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo"],
        env={**os.environ, "DEMO_EXIT": "1", "COLUMNS": "112"},
        capture_output=True,
        text=True,
        check=True,
    )
    readme.write_text(replaced(text, done.stdout), encoding="utf-8")
    return 0


def replaced(text: str, output: str) -> str:
    """The README with `output` between its markers.

    Raises: ValueError when the markers are not there once each, in order.
    """
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    block = f"{BEGIN}\n```text\n{output.strip()}\n```\n{END}"
    new, count = pattern.subn(lambda _: block, text)
    if count != 1:
        raise ValueError("README.md lacks the markers of the demo output")
    return new


if __name__ == "__main__":
    sys.exit(main())
