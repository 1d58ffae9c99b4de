"""The administrator's policy: who is protected, what is public, and which bounds the mathematics may rely on.

In: one TOML text; server/demo/policy.toml shows its shape. Out: a `Policy` that is consistent in itself. It also
limits what no epsilon covers: whether a question ends, and when (`SideChannels`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
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
    PracticePolicy,
    read_append_only,
    read_budgets,
    read_database_limits,
    read_mirror,
    read_practice,
)
from planner.policy.toml_section import UNQUOTED, DomainValue, TableNames, TomlSection, read_pattern, read_schemas
from planner.schema import PUBLIC, ForeignKey, name_parts
from privacy.truncation.solver_name import SolverName

DEFAULT_MIN_EPSILON = 1e-3
ANSWER_QUANTUM_S = 1.0
_LONGEST_QUANTUM_S = 60.0


@dataclass(frozen=True)
class SideChannels:
    """The settings in `[privacy]` on outputs that no epsilon covers; the defaults are safe.

    Attributes:
      min_epsilon: the least epsilon that one query may ask for, in [1e-4, epsilon]. That a query did not fail reveals
        a little, which no epsilon pays for. So this limits how many an account can ask: at 1e-3, with a budget of
        10, ten thousand.
      unbounded_joins: may private tables meet by other conditions than keys (`planner.sensitivity.join_size`)?
      max_join_tuples: a query is refused if its public bound on join tuples is larger, or unknown; None: no limit.
      answer_quantum_s: the release interval in seconds. Answers of joins in which one person's rows may multiply
        leave after 8 intervals; at a larger epsilon after 1, 2, 4, ... of them. At 0 answers leave when they are
        ready, and such joins cost `max_epsilon`.
      hold_all_answers: do all other answers wait for a release time as well?
    """

    min_epsilon: float = DEFAULT_MIN_EPSILON
    unbounded_joins: bool = False
    max_join_tuples: int | None = None
    answer_quantum_s: float = ANSWER_QUANTUM_S
    hold_all_answers: bool = False


def read_side_channels(privacy: TomlSection, epsilon: float) -> SideChannels:
    """Read these settings; the default charge `epsilon` is always allowed. Raises: PolicyInvalid."""
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
"""Prefixes that name a database rather than a file."""


@dataclass(frozen=True)
class ColumnPolicy:
    """What the administrator declares of one column.

    Attributes:
      range: (lo, hi) of a number; every value is clamped to it in SQL before it is summed.
      dates: the first and last day of a date or timestamp; written as `range`, too.
      domain: the values that may appear as group keys.
      step: the distance between group keys within the range: a whole number; for dates `day`, `week`, `month`,
        `quarter` or `year`.
      other: the group of values outside the domain and of NULL; without it their rows are dropped.
      null_group: is NULL a group of its own, as in SQL? Otherwise its rows are dropped, unless `other` takes them.
      discover: may partition selection find group keys among private rows? Only values that enough privacy units
        share are shown, at the price of a delta (docs/mathematics.md, section 5.4). Unless set, as in `[privacy]`.
      format: of a private column of texts that hold dates, such as `DD/MM/YYYY`: in every question the column is a
        date, and a text of another form is NULL. With hours, as `YYYY-MM-DD HH24:MI:SS`, it is a timestamp. A
        list has several forms; no text may state two dates.
      extent: the ends that a computed column has by its type, on which conditions rely; nothing is clamped to them.
      added: of a sum per person: what it is clamped to before it is summed. Ranks and group keys need the shorter
        `range`.
    """

    range: tuple[float, float] | None = None
    domain: tuple[DomainValue, ...] | None = None
    dates: tuple[date, date] | None = None
    step: int | str | None = None
    other: DomainValue | None = None
    null_group: bool = False
    discover: bool | None = None
    format: str | tuple[str, ...] | None = None
    extent: tuple[float, float] | None = None
    added: tuple[float, float] | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of a text that holds a date; none for other columns."""
        return (self.format,) if isinstance(self.format, str) else self.format or ()


_UNDECLARED = ColumnPolicy()


@dataclass(frozen=True)
class TablePolicy:
    """What the administrator declares of one table; a table without a section cannot be queried.

    Attributes:
      public: does no row say anything about a person?
      columns: per column.
      rows_per_unit: per privacy-unit relation, the most rows of the table that one unit owns; rows beyond a key's
        `depth` do not matter. If a unit owns more, a question on a sample is charged too little (planner/README.md,
        Declared bounds).
      rows_are_units: is a row whose owning foreign keys are all NULL a privacy unit of its own? Then each such row is
        protected, and not a person who has several. Otherwise it has no owner, and no answer counts it.
      rows: the most rows of the table, a public number; None declares nothing.
      keys: columns that identify a row without a constraint. Questions are answered once the rows of this data
        version have been checked, and refused until then (server/policy/verified_keys.py).
      one_owner: columns that determine the owner: rows that share them have one owner, as the lines of an order. Rows
        of one order may then be looked for in joins, EXISTS and IN. No privacy rests on it: only rows of one owner
        meet.
      accepted_null_owners: the most rows without an owner that `policy check` accepts without a warning; no answer
        counts them.
      parquet: for a folder of Parquet files: the glob of this table's files, from that folder on; None: files with
        the table's name.
      append_only: the column by which rows only grow; None declares nothing (`planner.policy.sections`).
      clip: how much of one person counts: of the table's `rows`, of those in a month (`rows_per_month`, likewise day,
        week or year), and of the sum of a column's absolute values. The rest is clipped, and the number of clipped
        people is released.
      at_most: what no person exceeds, of the same quantities. Only accuracy rests on it: intervals cover the truth if
        it holds.
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
    one_owner: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class DeclaredForeignKey:
    """A foreign key that the policy adds to the catalog's, or whose ownership or fan-out it sets.

    Attributes:
      table, columns, references, key: `columns` of `table` reference `key` of `references`.
      owning: does the parent's owner own the row?
      fanout: the most rows of `table` that share the same values in `columns`; None declares nothing. If more
        do, a question on a sample is charged too little (planner/README.md, Declared bounds).
      depth: for a self-reference or a circle: how often ownership follows the key on one path. Rows with a longer
        chain are left out of every answer, since their owner is unknown.
      accepted_orphans: the most rows without their parent that `policy check` accepts; above that number it fails.
        No answer changes.
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


_NO_PART = frozenset({"mirror", "practice", "question_key_file"})
"""Fields outside the hash: no answer and no charge depends on them."""

_BESIDE_ANSWERS = {"ledger_path", "budgets", "database_limits", "side_channels", "epsilon", "max_epsilon", "delta"}
"""Fields that decide whether a question is answered, and at what charge. Its plan holds the charge."""


def _content(value: object) -> Any:
    """The settings that differ from their defaults, so that a new setting changes no older policy's hash."""
    if is_dataclass(value):
        set_ = ((one, getattr(value, one.name)) for one in fields(value) if one.name not in _NO_PART)
        return {one.name: _content(held) for one, held in set_ if held != _default(one)}
    if isinstance(value, Mapping):
        return {name: _content(held) for name, held in value.items()}
    return [_content(held) for held in value] if isinstance(value, tuple) else value


def _sha256(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _default(one: Field[Any]) -> object:
    return one.default_factory() if one.default_factory is not MISSING else one.default


@dataclass(frozen=True)
class Policy:
    """One policy file, not yet compared with a catalog (`planner.policy.validate`).

    Attributes:
      name: of the dataset.
      database_url: a reference to a secret, `env:NAME` or `file:PATH`; or a URL without a password.
      ledger_path: the ledger's file; or, as `[ledger] url`, a reference to a database that several proxies share.
      epsilon: the default charge of a query.
      max_epsilon: the most epsilon of one query; the default charge unless set.
      delta: the default delta of one query, and the most.
      global_sensitivity: for r2t only: the most that one unit adds to an answer, in full weights; or None.
      privacy_units: the key columns of each privacy-unit relation.
      foreign_keys: declared ones.
      tables: per table that may be queried.
      time_grain: what now() is rounded down to, one of `planner.policy.policy.GRAINS`.
      groups_per_unit: per privacy-unit relation, the most groups in which one unit's rows count; rows in further
        groups are left out. It bounds the noise where each row has one owner.
      minimum_frequency: groups with a smaller noisy number of privacy units are withheld; None shows all.
      budgets: the default budgets.
      side_channels: limits on what durations and failures show.
      database_limits: the most that one question may take of the database.
      schemas: the search path: the schemas in which an unqualified table name is looked for, in order.
      solver: of truncation: `certified`, or `reference`, which tries the library cvxpy first if the program is small.
        The same check proves each result, so the privacy is the same.
      mirror: where a copy of the tables is, if any.
      practice: the size and shape of the practice database.
      question_key_file: the file with the keys that encrypt question texts before the ledger keeps them; None: it
        keeps none.
      discover: may partition selection find group keys in every private column that does not say `discover = false`?
        Any column would be (epsilon, delta)-DP. But delta is then the chance that an answer shows a value that one
        person alone has, word for word. So the administrator decides.
      audience: on the practice database, the analyst whose own answers alone are free; empty elsewhere.
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
    practice: PracticePolicy = field(default=PracticePolicy())
    question_key_file: str | None = None
    discover: bool = False
    audience: str = ""

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """The schemas whose catalogs the proxy reads: the search path, then those of named tables."""
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
        """SHA-256 of the canonical content of the file, without layout and comments."""
        return self.facts_hash

    @cached_property
    def facts_hash(self) -> str:
        """SHA-256 of everything that plans rely on: what the file says, and the public facts of `beside`."""
        return _sha256(_content(self))

    def relied_on(self, tables: Collection[str]) -> str:
        """SHA-256 of what answers over some tables depend on, besides their plans: no budgets, limits or charges.

        An answer is free as long as this hash and its plan are the same, so other edits of the policy charge nothing
        again.

        Args:
          tables: of the question, and those through which their rows are owned.
        """
        file = self.__dict__.get("file", self)
        read = {name: replace(one, accepted_null_owners=None) for name, one in file.tables.items() if name in tables}
        keys = [replace(key, accepted_orphans=None) for key in file.foreign_keys if key.table in tables]
        content = _content(replace(file, tables=read, foreign_keys=tuple(keys)))
        return _sha256({name: held for name, held in content.items() if name not in _BESIDE_ANSWERS})

    @property
    def delta_of_analyst(self) -> float:
        """The delta of a new analyst if none is given: that of the default budget, else of one query."""
        return self.delta if self.budgets.analyst is None else self.budgets.analyst.delta

    @property
    def acknowledged(self) -> tuple[str, ...]:
        """The rows that the administrator accepts to be left out or counted otherwise, a sentence each, for the
        ledger.
        """
        orphans = [
            f"{key.table} ({', '.join(key.columns)}): {key.accepted_orphans} rows without their {key.references}"
            for key in self.foreign_keys
            if key.accepted_orphans is not None
        ]
        ownerless = [
            f"{name}: {declared.accepted_null_owners} rows without an owner"
            for name, declared in self.tables.items()
            if declared.accepted_null_owners is not None
        ]
        return tuple(sorted(orphans + ownerless))

    def column(self, table: str, column: str) -> ColumnPolicy:
        """What the policy declares of the column; nothing unless the file has it."""
        declared = self.tables.get(table)
        return declared.columns.get(column, _UNDECLARED) if declared else _UNDECLARED

    def discovers(self, table: str, column: str) -> bool:
        """May partition selection show values of the column?"""
        own = self.column(table, column).discover
        return self.discover if own is None else own

    def beside(self, tables: Mapping[str, TablePolicy]) -> Policy:
        """The same policy with the same hash, with public facts of tables or of per-person subqueries."""
        policy = replace(self, tables={**self.tables, **tables})
        policy.__dict__.update(hash=self.hash, file=self.__dict__.get("file", self))
        return policy

    def is_public(self, table: str) -> bool:
        """Does the policy declare the table public? Not by default."""
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
    discover = privacy.flag("discover", False)
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
        tables={names.read(tables, one): _table(tables.section(one), names, discover) for one in tables.names()},
        time_grain=privacy.choice("time_grain", GRAINS, "day"),
        groups_per_unit=_counts(groups, names),
        minimum_frequency=privacy.count("minimum_frequency"),
        budgets=read_budgets(document.section("budgets")),
        side_channels=read_side_channels(privacy, epsilon),
        solver="reference" if privacy.choice("solver", SOLVERS, "certified") == "reference" else "certified",
        schemas=schemas,
        database_limits=read_database_limits(database),
        mirror=read_mirror(document.section("mirror")),
        practice=read_practice(document.section("practice")),
        question_key_file=ledger.text("question_key_file") if "question_key_file" in ledger.names() else None,
        discover=discover,
    )
    for section in (document, database, ledger, privacy):
        section.finish()
    _check_numbers(policy)
    return policy


def _ledger(section: TomlSection) -> str:
    if "url" not in section.names():
        path = section.text("path", "ledger.sqlite")
        if path.startswith(_REFERENCES):
            raise section.problem("path", "must be a file; use `url` for a database")
        return path
    url = _secret(section.text("url"), "ledger.url")
    if not url.startswith(_REFERENCES):
        raise section.problem("url", "must name a database: env:NAME, file:PATH or postgresql://...")
    return url


def _secret(url: str, setting: str = "database.url") -> str:
    if url.startswith(("env:", "file:")):
        return url
    advice = "use a reference: env:NAME or file:PATH"
    try:
        parts = urlsplit(url)
        secret = parts.password is not None or any(key.lower() == "password" for key, _ in parse_qsl(parts.query))
    except ValueError:
        raise PolicyInvalid(f"{setting} is not a URL: {advice}") from None
    if secret or "password" in url.lower():
        raise PolicyInvalid(f"{setting} holds a password: {advice}")
    if not parts.scheme:
        raise PolicyInvalid(f"{setting} is not a URL: {advice}")
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
        raise section.problem("depth", "has no meaning with owning = false")
    if foreign_key.accepted_orphans is not None and not foreign_key.owning:
        raise section.problem("accepted_orphans", "has no meaning with owning = false: such a key loses no row")
    return foreign_key


def _table(section: TomlSection, names: TableNames, discover: bool) -> TablePolicy:
    columns = section.section("columns")
    public = section.flag("public", False)
    rows_are_units = section.flag("rows_are_units", False)
    units = section.section("rows_per_unit")
    rows, ownerless = section.count("rows"), section.count("accepted_null_owners")
    keys, parquet, grows = section.keys("keys"), read_pattern(section), read_append_only(section)
    one_owner = section.keys("one_owner")
    clip, at_most = _amounts(section, "clip"), _amounts(section, "at_most")
    for name in clip.keys() & at_most.keys():
        if clip[name] > at_most[name]:
            raise section.problem("clip", f"{name} must not exceed that of at_most")
    if section.nested():
        inner = section.nested()[0]
        raise section.problem(inner, f'{UNQUOTED}: [tables."SCHEMA.{inner}"]')
    section.finish()
    declared = {name: _column(columns.section(name), discover) for name in columns.names()}
    per_unit = _counts(units, names)
    return TablePolicy(
        public, declared, per_unit, rows_are_units, rows, keys, ownerless, parquet, grows, clip, at_most, one_owner
    )


ROWS = "rows"
"""In `clip` and `at_most`: the number of a person's rows in the table."""

ROWS_PER = {f"rows_per_{unit}": unit for unit in ("day", "week", "month", "year")}
"""In `clip` and `at_most`: the number of a person's rows in one day, week, ..., by the column of `append_only`.

Any other name is a column.
"""


def _amounts(section: TomlSection, key: str) -> dict[str, float]:
    if key in section.names() and key not in section.nested():
        raise section.problem(key, f"must be a table of amounts, as in {key} = {{rows = 40, cost = 9000}}")
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


def _column(section: TomlSection, discover: bool) -> ColumnPolicy:
    """Without `[privacy] discover`, `discover = false` says nothing, and the hash is that of a policy without it."""
    dates = section.days("range")
    opted_out = discover and "discover" in section.names()
    column = ColumnPolicy(
        range=None if dates else section.interval("range"),
        domain=section.values("domain"),
        dates=dates,
        step=section.step("step"),
        other=section.value("other"),
        null_group=section.flag("null_group", False),
        discover=section.flag("discover", False) or (False if opted_out else None),
        format=section.date_form("format"),
    )
    section.finish()
    return column


def _check_numbers(policy: Policy) -> None:
    if not policy.privacy_units:
        raise PolicyInvalid("privacy_units: name at least one relation with its key; without one nobody is protected")
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
"""The values of `time_grain`."""
