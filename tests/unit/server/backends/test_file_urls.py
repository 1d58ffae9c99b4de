"""URLs of files, and of Spark Connect with a folder of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.backends.files import at_folder, connect_and_folder, is_folder, is_spark, path_of
from server.backends.spark_session import FileTable, file_schema
from server.errors import ConfigurationInvalid


def test_a_folder_is_read_by_duckdb_or_by_spark(tmp_path: Path) -> None:
    for kind, spark in (("parquet:///", False), ("spark+local:///", True)):
        url = at_folder(f"{kind}lake", tmp_path)
        assert (url, is_folder(url), is_spark(url)) == (f"{kind}{tmp_path}/lake", True, spark)
        with pytest.raises(ConfigurationInvalid, match="there is no folder"):
            path_of(url)
    (tmp_path / "lake").mkdir()
    assert path_of(at_folder("spark+local:///lake", tmp_path)) == tmp_path / "lake"


def test_spark_connect_reads_a_folder_and_no_catalog() -> None:
    for end in ["", "/;token=x", ";folder=", ";folder=lake", ";folder=/no/such/folder"]:
        with pytest.raises(ConfigurationInvalid, match="names no folder of Parquet files") as refused:
            connect_and_folder(f"sc://host:15002{end}")
        assert "token" not in str(refused.value), "a secret"


def test_types_of_columns_are_said_in_postgresqls_words() -> None:
    kinds = {"a": "decimal(15,2)", "b": "timestamp_ntz", "c": "timestamp", "d": "array<int>", "e": "string collate x"}
    table = FileTable("t", ("/lake/t.parquet",), tuple(kinds.items()))
    schema = file_schema([table], "1")
    (found,) = schema.tables.values()
    assert [column.type for column in found.columns] == [
        "numeric(15,2)", "timestamp without time zone", "timestamp with time zone", "spark array<int>",
        "spark string collate x",
    ]  # fmt: skip
    assert all(column.nullable for column in found.columns) and schema.version == "1"


def test_a_path_that_was_meant_from_the_root_is_found_and_said(tmp_path: Path) -> None:
    """`parquet:///tmp/x` is relative to the policy's folder; the hint shows how to write /tmp/x."""
    for kind, make in [("parquet:///", "folder"), ("duckdb:///", "file")]:
        meant, base = tmp_path / make / "lake", tmp_path / make / "policies"
        base.mkdir(parents=True)
        if make == "folder":
            meant.mkdir()
        else:
            meant.touch()
        with pytest.raises(ConfigurationInvalid) as refused:
            path_of(at_folder(f"{kind}{str(meant).removeprefix('/')}", base))
        assert f"there is no {make} {base}{meant}" in refused.value.message, kind
        assert f"did you mean {kind}{meant}?" in str(
            refused.value.hint
        ) and "is relative to the policy's folder" in str(refused.value.hint), kind
        assert path_of(at_folder(f"{kind}{meant}", base)) == meant, kind


def test_a_file_for_a_folder_and_a_folder_for_a_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "patient.parquet").touch()
    with pytest.raises(ConfigurationInvalid, match="is a file, not a folder") as refused:
        path_of(f"parquet:///{tmp_path}/patient.parquet")
    assert f"parquet:///{tmp_path} names its folder" in str(refused.value.hint)
    with pytest.raises(ConfigurationInvalid, match="is a folder, not a DuckDB file"):
        path_of(f"duckdb:///{tmp_path}")
