"""The small sections of a policy: budgets, database limits, the mirror, practice, append-only tables.

Each is a dataclass and the function that reads it. `append_only` declares that a table's rows do not change once they
are some days old. No privacy rests on it. Cached answers about such rows stay valid after new data is loaded, so
every new data version is checked for it (`server/policy/data_versions.py`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from planner.policy.toml_section import TomlSection

SETTING = "append_only"
_MOST_DAYS = 36_500


@dataclass(frozen=True)
class AppendOnly:
    """`append_only = {column = "admitted_at", closed_after_days = 7}`.

    Attributes:
      column: the date or moment of a row, read at UTC.
      closed_after_days: rows of days this long before a new data version do not change, disappear or increase in
        number.
    """

    column: str
    closed_after_days: int


def read_append_only(section: TomlSection) -> AppendOnly | None:
    """The setting in a table's section; None without it. Raises: PolicyInvalid."""
    if SETTING not in section.names():
        return None
    if SETTING not in section.nested():
        example = f'{SETTING} = {{column = "admitted_at", closed_after_days = 7}}'
        raise section.problem(SETTING, f"needs a column and a number of days, as in {example}")
    inner = section.section(SETTING)
    column, days = inner.text("column"), inner.count("closed_after_days", most=_MOST_DAYS)
    inner.finish()
    if days is None:
        raise inner.problem("closed_after_days", f"must be a whole number between 1 and {_MOST_DAYS}")
    return AppendOnly(column, days)


ACCOUNTINGS = ("basic", "zcdp", "renyi")

RENEWALS = ("day", "week", "month", "quarter", "year")
"""Periods of the calendar, in UTC; weeks begin on Monday."""

UNLIMITED = "unlimited"
"""The policy's word for no limit over all periods; it must be written out."""


@dataclass(frozen=True)
class BudgetPolicy:
    """One default budget. A later change of it changes no existing account: that takes an act with a reason.

    Attributes:
      epsilon, delta: of the whole budget.
      accounting: how its charges add up, one of ACCOUNTINGS; fixed when an account is made.
      event_delta: for zCDP and Renyi: the part of delta reserved for questions that have a delta themselves.
      window_days: the budget starts again after this many days, or None: never. With windows nothing bounds what is
        learned over all time, and they cannot become a total later.
      per_query_epsilon: the most that one query may take, or None.
      renew: the budget starts again with each such period, one of RENEWALS, or None: never.
      most_in_total: with `renew`: the most epsilon over all periods; infinity for UNLIMITED; None without `renew`.
    """

    epsilon: float
    delta: float = 0.0
    accounting: str = "basic"
    window_days: float | None = None
    per_query_epsilon: float | None = None
    event_delta: float = 0.0
    renew: str | None = None
    most_in_total: float | None = None


@dataclass(frozen=True)
class Budgets:
    """The default budgets.

    Attributes:
      analyst: for an analyst who is added without an epsilon; None: an epsilon must be given.
      dataset: for all analysts together; None: only their own budgets bound what they learn together.
    """

    analyst: BudgetPolicy | None = None
    dataset: BudgetPolicy | None = None


def read_budgets(section: TomlSection) -> Budgets:
    """The section `budgets`. Raises: PolicyInvalid."""
    names = section.names()
    analyst = _budget(section.section("analyst")) if "analyst" in names else None
    dataset = _budget(section.section("dataset")) if "dataset" in names else None
    section.finish()
    return Budgets(analyst, dataset)


def _budget(section: TomlSection) -> BudgetPolicy:
    budget = BudgetPolicy(
        epsilon=section.number("epsilon"),
        delta=section.number("delta", 0.0),
        accounting=section.choice("accounting", ACCOUNTINGS, "basic"),
        window_days=section.number_or_none("window_days"),
        per_query_epsilon=section.number_or_none("per_query_epsilon"),
        event_delta=section.number("event_delta", 0.0),
        renew=section.choice_or_none("renew", RENEWALS),
        most_in_total=math.inf
        if isinstance(most := section.number_or_word("most_in_total", UNLIMITED), str)
        else most,
    )
    section.finish()
    for setting, value in (
        ("epsilon", budget.epsilon),
        ("window_days", budget.window_days),
        ("per_query_epsilon", budget.per_query_epsilon),
    ):
        if value is not None and value <= 0:
            raise section.problem(setting, "must be positive")
    if not 0 <= budget.delta < 1:
        raise section.problem("delta", "must be at least 0 and below 1")
    if budget.accounting != "basic" and budget.delta == 0:
        raise section.problem("delta", f"must be above 0 to count in {budget.accounting}")
    if budget.event_delta and not 0 < budget.event_delta < (budget.delta if budget.accounting != "basic" else 0):
        raise section.problem(
            "event_delta", "must be above 0 and below delta, in a budget that counts in zcdp or renyi"
        )
    _check_renewal(section, budget)
    return budget


def _check_renewal(section: TomlSection, budget: BudgetPolicy) -> None:
    """A renewed budget protects per period, so the policy must limit the total."""
    if budget.renew is None:
        if budget.most_in_total is not None:
            raise section.problem("most_in_total", "needs `renew` beside it")
        return
    if budget.window_days is not None:
        raise section.problem("renew", "cannot be combined with window_days")
    if budget.most_in_total is None:
        what = f'must limit the epsilon of all periods with `renew`: a number, or "{UNLIMITED}"'
        raise section.problem("most_in_total", what)
    if budget.most_in_total < budget.epsilon:
        raise section.problem("most_in_total", "must be at least epsilon, the budget of one period")


@dataclass(frozen=True)
class DatabaseLimits:
    """The limits in `[database]`. They are public and do not affect privacy.

    Attributes:
      seconds: how long the statements of one question may run.
      rows: the most distinct join tuples that the proxy reads for one question; fewer if a worker's memory has no
        room for that question's columns (`server/backends/query_tuples.py`).
      memory_mb: PostgreSQL's memory for each sort and hash table (its `work_mem`), DuckDB's for a whole question
        before it spills to disk, or the heap of a local Spark for all questions; or None: 64 MB on PostgreSQL,
        4,096 MB on the others.
      processes: the processors of a question, or of a local Spark; or None: PostgreSQL's own setting, 2 on DuckDB,
        all on Spark.
    """

    seconds: int = 60
    rows: int = 20_000_000
    memory_mb: int | None = None
    processes: int | None = None


def read_database_limits(database: TomlSection) -> DatabaseLimits:
    """The settings of `[database]`. Raises: PolicyInvalid."""
    return DatabaseLimits(
        seconds=database.count("seconds", most=3_600) or DatabaseLimits.seconds,
        rows=database.count("rows", most=1 << 31) or DatabaseLimits.rows,
        memory_mb=database.count("memory_mb", most=1 << 20),
        processes=database.count("processes", most=1_024),
    )


_UNITS = {"m": 60, "h": 3_600, "d": 86_400}
_MOST_MB = 20_000

HOLDS = ("rows", "contributions")
"""What a mirror may hold."""


@dataclass(frozen=True)
class MirrorPolicy:
    """The administrator's `[mirror]`.

    Attributes:
      path: of the file, from the policy's folder on.
      holds: `rows`, with the contributions; or `contributions` alone: what each person adds to the count of each
        table's rows, and to the sum of each column with a range. They make such questions over a whole table as fast
        as plain ones, and `noisegate data bump` makes them again.
      refresh_s: the age in seconds at which the proxy makes a new copy; None: on demand only.
      max_mb: the largest size of the file.
      key: a reference to the secret that encrypts the file, `env:NAME` or `file:PATH`; None: it is not encrypted.
    """

    path: str
    refresh_s: int | None
    max_mb: int
    key: str | None = None
    holds: str = "rows"


def read_mirror(section: TomlSection) -> MirrorPolicy | None:
    """The section `mirror`; None without it. Raises: PolicyInvalid."""
    if not section.names():
        return None
    path, refresh = section.text("path"), _seconds(section)
    holds = section.choice("holds", HOLDS, "rows")
    max_mb = section.count("max_mb") or _MOST_MB
    key = section.text("key") if "key" in section.names() else None
    if key is not None and not key.startswith(("env:", "file:")):
        raise section.problem("key", "must be a reference: env:NAME or file:PATH")
    section.finish()
    return MirrorPolicy(path, refresh, max_mb, key, holds)


_MOST_SKEW = 10.0


@dataclass(frozen=True)
class PracticePolicy:
    """The administrator's `[practice]`: the size and shape of the practice database, whose rows are made up.

    Attributes:
      rows: of each privacy-unit relation; other tables with private parents have four times as many.
      skew: from 1, where people have about as many rows each, to 10, where a few have most.
    """

    rows: int = 1_000
    skew: float = 2.0


def read_practice(section: TomlSection) -> PracticePolicy:
    """The section `practice`. Raises: PolicyInvalid."""
    rows = section.count("rows", most=1_000_000) or PracticePolicy.rows
    skew = section.number("skew", PracticePolicy.skew)
    if not 1 <= skew <= _MOST_SKEW:
        raise section.problem("skew", f"must be between 1 and {_MOST_SKEW:g}")
    section.finish()
    return PracticePolicy(rows, skew)


def _seconds(section: TomlSection) -> int | None:
    written = section.value("refresh")
    if written is None or written == "manual":
        return None
    found = re.fullmatch(r"([1-9]\d{0,5})([mhd])", written) if isinstance(written, str) else None
    if found is None:
        what = 'must be "manual", or a time with its unit in quotes, like "30m", "24h" or "7d"'
        number = isinstance(written, int | float) and not isinstance(written, bool)
        raise section.problem("refresh", f'{what}; {written} has no unit: "{written}h" is hours' if number else what)
    return int(found[1]) * _UNITS[found[2]]
