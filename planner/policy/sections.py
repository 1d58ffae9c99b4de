"""The small sections of a policy: budgets, limits of the database, the mirror, append-only tables; needs no parser.

Each is a dataclass and the function that reads it. `append_only` is the custodian's promise that a table's rows do
not change once they are some days old. No privacy rests on it. What rests on it is that an answer about such rows is
still one about the rows as they are after a new load, so every load checks it (`server/policy/loads.py`).
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
      closed_after_days: rows of days that lie further before a load do not change, go, or get company, from then on.
    """

    column: str
    closed_after_days: int


def read_append_only(section: TomlSection) -> AppendOnly | None:
    """The promise of a table's section; None where it makes none.

    Raises: PolicyInvalid.
    """
    if SETTING not in section.names():
        return None
    if SETTING not in section.nested():
        example = f'{SETTING} = {{column = "admitted_at", closed_after_days = 7}}'
        raise section.problem(SETTING, f"says by which column, and when: {example}")
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
"""What the policy writes where nothing is to bound what is learned over all periods: silence does not say it."""


@dataclass(frozen=True)
class BudgetPolicy:
    """One default. A later change of it changes no account that there is: that is an act with a reason.

    Attributes:
      epsilon, delta: of the whole budget.
      accounting: how its charges add up, one of ACCOUNTINGS; fixed when an account is made.
      event_delta: zCDP and Renyi: the part of delta that is kept for questions that have a delta themselves.
      window_days: after so many days it starts again from nothing, or None: never. With windows nothing bounds what
        is learned over all time.
      per_query_epsilon: the most that one query may take from it, or None.
      renew: it starts again from nothing with each such period, one of RENEWALS, or None: never.
      most_in_total: with `renew`: the epsilon that all periods may come to; infinity where the policy says UNLIMITED;
        None without.
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
    """The defaults.

    Attributes:
      analyst: for an analyst who is added without an epsilon, or None: an epsilon must be given.
      dataset: for all analysts together, or None: nothing bounds what they learn together but their own budgets.
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
        raise section.problem("event_delta", "must be a part of delta, of a budget that counts in zcdp or renyi")
    _check_renewal(section, budget)
    return budget


def _check_renewal(section: TomlSection, budget: BudgetPolicy) -> None:
    """A renewed budget protects per period: the policy says at which total a person may end."""
    if budget.renew is None:
        if budget.most_in_total is not None:
            raise section.problem("most_in_total", "is for a budget with `renew`")
        return
    if budget.window_days is not None:
        raise section.problem("renew", "cannot stand beside window_days: choose one")
    if budget.most_in_total is None:
        what = f'must say what epsilon all periods may come to, a number or "{UNLIMITED}", beside `renew`'
        raise section.problem("most_in_total", what)
    if budget.most_in_total < budget.epsilon:
        raise section.problem("most_in_total", "must be at least epsilon, which is that of one period")


@dataclass(frozen=True)
class DatabaseLimits:
    """The custodian's settings in `[database]`: public, and of no effect on what an answer protects.

    Attributes:
      seconds: how long the statements of one question may run.
      rows: the most join tuples, alike ones counted once, that the proxy takes in for one question; fewer where a
        worker's memory has no room for as many of that question's columns (`server/backends/query_tuples.py`).
      memory_mb: what PostgreSQL gives each sort and each hash table of a statement (its `work_mem`), or DuckDB a
        whole question before it spills to disk, or the heap of a local Spark, for all questions together; None:
        64 MB on PostgreSQL, 4,096 MB on the others.
      processes: how many processors a question may use, or a local Spark; None: what PostgreSQL is set to; DuckDB: 2;
        Spark: all.
    """

    seconds: int = 60
    rows: int = 20_000_000
    memory_mb: int | None = None
    processes: int | None = None


def read_database_limits(database: TomlSection) -> DatabaseLimits:
    """The settings of a policy's `[database]`. Raises: PolicyInvalid."""
    return DatabaseLimits(
        seconds=database.count("seconds", most=3_600) or DatabaseLimits.seconds,
        rows=database.count("rows", most=1 << 31) or DatabaseLimits.rows,
        memory_mb=database.count("memory_mb", most=1 << 20),
        processes=database.count("processes", most=1_024),
    )


_UNITS = {"m": 60, "h": 3_600, "d": 86_400}
_MOST_MB = 20_000


@dataclass(frozen=True)
class MirrorPolicy:
    """The custodian's `[mirror]`.

    Attributes:
      path: of the file, from the policy's folder on.
      refresh_s: how old a copy may become before the proxy makes another, in seconds; None: on demand only.
      max_mb: the largest that the file may become.
      key: a reference to the secret that the file is encrypted with, `env:NAME` or `file:PATH`; None: it is not.
    """

    path: str
    refresh_s: int | None
    max_mb: int
    key: str | None = None


def read_mirror(section: TomlSection) -> MirrorPolicy | None:
    """The section of a policy; None where there is none.

    Raises: PolicyInvalid.
    """
    if not section.names():
        return None
    path, refresh = section.text("path"), _seconds(section)
    max_mb = section.count("max_mb") or _MOST_MB
    key = section.text("key") if "key" in section.names() else None
    if key is not None and not key.startswith(("env:", "file:")):
        raise section.problem("key", "names a secret: env:NAME or file:PATH")
    section.finish()
    return MirrorPolicy(path, refresh, max_mb, key)


def _seconds(section: TomlSection) -> int | None:
    """How long a copy is good for; None for `manual`."""
    written = section.value("refresh")
    if written is None or written == "manual":
        return None
    found = re.fullmatch(r"([1-9]\d{0,5})([mhd])", written) if isinstance(written, str) else None
    if found is None:
        what = 'must be "manual", or a time with its unit in quotes, like "30m", "24h" or "7d"'
        number = isinstance(written, int | float) and not isinstance(written, bool)
        raise section.problem("refresh", f'{what}; {written} of what? "{written}h" is hours' if number else what)
    return int(found[1]) * _UNITS[found[2]]
