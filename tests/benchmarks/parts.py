"""A benchmark in parts: each is run when it is wanted, and says by itself when, where and at which commit it was.

A module of this kind has PARTS. Of its document, which holds the rows of all parts, a run replaces those of the parts
that it ran: CASES="attacks;pairs" runs two of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.blocks import Blocks
from tests.benchmarks.provenance import commit, machine, today
from tests.benchmarks.rows import Row


@dataclass(frozen=True)
class Measured:
    """What a part has measured.

    Attributes:
      rows: its figures.
      blocks: it was measured in, maybe over several runs; none where it was measured at once.
    """

    rows: list[Row]
    blocks: Sequence[Blocks] = ()

    @property
    def provenance(self) -> dict[str, object]:
        """Where and when; of a part that was measured in blocks, how much of it at which commit."""
        at = [(when, units) for one in self.blocks for when, units in one.measured_at.items()]
        if not at:
            return {"commit": commit(), "machine": machine(), "date": today()}
        measured = [
            {"commit": named, "date": day, one.unit: units}
            for one in self.blocks
            for (named, day), units in one.measured_at.items()
        ]
        return {"measured": measured, "machine": machine(), "date": max(day for (_, day), _ in at)}


Parts = Mapping[str, Callable[[bool], Measured]]
"""By its name, what runs a part; it is told whether it has to be quick."""


def wanted(parts: Parts) -> list[str]:
    """Those that CASES names; all without."""
    named = [name for name in os.environ.get("CASES", "").split(";") if name] or list(parts)
    unknown = sorted(set(named) - set(parts))
    assert not unknown, f"no part named {', '.join(unknown)}; there are: {', '.join(parts)}"
    return named


def merged(
    document: Mapping[str, Any], name: str, part: str, measured: Measured, order: Sequence[str]
) -> dict[str, Any]:
    """The document with the rows of one part instead of those that it had.

    Args:
      document: as it was stored; empty before the first time.
      order: of parts, in the document.
    """
    rows = [row for row in document.get("rows", []) if row["part"] != part]
    rows += [{"part": part, **row.as_json()} for row in measured.rows]
    about = {**document.get("parts", {}), part: measured.provenance}
    known = [one for one in order if one in about]
    return {
        "benchmark": name,
        "parts": {one: about[one] for one in known},
        "rows": sorted((row for row in rows if row["part"] in known), key=lambda row: known.index(row["part"])),
    }


def store(file: Path, name: str, part: str, measured: Measured, order: Sequence[str]) -> None:
    """Put one part's figures among those of the others; then what was kept of a whole run is forgotten."""
    document = json.loads(file.read_text()) if file.exists() else {}
    written = file.with_suffix(".new")
    written.write_text(json.dumps(merged(document, name, part, measured, order), indent=1) + "\n")
    written.replace(file)
    for one in measured.blocks:
        one.forget()
