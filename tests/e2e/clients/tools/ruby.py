"""Programs in Ruby, with Debian's packages."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from tests.e2e.clients.program import PROGRAMS, ProgramClient

RUBY = shutil.which("ruby")


def has(library: str) -> bool:
    """Are Ruby, pg and a library there?"""
    if RUBY is None:
        return False
    found = subprocess.run([RUBY, "-e", f'gem "pg"; gem "{library}"'], capture_output=True, check=False)
    return found.returncode == 0


class RubyClient(ProgramClient):
    """A library above Ruby's pg."""

    program: str

    def command(self) -> Sequence[str]:
        assert RUBY is not None, "skipped otherwise"
        return (RUBY, str(PROGRAMS / self.program))
