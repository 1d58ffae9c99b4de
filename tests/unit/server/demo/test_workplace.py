"""The demonstration keeps to folders of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.progress import Progress

from server.demo.workplace import prepare
from server.errors import ConfigurationInvalid


@pytest.mark.parametrize("name", ["policy.toml", "ledger.sqlite"])
def test_a_deployment_is_no_demonstration(tmp_path: Path, name: str) -> None:
    """Its policy would be overwritten, and its ledger would get an analyst with a budget."""
    (tmp_path / name).write_text("somebody's")
    with Progress(disable=True) as progress, pytest.raises(ConfigurationInvalid, match=name) as refused:
        prepare(tmp_path, progress, print)
    assert "--folder" in str(refused.value.hint)
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [(name, "somebody's")]
