"""Which days the rows of a kept answer's groups are of, and into which group of a question they go on those days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time, timedelta
from functools import cached_property

from planner.group_domains.day_conditions import DayColumn, Run, common_runs, split_days
from planner.reuse.fact import Within
from planner.reuse.matching import (
    AskedQuestion,
    Match,
    NewGroup,
    Undecided,
    known_of_group,
    left_over,
    moments,
    named,
)
from planner.reuse.normal_form import tree_hash
from planner.reuse.outline import Outline, conditions, renamed, rows_of_state


@dataclass(frozen=True)
class GroupOfDays:
    """Where the rows of one kept group go.

    Attributes:
      days: what they are of; all rows of the kept question on these days that are in its group are in it.
      group: of the question; None where none of them passes its conditions.
      decided: is that the same for all of them?
    """

    days: tuple[Run, ...]
    group: NewGroup | None
    decided: bool = True


class AskedByDays:
    """A question, its days apart, as kept outlines of other days are compared with it.

    Args:
      asked: the question.
      column: the day column of an append-only table that it joins.
    """

    def __init__(self, asked: AskedQuestion, column: DayColumn) -> None:
        self._plan, self._asked = asked.ordered.plan, asked
        column = renamed(column, asked.ordered)
        self._column = tree_hash(column.written)
        self._rows: dict[str, str] = {}
        found = split_days(conditions(self._plan), column)
        self.days: tuple[Run, ...] = () if found is None else found[0]
        self._others = () if found is None else named(found[1])

    def follows(self, kept: Outline, fingerprint: str) -> DayMatch | None:
        """How the question's rows, on some days, are those of groups of a kept answer; None where they are not.

        Args:
          kept: of whatever version of the data.
          fingerprint: of the database's structure, or of the state of its files, at that version.
        """
        if fingerprint not in self._rows:
            self._rows[fingerprint] = rows_of_state(self._plan, fingerprint)
        told = next((one for one in kept.days if one.column == self._column), None)
        if told is None or not self.days or kept.rows != self._rows[fingerprint]:
            return None
        extra = left_over(set(told.conditions), self._others)
        if extra is None:
            return None
        return DayMatch(Match(self._asked, kept, (*extra, *self._asked.not_within(kept))), self._column, told.days)


@dataclass(frozen=True)
class DayMatch:
    """A question whose rows on some days are a kept answer's rows that pass further conditions.

    Attributes:
      match: what else is compared.
      column: hash of the day column.
      kept_days: of the kept answer's rows.
    """

    match: Match
    column: str
    kept_days: tuple[Run, ...]

    @property
    def by_days(self) -> bool:
        """Has the kept answer groups of some of its days alone?"""
        return any(self.column in moments(key) for key in self.match.kept.keys)

    @cached_property
    def relevant(self) -> tuple[int, ...]:
        """The places of the kept keys that say something of days, or that the question reads."""
        keys = enumerate(self.match.kept.keys)
        return tuple(sorted({*self.match.relevant, *(place for place, key in keys if self.column in moments(key))}))

    def group(self, values: Sequence[object]) -> GroupOfDays:
        """Of which days the rows of a kept group are, and where they go.

        Args:
          values: of the `relevant` keys of the kept group.
        Raises: Undecided where they are not all of whole days.
        """
        days = self.kept_days
        pairs = [(self.match.kept.keys[place], value) for place, value in zip(self.relevant, values, strict=True)]
        for key, value in pairs:
            if self.column in moments(key):
                inside = known_of_group(key, value).get(self.column)
                if not isinstance(inside, Within):
                    raise Undecided
                days = common_runs(days, [_whole_days(inside)])
        by_place = dict(zip(self.relevant, values, strict=True))
        try:
            group = self.match.group([by_place[place] for place in self.match.relevant])
        except Undecided:
            return GroupOfDays(days, None, decided=False)
        return GroupOfDays(days, group)


def _whole_days(inside: Within) -> Run:
    first, end = inside.first, inside.end
    if any(one is not None and one.time() != time() for one in (first, end)):
        raise Undecided
    return None if first is None else first.date(), None if end is None else (end - timedelta(days=1)).date()
