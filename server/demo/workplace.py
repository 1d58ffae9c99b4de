"""The folder of the demonstration, and how its database and proxy are started."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.progress import Progress

from server.backends import embedded
from server.demo import tpch
from server.demo.database import load_once
from server.errors import ConfigurationInvalid
from server.ledger.analyst import Act, Role, credentials_of, new_key
from server.ledger.ledger import Ledger
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_or_create

ROOT = Path(os.environ.get("NOISEGATE_HOME", ".noisegate"))
PORT = 8432
WIRE_PORT = 6432

_DATABASE = "postgres"
_HTTP_ONLY = ("--no-wire",)
_START_TIMEOUT_S = 600.0
"""The first start compiles kernels, for minutes on a busy machine. A process that ends is noticed at once."""

_STOP_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Demonstration:
    """A loaded database and the policy for it.

    Attributes:
      owner_url: the database as its owner, for true values.
      proxy_url: the database as the proxy's role.
    """

    folder: Path
    server: embedded.EmbeddedPostgres
    owner_url: str
    proxy_url: str

    @property
    def policy(self) -> Path:
        """The policy file; the ledger is beside it."""
        return self.folder / "policy.toml"

    @property
    def key_file(self) -> Path:
        """The file with the newest analyst's key."""
        return self.folder / "analyst.key"


def prepare(
    folder: Path, progress: Progress, announce: Callable[[str], None], scale: float = tpch.SCALE
) -> Demonstration:
    """Start PostgreSQL, load the data if needed, and write the policy.

    Args:
      announce: receives messages for the user, such as a folder that is opened to another user.
    Raises: ConfigurationInvalid if another demonstration runs in the folder, or it has other files.
    """
    _check_own(folder)
    _lock(folder)
    server = embedded.start(folder / _DATABASE, announce=announce)
    name = f"demo_{round(scale * 1000)}"
    proxy_url = load_once(server, name, scale, progress)
    demonstration = Demonstration(folder, server, server.url(database=name), proxy_url)
    shutil.copyfile(Path(__file__).with_name("policy.toml"), demonstration.policy)
    return demonstration


def _check_own(folder: Path) -> None:
    """Refuse a folder with another policy or ledger, which would be overwritten or get an analyst.

    A demonstration starts its database before it writes either.
    """
    found = [name for name in ("policy.toml", "ledger.sqlite") if (folder / name).exists()]
    if found and not (folder / _DATABASE).is_dir():
        hint = "name a folder of its own with --folder"
        raise ConfigurationInvalid(f"{folder} has a {found[0]} that is no demonstration's", hint=hint)


def _lock(folder: Path) -> None:
    """Lock the folder until this process ends; a second demonstration would stop the first one's database."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ConfigurationInvalid(f"a demonstration already runs in {folder}", hint="stop it first") from None


def add_analyst(demonstration: Demonstration, epsilon: float, role: Role = "analyst", name: str | None = None) -> str:
    """Add an analyst with a new budget, so that the demonstration can be repeated.

    Returns: the key, which the key file also holds, for its owner alone.
    """
    key = new_key()
    with _ledger(demonstration) as ledger:
        ledger.add_analyst(name or f"demo-{time.time_ns()}", credentials_of(key), epsilon, 0.0, role=role)
    demonstration.key_file.touch(mode=0o600)
    demonstration.key_file.write_text(key + "\n")
    return key


def new_data(demonstration: Demonstration) -> None:
    """Record a new data version, so that no answer comes from an earlier run's cache."""
    with _ledger(demonstration) as ledger:
        ledger.bump_data(Act("demonstration", "another run"))


def _ledger(demonstration: Demonstration) -> closing[Ledger]:
    return closing(open_or_create(read_policy(demonstration.policy), demonstration.policy)[0])


@contextmanager
def proxy(demonstration: Demonstration, port: int = PORT, options: tuple[str, ...] = _HTTP_ONLY) -> Iterator[str]:
    """Run `noisegate serve` and yield its address. As `running_proxy`."""
    with running_proxy(demonstration, port, options) as (_, address):
        yield address


@contextmanager
def running_proxy(
    demonstration: Demonstration,
    port: int = PORT,
    options: tuple[str, ...] = _HTTP_ONLY,
    authority: Path | None = None,
    files: int | None = None,
    program: tuple[str, ...] = (),
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run `noisegate serve` on `port`, or on a free port if it is taken; yields process and address once healthy.

    Args:
      options: more options of `noisegate serve`.
      authority: the CA certificate of the proxy's certificate, if it has one.
      files: the most descriptors; None: as this process.
      program: replaces the command `noisegate`.
    Raises: RuntimeError if it ends before it is healthy; its messages are in proxy.log.
    """
    for wanted in (port, 0, 0):  # another process may take a free port first
        listening = free_port(wanted)
        process = _serve(demonstration, listening, options, files, program or _noisegate())
        address = f"{'http' if authority is None else 'https'}://localhost:{listening}"
        if _healthy(process, address, authority):
            break
    else:
        raise RuntimeError(f"the proxy does not start; its last words are in {demonstration.folder / 'proxy.log'}")
    try:
        yield process, address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=_START_TIMEOUT_S)


def _serve(
    demonstration: Demonstration, port: int, options: tuple[str, ...], files: int | None, program: tuple[str, ...]
) -> subprocess.Popen[bytes]:
    limited = () if files is None else ("sh", "-c", 'ulimit -n "$0" && exec "$@"', str(files))
    with (demonstration.folder / "proxy.log").open("ab") as log:
        return subprocess.Popen(
            [*limited, *program, "serve", demonstration.policy, "--port", str(port), *options],
            env={**os.environ, "NOISEGATE_DATABASE_URL": demonstration.proxy_url},
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _noisegate() -> tuple[str, ...]:
    beside = Path(sys.executable).with_name("noisegate")
    return (str(beside),) if beside.exists() else (sys.executable, "-P", "-m", "server.cli.main")


def free_port(wanted: int) -> int:
    """`wanted` if nobody listens there, otherwise a free port. Raises: RuntimeError if there is none."""
    for port in (wanted, 0):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(listener.getsockname()[1])
    raise RuntimeError("no free port on the loopback interface")


def _healthy(process: subprocess.Popen[bytes], address: str, authority: Path | None) -> bool:
    """Wait for the proxy; False if it ended, as it does if the port was taken meanwhile."""
    verify = True if authority is None else ssl.create_default_context(cafile=authority)
    end = time.monotonic() + _START_TIMEOUT_S
    with httpx.Client(verify=verify, timeout=1.0) as http:  # one: to read who vouches for whom takes a while
        while time.monotonic() < end and process.poll() is None:
            try:
                if http.get(f"{address}/health").status_code == 200:
                    return process.poll() is None
            except httpx.TransportError:
                time.sleep(0.05)
    process.terminate()  # so that it stops the catalog that it has started
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return False
