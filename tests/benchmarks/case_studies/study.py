"""What a case study is: rows that are made or read, a custodian's policy, and what analysts ask."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Asked:
    """One question of an analyst.

    Attributes:
      words: the question.
      sql: as it is sent; as it stands, it also gives the true values.
      epsilon: what it may cost; of delta, what the policy allows.
      keys: how many columns at the left are group keys.
    """

    words: str
    sql: str
    epsilon: float
    keys: int = 0


@dataclass(frozen=True)
class Refused:
    """A question that is refused, and the page says what to ask instead."""

    words: str
    sql: str


@dataclass(frozen=True)
class Study:
    """One case study.

    Attributes:
      name: of its page, `docs/case-NAME.md` with hyphens, its policy, and its DuckDB file.
      people: how many the study has where they are made.
      write: (file, people) -> the rows as they are written to a DuckDB file; returns what they are, in words.
    """

    name: str
    people: int
    write: Callable[[Path, int], str]

    @property
    def page(self) -> str:
        """The file in docs/."""
        return f"case-{self.name.replace('_', '-')}.md"

    @property
    def policy(self) -> str:
        """The custodian's contract, as it is served and shown."""
        return (_FOLDER / "policies" / f"{self.name}.toml").read_text(encoding="utf-8")

    @property
    def questions(self) -> tuple[Asked, ...]:
        """In the order of the page."""
        return tuple(Asked(**asked) for asked in self._asked["question"])

    @property
    def refused(self) -> tuple[Refused, ...]:
        """What nobody is answered."""
        return tuple(Refused(**asked) for asked in self._asked.get("refused", ()))

    @cached_property
    def _asked(self) -> dict[str, list[dict[str, Any]]]:
        return tomllib.loads((_FOLDER / "questions" / f"{self.name}.toml").read_text(encoding="utf-8"))


def write_tables(file: Path, ddl: str, rows: Mapping[str, object]) -> None:
    """A DuckDB file with these tables, in the order of `rows`: parents before children.

    Args:
      ddl: CREATE TABLE statements.
      rows: by table, what DuckDB can read: an Arrow table.
    """
    file.unlink(missing_ok=True)
    with duckdb.connect(file) as connection:
        connection.execute(f"CREATE SCHEMA public; USE public; {ddl}")
        for table, made in rows.items():
            connection.register("made", made)
            connection.execute(f"INSERT INTO {table} SELECT * FROM made")
            connection.unregister("made")
