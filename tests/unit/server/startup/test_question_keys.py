"""The keys that seal the words of questions are read beside the policy that names them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from server.errors import ConfigurationInvalid
from server.ledger.question_texts import add_key
from server.startup.open_services import question_keys
from tests.support.planning import demo_policy


def test_nothing_is_kept_unless_the_policy_names_a_file(tmp_path: Path) -> None:
    assert question_keys(demo_policy(), tmp_path) is None
    naming = replace(demo_policy(), question_key_file="questions.key")
    with pytest.raises(ConfigurationInvalid, match=r"questions\.key"):
        question_keys(naming, tmp_path)
    name = add_key(tmp_path / "questions.key")
    keys = question_keys(naming, tmp_path)
    assert keys is not None and list(keys.keys) == [name]
