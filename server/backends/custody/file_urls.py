"""URLs of databases that are files: `duckdb:///shop.duckdb`, `parquet:///lake`, `spark+local:///lake`.

Loads nothing of DuckDB, and nothing of Spark.
"""

from __future__ import annotations

from pathlib import Path

from server.errors import ConfigurationInvalid

_DUCKDB, _PARQUET, _SPARK = "duckdb:///", "parquet:///", "spark+local:///"
FILE_URLS = (_DUCKDB, _PARQUET, _SPARK)
"""How URLs of files begin; what follows is a path, which starts at the policy's folder unless it begins with /."""


def path_of(url: str) -> Path:
    """What a URL of files names. Raises: ConfigurationInvalid where nothing of the kind is."""
    kind = next(kind for kind in FILE_URLS if url.startswith(kind))
    path = Path(url.removeprefix(kind))
    if kind == _DUCKDB and not path.is_file():
        if path.is_dir():
            raise ConfigurationInvalid(
                f"{path} is a folder, not a DuckDB file", hint=f"parquet:///{path} names folders"
            )
        raise ConfigurationInvalid(f"there is no file {path}", hint=_where(kind, "shop.duckdb", path))
    if kind in (_PARQUET, _SPARK) and not path.is_dir():
        if path.is_file():
            hint = f"{kind}{path.parent} names the folder that it lies in, with a file or a folder for each table"
            raise ConfigurationInvalid(f"{path} is a file, not a folder", hint=hint)
        hint = f"{_where(kind, 'lake', path)}; it has a file or a folder for each table"
        raise ConfigurationInvalid(f"there is no folder {path}", hint=hint)
    return path


def _where(kind: str, name: str, path: Path) -> str:
    """How paths are read, and the path that is there and may be meant.

    Args:
      path: absolute, as it was looked for.
    """
    meant = [Path("/", *path.parts[first:]) for first in range(2, len(path.parts))]
    there = next((one for one in meant if (one.is_file() if kind == _DUCKDB else one.is_dir())), None)
    read = f"{kind}{name} starts at the policy's folder, {kind}/data/{name} at /"
    return read if there is None else f"{read}: is it {kind}{there}?"


def is_folder(url: str) -> bool:
    """Does a URL name a folder of Parquet files?"""
    return url.startswith((_PARQUET, _SPARK, CONNECT))


def is_spark(url: str) -> bool:
    """Is what a URL names read by Spark?"""
    return url.startswith((_SPARK, CONNECT))


CONNECT = "sc://"
"""How URLs of Spark Connect begin; they may hold a secret, so that they stand in env:NAME or file:PATH."""

_FOLDER = ";folder="


def connect_and_folder(url: str) -> tuple[str, Path]:
    """The server of a URL of Spark Connect, and the folder of Parquet files that it reads.

    Args:
      url: `sc://host:15002/;token=...;folder=/mnt/lake`; the folder is the last of its parameters.
    Raises: ConfigurationInvalid for one without a folder: tables of a catalog have no state that could be told from
      another, so that a key that was counted might not be one any more.

    >>> connect_and_folder("sc://spark:15002/;use_ssl=true;folder=/")
    ('sc://spark:15002/;use_ssl=true', PosixPath('/'))
    """
    server, named, folder = url.partition(_FOLDER)
    path = Path(folder)
    if not named or not path.is_absolute() or not path.is_dir():
        hint = "sc://host:15002/;folder=/mnt/lake names a folder that Spark and the proxy see under one path"
        raise ConfigurationInvalid("the URL of Spark Connect names no folder of Parquet files", hint=hint)
    return server, path


def at_folder(url: str, base: Path) -> str:
    """A URL of files whose path starts at `base`."""
    kind = next(kind for kind in FILE_URLS if url.startswith(kind))
    return f"{kind}{(base / url.removeprefix(kind)).resolve()}"
