"""An installation as a user makes it: a fresh environment, pip and the wheel, in a folder outside of any checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

_NOT_OURS = {"pip", "setuptools", "pkg_resources", "_distutils_hack"}
"""What an environment has before anything is installed."""

_TIMEOUT_S = 900
_KEPT = {"PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"}


@dataclass(frozen=True)
class Installation:
    """An environment with the wheel in it.

    Attributes:
      folder: of the environment.
      seconds: how long pip took, downloads and all.
    """

    folder: Path
    seconds: float

    @classmethod
    def of(cls, wheel: Path, folder: Path, extras: str = "") -> Installation:
        """Install the wheel into a new environment, by the versions of requirements.lock as constraints.

        Args:
          extras: as in `embedded,duckdb`.
        """
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, env=environment())
        made = cls(folder, 0.0)
        return cls(folder, made.install(wheel, extras))

    def install(self, wheel: Path, extras: str) -> float:
        """Install the wheel with its extras, without compiling; seconds."""
        locked = self.folder / "locked.txt"
        lines = (Path(__file__).parents[2] / "requirements.lock").read_text().splitlines()
        locked.write_text("\n".join(line.removesuffix(" \\") for line in lines if re.match(r"[a-z0-9-]+==", line)))
        named = f"{wheel}[{extras}]" if extras else str(wheel)
        command = [str(self.folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile"]
        begun = time.perf_counter()
        subprocess.run(
            [*command, "--disable-pip-version-check", "--only-binary", ":all:", "--constraint", str(locked), named],
            check=True,
            env=environment() | {name: value for name, value in os.environ.items() if name.startswith("PIP_")},
            timeout=_TIMEOUT_S,
        )
        return time.perf_counter() - begun

    def run(self, *arguments: str, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        """`noisegate ARGUMENTS` in a folder, with a bare environment. Raises: AssertionError on another exit code."""
        done = subprocess.run(
            [str(self.folder / "bin" / "noisegate"), *arguments],
            cwd=folder,
            env=environment() | {"COLUMNS": "140"},
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def python(self, code: str, folder: Path) -> str:
        """What a program prints in the environment."""
        command = [str(self.folder / "bin" / "python"), "-P", "-c", code]
        done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=True)
        return done.stdout

    def sizes(self) -> dict[str, int]:
        """Bytes of each package as it was installed: without pip, and without bytecode, which comes with use."""
        (packages,) = (self.folder / "lib").glob("python3*/site-packages")
        found: dict[str, int] = {}
        for path in packages.rglob("*"):
            top = path.relative_to(packages).parts[0]
            name = top.split("-")[0].removesuffix(".libs")
            ours = name not in _NOT_OURS and "__pycache__" not in path.parts
            if ours and path.is_file() and not path.is_symlink():
                found[name] = found.get(name, 0) + path.stat().st_size
        return found

    def strip(self) -> None:
        """Remove the linkers' symbols from libraries, which nothing that runs reads; needs binutils.

        Not from those that were patched when their wheel was made (`*.libs`, numba's): they would not load.
        """
        libraries = [
            str(path)
            for path in self.folder.rglob("*.so*")
            if path.is_file()
            and not path.is_symlink()
            and not any(fnmatch(part, "*.libs") for part in path.parts)
            and "numba" not in path.parts
        ]
        subprocess.run(["strip", "--strip-unneeded", *libraries], check=True, capture_output=True)


def environment() -> dict[str, str]:
    """The environment of a new user: nothing of this project's, nor of the tests'."""
    return {name: value for name, value in os.environ.items() if name in _KEPT}
