"""A tuning: private histograms of how much people have, which everybody sees.

The numbers support `clip` of a policy. In: a policy that fits its database, a ledger, an epsilon. Out:
a tuning in the ledger, reserved before a row is read, with its released histograms.

Privacy (docs/mathematics.md, section 4.5). The planner plans each measure like a question, so ownership, ranges and
refusals are the same. The database counts people by contribution (`planner/rewriting/contributions.py`). Each person
with a contribution is in one bucket, so one person changes one number by one (`privacy/mechanisms/contributions.py`).
So does the owner of rows whose key names a missing person. The measures share the epsilon, and their epsilons add up.

Payment. The dataset's account pays, if there is one. The resulting bounds are in the policy and visible in all
answers, so every account's guarantee states the epsilon of all tunings beside its own. A second tuning adds to the
first.

Failures. The entry `tuning` reserves before a row is read, and stands if the process ends. `tuned` keeps what was
released, or returns the epsilon if the database was not reached. After a row could have been read nothing is
returned.

It never writes a policy, and releases nothing but noisy numbers of people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from planner.binding.bind import bind
from planner.errors import InvalidSetting, PlannerError, SchemaChanged, SensitivityUnbounded, UnsupportedSQL, nearest
from planner.parsing.parse import private_select, read
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.policy.ownership import Ownership
from planner.policy.policy import Policy
from planner.policy.toml_section import section_of
from planner.rewriting.rewrite import rewrite
from planner.schema import PUBLIC, Dialect, Schema, name_parts, sql_name
from privacy.entropy import Entropy
from privacy.mechanisms.contributions import CONTRIBUTION_THRESHOLDS, LEAST, ReleasedHistogram, released
from privacy.truncation.histograms import ContributionHistogram
from server.backends.backend import Backend, quoted
from server.errors import BackendUnavailable, QueryFailed
from server.ledger.analyst import Act
from server.ledger.currency import charged_epsilon
from server.ledger.ledger import Ledger
from server.ledger.tuning import Histogram, TuningRecord

ROWS = "rows"
"""The measure that is not a column: how many rows of the table a person owns."""

_THRESHOLDS = tuple(int(units) for units in CONTRIBUTION_THRESHOLDS.units)


@dataclass(frozen=True)
class Measure:
    """One quantity that each person has.

    Attributes:
      name: ROWS, or a column, whose absolute values are added up.
      unit: what the weight 1 is.
    """

    table: str
    name: str
    unit: float


@dataclass(frozen=True)
class TableMeasures:
    """The measures of one table, counted in one snapshot.

    Attributes:
      measures: in the order of the statement's sums.
      query: counts people by contribution, at the thresholds of `CONTRIBUTION_THRESHOLDS`.
    """

    measures: tuple[Measure, ...]
    query: BackendQuery


def measures(
    policy: Policy,
    schema: Schema,
    dialect: Dialect,
    table: str | None = None,
    measure: str | None = None,
    passed_over: Callable[[str], object] = str,
) -> tuple[TableMeasures, ...]:
    """What to count of each person.

    Args:
      schema: that the policy fits, with its declared keys.
      table: only this one, as the policy names it; None: all with one owner.
      measure: only this one: ROWS, or a column; None: all.
      passed_over: is told why a table that is not named cannot be tuned.
    Raises: InvalidSetting for unknown names; UnsupportedSQL, with an alternative, for a named table that cannot be
      tuned, and if nothing can be.
    """
    policy = _without_bounds(policy)
    named = None if table is None else _table(table, policy, schema)
    found = []
    for name in (named,) if named is not None else _owned(policy, schema):
        try:
            found.append(_of_table(name, policy, schema, dialect, measure))
        except PlannerError as error:
            if named is not None:
                raise
            passed_over(f"{error.message}.")
    chosen = tuple(one for one in found if one is not None)
    if not chosen:
        raise UnsupportedSQL(
            "there is nothing to tune: no table of the policy has rows with one owner"
            + ("" if measure is None else f" and the measure {measure}"),
            hint="each row needs exactly one owner, and a column needs a declared range",
        )
    return chosen


def _without_bounds(policy: Policy) -> Policy:
    """The policy without bounds on contributions, which are counted up to the ends of the histogram.

    It also has no minimum frequency, which would add a release to select groups.
    """
    tables = {name: replace(table, clip={}, at_most={}) for name, table in policy.tables.items()}
    return replace(policy, tables=tables, minimum_frequency=None)


def _owned(policy: Policy, schema: Schema) -> Iterator[str]:
    graph = Ownership(schema, policy)
    for name in policy.tables:
        is_owned = name in schema.tables and not policy.is_public(name) and graph.is_owned(name)
        if is_owned and name not in policy.privacy_units:
            yield name


def _table(said: str, policy: Policy, schema: Schema) -> str:
    spelled = {name: name for name in policy.tables if name in schema.tables}
    spelled |= {sql_name(name): name for name in spelled}
    spelled |= {name.removeprefix(f"{policy.schemas[0]}."): name for name in tuple(spelled)}
    name = spelled.get(said)
    if name is None:
        near = nearest(said, spelled)
        hint = "add a section for the table to the policy"
        hint = f"did you mean {near}?" if near is not None else hint
        raise InvalidSetting(f"the policy has no table {said}", hint=hint)
    if policy.is_public(name):
        hint = "name a private table"
        raise UnsupportedSQL(f"{name} is public: its rows have no owner, so there is nothing to bound", hint=hint)
    if name in policy.privacy_units:
        raise UnsupportedSQL(
            f"tuning {name} gains nothing: each row is one person, and declared ranges bound what a row adds",
            hint="name another private table, or declare a narrower range",
        )
    return name


def _of_table(
    name: str, policy: Policy, schema: Schema, dialect: Dialect, measure: str | None
) -> TableMeasures | None:
    """The measures of a table; None if it has none of that name. Raises: UnsupportedSQL and other refusals."""
    columns = [column for column in _numbers(name, policy, schema) if measure in (None, column)]
    wanted = [*([ROWS] if measure in (None, ROWS) else []), *columns]
    if not wanted:
        if measure is not None:
            raise _lacking(name, measure, policy, schema)
        return None
    plan = _planned(_select(name, wanted), policy, schema)
    if len(plan.owners) != 1:
        people = " and ".join(sorted({owner.relation for owner in plan.owners}))
        raise UnsupportedSQL(
            f"rows of {name} have several owners ({people}), so contributions of one person cannot be counted",
            hint="name a table whose rows have one owner; questions over this table choose their own thresholds",
        )
    if not plan.counts_contributions or plan.counts_norms or len(plan.releases) != len(wanted):
        raise UnsupportedSQL(
            f"the database cannot count the rows of {name} per person", hint="name other tables with --table"
        )
    query = rewrite(plan, dialect=dialect, schema=schema, thresholds=_THRESHOLDS)
    found = tuple(
        Measure(name, what, release.weight_bound) for what, release in zip(wanted, plan.releases, strict=True)
    )
    return TableMeasures(found, query)


def _lacking(name: str, measure: str, policy: Policy, schema: Schema) -> PlannerError:
    table = schema.tables[name]
    if table.column(measure) is None:
        near = nearest(measure, [column.name for column in table.columns])
        return InvalidSetting(
            f"{name} has no column {measure}", hint=None if near is None else f"did you mean {near}?"
        )
    return SensitivityUnbounded(
        f"{name}.{measure} has no declared range of numbers",
        hint=f"{section_of(name, policy.schemas).replace(']', '.columns]')} {measure} = {{ range = [LOW, HIGH] }}",
    )


def _numbers(name: str, policy: Policy, schema: Schema) -> Sequence[str]:
    """The columns with a declared range of numbers that can be summed."""
    declared = policy.tables[name].columns
    ranged = [column for column, says in declared.items() if says.range is not None]
    return [column for column in ranged if _adds_up(name, column, policy, schema)]


def _adds_up(name: str, column: str, policy: Policy, schema: Schema) -> bool:
    try:
        _planned(_select(name, [column]), policy, schema)
    except PlannerError:
        return False
    return True


def _select(name: str, wanted: Sequence[str]) -> str:
    sums = ["count(*)" if what == ROWS else f"sum(abs({quoted(what)}))" for what in wanted]
    return f"SELECT {', '.join(sums)} FROM {_quoted(name)}"


def _planned(sql: str, policy: Policy, schema: Schema) -> Plan:
    select = private_select(read(sql))
    return make_plan(bind(select, schema, policy), schema, policy)


def _quoted(name: str) -> str:
    namespace, relation = name_parts(name)
    return ".".join(map(quoted, (relation,) if namespace == PUBLIC else (namespace, relation)))


NANO = 10**9
"""Nano-epsilon in an epsilon."""


@dataclass(frozen=True)
class Tuned:
    """A measure of a tuning and its released histogram.

    Attributes:
      measure: ROWS, or a column.
    """

    table: str
    measure: str
    histogram: ReleasedHistogram

    @property
    def label(self) -> str:
        """Its name for people."""
        return f"{self.table}.{self.measure}"


def tune(
    chosen: Sequence[TableMeasures],
    policy: Policy,
    schema: Schema,
    backend: Backend,
    ledger: Ledger,
    epsilon: float,
    act: Act,
    entropy: Entropy,
) -> TuningRecord:
    """Count people by contribution, and record the noisy numbers in the ledger. Returns the record.

    Args:
      chosen: what to count, made for this policy, schema and backend.
      epsilon: for all measures together, which share it equally.
    Raises: InvalidSetting for too little epsilon; BudgetExhausted; BackendUnavailable and SchemaChanged before a row
      was read, which costs nothing; QueryFailed afterwards, which costs all of it, as a crash does.
    """
    every = [measure for table in chosen for measure in table.measures]
    share = Fraction(charged_epsilon(epsilon), NANO) / len(every)
    least = policy.side_channels.min_epsilon
    if share < Fraction(repr(least)):
        raise InvalidSetting(
            f"epsilon {epsilon:g} leaves each of {len(every)} histograms less than epsilon {least:g}",
            hint=f"spend epsilon {least * len(every):g} or more, or count less with --table or --measure",
        )
    names = [(measure.table, measure.name) for measure in every]
    number = ledger.reserve_tuning(epsilon, policy.hash, names, act)
    found: list[Histogram] = []
    for table in chosen:
        try:
            _, tuples = backend.read(table.query)
            assert isinstance(tuples.join, ContributionHistogram), "people are counted in the database"
            for row, measure in enumerate(table.measures):
                found.append(_saved(measure, released(_counts(tuples.join, row, measure), share, entropy)))
        except (BackendUnavailable, SchemaChanged):
            if found:
                raise _failed(number) from None
            ledger.settle_tuning(number, None, act)
            raise
        except Exception as error:
            raise _failed(number) from error
    ledger.settle_tuning(number, found, act)
    return ledger.tunings()[number - 1]


def histograms(record: TuningRecord) -> tuple[Tuned, ...]:
    """What a tuning released; nothing if it was not finished."""
    share = float(Fraction(charged_epsilon(record.epsilon), NANO) / len(record.measures))
    return tuple(
        Tuned(*names, _loaded(saved, share)) for names, saved in zip(record.measures, record.histograms, strict=False)
    )


def _counts(contributions: ContributionHistogram, row: int, measure: Measure) -> NDArray[np.int64]:
    """Numbers of people with a contribution by bucket, private. One person changes one number by one."""
    here = contributions.sums == row
    by_bucket = np.bincount(
        contributions.interval[here], contributions.units[here], len(contributions.thresholds) + 1
    ).astype(np.int64)
    return by_bucket[_first(measure) - LEAST :]


def _first(measure: Measure) -> int:
    """The exponent of a measure's first end: rows have no fractions."""
    return 0 if measure.name == ROWS else LEAST


def _saved(measure: Measure, noisy: NDArray[np.int64]) -> Histogram:
    return {"unit": repr(measure.unit), "first": _first(measure), "people": [int(number) for number in noisy]}


def _loaded(saved: Histogram, share: float) -> ReleasedHistogram:
    people = saved["people"]
    assert isinstance(people, list), "as it was saved"
    return ReleasedHistogram(tuple(people), float(str(saved["unit"])), int(str(saved["first"])), share)


def _failed(number: int) -> QueryFailed:
    return QueryFailed(
        f"Tuning {number} failed after private rows could have been read, so what it spent stays spent.",
        hint="check the database's log and [database] seconds, then tune again with a new epsilon",
    )
