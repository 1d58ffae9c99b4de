"""Other libraries: their environments, made on demand at pinned versions, and their programs, which run in these.

None of them is a dependency of the project: each lives under `.noisegate/peers`, and is only asked the same questions
of the same rows. What does not install, or does not end, is said, and the others go on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.comparison.program_text import Written, written
from tests.benchmarks.comparison.verdicts import Answer, Answered, Said

_ENVIRONMENTS = Path(".noisegate") / "peers"
_PROGRAMS = Path(__file__).parents[1] / "peers" / "comparison"
_INSTALL_S = 900.0


@dataclass(frozen=True)
class Peer:
    """A library: where it is installed, what is installed there, and the program that asks it."""

    name: str
    folder: str
    requirements: tuple[str, ...]
    program: str

    @property
    def text(self) -> dict[str, Written]:
        """By question, what a user writes."""
        return written((_PROGRAMS / self.program).read_text())

    @property
    def python(self) -> Path:
        return _ENVIRONMENTS / self.folder / "bin" / "python"

    @property
    def is_installed(self) -> bool:
        """Whether its environment holds the versions that are named here."""
        said = self.python.parents[1] / "installed"
        return said.exists() and said.read_text() == "\n".join(self.requirements)

    def install(self) -> None:
        """Make the environment, where it is not there yet. Raises: NotInstalled."""
        if self.is_installed:
            return
        pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *self.requirements]
        try:
            _run([sys.executable, "-m", "venv", str(self.python.parents[1])])
            _run([str(self.python.absolute()), *pip])
        except (subprocess.SubprocessError, OSError) as error:
            raise NotInstalled(f"pip could not install {' '.join(self.requirements)} here") from error
        (self.python.parents[1] / "installed").write_text("\n".join(self.requirements))

    def asked(self, folder: Path, settings: Mapping[str, object], limit_s: float) -> Said:
        """What its program prints, until it ends or its time does.

        Args:
          folder: a CSV per table.
          settings: what `asked.py` beside the programs reads.
        """
        command = [str(self.python.absolute()), str(_PROGRAMS / self.program), str(folder.absolute())]
        printed, complaint, code = _printed([*command, json.dumps(settings)], limit_s)
        if code is None:
            return parsed(printed, f"no answer within the {limit_s:.0f} s that its program had")
        return parsed(printed, (complaint.strip().splitlines() or ["it ended"])[-1][:160] if code else "")


class NotInstalled(Exception):
    """A library could not be installed."""


PEERS = (
    Peer("SmartNoise SQL", "smartnoise-sql", ("smartnoise-sql==1.0.10",), "smartnoise.py"),
    Peer("Qrlew", "qrlew", ("pyqrlew==0.9.27", "duckdb==1.4.4"), "qrlew.py"),
    Peer("OpenDP", "opendp", ("opendp[polars]==0.16.0",), "opendp_polars.py"),
    Peer("PipelineDP", "pipeline-dp", ("pipeline-dp==0.3.1",), "pipelinedp.py"),
    Peer("Tumult", "tmlt.analytics", ("tmlt.analytics==0.21.0",), "tumult.py"),
)


def parsed(printed: str, failed: str = "") -> Said:
    """The lines of JSON among what a program printed."""
    answered: dict[str, list[Answered]] = {}
    refused: dict[str, str] = {}
    for line in printed.splitlines():
        if not line.startswith("{"):
            continue
        try:
            said = json.loads(line)
        except json.JSONDecodeError:  # cut off where its time ended
            continue
        if "refused" in said:
            refused[said["question"]] = said["refused"]
        else:
            one = Answered(said["bounds"], tuple(said["answers"]), tuple(said["seconds"]))
            answered.setdefault(said["question"], []).append(one)
    return Said(answered, refused, failed)


def settings(
    epsilon: float, draws: int, questions: Iterable[str], truths: Mapping[str, Answer], **more: object
) -> dict[str, object]:
    """What a program is told; a custodian who sets bounds knows the truths."""
    return {"epsilon": epsilon, "draws": draws, "questions": list(questions), "truths": truths, **more}


def _printed(command: list[str], limit_s: float) -> tuple[str, str, int | None]:
    """Both outputs and the exit code; None where its time ended, and with it all that it started, Java too."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True
    ) as process:
        try:
            printed, complaint = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return *process.communicate(), None
        return printed, complaint, process.returncode


def _run(command: list[str]) -> None:
    subprocess.run(command, capture_output=True, check=True, timeout=_INSTALL_S)
