"""The page of bars says what was stored, and benchmarks of this commit are not run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import __main__ as runner
from tests.benchmarks import bars, scale


def test_the_page_says_what_was_measured() -> None:
    """Where this fails: python -m tests.benchmarks.bars."""
    assert bars.PAGE.read_text(encoding="utf-8") == bars.page(bars.stored_documents())


def test_missed_bars_are_shown_with_their_reasons() -> None:
    rows = [
        {"case": "psql: kept", "metric": "median", "value": 0.5, "unit": "ms", "most": 0.3, "held": False},
        {"case": "HTTP: kept", "metric": "median", "value": 0.2, "unit": "ms", "most": 0.3, "held": True},
        {"case": "HTTP: free", "metric": "median", "value": 9.0, "unit": "ms"},
    ]
    page = bars.page([{"benchmark": "latency", "commit": "abc", "date": "2026-01-02", "rows": rows}])
    assert "Of 2 bars 1 are held, 50%." in page
    assert "| latency | 2 | 1 | abc, 2026-01-02 |" in page
    assert "| latency | psql: kept | median | 0.5 | at most 0.3 | the session and the pool" in page
    assert "HTTP" not in page


def test_a_benchmark_in_parts_is_done_once_all_its_parts_are_of_this_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_file", lambda name, partial: tmp_path / f"{name}.json")
    monkeypatch.setattr(runner, "commit", lambda: "abc")

    def store(name: str, **document: object) -> None:
        (tmp_path / f"{name}.json").write_text(json.dumps(document))

    assert not runner._is_done("latency")
    store("latency", commit="abc")
    store("start", commit="abc-dirty")
    parts = {part: {"commit": "abc"} for part in scale.PARTS}
    store("scale", parts=parts)
    assert [runner._is_done(name) for name in ("latency", "start", "scale")] == [True, False, True]
    store("scale", parts=parts | {next(iter(parts)): {"measured": [{"commit": "old"}]}})
    assert not runner._is_done("scale")
    monkeypatch.setattr(runner, "commit", lambda: "abc-dirty")
    assert not runner._is_done("start")
