"""The demonstration keeps to folders of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.progress import Progress

from server.demo.workplace import prepare
from server.errors import ConfigurationInvalid


def test_a_deployment_is_no_demonstration(tmp_path: Path) -> None:
    """Its policy would be overwritten, and its ledger would get an analyst with a budget."""
    for name in ["policy.toml", "ledger.sqlite"]:
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text("somebody's")
        with Progress(disable=True) as progress, pytest.raises(ConfigurationInvalid, match=name) as refused:
            prepare(folder, progress, print)
        assert "--folder" in str(refused.value.hint), name
        assert [(found.name, found.read_text()) for found in folder.iterdir()] == [(name, "somebody's")], name
