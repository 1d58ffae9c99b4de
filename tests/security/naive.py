"""A proxy as somebody writes it in an afternoon: every SELECT over DuckDB, and Laplace noise on each number.

What the attacks of this folder succeed against. Every mistake in it has been made by a system that somebody deployed
or published: one sensitivity for all questions, noise of textbook floating point from a seeded generator, whatever
groups there are, errors in the database's words, a cache for everybody, budgets that are read and then written.
"""

from __future__ import annotations

import contextlib
import math
import random
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

SENSITIVITY = 1.0
"""Of everything, as if nobody had more than one row anywhere."""

SEED = 7
_LOOKED_AT_S = 0.002
"""Between reading a budget and writing it."""


def textbook_laplace(uniform: float, scale: float) -> float:
    """Laplace noise by inversion, in doubles: what Mironov's attack is against."""
    centred = uniform - 0.5
    return -scale * math.copysign(1.0, centred) * math.log(1 - 2 * abs(centred))


@dataclass
class NaiveProxy:
    """Answers anything.

    Attributes:
      file: the database, a copy that statements may write.
      log: what happens, with statements and values.
      left: what each analyst may still spend.
      cache: answers by their text, of everybody.
      paid: who has paid for which text; asked again, it is free, and drawn anew.
    """

    file: Path
    log: Path
    left: dict[str, float] = field(default_factory=dict)
    cache: dict[str, list[list[Any]]] = field(default_factory=dict)
    paid: set[tuple[str, str]] = field(default_factory=set)
    history: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def over(cls, file: Path, folder: Path) -> NaiveProxy:
        """Before a copy of the file, in the folder."""
        copied = folder / f"naive-{file.name}"
        shutil.copyfile(file, copied)
        return cls(copied, folder / f"{file.stem}.log")

    def __post_init__(self) -> None:
        self._draws = random.Random(SEED)
        self._connection = duckdb.connect(self.file)
        self._lock = threading.Lock()  # of DuckDB's connection alone

    def anew(self) -> None:
        """Forget what was asked, and begin the noise again."""
        self._draws = random.Random(SEED)
        self.cache.clear()
        self.paid.clear()
        self.history.clear()

    def answer(self, analyst: str, sql: str, epsilon: float, parameters: Sequence[object] = ()) -> dict[str, Any]:
        """Columns, rows with noise, and what is left. Raises: PermissionError; whatever DuckDB does."""
        text = self._with_values(sql, parameters)
        self.history.append((analyst, text))
        begun = time.perf_counter()
        cached = text in self.cache and (analyst, text) not in self.paid
        if not cached and (analyst, text) not in self.paid:
            self._spend(analyst, epsilon)
            self.paid.add((analyst, text))
        columns, exact = self.exact(text)
        rows = self.cache[text] if cached else [self._noisy(row, text, columns, epsilon) for row in exact]
        self.cache[text] = rows
        self._note(f"{analyst} asked {text!r}: {exact[:3]} in {time.perf_counter() - begun:.6f} s")
        return {
            "id": len(self.history),
            "columns": [{"name": name} for name in columns],
            "rows": rows,
            "cached": cached,
            "charge": {"epsilon": 0.0 if cached else epsilon},
            "budget": {"epsilon_left": self.left[analyst]},
        }

    def exact(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """What DuckDB says, of the last statement in the text."""
        with self._lock:
            cursor = self._connection.execute(text)
            columns = [column[0] for column in cursor.description or ()]
            return columns, cursor.fetchall() if columns else []

    def _spend(self, analyst: str, epsilon: float) -> None:
        left = self.left.get(analyst, 0.0)
        time.sleep(_LOOKED_AT_S)
        if left - epsilon < 0:  # which is false of NaN
            raise PermissionError(f"{analyst} has {left} left and wants {epsilon}")
        self.left[analyst] = left - epsilon

    def _noisy(self, row: tuple[Any, ...], text: str, columns: list[str], epsilon: float) -> list[Any]:
        keys = _keys(text, len(columns))
        return [
            cell
            if key or isinstance(cell, bool) or not isinstance(cell, int | float | Decimal)
            else float(cell) + textbook_laplace(self._draws.random(), SENSITIVITY / epsilon)
            for cell, key in zip(row, keys, strict=True)
        ]

    def _with_values(self, sql: str, parameters: Sequence[object]) -> str:
        """Values are written into the text as they came."""
        for place, value in reversed(list(enumerate(parameters, 1))):
            sql = sql.replace(f"${place}", f"'{value}'" if isinstance(value, str) else str(value))
        return sql

    def _note(self, line: str) -> None:
        with contextlib.suppress(OSError), self.log.open("a") as log:
            log.write(line + "\n")


@lru_cache(maxsize=64)
def _keys(text: str, width: int) -> tuple[bool, ...]:
    """Which columns are group keys, and so shown as they are: those without an aggregate, if it has GROUP BY."""
    try:
        tree = parse(text, dialect="duckdb")[-1]
    except (SqlglotError, RecursionError):
        return (False,) * width
    if not isinstance(tree, exp.Select) or tree.args.get("group") is None or len(tree.selects) != width:
        return (False,) * width
    return tuple(one.find(exp.AggFunc) is None for one in tree.selects)
