"""Other libraries, each in an environment of its own, asked the same of the same rows exported as CSV.

NOISEGATE_PEERS names a folder with an environment for each that is installed, by the name of its package:
`python3.11 -m venv $NOISEGATE_PEERS/opendp && $NOISEGATE_PEERS/opendp/bin/pip install 'opendp[polars]'`, and
likewise `smartnoise-sql`, `pipeline-dp` and `tmlt.analytics` (which needs Java). Each has a program in
`tests/benchmarks/peers`, which prints an answer, or why there is none, as a line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_PROGRAMS = Path("tests") / "benchmarks" / "peers"
PEERS = {
    "smartnoise-sql": "smartnoise.py",
    "opendp": "opendp_polars.py",
    "pipeline-dp": "pipelinedp.py",
    "tmlt.analytics": "tumult.py",
}
"""Packages, and the programs that run where they are."""

LIMIT_S = 330.0
"""What a program may take, once it is started beside the others; later questions are then without an answer."""


@dataclass(frozen=True)
class PeerAnswers:
    """What a library released of a question, again and again, with bounds that a custodian would set by hand.

    Attributes:
      values: none where it refuses the question.
      refused: why.
    """

    question: str
    bounds: str = ""
    values: tuple[float, ...] = ()
    refused: str = ""


def environments() -> dict[str, Path]:
    """The interpreter of each library that there is an environment for; none without NOISEGATE_PEERS."""
    folder = os.environ.get("NOISEGATE_PEERS")
    found = {name: Path(folder) / name / "bin" / "python" for name in PEERS} if folder else {}
    return {name: python for name, python in found.items() if python.exists()}


def answers(name: str, python: Path, exported: Path, epsilon: float, draws: int) -> list[PeerAnswers]:
    """What a library's program said until it ended, or its time did. Raises: CalledProcessError."""
    command = [str(python), str((_PROGRAMS / PEERS[name]).absolute()), str(exported), str(epsilon), str(draws)]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=LIMIT_S, cwd=exported)
        said = done.stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
    found = [json.loads(line) for line in said.decode().splitlines() if line.startswith("{")]
    return [PeerAnswers(**one | {"values": tuple(one.get("values", ()))}) for one in found]
