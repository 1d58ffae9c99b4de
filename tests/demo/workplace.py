"""Where the demonstration keeps its things, and how its parts are started: all under one folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.progress import Progress

from server.backends import embedded
from server.keys import key_hash, new_key
from server.ledger.open_ledger import create_ledger, open_ledger
from server.services import ledger_paths, read_policy
from tests.demo import tpch
from tests.demo.database import load_once

ROOT = Path(os.environ.get("NOISEGATE_HOME", ".noisegate"))
PORT = 8432
_START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Demonstration:
    """A loaded database and the policy before it.

    Attributes:
      folder: holds everything.
      server: the embedded PostgreSQL.
      owner_url: the database as its owner, for true values.
      proxy_url: the database as the proxy's own role.
    """

    folder: Path
    server: embedded.EmbeddedPostgres
    owner_url: str
    proxy_url: str

    @property
    def policy(self) -> Path:
        """The policy file."""
        return self.folder / "policy.toml"

    @property
    def key_file(self) -> Path:
        """The newest analyst's key."""
        return self.folder / "analyst.key"


def prepare(
    folder: Path, progress: Progress, announce: Callable[[str], None], scale: float = tpch.SCALE
) -> Demonstration:
    """Start PostgreSQL, load what is not loaded, write the policy. Quick when done before."""
    server = embedded.start(folder / "postgres", announce=announce)
    name = f"demo_{round(scale * 1000)}"
    proxy_url = load_once(server, name, scale, progress)
    demonstration = Demonstration(folder, server, server.url(database=name), proxy_url)
    shutil.copyfile(Path(__file__).with_name("policy.toml"), demonstration.policy)
    return demonstration


def add_analyst(demonstration: Demonstration, epsilon: float) -> str:
    """Add an analyst with a fresh budget, so that the demonstration can be run again; returns the key."""
    paths = ledger_paths(read_policy(demonstration.policy), demonstration.policy)
    ledger = open_ledger(*paths) if paths[1].exists() else create_ledger(*paths)
    key = new_key()
    try:
        ledger.add_analyst(f"demo-{time.time_ns()}", key_hash(key), epsilon, 0.0)
    finally:
        ledger.close()
    demonstration.key_file.touch(mode=0o600)
    demonstration.key_file.write_text(key + "\n")
    return key


@contextmanager
def proxy(demonstration: Demonstration) -> Iterator[str]:
    """Run `noisegate serve`; yields its address once it is healthy.

    Raises: RuntimeError when it ends before it is healthy; its own words are on standard error.
    """
    port = free_port(PORT)
    program = Path(sys.executable).with_name("noisegate")
    with (demonstration.folder / "proxy.log").open("ab") as log:
        process = subprocess.Popen(
            [program, "serve", demonstration.policy, "--port", str(port)],
            env={**os.environ, "NOISEGATE_DATABASE_URL": demonstration.proxy_url},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(process, address, demonstration.folder / "proxy.log")
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=_START_TIMEOUT_S)


def free_port(wanted: int) -> int:
    """`wanted` when nobody listens there, any free port otherwise."""
    for port in (wanted, 0):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(listener.getsockname()[1])
    raise RuntimeError("no free port on the loopback interface")


def _wait_until_healthy(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the proxy ended with code {process.returncode}; its last words are in {log}")
        try:
            if httpx.get(f"{address}/health", timeout=1.0).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError(f"the proxy was not healthy after {_START_TIMEOUT_S:.0f} seconds; see {log}")
