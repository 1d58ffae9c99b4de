from __future__ import annotations

import json
import re

import pytest

from tests.golden.draws.recording import RECORD, digest, releases

_CIRCUMSTANCES = re.compile(r"(, \d owners)?, epsilon [\d.]+")


def _family(name: str) -> str:
    """A mechanism, whatever the number of owners and its epsilon."""
    return _CIRCUMSTANCES.sub("", name)


def test_a_mechanism_of_each_family_releases_what_it_released_before() -> None:
    """With the fewest owners that it has a record of, at an epsilon of one."""
    written, made = json.loads(RECORD.read_text()), dict(releases())
    assert written.keys() == made.keys()
    chosen = {_family(name): name for name in reversed(made) if name.endswith("epsilon 1.0")}
    assert chosen.keys() == set(map(_family, written))
    for name in chosen.values():
        assert digest(made[name]) == written[name], name


@pytest.mark.slow
def test_all_do() -> None:
    written = json.loads(RECORD.read_text())
    for name, release in releases():
        assert digest(release) == written[name], name


def test_another_seed_releases_something_else() -> None:
    release = dict(releases())["gem, 1 owners, epsilon 1.0"]
    assert any((one != other).any() for one, other in zip(release(0), release(1), strict=True))
