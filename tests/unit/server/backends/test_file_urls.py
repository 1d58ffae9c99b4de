"""URLs of files, and of Spark Connect with a folder of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.backends.custody.file_urls import at_folder, connect_and_folder, is_folder, is_spark, path_of
from server.backends.spark.file_tables import FileTable, file_schema
from server.errors import ConfigurationInvalid


def test_a_folder_is_read_by_duckdb_or_by_spark(tmp_path: Path) -> None:
    for kind, spark in (("parquet:///", False), ("spark+local:///", True)):
        url = at_folder(f"{kind}lake", tmp_path)
        assert (url, is_folder(url), is_spark(url)) == (f"{kind}{tmp_path}/lake", True, spark)
        with pytest.raises(ConfigurationInvalid, match="there is no folder"):
            path_of(url)
    (tmp_path / "lake").mkdir()
    assert path_of(at_folder("spark+local:///lake", tmp_path)) == tmp_path / "lake"


@pytest.mark.parametrize("end", ["", "/;token=x", ";folder=", ";folder=lake", ";folder=/no/such/folder"])
def test_spark_connect_reads_a_folder_and_no_catalog(end: str) -> None:
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
