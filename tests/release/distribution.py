"""`make dist`: the wheel and the source distribution, from a copy of what is delivered, the same bytes each time.

The source distribution is made first and the wheel from it, so that the wheel holds nothing that is missing there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
DELIVERED = (
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "GLOSSARY.md",
    "LICENSE",
    "Makefile",
    "NOTICE",
    "SECURITY.md",
    "requirements.lock",
    "privacy",
    "planner",
    "server",
    "docs",
    "deploy",
)
"""What a source distribution is made of."""

_BUILD = "from setuptools import build_meta; import sys; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
_EPOCH = "1767225600"
"""The time that is written into both: the beginning of 2026, whenever they are made."""


def main() -> int:
    """Build into `dist/`, or the folder that is named; returns the exit code."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    for path in build(folder):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


def build(folder: Path) -> tuple[Path, Path]:
    """Build both into `folder`, whose earlier distributions go.

    Returns: the source distribution and the wheel.
    Raises: subprocess.CalledProcessError when setuptools fails.
    Cost: some five seconds; no network, since setuptools is there.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("noisegate-*.whl"), *folder.glob("noisegate-*.tar.gz")):
        old.unlink()
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    _copy(work / "source")
    source = _run("build_sdist", work / "source", folder)
    with tarfile.open(source) as archive:
        archive.extractall(work / "unpacked", filter="data")
    (unpacked,) = (work / "unpacked").iterdir()
    wheel = _run("build_wheel", unpacked, folder)
    shutil.rmtree(work)
    return source, wheel


def _copy(target: Path) -> None:
    target.mkdir(parents=True)
    for name in DELIVERED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
        elif (ROOT / name).exists():
            shutil.copyfile(ROOT / name, target / name)


def _run(step: str, folder: Path, target: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, step, str(target)],
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": _EPOCH},
        capture_output=True,
        text=True,
        check=True,
    )
    return target / done.stdout.splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
