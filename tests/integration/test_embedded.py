"""The embedded PostgreSQL starts wherever its data lies, and says why when it does not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from server.backends import embedded
from server.errors import ConfigurationInvalid

KERNEL_BYTES = 108
"""`sizeof(sockaddr_un.sun_path)` on Linux, with the zero at its end."""


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough to be made as long as a test wants."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="n") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def of_length(folder: Path, length: int) -> Path:
    """A folder inside `folder` whose path has so many bytes."""
    path = folder
    while (missing := length - len(os.fsencode(path))) > 0:
        step = min(missing - 1, 100)
        if missing - 1 - step == 1:  # one byte more would be a slash with no name
            step -= 1
        path = path / ("d" * step)
    assert len(os.fsencode(path)) == length
    return path


@pytest.mark.slow
def test_the_socket_fits_the_kernel_at_every_length(short_folder: Path) -> None:
    for length in range(60, 201):
        data = of_length(short_folder, length)
        data.mkdir(parents=True, exist_ok=True)
        socket = embedded._socket_directory(data, lambda _: None)
        try:
            assert len(os.fsencode(socket / ".s.PGSQL.5432")) < KERNEL_BYTES, length
            assert (socket == data) == (length + len("/.s.PGSQL.5432") < KERNEL_BYTES), "nothing moves without need"
        finally:
            if socket != data:
                socket.rmdir()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "a, b'c & d;e",
        pytest.param(93, marks=pytest.mark.slow),
        pytest.param(94, marks=pytest.mark.slow),
        pytest.param(160, marks=pytest.mark.slow),
    ],
)
def test_it_starts_where_the_path_is_long_or_has_signs(short_folder: Path, name: str | int) -> None:
    server = embedded.start(short_folder / name if isinstance(name, str) else of_length(short_folder, name))
    try:
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        server.stop()
        if server.socket != server.data:
            server.socket.rmdir()


@pytest.mark.slow
def test_a_start_that_fails_says_what_the_log_says(short_folder: Path) -> None:
    data = short_folder / "data"
    embedded.start(data).stop()
    with (data / "postgresql.conf").open("a") as settings:
        settings.write("\nmax_connections = 'many'\n")
    with pytest.raises(ConfigurationInvalid, match='invalid value for parameter "max_connections"') as failed:
        embedded.start(data)
    assert str(data / "log") in (failed.value.hint or "")


@pytest.mark.slow
def test_a_folder_for_the_socket_that_is_not_ours_is_not_used(short_folder: Path) -> None:
    data = of_length(short_folder, 120)
    data.mkdir(parents=True)
    socket = embedded._socket_directory(data, lambda _: None)
    try:
        socket.chmod(0o777)
        with pytest.raises(ConfigurationInvalid, match="belongs to another user"):
            embedded._socket_directory(data, lambda _: None)
    finally:
        socket.rmdir()
