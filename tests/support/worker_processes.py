"""The worker processes of a proxy that runs elsewhere on this machine."""

from __future__ import annotations

from pathlib import Path


def workers_of(process: int) -> set[int]:
    """The processes that a proxy has started as workers, whatever they do: those that its template has forked."""
    templates = {one for one in _children(process) if b"forkserver" in Path(f"/proc/{one}/cmdline").read_bytes()}
    return {worker for template in templates for worker in _children(template)}


def _children(process: int) -> set[int]:
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                found.add(int(folder.name))
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    return found
