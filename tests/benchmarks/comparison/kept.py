"""What libraries said at an earlier run, where their programs and the rows are still the same.

A run of all libraries takes as long as their programs are given; what they say does not change with Noisegate. When
they were asked stays in the stored results.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.benchmarks.comparison.peers import PEERS
from tests.benchmarks.rows import Row

CASE = "libraries"
_SAME = ("tests/benchmarks/comparison/data.py", "tests/benchmarks/peers/comparison")
_WHEN = re.compile(r"asked at (\S+) on (\S+), of the same rows")


class Changed(Exception):
    """The rows, or a program, are not those that the libraries were asked with."""


@dataclass(frozen=True)
class Kept:
    """The libraries' rows of a stored comparison.

    Attributes:
      commit: at which they were asked.
      date: when.
      rows: by question.
      whole: by question, every row, Noisegate's too.
      commit_of_whole, date_of_whole: at which Noisegate was asked.
    """

    commit: str
    date: str
    rows: Mapping[str, tuple[Row, ...]]
    whole: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    commit_of_whole: str = ""
    date_of_whole: str = ""

    @classmethod
    def of(cls, document: Mapping[str, object]) -> Kept:
        """Those of a stored document; of one that kept them itself, the first run's."""
        found: dict[str, list[Row]] = {}
        whole: dict[str, list[Row]] = {}
        commit, date = str(document["commit"]), str(document["date"])
        stored = document["rows"]
        assert isinstance(stored, list)
        for row in stored:
            known = _WHEN.search(row["metric"])
            if known and row["case"] == CASE:
                commit, date = known.groups()
                continue
            bars = row.get("least"), row.get("most")
            whole.setdefault(row["case"], []).append(
                Row(row["case"], row["metric"], row["value"], row["unit"], *bars)
            )
            if any(re.match(rf"{re.escape(peer.name)}\b", row["metric"]) for peer in PEERS):
                found.setdefault(row["case"], []).append(Row(row["case"], row["metric"], row["value"], row["unit"]))
        said, every = ({case: tuple(rows) for case, rows in by_case.items()} for by_case in (found, whole))
        return cls(commit, date, said, every, str(document["commit"]), str(document["date"]))

    def check(self, paths: Iterable[str] = _SAME) -> None:
        """Compare what they were asked with to what there is now. Raises: Changed."""
        done = subprocess.run(["git", "diff", "--quiet", self.commit, "--", *paths], capture_output=True, check=False)
        if done.returncode:
            raise Changed(f"the rows or a program are not those of {self.commit}: ask the libraries anew")

    @property
    def said(self) -> Row:
        """When they were asked, to be stored."""
        return Row(CASE, f"the libraries asked at {self.commit} on {self.date}, of the same rows", 1, "kept")

    def said_of_ours(self, questions: Iterable[str]) -> Row:
        """Which of Noisegate's own answers are those of the stored run, to be stored again."""
        names = ", ".join(questions)
        when = f"{self.commit_of_whole} on {self.date_of_whole}"
        return Row(CASE, f"Noisegate asked at {when}, and not anew, of: {names}", 1, "kept")

    def errors(self, question: str) -> list[float]:
        """The relative errors of the libraries that answer what was asked."""
        rows = self.rows.get(question, ())
        wrong = {peer.name for peer in PEERS for row in rows if row.metric.startswith(f"{peer.name} silently wrong")}
        right = [row for row in rows if "relative error" in row.metric]
        right = [row for row in right if not any(re.match(rf"{re.escape(name)}\b", row.metric) for name in wrong)]
        return [row.value / 100 for row in right]
