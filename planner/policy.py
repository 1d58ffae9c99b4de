"""The custodian's contract: who is protected, what is public, and the bounds that the mathematics may rely on.

One TOML text; tests/demo/policy.toml shows its shape.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cached_property
from urllib.parse import parse_qsl, urlsplit

from planner.budget_policy import Budgets, read_budgets
from planner.clock import GRAINS
from planner.errors import PolicyInvalid
from planner.policy_toml import DomainValue, TomlSection

_REFERENCES = ("env:", "file:", "postgresql://", "postgres://")
"""What names a database rather than a file."""


@dataclass(frozen=True)
class ColumnPolicy:
    """What the custodian declares of one column.

    Attributes:
      range: of a number, (lo, hi); every value is clamped to it in SQL before it is summed.
      dates: of a date or timestamp, the first and the last day; written as `range`, too.
      domain: the values that may appear as group keys.
      step: from one group key to the next within the range: a whole number; for dates `day`, `week`, `month`,
        `quarter` or `year`.
      other: the group of values outside the domain and of NULL; without it they are dropped.
      null_group: is NULL a group of its own, as in SQL? Otherwise rows where it is NULL are dropped, unless `other`
        takes them.
      discover: may its values be shown as group keys although nothing public says what they are? Only those that
        enough privacy units share, and at the price of a delta (privacy.md section 7).
    """

    range: tuple[float, float] | None = None
    domain: tuple[DomainValue, ...] | None = None
    dates: tuple[date, date] | None = None
    step: int | str | None = None
    other: DomainValue | None = None
    null_group: bool = False
    discover: bool = False


_UNDECLARED = ColumnPolicy()


@dataclass(frozen=True)
class TablePolicy:
    """What the custodian declares of one table; a table that has none is not queryable.

    Attributes:
      public: it says nothing about a person.
      columns: per column.
      rows_per_unit: per privacy-unit relation, the most rows of the table that one of its units owns.
      rows_are_units: is a row whose owning foreign keys are all NULL a privacy unit of its own? Otherwise it
        belongs to nobody, and no answer counts it.
    """

    public: bool = False
    columns: Mapping[str, ColumnPolicy] = field(default_factory=dict)
    rows_per_unit: Mapping[str, int] = field(default_factory=dict)
    rows_are_units: bool = False


@dataclass(frozen=True)
class DeclaredForeignKey:
    """A foreign key that the policy adds to the catalog's, or whose ownership or fan-out it settles.

    Attributes:
      table, columns, references, key: `columns` of `table` reference `key` of `references`.
      owning: does the parent's owner own the row?
      fanout: the most rows of `table` that hold the same values in `columns`; None promises nothing.
      depth: of a self-reference or circle: how often ownership follows the key on one path. A row whose chain goes
        on beyond that is left out of every answer, since nobody could say who owns it.
    """

    table: str
    columns: tuple[str, ...]
    references: str
    key: tuple[str, ...]
    owning: bool = True
    fanout: int | None = None
    depth: int | None = None


@dataclass(frozen=True)
class Policy:
    """One policy file, read but not yet compared with a catalog (`planner.policy_check`).

    Attributes:
      name: of the dataset.
      database_url: a reference to a secret, `env:NAME` or `file:PATH`; or a URL without a password.
      ledger_path: where the ledger is: a file, or, as `[ledger] url`, a reference to a database that several proxies
        share.
      epsilon: default charge of a query.
      max_epsilon: the most that one query may ask for; the default charge unless set.
      delta: the default, and the most, that one query is charged.
      global_sensitivity: for r2t only: the most that one unit adds to an answer, in full weights; or None.
      privacy_units: the key columns of each privacy-unit relation.
      foreign_keys: declared ones.
      tables: per queryable table.
      time_grain: what now() is snapped to, one of `planner.clock.GRAINS`.
      groups_per_unit: per privacy-unit relation, the most groups that one unit's rows count in where a unit may be in
        several; its rows in further groups are left out. Bounds the noise where each row has one owner.
      minimum_frequency: groups whose noisy number of privacy units is below it are withheld; None shows all.
      budgets: what is granted where nothing else is said.
    """

    name: str
    database_url: str
    ledger_path: str
    epsilon: float
    max_epsilon: float
    delta: float
    global_sensitivity: float | None
    privacy_units: Mapping[str, tuple[str, ...]]
    foreign_keys: tuple[DeclaredForeignKey, ...]
    tables: Mapping[str, TablePolicy]
    time_grain: str = "day"
    groups_per_unit: Mapping[str, int] = field(default_factory=dict)
    minimum_frequency: int | None = None
    budgets: Budgets = field(default_factory=Budgets)

    @property
    def ledger_is_shared(self) -> bool:
        """Is the ledger in a database?"""
        return self.ledger_path.startswith(_REFERENCES)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical content: layout and comments of the file do not count."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True, default=str).encode()).hexdigest()

    def column(self, table: str, column: str) -> ColumnPolicy:
        """What is declared of the column: nothing, unless the file says so."""
        declared = self.tables.get(table)
        return declared.columns.get(column, _UNDECLARED) if declared else _UNDECLARED

    def is_public(self, table: str) -> bool:
        """Does the policy say that the table is public? Without a word it is not."""
        declared = self.tables.get(table)
        return declared is not None and declared.public


def parse_policy(text: str) -> Policy:
    """Read a policy.

    Args:
      text: TOML.
    Returns: the policy, consistent in itself; `planner.policy_check.validate` compares it with the catalog.
    Raises: PolicyInvalid naming the setting: a wrong type, an unknown key, a secret written out.
    """
    document = TomlSection.document(text)
    name = document.text("name")
    database = document.section("database")
    ledger = document.section("ledger")
    privacy = document.section("privacy")
    units = document.section("privacy_units")
    groups = document.section("groups_per_unit")
    epsilon = privacy.number("epsilon")
    policy = Policy(
        name=name,
        database_url=_secret(database.text("url")),
        ledger_path=_ledger(ledger),
        epsilon=epsilon,
        max_epsilon=privacy.number("max_epsilon", epsilon),
        delta=privacy.number("delta", 0.0),
        global_sensitivity=privacy.number_or_none("global_sensitivity"),
        privacy_units={relation: units.key(relation) for relation in units.names()},
        foreign_keys=tuple(_foreign_key(section) for section in document.sections("foreign_keys")),
        tables=_tables(document.section("tables")),
        time_grain=privacy.choice("time_grain", GRAINS, "day"),
        groups_per_unit=_counts(groups),
        minimum_frequency=privacy.count("minimum_frequency"),
        budgets=read_budgets(document.section("budgets")),
    )
    for section in (document, database, ledger, privacy):
        section.finish()
    _check_numbers(policy)
    return policy


def _ledger(section: TomlSection) -> str:
    """The file, or the database."""
    if "url" not in section.names():
        path = section.text("path")
        if path.startswith(_REFERENCES):
            raise section.problem("path", "is a file; a database is named by `url`")
        return path
    url = _secret(section.text("url"), "ledger.url")
    if not url.startswith(_REFERENCES):
        raise section.problem("url", "is a database's: env:NAME, file:PATH or postgresql://...")
    return url


def _secret(url: str, setting: str = "database.url") -> str:
    """A reference, or a URL that holds no password."""
    if url.startswith(("env:", "file:")):
        return url
    advice = "name a secret instead: env:NAME or file:PATH"
    try:
        parts = urlsplit(url)
        secret = parts.password is not None or any(key.lower() == "password" for key, _ in parse_qsl(parts.query))
    except ValueError:
        raise PolicyInvalid(f"{setting}: is not a URL; {advice}") from None
    if secret or "password" in url.lower():
        raise PolicyInvalid(f"{setting}: holds a password; {advice}")
    if not parts.scheme:
        raise PolicyInvalid(f"{setting}: is not a URL; {advice}")
    return url


def _foreign_key(section: TomlSection) -> DeclaredForeignKey:
    foreign_key = DeclaredForeignKey(
        table=section.text("table"),
        columns=section.texts("columns"),
        references=section.text("references"),
        key=section.texts("key"),
        owning=section.flag("owning", True),
        depth=section.count("depth"),
        fanout=section.count("fanout"),
    )
    section.finish()
    if len(foreign_key.columns) != len(foreign_key.key):
        raise section.problem("key", "must name as many columns as `columns`")
    if foreign_key.depth is not None and not foreign_key.owning:
        raise section.problem("depth", "makes no sense where owning = false")
    return foreign_key


def _tables(section: TomlSection) -> dict[str, TablePolicy]:
    return {name: _table(section.section(name)) for name in section.names()}


def _table(section: TomlSection) -> TablePolicy:
    columns = section.section("columns")
    public = section.flag("public", False)
    rows_are_units = section.flag("rows_are_units", False)
    units = section.section("rows_per_unit")
    section.finish()
    declared = {name: _column(columns.section(name)) for name in columns.names()}
    return TablePolicy(public, declared, _counts(units), rows_are_units)


def _counts(section: TomlSection) -> dict[str, int]:
    return {name: count for name in section.names() if (count := section.count(name)) is not None}


def _column(section: TomlSection) -> ColumnPolicy:
    dates = section.days("range")
    column = ColumnPolicy(
        range=None if dates else section.interval("range"),
        domain=section.values("domain"),
        dates=dates,
        step=section.step("step"),
        other=section.value("other"),
        null_group=section.flag("null_group", False),
        discover=section.flag("discover", False),
    )
    section.finish()
    return column


def _check_numbers(policy: Policy) -> None:
    if not policy.privacy_units:
        raise PolicyInvalid("privacy_units: name at least one relation and its key; nobody would be protected")
    if not 0 < policy.epsilon <= policy.max_epsilon:
        raise PolicyInvalid("privacy: epsilon must be positive and at most max_epsilon")
    if not 0 <= policy.delta < 1:
        raise PolicyInvalid("privacy.delta: must be at least 0 and below 1")
    if policy.global_sensitivity is not None and policy.global_sensitivity < 1:
        raise PolicyInvalid("privacy.global_sensitivity: must be at least 1")
