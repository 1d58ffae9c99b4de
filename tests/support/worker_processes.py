"""The worker processes of a proxy that runs elsewhere on this machine."""

from __future__ import annotations

from pathlib import Path


def workers_of(process: int) -> set[int]:
    """The processes that a proxy has started as workers, whatever they do."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    return found
