"""A search can be watched and stopped, and asked again afterwards."""

import numpy as np
import pytest

from privacy.errors import Cancelled
from privacy.truncation.control import Control
from privacy.truncation.vector import slices
from privacy.truncation.vector.instance import VectorInstance
from privacy.truncation.vector.norms import squared_norms
from privacy.truncation.vector.search import Search
from privacy.units import ONE
from tests.unit.privacy.truncation.vector.test_pilot import crowd
from tests.unit.privacy.truncation.vector.vectors import compacted


def test_every_stage_reports_and_listening_changes_nothing() -> None:
    tuples, heard = compacted(crowd(0)), list[tuple[str, int]]()
    watched = VectorInstance(tuples, control=Control(progress=lambda stage, step: heard.append((stage, step))))
    removal, plain = watched.removal(10 * ONE), VectorInstance(tuples).removal(10 * ONE)
    assert {stage for stage, _ in heard} == {"measuring", "merging", "cutting", "proving"}
    assert (removal.removed, removal.lower) == (plain.removed, plain.lower)
    assert np.array_equal(removal.shares, plain.shares)


@pytest.mark.parametrize("entries", [1, 7, 4000])
def test_passes_in_pieces_are_the_same_passes(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tuples = compacted(crowd(1))
    whole = VectorInstance(tuples).removal(10 * ONE)
    monkeypatch.setattr(slices, "_ENTRIES", entries)
    pieces = VectorInstance(tuples).removal(10 * ONE)
    assert (pieces.removed, pieces.lower) == (whole.removed, whole.lower)
    assert np.array_equal(pieces.shares, whole.shares)


@pytest.mark.parametrize("stage", ["merging", "cutting", "proving"])
def test_stopped_at_any_stage(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_ENTRIES", 1000)
    tuples = compacted(crowd(2))

    def listen(heard: str, _: int) -> None:
        if heard == stage:
            control.cancel()

    control = Control(progress=listen)
    search = Search(tuples, 0, squared_norms(tuples, 0), 10 * ONE, 1 << 18, control)
    with pytest.raises(Cancelled):
        while not search.done:
            search.advance()
    assert not search.done
