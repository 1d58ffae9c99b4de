"""Secrets by reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.errors import ConfigurationInvalid
from server.policy.secrets import resolve


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_URL", "postgresql://somewhere")
    assert resolve("env:PROXY_URL") == "postgresql://somewhere"


def test_from_a_file_beside_the_policy(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://elsewhere\n")
    assert resolve("file:url", tmp_path) == "postgresql://elsewhere"


def test_a_url_without_a_password_stands_for_itself() -> None:
    assert resolve("postgresql://noisegate@/shop?host=/run/pg") == "postgresql://noisegate@/shop?host=/run/pg"


def test_what_is_absent_is_named(tmp_path: Path) -> None:
    for reference in ["env:NOT_SET_ANYWHERE", "file:nowhere", "env:", "vault:x", ""]:
        with pytest.raises(ConfigurationInvalid) as caught:
            resolve(reference, tmp_path)
        assert not reference or reference in caught.value.message or "env:NAME" in caught.value.message, reference
