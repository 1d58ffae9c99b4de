"""Spark for administrator commands, and the local Spark process.

The process listens on the loopback address with a token, has no web page and no log, and ends with its parent in
every case. One Spark serves all questions, and they share its memory.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from sqlglot import exp, parse_one

from planner.policy.sections import DatabaseLimits
from planner.rewriting.dialects.spark import FILES, written
from planner.schema import Schema
from server.backends.backend import Limits
from server.backends.custody import Custody, Misfit, Statement
from server.backends.files import CONNECT, ParquetFiles, TablePatterns, connect_and_folder, path_of
from server.backends.query_tuples import refuse_memory_below
from server.backends.spark import SparkBackend, arrow_columns
from server.backends.spark_session import SparkSession, opened_session
from server.errors import BackendFailed, BackendUnavailable, ConfigurationInvalid

LEAST_MEMORY_MB = 512
"""The smallest Java heap with which Spark starts."""

_START_S = 300.0
_LOOK_S = 0.1
_STOP_S = 10.0
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"

# The parent holds its input open; when the parent ends in any way, Java ends, too.
_UNTIL_INPUT_ENDS = '"$@" </dev/null & java=$!; cat >/dev/null; kill $java; wait $java'


@dataclass(frozen=True)
class SparkMemory:
    """The resources of a local Spark.

    Attributes:
      memory_mb: of Java's heap.
      threads: processors; None: all.
    """

    memory_mb: int = 4_096
    threads: int | None = None


@dataclass(frozen=True)
class _Running:
    process: subprocess.Popen[bytes]
    address: str = field(repr=False)
    folder: Path

    def stop(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


_running: dict[SparkMemory, _Running] = {}
_lock = threading.Lock()


def local_spark(memory: SparkMemory) -> str:
    """The address of this process's Spark with these resources, which is started if needed.

    Raises: ConfigurationInvalid without pyspark or Java; BackendUnavailable if Spark does not start.
    Cost: about ten seconds the first time.
    """
    with _lock:
        known = _running.get(memory)
        if known is not None and _answers(known.address):
            return known.address
        if known is not None:
            known.stop()
        _running[memory] = found = _started(memory)
        return found.address


@atexit.register
def stop_local_sparks() -> None:
    """Stop each Spark of this process."""
    with _lock:
        while _running:
            _running.popitem()[1].stop()


def _started(memory: SparkMemory) -> _Running:
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        raise ConfigurationInvalid("this database needs pyspark", hint="install noisegate[spark]")
    submit = Path(package.origin).parent / "bin" / "spark-submit"
    if not submit.is_file() or (shutil.which("java") is None and not os.environ.get("JAVA_HOME")):
        hint = "install pyspark, not pyspark-client, and Java 17 or newer; or name a Spark Connect server"
        raise ConfigurationInvalid("a local Spark needs Java and pyspark", hint=hint)
    folder = Path(tempfile.mkdtemp(prefix="noisegate-spark-"))
    token, port = secrets.token_hex(32), _free_port()
    options = [f"--conf={name}={value}" for name, value in _conf(memory, port, folder).items()]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    process = subprocess.Popen(
        ["sh", "-c", _UNTIL_INPUT_ENDS, "sh", str(submit), "--class", _SERVER, *options, "spark-internal"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**environment, "SPARK_CONNECT_AUTHENTICATE_TOKEN": token, "SPARK_CONF_DIR": str(folder)},
    )
    found = _Running(process, f"sc://localhost:{port}/;token={token}", folder)
    try:
        _wait_ready(port)
        if not _answers(found.address):
            raise BackendUnavailable("the local Spark does not answer", hint="install Java 17 or newer")
    except BaseException:
        found.stop()
        raise
    return found


def _conf(memory: SparkMemory, port: int, folder: Path) -> Mapping[str, str]:
    return {
        "spark.master": f"local[{memory.threads or '*'}]",
        "spark.driver.memory": f"{memory.memory_mb}m",
        "spark.driver.maxResultSize": f"{max(memory.memory_mb // 2, 256)}m",
        "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        # Nobody fetches the rows of a killed worker.
        "spark.connect.execute.manager.detachedTimeout": "5s",
        "spark.connect.session.manager.defaultSessionTimeout": "10m",
        "spark.eventLog.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.local.dir": str(folder / "spill"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(4 * (memory.threads or os.cpu_count() or 4)),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_ready(port: int) -> None:
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(_LOOK_S)
    raise BackendUnavailable("the local Spark does not start", hint="install Java 17 or newer")


def _answers(address: str) -> bool:
    try:
        with opened_session(address, None):
            return True
    except BackendUnavailable:
        return False


@contextmanager
def opened_spark_files(
    url: str, limits: DatabaseLimits = DatabaseLimits(), patterns: TablePatterns = ()
) -> Iterator[SparkCustody]:
    """Open the files of a URL in their current state, by the Spark Connect server of the URL or by a local Spark.

    Raises: ConfigurationInvalid, BackendUnavailable.
    """
    if url.startswith(CONNECT):
        address, path = connect_and_folder(url)
    else:
        path = path_of(url)
        refuse_memory_below(limits.memory_mb, LEAST_MEMORY_MB, "Spark")
        address = local_spark(SparkMemory(limits.memory_mb or SparkMemory.memory_mb, limits.processes))
    backend = SparkBackend.of_folder(
        address, ParquetFiles(path, patterns), Limits(limits.seconds * 1_000, rows=limits.rows)
    )
    with opened_session(backend.address, None) as session:
        session.with_files(backend.tables)
        yield SparkCustody(session, backend)


@dataclass(frozen=True)
class SparkCustody(Custody):
    """One state of the files.

    Attributes:
      session: has views of the files.
      backend: answers questions from this state only.
    """

    session: SparkSession
    backend: SparkBackend

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.backend.folder.path.stem

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure, for any schema names."""
        return self.backend.schema()

    def count(self, statement: Statement) -> int:
        """Run a statement that selects one number. Raises: Misfit if Spark refuses it; BackendFailed."""
        text = statement.decode() if isinstance(statement, bytes) else statement.as_string(None)
        tree = parse_one(text, read="postgres")
        for table in tree.find_all(exp.Table):
            if table.text("db") == FILES:
                table.set("db", None)
        try:
            tables = list(self.session.tables(written(tree)))
        except BackendFailed as error:
            raise Misfit from error
        if self.backend.changed():
            raise BackendFailed("the files changed during the count", hint="try again")
        ((value,),) = zip(*arrow_columns(tables, 1), strict=True)
        return int(str(value))

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """Refuse: Spark does not compare rows. Raises: BackendFailed."""
        raise BackendFailed(
            "Spark cannot compare the rows of closed periods", hint="remove append_only from the policy"
        )
