"""The custodian's contract: who is protected, what is public, and the bounds that the mathematics may rely on.

In: one TOML text; server/demo/policy.toml shows its shape. Out: a `Policy` that is consistent in itself. It also says
of the outputs that no epsilon covers, whether a question ends and when, what they may tell (`SideChannels`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit

from planner.errors import PolicyInvalid
from planner.limits import MAX_EPSILON, MIN_DELTA, MIN_EPSILON
from planner.policy.sections import (
    AppendOnly,
    Budgets,
    DatabaseLimits,
    MirrorPolicy,
    read_append_only,
    read_budgets,
    read_database_limits,
    read_mirror,
)
from planner.policy.toml_section import UNQUOTED, DomainValue, TableNames, TomlSection, read_pattern, read_schemas
from planner.schema import PUBLIC, ForeignKey, name_parts
from privacy.truncation.solver_name import SolverName

DEFAULT_MIN_EPSILON = 1e-3
ANSWER_QUANTUM_S = 1.0
_LONGEST_QUANTUM_S = 60.0


@dataclass(frozen=True)
class SideChannels:
    """The custodian's settings in `[privacy]`; the defaults are safe.

    Attributes:
      min_epsilon: the least that one query may ask for, in [1e-4, epsilon]. Every answer also says that it did not
        fail: at 1e-3 an account of epsilon 10 is told so ten thousand times at most, and a noise of a thousand people
        still says something about a million.
      unbounded_joins: may private tables meet by other conditions than keys (`planner.sensitivity.join_size`)?
      max_join_tuples: a query whose public bound on join tuples is larger, or unknown, is refused; None: there is no
        such limit.
      answer_quantum_s: answers of joins that may explode leave at 8 times it, or at 1, 2, 4, ... times it, as epsilon
        pays for; 0: when they are there.
      hold_all_answers: do the answers of linear joins wait as well?
    """

    min_epsilon: float = DEFAULT_MIN_EPSILON
    unbounded_joins: bool = False
    max_join_tuples: int | None = None
    answer_quantum_s: float = ANSWER_QUANTUM_S
    hold_all_answers: bool = False


def read_side_channels(privacy: TomlSection, epsilon: float) -> SideChannels:
    """Settings of `[privacy]`; the default charge `epsilon` may always be asked for. Raises: PolicyInvalid."""
    settings = SideChannels(
        min_epsilon=privacy.number("min_epsilon", max(MIN_EPSILON, min(DEFAULT_MIN_EPSILON, epsilon))),
        unbounded_joins=privacy.flag("unbounded_joins", False),
        max_join_tuples=privacy.count("max_join_tuples"),
        answer_quantum_s=privacy.number("answer_quantum", ANSWER_QUANTUM_S),
        hold_all_answers=privacy.flag("hold_all_answers", False),
    )
    if not settings.min_epsilon >= MIN_EPSILON:
        raise PolicyInvalid(f"privacy.min_epsilon: must be at least {MIN_EPSILON:g}")
    if not 0 <= settings.answer_quantum_s <= _LONGEST_QUANTUM_S:
        raise PolicyInvalid(f"privacy.answer_quantum: must be between 0 and {_LONGEST_QUANTUM_S:g} seconds")
    return settings


SOLVERS: tuple[SolverName, ...] = get_args(SolverName)

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
        enough privacy units share, and at the price of a delta (docs/mathematics.md, section 5.4).
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
      rows_per_unit: per privacy-unit relation, the most rows of the table that one of its units owns, of those that
        answers count. A promise: where it is false, samples are charged too little
        (planner/README.md, Declared bounds).
      rows_are_units: is a row whose owning foreign keys are all NULL a privacy unit of its own? Otherwise it
        belongs to nobody, and no answer counts it.
      rows: the most rows of the table, a number that is public; None says nothing.
      keys: columns that identify a row though no constraint enforces it: believed where the rows of this version of
        the data have been checked, and nothing is answered where they have not (server/policy/verified_keys.py).
      accepted_null_owners: up to how many rows may belong to nobody: a number that the custodian has acknowledged,
        for `policy check` alone.
      parquet: where the database is a folder of Parquet files: the glob of those that the table is made of, from the
        folder on; None: those that are called after the table.
      append_only: by which column its rows only grow; None promises nothing (`planner.policy.sections`).
      clip: what counts of one person at most: of the table's `rows`, of those in a month (`rows_per_month`, likewise
        of a day, week or year), and of the sum of a column's absolute values as sums count them. A hint: who has more
        is counted in part, and how many people that are is released.
      at_most: what no person exceeds, of the same. A promise that accuracy alone rests on: intervals cover the truth
        if it holds.
    """

    public: bool = False
    columns: Mapping[str, ColumnPolicy] = field(default_factory=dict)
    rows_per_unit: Mapping[str, int] = field(default_factory=dict)
    rows_are_units: bool = False
    rows: int | None = None
    keys: tuple[tuple[str, ...], ...] = ()
    accepted_null_owners: int | None = None
    parquet: str | None = None
    append_only: AppendOnly | None = None
    clip: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DeclaredForeignKey:
    """A foreign key that the policy adds to the catalog's, or whose ownership or fan-out it settles.

    Attributes:
      table, columns, references, key: `columns` of `table` reference `key` of `references`.
      owning: does the parent's owner own the row?
      fanout: the most rows of `table` that hold the same values in `columns`; None promises nothing. Where it is
        false, samples are charged too little (planner/README.md, Declared bounds).
      depth: of a self-reference or circle: how often ownership follows the key on one path. A row whose chain goes
        on beyond that is left out of every answer, since nobody could say who owns it.
      accepted_orphans: up to how many rows may reference nothing: a number that the custodian has acknowledged, for
        `policy check` alone.
    """

    table: str
    columns: tuple[str, ...]
    references: str
    key: tuple[str, ...]
    owning: bool = True
    fanout: int | None = None
    depth: int | None = None
    accepted_orphans: int | None = None

    @property
    def foreign_key(self) -> ForeignKey:
        """The key itself, as the catalog would have it."""
        return ForeignKey(self.columns, self.references, self.key)


_NO_PART = frozenset({"mirror", "question_key_file"})
"""Of the hash: no answer and no charge depends on where rows are read, nor on whether words of questions are kept."""


def _content(value: object) -> object:
    """What is set: what stands at its default is left out, so that a new setting changes no older policy's hash."""
    if is_dataclass(value):
        set_ = ((one, getattr(value, one.name)) for one in fields(value) if one.name not in _NO_PART)
        return {one.name: _content(held) for one, held in set_ if held != _default(one)}
    if isinstance(value, Mapping):
        return {name: _content(held) for name, held in value.items()}
    return [_content(held) for held in value] if isinstance(value, tuple) else value


def _default(one: Field[Any]) -> object:
    return one.default_factory() if one.default_factory is not MISSING else one.default


@dataclass(frozen=True)
class Policy:
    """One policy file, read but not yet compared with a catalog (`planner.policy.validate`).

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
      time_grain: what now() is snapped to, one of `planner.policy.policy.GRAINS`.
      groups_per_unit: per privacy-unit relation, the most groups that one unit's rows count in where a unit may be in
        several; its rows in further groups are left out. Bounds the noise where each row has one owner.
      minimum_frequency: groups whose noisy number of privacy units is below it are withheld; None shows all.
      budgets: what is granted where nothing else is said.
      side_channels: bounds on what durations and failures tell.
      database_limits: what one question may take of the database.
      schemas: the search path: where a table that analysts name without its schema is looked for, in order.
      solver: which truncates: `certified`, or `reference`, cvxpy's statement of the same program, up to
        a size. Both are proved by one certificate, so the privacy is the same.
      mirror: where a copy of the tables is, if there is one; no part of the hash, since no answer and no charge
        depends on where the rows are read.
      question_key_file: the file with the keys that the words of questions are sealed with, before the ledger keeps
        them; None: it does not keep them. No part of the hash either.
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
    side_channels: SideChannels = field(default_factory=SideChannels)
    solver: SolverName = "certified"
    schemas: tuple[str, ...] = (PUBLIC,)
    database_limits: DatabaseLimits = DatabaseLimits()
    mirror: MirrorPolicy | None = None
    question_key_file: str | None = None

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """The schemas whose catalogs the proxy reads: those of the search path, then those of the tables named."""
        owners = (name for key in self.foreign_keys if key.owning for name in (key.table, key.references))
        named = (name_parts(name)[0] for name in (*self.tables, *self.privacy_units, *owners))
        return tuple(dict.fromkeys((*self.schemas, *named)))

    @cached_property
    def table_files(self) -> tuple[tuple[str, str], ...]:
        """Each table whose files the policy names, with their glob."""
        named = ((name, table.parquet) for name, table in self.tables.items())
        return tuple((name, pattern) for name, pattern in named if pattern is not None)

    @property
    def ledger_is_shared(self) -> bool:
        """Is the ledger in a database?"""
        return self.ledger_path.startswith(_REFERENCES)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical content: layout and comments of the file do not count."""
        return hashlib.sha256(json.dumps(_content(self), sort_keys=True, default=str).encode()).hexdigest()

    @property
    def delta_of_analyst(self) -> float:
        """What somebody new is given where no delta is named: that of the default budget, else of one query."""
        return self.delta if self.budgets.analyst is None else self.budgets.analyst.delta

    @property
    def acknowledged(self) -> tuple[str, ...]:
        """The rows that the custodian knows to be counted less than others, a sentence each, for the ledger."""
        orphans = [
            f"{key.table} ({', '.join(key.columns)}): {key.accepted_orphans} rows without their {key.references}"
            for key in self.foreign_keys
            if key.accepted_orphans is not None
        ]
        nobodys = [
            f"{name}: {declared.accepted_null_owners} rows that belong to nobody"
            for name, declared in self.tables.items()
            if declared.accepted_null_owners is not None
        ]
        return tuple(sorted(orphans + nobodys))

    def column(self, table: str, column: str) -> ColumnPolicy:
        """What is declared of the column: nothing, unless the file says so."""
        declared = self.tables.get(table)
        return declared.columns.get(column, _UNDECLARED) if declared else _UNDECLARED

    def beside(self, tables: Mapping[str, TablePolicy]) -> Policy:
        """The same policy, of the same hash, with what is public of tables that stand for rows of one question."""
        policy = replace(self, tables={**self.tables, **tables})
        policy.__dict__["hash"] = self.hash
        return policy

    def is_public(self, table: str) -> bool:
        """Does the policy say that the table is public? Without a word it is not."""
        declared = self.tables.get(table)
        return declared is not None and declared.public


def parse_policy(text: str) -> Policy:
    """Read a policy from TOML, consistent in itself; `planner.policy.validate.validate` compares it with the catalog.

    Raises: PolicyInvalid naming the setting: a wrong type, an unknown key, a secret written out.
    """
    document = TomlSection.document(text)
    name = document.text("name", "hospital")
    schemas = read_schemas(document)
    database = document.section("database")
    ledger = document.section("ledger")
    privacy = document.section("privacy")
    if "remember_thresholds" in privacy.names():
        raise privacy.problem("remember_thresholds", "this setting was removed; delete the line")
    units = document.section("privacy_units")
    groups, tables = document.section("groups_per_unit"), document.section("tables")
    epsilon = privacy.number("epsilon")
    names = TableNames(schemas[0])
    policy = Policy(
        name=name,
        database_url=_secret(database.text("url", "env:NOISEGATE_DATABASE_URL")),
        ledger_path=_ledger(ledger),
        epsilon=epsilon,
        max_epsilon=privacy.number("max_epsilon", epsilon),
        delta=privacy.number("delta", 0.0),
        global_sensitivity=privacy.number_or_none("global_sensitivity"),
        privacy_units={names.value(units, relation): units.key(relation) for relation in units.names()},
        foreign_keys=tuple(_foreign_key(section, names) for section in document.sections("foreign_keys")),
        tables={names.read(tables, table): _table(tables.section(table), names) for table in tables.names()},
        time_grain=privacy.choice("time_grain", GRAINS, "day"),
        groups_per_unit=_counts(groups, names),
        minimum_frequency=privacy.count("minimum_frequency"),
        budgets=read_budgets(document.section("budgets")),
        side_channels=read_side_channels(privacy, epsilon),
        solver="reference" if privacy.choice("solver", SOLVERS, "certified") == "reference" else "certified",
        schemas=schemas,
        database_limits=read_database_limits(database),
        mirror=read_mirror(document.section("mirror")),
        question_key_file=ledger.text("question_key_file") if "question_key_file" in ledger.names() else None,
    )
    for section in (document, database, ledger, privacy):
        section.finish()
    _check_numbers(policy)
    return policy


def _ledger(section: TomlSection) -> str:
    """The file, or the database."""
    if "url" not in section.names():
        path = section.text("path", "ledger.sqlite")
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


def _foreign_key(section: TomlSection, names: TableNames) -> DeclaredForeignKey:
    foreign_key = DeclaredForeignKey(
        table=names.canonical(section.text("table"), section, "table"),
        columns=section.texts("columns"),
        references=names.canonical(section.text("references"), section, "references"),
        key=section.texts("key"),
        owning=section.flag("owning", True),
        depth=section.count("depth"),
        fanout=section.count("fanout"),
        accepted_orphans=section.count("accepted_orphans"),
    )
    section.finish()
    if len(foreign_key.columns) != len(foreign_key.key):
        raise section.problem("key", "must name as many columns as `columns`")
    if foreign_key.depth is not None and not foreign_key.owning:
        raise section.problem("depth", "makes no sense where owning = false")
    if foreign_key.accepted_orphans is not None and not foreign_key.owning:
        raise section.problem("accepted_orphans", "makes no sense where owning = false: no row is lost there")
    return foreign_key


def _table(section: TomlSection, names: TableNames) -> TablePolicy:
    columns = section.section("columns")
    public = section.flag("public", False)
    rows_are_units = section.flag("rows_are_units", False)
    units = section.section("rows_per_unit")
    rows, nobodys = section.count("rows"), section.count("accepted_null_owners")
    keys, parquet, grows = section.keys("keys"), read_pattern(section), read_append_only(section)
    clip, at_most = _amounts(section, "clip"), _amounts(section, "at_most")
    for name in clip.keys() & at_most.keys():
        if clip[name] > at_most[name]:
            raise section.problem("clip", f"{name} is more than at_most says that nobody exceeds")
    if section.nested():
        inner = section.nested()[0]
        raise section.problem(inner, f'{UNQUOTED}: [tables."SCHEMA.{inner}"]')
    section.finish()
    declared = {name: _column(columns.section(name)) for name in columns.names()}
    per_unit = _counts(units, names)
    return TablePolicy(public, declared, per_unit, rows_are_units, rows, keys, nobodys, parquet, grows, clip, at_most)


ROWS = "rows"
"""In `clip` and `at_most`: how many rows of the table one person has."""

ROWS_PER = {f"rows_per_{unit}": unit for unit in ("day", "week", "month", "year")}
"""There, too: how many of them lie in one day, week, ... by the column that `append_only` names. Any other name is a
column's."""


def _amounts(section: TomlSection, key: str) -> dict[str, float]:
    """What of one person counts, or what nobody exceeds."""
    if key in section.names() and key not in section.nested():
        raise section.problem(key, f"says of what, and how much: {key} = {{rows = 40, cost = 9000}}")
    inner = section.section(key)
    rows = {name: inner.count(name) for name in (ROWS, *ROWS_PER)}
    found = {name: float(most) for name, most in rows.items() if most is not None}
    found |= {name: inner.number(name) for name in inner.names()}
    for name, most in found.items():
        if not most > 0:
            raise inner.problem(name, "must be above 0")
    return found


def _counts(section: TomlSection, names: TableNames) -> dict[str, int]:
    found = {names.value(section, name): section.count(name) for name in section.names()}
    return {name: count for name, count in found.items() if count is not None}


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
    if not MIN_EPSILON <= policy.epsilon <= policy.max_epsilon <= MAX_EPSILON:
        bounds = f"at least {MIN_EPSILON:g} and at most max_epsilon, which is at most {MAX_EPSILON:g}"
        raise PolicyInvalid(f"privacy: epsilon must be {bounds}")
    if policy.delta and not MIN_DELTA <= policy.delta < 1:
        raise PolicyInvalid(f"privacy.delta: must be 0, or at least {MIN_DELTA:g} and below 1")
    if policy.side_channels.min_epsilon > policy.epsilon:
        raise PolicyInvalid("privacy.min_epsilon: must be at most epsilon, the default")
    if policy.global_sensitivity is not None and policy.global_sensitivity < 1:
        raise PolicyInvalid("privacy.global_sensitivity: must be at least 1")


GRAINS = ("minute", "hour", "day", "week", "month")
"""What a policy's time_grain may be."""
