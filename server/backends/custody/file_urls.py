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
        hint = "the path of duckdb:///shop.duckdb starts at the policy's folder"
        raise ConfigurationInvalid(f"there is no file {path}", hint=hint)
    if kind in (_PARQUET, _SPARK) and not path.is_dir():
        hint = f"{kind}lake names a folder, from the policy's folder on; it has a file or a folder for each table"
        raise ConfigurationInvalid(f"there is no folder {path}", hint=hint)
    return path


def is_folder(url: str) -> bool:
    """Does a URL name a folder of Parquet files?"""
    return url.startswith((_PARQUET, _SPARK))


def is_spark(url: str) -> bool:
    """Is what a URL of files names read by Spark?"""
    return url.startswith(_SPARK)


def at_folder(url: str, base: Path) -> str:
    """A URL of files whose path starts at `base`."""
    kind = next(kind for kind in FILE_URLS if url.startswith(kind))
    return f"{kind}{(base / url.removeprefix(kind)).resolve()}"
