"""What a client asks and gets back, whatever the protocol, and `SETTINGS`: the one table of what may be set."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from planner.sql.sql_types import ResultType
from planner.sql.zones import UTC
from privacy.registry import OFFERED, MechanismName
from server.answer_columns import LazyRows

if TYPE_CHECKING:
    from planner.binding.placeholders import Value

T = TypeVar("T")

Reuse = Literal["auto", "never", "only"]
"""`auto`: what paid answers determine is served, unless more epsilon is named; `never`: a new one; `only` that."""

_CELL_BYTES = 64  # of a number, or of the place of a text, as an object

Cell = str | int | float | bool | None

MARKS = ("low_precision", "clipped")
"""What a row of an answer may be, the worst first: each is a field of `QueryResponse`, and a column of tables."""


def text_bytes(rows: Iterable[Sequence[object]]) -> int:
    """What the texts among the cells take in memory: one, two or four bytes a character, by the widest of each.

    >>> text_bytes([("a" * 1_000, 1)]) // 1_000, text_bytes([("\N{CAT FACE}" * 1_000, None)]) // 1_000
    (1, 4)
    """
    return sum(sys.getsizeof(cell) for cell in chain.from_iterable(rows) if isinstance(cell, str | bytes))


BOUNDS = {"gt": "above {:g}", "ge": "at least {:g}", "lt": "below {:g}", "le": "at most {:g}"}


@dataclass(frozen=True)
class Setting:
    """What a setting of a question is for and may be: of HTTP bodies, SET, SHOW and the command line alike.

    Attributes:
      about: one sentence or two, for whoever may set it.
      default: None: unset.
      words: what it may be; empty: a finite number.
      bounds: of the number, by the names that they have in `operator` and pydantic.
    """

    about: str
    default: str | None = None
    words: tuple[str, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)

    def read(self, text: str) -> float | str:
        """The value of a text. Raises: ValueError, which says what the setting is."""
        if self.words:
            if text.lower() not in self.words:
                raise ValueError(f"one of {', '.join(self.words)}")
            return text.lower()
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (
            math.isfinite(number) and all(getattr(operator, how)(number, end) for how, end in self.bounds.items())
        ):
            raise ValueError(f"a number {' and '.join(BOUNDS[how].format(end) for how, end in self.bounds.items())}")
        return number


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "epsilon": Setting("What to spend; unset, the policy's default.", bounds={"gt": 0}),
        "delta": Setting("The most delta to spend; unset, the policy's default.", bounds={"ge": 0, "lt": 1}),
        "mechanism": Setting("Which mechanism releases; unset, the planner chooses.", words=OFFERED),
        "sampling_rate": Setting(
            "Answer from this share of the join; unset, from all of it.", bounds={"gt": 0, "le": 1}
        ),
        "at_most": Setting(
            "What one person adds at most to a sum or count in one group, in its unit, as you say. Intervals are then"
            " for the truth, if it is true.",
            bounds={"gt": 0},
        ),
        "max_relative_error": Setting(
            "How far an interval's end may be from its value, 0.05 for 5%. The least epsilon that is expected to do"
            " is spent, `epsilon` at most. Where nothing tells what that is, two releases are made and charged; an"
            " explanation says so beforehand.",
            bounds={"gt": 0},
        ),
        "max_absolute_error": Setting("As max_relative_error, in the answer's own unit.", bounds={"gt": 0}),
        "reuse": Setting(
            "`auto`: an answer that follows from those that you have paid for is free. It is given unless you name"
            " more epsilon than you paid for them, or an accuracy that it lacks. `only`: such a one or none. `never`:"
            " a new one, also to a question that you have paid for.",
            "auto",
            get_args(Reuse),
        ),
    }
)
"""What may be said of a question beside its statement, by name: that of the field of an HTTP body, and behind
`noisegate.` that of SET. A new setting is an entry here and a field of `RequestSettings`."""

OLD_NAMES: Mapping[str, str] = MappingProxyType({"nobody_adds_more_than": "at_most"})
"""Names of settings in version 0.1.0, which requests, SET and the command line still accept."""


@dataclass(frozen=True, kw_only=True)
class RequestSettings:
    """What an analyst says of a question beside its statement, each as `SETTINGS` has it; None: nothing."""

    epsilon: float | None = None
    delta: float | None = None
    mechanism: MechanismName | None = None
    sampling_rate: float | None = None
    at_most: float | None = None
    max_relative_error: float | None = None
    max_absolute_error: float | None = None
    reuse: Reuse = "auto"

    @property
    def by_accuracy(self) -> bool:
        """Is it an accuracy that decides about epsilon (`server/proposals/by_accuracy.py`)?"""
        return (self.max_relative_error, self.max_absolute_error) != (None, None)


@dataclass(frozen=True)
class QueryRequest(RequestSettings):
    """One question of one analyst.

    Attributes:
      analyst: the authenticated analyst's name.
      sql: one SELECT.
      request_id: unique; stands in logs, the ledger and error bodies.
      parameters: the values of `$1`, `$2`, ...
      idempotency_key: the client's own name of this request: sent again, it is charged once; empty for none.
      search_path: the schemas in which tables without one are looked for; None for the policy's.
      zone: the session's time zone, as `planner.sql.zones` names it; UTC for all of UTC's names.
      as_accurate: must it be no wider than a fresh one, where it is put together from parts? So it must where its
        epsilon was found for an accuracy.
    """

    analyst: str
    sql: str
    _: KW_ONLY
    request_id: str = ""
    parameters: tuple[Value, ...] = ()
    idempotency_key: str = ""
    search_path: tuple[str, ...] | None = None
    zone: str = UTC
    as_accurate: bool = False


@dataclass(frozen=True)
class ResultColumn:
    """A column of the answer."""

    name: str
    type: ResultType


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval for one cell; None stands for unbounded."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Budget:
    """An analyst's budget: what was granted and what is left."""

    epsilon: float
    delta: float
    epsilon_left: float
    delta_left: float


def privacy_text(epsilon: float, delta: float) -> str:
    """An epsilon, and a delta above 0, for people, to six digits.

    >>> privacy_text(0.5, 0.0), privacy_text(1.0, 1e-7)
    ('epsilon 0.5', 'epsilon 1, delta 1e-07')
    """
    return f"epsilon {epsilon:g}" + (f", delta {delta:g}" if delta else "")


@dataclass(frozen=True)
class CachedPeriods:
    """Groups of an answer that were measured over an earlier load of the data, and hold for this one.

    Attributes:
      version: of the data that they were measured over.
      first, last: the days, as ISO text, that their rows lie between; None: no end.
      groups: how many.
    """

    version: int
    first: str | None
    last: str | None
    groups: int


@dataclass(frozen=True)
class QueryResponse:
    """A released answer.

    Attributes:
      columns: names and types, in the order of the select list.
      rows: one tuple of cells per group that is shown.
      intervals: like rows; None for group keys, texts, conditions and what is always NULL.
      confidence: of each interval, over the noise alone.
      covers: what the intervals cover, one of `privacy.noisy_answer.Covers`; `truth` where nothing can have been cut,
        if what keys, the policy or `at_most` say is true; `exact` where there are none: for
        EXPLAIN and for queries over public tables only.
      mechanism: which mechanisms released it; `none` for an exact answer.
      epsilon, delta: the charge; 0 where the analyst had paid for this very answer before.
      budget: the analyst's budget after the charge.
      weak: per row, whether an interval is wider than its value: the noise may be as large as what it hides.
      clipped: per row, whether more of its values may have been cut away than the noise moves: by a budget that was
      too
        small for the data, or by the policy's rule of groups per unit.
      taus: per aggregate column of each row, the contribution bounds that were chosen (public).
      request_id: as in the request.
      notes: sentences for people, for example that truncation bias is outside of the interval.
      cached: was it measured for an earlier request?
      raw: empty where every value is shown as it was released; else like rows: of the columns in which some value is
        not, all values as they were released, for whoever adds them up; None in others.
      raw_intervals: the same of intervals, for what is computed from the answer; no client is sent them.
      at_most: as in the request, where `covers` rests on it; else None.
      cached_periods: which groups are kept from earlier loads, since their rows are closed; the newest load first.
      derived_from: the numbers of the analyst's charges from whose answers it was computed; empty where it was
        measured.
      text_bytes: what the texts of its rows take in memory, where they are the answer's own: see `text_bytes`.
    """

    columns: tuple[ResultColumn, ...]
    rows: Sequence[tuple[Cell, ...]]
    intervals: Sequence[tuple[Interval | None, ...]]
    confidence: float
    covers: str
    mechanism: str
    epsilon: float
    delta: float
    budget: Budget
    request_id: str
    low_precision: tuple[bool, ...] = ()
    clipped: tuple[bool, ...] = ()
    taus: Sequence[tuple[tuple[float, ...] | None, ...]] = ()
    notes: tuple[str, ...] = field(default=())
    cached: bool = False
    raw: Sequence[tuple[Cell, ...]] = ()
    raw_intervals: Sequence[tuple[Interval | None, ...]] = ()
    at_most: float | None = None
    cached_periods: tuple[CachedPeriods, ...] = ()
    derived_from: tuple[int, ...] = ()
    text_bytes: int = field(default=0, compare=False)

    @classmethod
    def exact(
        cls,
        columns: Iterable[tuple[str, ResultType]],
        rows: Sequence[tuple[Cell, ...]],
        budget: Budget,
        request_id: str,
        notes: Iterable[str],
    ) -> QueryResponse:
        """An answer without noise: no interval, no mark, no charge."""
        named = tuple(ResultColumn(*column) for column in columns)
        nothing = ((None,) * len(named),) * len(rows)
        exact, low_precision = (1.0, "exact", "none", 0.0, 0.0), (False,) * len(rows)
        said = tuple(notes)
        answer = cls(
            named, rows, nothing, *exact, budget, request_id, low_precision=low_precision, taus=nothing, notes=said
        )
        return replace(answer, text_bytes=text_bytes(rows))

    @property
    def marks(self) -> dict[str, tuple[bool, ...]]:
        """Per mark, is each row so?"""
        return {name: getattr(self, name) for name in MARKS}

    @property
    def n_cells(self) -> int:
        """The number of cells: rows times columns."""
        return len(self.rows) * len(self.columns)

    @property
    def n_bytes(self) -> int:
        """What it takes in memory, about; that of its group keys, which other answers share, apart."""
        parts = (self.rows, self.intervals, self.taus, self.raw, self.raw_intervals)
        lazy = sum(part.n_bytes for part in parts if isinstance(part, LazyRows))
        return (lazy or _CELL_BYTES * self.n_cells) + self.text_bytes

    def as_released(self) -> Iterator[tuple[tuple[Cell, ...], tuple[Interval | None, ...]]]:
        """Each row and its intervals before any value was moved into its range: sums of them lean to no side."""
        rows, around = self.rows, self.intervals
        cells = zip(rows, self.raw, strict=True) if self.raw else ((row, row) for row in rows)
        ends = zip(around, self.raw_intervals, strict=True) if self.raw_intervals else ((row, row) for row in around)
        for row, intervals in zip(cells, ends, strict=True):
            yield _instead(*row), _instead(*intervals)

    def has_intervals(self, column: int) -> bool:
        """Has any row of the column an interval?"""
        if isinstance(self.intervals, LazyRows):
            return self.intervals.has(column)
        return any(row[column] is not None for row in self.intervals)


def _instead(shown: tuple[T, ...], own: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(cell if released is None else released for cell, released in zip(shown, own, strict=True))


@dataclass(frozen=True)
class StatementShape:
    """What is known of a question before its values are.

    Attributes:
      parameters: the type of each `$n`, as in `planner.describe.Description`.
      columns: of the answer.
      noisy: per column, is it a noisy number, with an interval?
    """

    parameters: tuple[str, ...]
    columns: tuple[ResultColumn, ...]
    noisy: tuple[bool, ...]


@dataclass(frozen=True)
class JoinedTable:
    """A table of a query's join, under the name that the statements give it; was it added to find the owners?"""

    alias: str
    table: str
    join: Literal["inner", "left"]
    added: bool


@dataclass(frozen=True)
class JoinCondition:
    """A condition on join tuples; was it added to find the owners?"""

    sql: str
    added: bool


@dataclass(frozen=True)
class ReleaseMechanism:
    """What releases one number per group, its part of epsilon, and why it.

    Attributes:
      delta: its part of delta; releases that are composed under zCDP name the one that they share.
    """

    release: str
    mechanism: str
    epsilon: float
    reason: str
    delta: float = 0.0


@dataclass(frozen=True)
class RelativeError:
    """How far a column is expected to be from the truth, in multiples of its values.

    Attributes:
      column: of the answer.
      typical, worst: the half-width of an interval at 95% over its value, of the median row and of the worst one, if
        thresholds stay those of the earlier answer; None: nothing bounds it, as of a value of nothing.
      most: of the median row, the upper end of a range that nine of ten answers stay within.
    """

    column: str
    typical: float | None
    worst: float | None
    most: float | None = None


@dataclass(frozen=True)
class CannotPay:
    """That a question would be refused, since some account that pays for it cannot.

    Attributes:
      message, hint: as the refusal would say; the hint also of what may be asked instead.
      without_delta: would the same question fit with a delta of 0?
    """

    message: str
    hint: str
    without_delta: bool = False

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


@dataclass(frozen=True, kw_only=True)
class ReadRows:
    """Which rows a query reads, and whose they are.

    Attributes:
      rewritten_sql: the statements over private rows that the database would get, or the one over public tables.
      privacy_units: the relations whose people the answer protects; none for a query over public tables only.
      owners: SQL of each owner of a row of the join.
      ownership: per owner, the foreign keys that lead to it.
      tables, conditions: the join graph.
      tuples_per_unit: Delta, the most join tuples of one unit by the declared fan-outs; None when none follows.
    """

    rewritten_sql: str
    privacy_units: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    ownership: tuple[str, ...] = ()
    tables: tuple[JoinedTable, ...] = ()
    conditions: tuple[JoinCondition, ...] = ()
    tuples_per_unit: int | None = None


@dataclass(frozen=True, kw_only=True)
class ShownGroups:
    """Which groups an answer has, and how many of them one person can reach.

    Attributes:
      n_groups: how many groups the answer has, before HAVING and LIMIT; None where they are found among private rows.
      group_sources: per group key, its SQL and where its values come from.
      groups_per_unit: L0, how many groups one person can reach; None: not bounded.
      groups_reason: why one unit reaches `groups_per_unit` groups.
      selection: which of the groups are shown, and why not all; None where they all are.
    """

    n_groups: int | None = 1
    group_sources: tuple[tuple[str, str], ...] = ()
    groups_per_unit: int | None = None
    groups_reason: str = ""
    selection: str | None = None


@dataclass(frozen=True, kw_only=True)
class Releases:
    """What releases the numbers of an answer, from which rows, and with how much noise.

    Attributes:
      mechanism, reason: which, and why this mechanism and these numbers.
      mechanisms: one per release.
      weight_bounds: per release, its label and the public bound W of one row's weight.
      expected_noise: (tau, half-width at 95%) pairs per release: noise as a function of tau.
      sampling: how the join is sampled and why, or None.
      sampling_rate: the exact rate, or None.
      sampling_advice: per release, its label and whether the sample makes it more accurate or only faster; empty
        where nothing is claimed for the sample.
      epsilon_if_fanouts_fail: what a unit may lose that has more join tuples than the declared fan-outs allow;
        None where nothing rests on them.
    """

    mechanism: str = "none"
    reason: str
    mechanisms: tuple[ReleaseMechanism, ...] = ()
    weight_bounds: tuple[tuple[str, float], ...] = ()
    expected_noise: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = ()
    sampling: str | None = None
    sampling_rate: float | None = None
    sampling_advice: tuple[tuple[str, str], ...] = ()
    epsilon_if_fanouts_fail: float | None = None


@dataclass(frozen=True, kw_only=True)
class Price:
    """What an answer costs, and whether it can be paid for.

    Attributes:
      epsilon, delta: the charge.
      charge_epsilon, charge_delta: what is charged now, the sum over what would be measured: 0 where all is free, and
        less than `epsilon` where a part is paid for. None: nothing of it was looked for.
      most_epsilon, most_delta: the most that is charged in the end, where an accuracy was asked for and nothing tells
        beforehand what it needs; `epsilon` and `delta` are then the first release's. None: these are all.
      cannot_pay: how it would be refused now, whichever account is short: the analyst's, the group's, the dataset's;
        None where all can pay, or nothing is charged.
    """

    epsilon: float = 0.0
    delta: float = 0.0
    charge_epsilon: float | None = None
    charge_delta: float | None = None
    most_epsilon: float | None = None
    most_delta: float | None = None
    cannot_pay: CannotPay | None = None


@dataclass(frozen=True, kw_only=True)
class ToldBefore:
    """What the analyst's earlier answers say of a question.

    Attributes:
      reuse: what follows for free from answers that the analyst has paid for, beside what a new one would be; None
        where nothing follows.
      derived: what follows is what would be served, free; `epsilon` and `delta` are those of a new answer.
      paid: has the analyst paid for this very answer, so that it is free?
      relative_errors: per column, where the analyst was told the values by an earlier answer; empty otherwise.
      likely_clipped: the share of rows that would be marked cut, in [0, 1], by the analyst's earlier answers or by
      the
        policy's rule of groups per unit; None where nothing tells.
    """

    reuse: str | None = None
    derived: bool = False
    paid: bool = False
    relative_errors: tuple[RelativeError, ...] = ()
    likely_clipped: float | None = None


@dataclass(frozen=True, kw_only=True)
class Explanation(ToldBefore, Price, Releases, ShownGroups, ReadRows):
    """What a query would do and cost, from public facts only.

    Attributes:
      columns: names and types of the answer.
    """

    columns: tuple[ResultColumn, ...]
