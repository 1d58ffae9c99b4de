"""Copies a mirror anew when it is too old, in a process of its own, which no question waits for."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import structlog

from planner.policy.policy import Policy

_LOOK_S = 30.0
_AFTER_FAILURE_S = 300.0
_REASON = "the mirror's schedule"

_log = structlog.get_logger("noisegate.mirror")


def refreshing(policy_path: Path) -> list[str]:
    """The command that copies the mirror of a policy."""
    command = ["mirror", "refresh", "--policy", str(policy_path), "--reason", _REASON]
    return [sys.executable, "-m", "server.cli.main", *command]


class Copied(Protocol):
    """What the schedule asks of a mirror."""

    def why_not(self) -> str | None:
        """What keeps it from being current; None where it is."""
        ...

    def copied_at(self) -> float | None:
        """When it was copied, in seconds since 1970; None where there is none."""
        ...


class MirrorSchedule:
    """One thread that looks every half minute whether the mirror is due.

    It is due when it is as old as the policy lets it become, and at the start also when it is not current. After a
    failure five minutes pass.

    Args:
      policy: in force.
      mirror: the one that was there at the start.
      command: what copies it.
    """

    def __init__(self, policy: Callable[[], Policy], mirror: Copied, command: list[str]) -> None:
        self._policy = policy
        self._mirror = mirror
        self._command = command
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
        self._copying: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """The thread begins; the first copy, if one is due, does not wait half a minute."""
        self._thread.start()

    def stop(self) -> None:
        """End, with a copying that is under way; the copy before stays."""
        self._stopped.set()
        if self._copying is not None:
            self._copying.terminate()
        if self._thread.is_alive():
            self._thread.join()

    def due(self, now: float) -> bool:
        """Is the copy too old? Never where the policy says `manual`."""
        settings = self._policy().mirror
        if settings is None or settings.refresh_s is None:
            return False
        copied_at = self._mirror.copied_at()
        return copied_at is None or now - copied_at >= settings.refresh_s

    def _run(self) -> None:
        settings = self._policy().mirror
        scheduled = settings is not None and settings.refresh_s is not None
        wanted = scheduled and self._mirror.why_not() is not None
        while not self._stopped.is_set():
            copied = self._copy() if wanted or self.due(time.time()) else True
            wanted = False
            self._stopped.wait(_LOOK_S if copied else _AFTER_FAILURE_S)

    def _copy(self) -> bool:
        self._copying = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if self._stopped.is_set():
            self._copying.terminate()
        _, said = self._copying.communicate()
        done = self._copying.returncode == 0
        self._copying = None
        if done:
            _log.info("mirror copied")
        elif not self._stopped.is_set():
            _log.error("mirror not copied", message=said.decode(errors="replace").strip()[-500:])
        return done
