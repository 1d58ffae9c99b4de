"""Requests and responses of every protocol, and `SETTINGS`, the one table of request settings."""

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
"""`auto`: a derived answer is served unless more epsilon is named; `never`: always a new one; `only`: never a
new one.
"""

_CELL_BYTES = 64  # of a number, or of the place of a text, as an object

Cell = str | int | float | bool | None

MARKS = ("low_precision", "clipped")
"""The marks of a row, the worst first. Each is a field of `QueryResponse` and a column of tables."""


def text_bytes(rows: Iterable[Sequence[object]]) -> int:
    r"""The memory of the texts among the cells: one, two or four bytes per character, by the widest of each.

    >>> text_bytes([("a" * 1_000, 1)]) // 1_000, text_bytes([("\N{CAT FACE}" * 1_000, None)]) // 1_000
    (1, 4)
    """
    return sum(sys.getsizeof(cell) for cell in chain.from_iterable(rows) if isinstance(cell, str | bytes))


BOUNDS = {"gt": "above {:g}", "ge": "at least {:g}", "lt": "below {:g}", "le": "at most {:g}"}


@dataclass(frozen=True)
class Setting:
    """A request setting, for HTTP bodies, SET, SHOW and the command line alike.

    Attributes:
      about: one or two sentences for users.
      default: None: unset.
      words: the allowed words; empty: a finite number.
      bounds: of the number, by their names in `operator` and pydantic.
    """

    about: str
    default: str | None = None
    words: tuple[str, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)

    def read(self, text: str) -> float | str:
        """Parse a value. Raises: ValueError with the allowed values."""
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
        "epsilon": Setting("The epsilon to spend. Unset: the policy's default.", bounds={"gt": 0}),
        "delta": Setting("The most delta to spend. Unset: the policy's default.", bounds={"ge": 0, "lt": 1}),
        "mechanism": Setting("The mechanism. Unset: the planner chooses.", words=OFFERED),
        "sampling_rate": Setting(
            "Answer from a sample with this share of the join. Unset: from all of it.", bounds={"gt": 0, "le": 1}
        ),
        "at_most": Setting(
            "The most that one person adds to a sum or count in one group, as you declare it. Intervals then cover "
            "the true value, if that bound is right.",
            bounds={"gt": 0},
        ),
        "max_relative_error": Setting(
            "The accuracy target: half the interval's width over its value, 0.05 for 5%. The smallest sufficient "
            "epsilon is spent, at most `epsilon`. If it is unknown, two releases are made and charged; EXPLAIN "
            "shows that first. If the second is refused, the first is the answer, with a note.",
            bounds={"gt": 0},
        ),
        "max_absolute_error": Setting(
            "The accuracy target as half the interval's width, in the answer's unit.", bounds={"gt": 0}
        ),
        "reuse": Setting(
            "`auto`: an answer that can be derived from answers you paid for is free. It is served unless you name"
            " more epsilon than you paid, or an accuracy target that it misses. `only`: a derived answer or none."
            " `never`: a new answer, even if you paid for this one before.",
            "auto",
            get_args(Reuse),
        ),
    }
)
"""All request settings, by the name of the field in HTTP bodies; SET has them behind `noisegate.`. A new setting is
an entry here and a field of `RequestSettings`.
"""

OLD_NAMES: Mapping[str, str] = MappingProxyType({"nobody_adds_more_than": "at_most"})
"""Names of settings in version 0.1.0, which requests, SET and the command line still accept."""


@dataclass(frozen=True, kw_only=True)
class RequestSettings:
    """The settings of a request, as in `SETTINGS`; None: unset."""

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
        """Whether an accuracy target determines epsilon (`server/answers/proposals/by_accuracy.py`)."""
        return (self.max_relative_error, self.max_absolute_error) != (None, None)


@dataclass(frozen=True)
class QueryRequest(RequestSettings):
    """One question of one analyst.

    Attributes:
      request_id: unique; part of logs, the ledger and error bodies.
      parameters: the values of `$1`, `$2`, ...
      idempotency_key: the client's name for this request, which is charged once under it; or empty.
      search_path: the schemas of tables without one; None: the policy's.
      zone: the session's time zone, as `planner.sql.zones` names it.
      as_accurate: must a derived answer be at least as accurate as a new one? True if epsilon was chosen for an
        accuracy target.
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
    """The interval of one cell; None: unbounded."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Budget:
    """An analyst's budget: the grant and what is left."""

    epsilon: float
    delta: float
    epsilon_left: float
    delta_left: float


def privacy_text(epsilon: float, delta: float) -> str:
    """Epsilon, and delta if it is above 0, to six digits.

    >>> privacy_text(0.5, 0.0), privacy_text(1.0, 1e-7)
    ('epsilon 0.5', 'epsilon 1, delta 1e-07')
    """
    return f"epsilon {epsilon:g}" + (f", delta {delta:g}" if delta else "")


@dataclass(frozen=True)
class CachedPeriods:
    """Groups of an answer that were measured in an earlier data version and are still valid.

    Attributes:
      version: the data version that was measured.
      first, last: the days of their rows, as ISO text; None: open.
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
      rows: one tuple of cells per shown group.
      intervals: like rows; None for group keys, texts, conditions and values that are always NULL.
      confidence: of each interval, over the noise alone.
      covers: what the intervals cover, one of `privacy.noisy_answer.Covers`; `truth` if nothing can have been
        clipped, by keys, the policy or `at_most`; `exact` for EXPLAIN and for queries over public tables.
      mechanism: the mechanisms that released it; `none` for an exact answer.
      epsilon, delta: the charge; 0 if the analyst had paid for this answer before.
      budget: the analyst's budget after the charge.
      low_precision: per row: is an interval wider than its value? The noise may be as large as the value.
      clipped: per row: may more be missing than the noise moves? Either the budget is too small for the data, or the
        policy limits the groups per unit.
      taus: per aggregate of each row, the chosen clipping thresholds (public).
      notes: sentences for people.
      cached: was it measured for an earlier request?
      raw: empty if every value is shown as released. Otherwise like rows: the released values of columns in which
        some value was moved, for sums over groups; None in other columns.
      raw_intervals: the same for intervals; not sent to clients.
      at_most: as in the request, if `covers` depends on it; else None.
      cached_periods: the groups that were measured in earlier data versions, newest first.
      derived_from: the numbers of the analyst's charges from which it was derived; empty if it was measured.
      text_bytes: the memory of the texts of its rows, if they belong to this answer alone.
      practice: is it from the practice database, whose rows are made up?
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
    practice: bool = False

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
        """For each mark (`low_precision`, `clipped`): which rows have it."""
        return {name: getattr(self, name) for name in MARKS}

    @property
    def n_cells(self) -> int:
        """The number of cells: rows times columns."""
        return len(self.rows) * len(self.columns)

    @property
    def n_bytes(self) -> int:
        """The approximate memory, without group keys, which other answers share."""
        parts = (self.rows, self.intervals, self.taus, self.raw, self.raw_intervals)
        lazy = sum(part.n_bytes for part in parts if isinstance(part, LazyRows))
        return (lazy or _CELL_BYTES * self.n_cells) + self.text_bytes

    def as_released(self) -> Iterator[tuple[tuple[Cell, ...], tuple[Interval | None, ...]]]:
        """Each row and its intervals as released. Sums of them are unbiased, as no value was moved into its range."""
        rows, around = self.rows, self.intervals
        cells = zip(rows, self.raw, strict=True) if self.raw else ((row, row) for row in rows)
        ends = zip(around, self.raw_intervals, strict=True) if self.raw_intervals else ((row, row) for row in around)
        for row, intervals in zip(cells, ends, strict=True):
            yield _instead(*row), _instead(*intervals)

    def has_intervals(self, column: int) -> bool:
        """Whether any row of the column has an interval."""
        if isinstance(self.intervals, LazyRows):
            return self.intervals.has(column)
        return any(row[column] is not None for row in self.intervals)


def _instead(shown: tuple[T, ...], own: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(cell if released is None else released for cell, released in zip(shown, own, strict=True))


@dataclass(frozen=True)
class StatementShape:
    """The parameters and columns of a question before its parameter values are known.

    Attributes:
      parameters: the type of each `$n`, as in `planner.describe.Description`.
      columns: of the answer.
      noisy: per column: is it a noisy number, with an interval?
    """

    parameters: tuple[str, ...]
    columns: tuple[ResultColumn, ...]
    noisy: tuple[bool, ...]


@dataclass(frozen=True)
class JoinedTable:
    """A table of a query's join and its alias; `added`: the proxy added it to find the owners."""

    alias: str
    table: str
    join: Literal["inner", "left"]
    added: bool


@dataclass(frozen=True)
class JoinCondition:
    """A condition on join tuples; `added`: the proxy added it to find the owners."""

    sql: str
    added: bool


@dataclass(frozen=True)
class ReleaseMechanism:
    """The mechanism of one release, its part of epsilon, and the reason.

    Attributes:
      delta: its part of delta; releases that are composed under zCDP name the shared one.
    """

    release: str
    mechanism: str
    epsilon: float
    reason: str
    delta: float = 0.0


@dataclass(frozen=True)
class RelativeError:
    """The expected relative error of a column.

    Attributes:
      column: of the answer.
      typical, worst: half the width of a 95% interval over its value, of the median row and of the worst one, if the
        clipping thresholds stay those of the earlier answer; None: unbounded.
      most: of the median row: nine of ten answers stay below this.
    """

    column: str
    typical: float | None
    worst: float | None
    most: float | None = None


@dataclass(frozen=True)
class CannotPay:
    """A question would be refused, because an account cannot pay for it.

    Attributes:
      message, hint: as in the refusal; the hint also suggests what to ask instead.
      without_delta: would the same question fit with a delta of 0?
    """

    message: str
    hint: str
    without_delta: bool = False

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


@dataclass(frozen=True, kw_only=True)
class ReadRows:
    """The rows that a query reads, and their owners.

    Attributes:
      rewritten_sql: the statements for the database.
      privacy_units: the relations whose people the answer protects; empty for public tables.
      owners: SQL of each owner of a row of the join.
      ownership: per owner, the foreign keys that lead to it.
      tables, conditions: the join graph.
      tuples_per_unit: Delta, the most join tuples of one unit by the declared fan-outs, or None.
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
    """The groups of an answer, and how many of them one person can reach.

    Attributes:
      n_groups: how many groups there are before HAVING and LIMIT; None with partition selection.
      group_sources: per group key, its SQL and where its values come from.
      groups_per_unit: L0, how many groups one person can reach; None: unbounded.
      groups_reason: the reason for `groups_per_unit`.
      selection: which groups are shown, and why not all; None: all.
    """

    n_groups: int | None = 1
    group_sources: tuple[tuple[str, str], ...] = ()
    groups_per_unit: int | None = None
    groups_reason: str = ""
    selection: str | None = None


@dataclass(frozen=True, kw_only=True)
class Releases:
    """The releases of an answer, and their expected noise.

    Attributes:
      mechanism, reason: the mechanism, and why it and these numbers were chosen.
      mechanisms: one per release.
      weight_bounds: per release, its label and the public bound W of one row's weight.
      expected_noise: per release, (tau, half-width at 95%) pairs: the noise by clipping threshold.
      sampling: how the join is sampled and why, or None.
      sampling_rate: the exact rate, or None.
      sampling_advice: per release, its label and whether the sample is more accurate or only faster; or empty.
      epsilon_if_fanouts_fail: the privacy loss of a unit that exceeds the declared fan-outs; None: no release depends
        on them.
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
    """The price of an answer, and whether it can be paid.

    Attributes:
      epsilon, delta: of a new answer.
      charge_epsilon, charge_delta: what is charged now, the sum over what would be measured: 0 if all is free, less
        than `epsilon` if a part is paid for. None: not looked up.
      most_epsilon, most_delta: the most that is charged with an accuracy target that needs a first release; `epsilon`
        and `delta` are then of that release. None: `epsilon` and `delta` are all.
      cannot_pay: the refusal, whichever account is short; None: all can pay, or nothing is charged.
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
    """What earlier answers of the analyst say about a question.

    Attributes:
      reuse: what can be derived from earlier answers for free, compared with a new answer; or None.
      derived: would the derived answer be served, free? `epsilon` and `delta` are then of a new answer.
      paid: has the analyst paid for this very answer, so that it is free?
      relative_errors: per column, if an earlier answer showed the values; or empty.
      likely_clipped: the expected share of rows marked `clipped`, in [0, 1], by earlier answers or by the policy's
        limit of groups per unit; None: unknown.
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
