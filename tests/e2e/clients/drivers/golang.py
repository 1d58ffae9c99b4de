"""Programs in Go, against Debian's source packages of the drivers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.e2e.clients.program import INSTALLED, PROGRAMS, ProgramClient

SOURCES = Path("/usr/share/gocode")
"""Where Debian's packages of Go put their sources."""

GO = shutil.which("go")
_CACHE = Path(".noisegate") / "cache" / "go"


def has(package: str) -> bool:
    """Are Go and the sources of a package there?"""
    return GO is not None and (SOURCES / "src" / package).is_dir()


@cache
def built(program: str) -> Path:
    """The program, compiled; Go knows by itself what there is to do."""
    assert GO is not None, "skipped otherwise"
    made = INSTALLED / "go" / program
    settings = {"GO111MODULE": "off", "GOPATH": str(SOURCES), "GOCACHE": str(_CACHE.resolve())}
    command = [GO, "build", "-buildvcs=false", "-o", str(made), str(PROGRAMS / f"{program}.go")]
    subprocess.run(command, env={**os.environ, **settings}, check=True, timeout=240)
    return made


class GoClient(ProgramClient):
    """A driver of Go."""

    placeholder = "$1"
    program: str

    def command(self) -> Sequence[str]:
        return (str(built(self.program)),)
