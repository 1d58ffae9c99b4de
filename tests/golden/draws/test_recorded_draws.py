from __future__ import annotations

import json

import pytest

from tests.golden.draws.recording import RECORD, Release, digest, releases

WRITTEN = json.loads(RECORD.read_text())
RELEASES = dict(releases())


@pytest.mark.parametrize("name", RELEASES)
def test_a_mechanism_releases_what_it_released_before(name: str) -> None:
    release: Release = RELEASES[name]
    assert digest(release) == WRITTEN[name]


def test_every_recorded_mechanism_is_still_there() -> None:
    assert set(WRITTEN) == set(RELEASES)


def test_another_seed_releases_something_else() -> None:
    release = RELEASES["gem, 1 owners, epsilon 1.0"]
    assert any((one != other).any() for one, other in zip(release(0), release(1), strict=True))
