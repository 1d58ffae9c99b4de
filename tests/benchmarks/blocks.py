"""A long measurement in blocks: each is kept once it is done, so that what was interrupted goes on where it stopped.

A block's line says at which commit and on which day it was measured. Blocks of several commits may be put together,
and whoever stores the figures says of which (`measured_at`). MINUTES=30 begins no block after so long; MINUTES=0
begins none and puts together what is there.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from tests.benchmarks.provenance import commit, today

Found = dict[str, Any]
"""What came of a block, as JSON has it."""

Argument = TypeVar("Argument")

_SPAN = "{first}-{end}"


@dataclass
class Blocks:
    """The blocks of one measurement.

    Attributes:
      file: where they are kept, a line of JSON each; None: they are not.
      wanted: how many units (histories, questions) there are to measure, in all of them.
      unit: what those are called.
      kept: what was found, by the name of the block.
      done: units in the blocks that are kept.
    """

    file: Path | None
    wanted: int
    unit: str
    kept: dict[str, Found] = field(default_factory=dict)
    done: int = 0
    _commits: Counter[tuple[str, str]] = field(default_factory=Counter)
    _begun: float = field(default_factory=time.monotonic)
    _new: int = 0

    def __post_init__(self) -> None:
        self._commit = commit()
        self._end = self._begun + 60 * float(os.environ.get("MINUTES", math.inf))
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            for line in self._lines():
                self._take(line)
        if self.done:
            print(f"{self.done} of {self.wanted} {self.unit} were done before", flush=True)

    def _lines(self) -> Iterator[Found]:
        """But for one that was cut off as its process ended; it is ended here, so that no other is added to it."""
        assert self.file is not None
        written = self.file.read_text() if self.file.exists() else ""
        if written and not written.endswith("\n"):
            with self.file.open("a") as file:
                file.write("\n")
        for text in written.splitlines():
            try:
                yield json.loads(text)
            except ValueError:
                continue

    def _take(self, line: Found) -> None:
        if line["block"] not in self.kept:
            self.kept[line["block"]] = line["found"]
            self.done += line["units"]
            self._commits[line["commit"], line["date"]] += line["units"]

    def keep(self, block: str, found: Found, units: int) -> None:
        """Keep what was found in a block of so many units, and say how far it is."""
        line = {"block": block, "units": units, "commit": self._commit, "date": today(), "found": found}
        if self.file is not None:
            with self.file.open("a") as file:
                file.write(json.dumps(line) + "\n")
        self._take(line)
        self._new += units
        rate = self._new / max(1e-9, time.monotonic() - self._begun)
        left = max(0, self.wanted - self.done) / rate
        print(f"{self.done} of {self.wanted} {self.unit}; {rate:.3g} a second, {left:.0f} s left", flush=True)

    @property
    def out_of_time(self) -> bool:
        """Is no further block to be begun?"""
        return time.monotonic() >= self._end

    def missing(self, blocks: Mapping[str, Argument]) -> Iterator[tuple[str, Argument]]:
        """Those that are not kept, one after the other, while there is time."""
        for name, argument in blocks.items():
            if name not in self.kept and not self.out_of_time:
                yield name, argument

    def in_processes(
        self, work: Callable[[Argument], Found], blocks: Mapping[str, Argument], units: Mapping[str, int]
    ) -> None:
        """Measure what is missing, a process per core.

        Args:
          work: of a module, as other processes call it.
          blocks: what it is given for each.
          units: how many each has.
        """
        missing = self.missing(blocks)
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as processes:
            going: dict[Future[Found], str] = {}
            while True:
                while len(going) < (os.cpu_count() or 1) and (more := next(missing, None)):
                    going[processes.submit(work, more[1])] = more[0]
                if not going:
                    return
                for one in wait(going, return_when=FIRST_COMPLETED).done:
                    name = going.pop(one)
                    self.keep(name, one.result(), units[name])

    @property
    def measured_at(self) -> Mapping[tuple[str, str], int]:
        """How many units were measured at which commit, on which day."""
        return self._commits

    def forget(self) -> None:
        """Of a run that is stored nothing is kept: the next one begins anew."""
        if self.file is not None and self.done >= self.wanted:
            self.file.unlink(missing_ok=True)


def spans(count: int, size: int, first: int = 0) -> dict[str, tuple[int, int]]:
    """The first unit and the number of units of each block of so many in a row.

    >>> spans(5, 2)
    {'0-2': (0, 2), '2-4': (2, 2), '4-5': (4, 1)}
    """
    ends = [(begin, min(begin + size, first + count)) for begin in range(first, first + count, size)]
    return {_SPAN.format(first=begin, end=end): (begin, end - begin) for begin, end in ends}
