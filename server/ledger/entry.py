"""Entries, the only thing that is written down: their kinds, contents and JSON form.

All other tables follow from the entries. A new kind needs a member of `EntryKind`, a class in `EntryContent`, a write
in `writes/` and a case in `verify.py`. The type checker names every place that lacks one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeAlias, get_args

from server.ledger.account import Accounting
from server.ledger.charge import shown_ms
from server.ledger.terms import Terms


class EntryKind(StrEnum):
    """The kinds of entries. They stand in the hash chain, so none may ever be renamed."""

    OPENED = "opened"
    RESERVED = "reserved"
    COMMITTED = "committed"
    FAILED = "failed"
    RELEASED = "released"
    CRASHED = "crashed"
    ANALYST = "analyst"
    KEY = "key"
    ROLE = "role"
    ENABLED = "enabled"
    DISABLED = "disabled"
    GROUP = "group"
    GRANT = "grant"
    POLICY = "policy"
    DATA = "data"
    CHECKED = "checked"
    PERIODS = "periods"
    RESTORED = "restored"
    CLOCK = "clock"
    RENEWED = "renewed"
    TUNING = "tuning"
    TUNED = "tuned"

    @property
    def is_act(self) -> bool:
        """Is it an act of an administrator or of the proxy itself? Other entries belong to questions, and their times
        depend on the data.
        """
        return self not in _OF_QUESTIONS


_OF_QUESTIONS = frozenset(
    {EntryKind.RESERVED, EntryKind.COMMITTED, EntryKind.FAILED, EntryKind.RELEASED, EntryKind.CRASHED}
)


@dataclass(frozen=True)
class _Content:
    """The base of all contents. A field whose default is None is left out of the JSON when it is None."""

    kind: ClassVar[EntryKind]

    @property
    def json(self) -> dict[str, object]:
        """The JSON form: strings, whole numbers, booleans, None, and lists and objects of them."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in values.items() if value is not None or default is not None}

    @classmethod
    def arguments(cls, said: Mapping[str, Any]) -> dict[str, Any]:
        """The constructor's arguments from the JSON form; fields of later versions are ignored."""
        return {field.name: said[field.name] for field in fields(cls) if field.name in said}

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse a content. Raises: as `entry_content`."""
        return cls(**cls.arguments(json.loads(text)))


@dataclass(frozen=True, kw_only=True)
class _Act(_Content):
    """The base of all acts: who did it, and why."""

    by: str
    reason: str


@dataclass(frozen=True)
class Opened(_Content):
    """The first entry: the ledger's id."""

    kind = EntryKind.OPENED
    ledger: str


@dataclass(frozen=True, kw_only=True)
class Reserved(_Content):
    """A charge taken from its accounts. The fields are those of `Charge`, with amounts rounded up to whole numbers.

    Attributes:
      event: as `charge_rows.save_event` writes it.
      request_hash: None in charges from before it was recorded.
      accounts: by name: the accounting, and the start of the window in milliseconds since the epoch.
      amounts: by accounting: what was taken, as `privacy.accounting.amounts` writes it.
      sealed_question: the encrypted question text (`question_texts.py`), or None.
    """

    kind = EntryKind.RESERVED
    charge: int
    analyst: str
    nano_epsilon: int
    atto_delta: int
    event: Mapping[str, object] | None
    request_id: str
    policy_hash: str
    plan_hash: str
    mechanism: str
    answer_key: str
    repeats: int | None
    idempotency_key: str
    request_hash: str | None = None
    accounts: Mapping[str, Sequence[Any]]
    amounts: Mapping[Accounting, Mapping[str, object]]
    sealed_question: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Settlement(_Content):
    """The end of a charge.

    Attributes:
      answer: SHA-256 of the cached answer in hex, or None.
      analyst, plan_hash: of a failure that counts against the limit; otherwise None.
    """

    charge: int
    answer: str | None
    analyst: str | None = None
    plan_hash: str | None = None


class Committed(_Settlement):
    """The question was answered."""

    kind = EntryKind.COMMITTED


class Failed(_Settlement):
    """The question was not answered, though private rows could have been read."""

    kind = EntryKind.FAILED


class Released(_Settlement):
    """The charge was given back: no private row was read."""

    kind = EntryKind.RELEASED


class Crashed(_Settlement):
    """The process ended before it settled the charge."""

    kind = EntryKind.CRASHED


@dataclass(frozen=True, kw_only=True)
class _OfAnalyst(_Act):
    analyst: str


@dataclass(frozen=True, kw_only=True)
class AnalystAdded(_OfAnalyst):
    """A new analyst; `credentials` is a fingerprint."""

    kind = EntryKind.ANALYST
    role: str
    group: str | None
    credentials: str


@dataclass(frozen=True, kw_only=True)
class KeyChanged(_OfAnalyst):
    """A new key; `credentials` is its fingerprint."""

    kind = EntryKind.KEY
    credentials: str


@dataclass(frozen=True, kw_only=True)
class RoleChanged(_OfAnalyst):
    """A new role of an analyst."""

    kind = EntryKind.ROLE
    role: str


@dataclass(frozen=True, kw_only=True)
class Enabled(_OfAnalyst):
    """The analyst may ask. In older ledgers `enabled` is 0 for an analyst who was disabled."""

    kind = EntryKind.ENABLED
    enabled: int


@dataclass(frozen=True, kw_only=True)
class Disabled(_OfAnalyst):
    """The analyst may not ask: `enabled` is 0."""

    kind = EntryKind.DISABLED
    enabled: int


@dataclass(frozen=True, kw_only=True)
class GroupChanged(_OfAnalyst):
    """The analyst's new group, whose account also pays; or None."""

    kind = EntryKind.GROUP
    group: str | None


@dataclass(frozen=True, kw_only=True)
class Granted(_Act):
    """The grant of an account. The JSON has the fields of `terms` beside the others."""

    kind = EntryKind.GRANT
    account: str
    terms: Terms

    @property
    def json(self) -> dict[str, object]:
        """The flat JSON form, as of every content."""
        return {"account": self.account, "by": self.by, "reason": self.reason} | self.terms.content

    @classmethod
    def arguments(cls, said: Mapping[str, Any]) -> dict[str, Any]:
        """The constructor's arguments, as of every content."""
        terms = Terms(**{field.name: said[field.name] for field in fields(Terms) if field.name in said})
        return {"account": said["account"], "terms": terms, "by": said["by"], "reason": said["reason"]}


@dataclass(frozen=True, kw_only=True)
class PolicyAccepted(_Act):
    """A policy is in force from now on.

    Attributes:
      ownership: the foreign keys through which rows are owned; None in entries from before it was recorded.
      weakens: what protects less than under the policy before.
      acknowledged: the reductions of contributions that the administrator has acknowledged, or None.
    """

    kind = EntryKind.POLICY
    policy_hash: str
    ownership: Sequence[str] | None = None
    weakens: Sequence[str]
    acknowledged: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class DataBumped(_Act):
    """A new data version; `mirror` names the copy that was made of it, if any."""

    kind = EntryKind.DATA
    version: int
    mirror: str | None = None


@dataclass(frozen=True, kw_only=True)
class KeysChecked(_Act):
    """Declared keys without a constraint were counted over all rows, and each value occurs once.

    Attributes:
      version: the data version that was counted.
      fingerprint: of the database's structure at that time.
    """

    kind = EntryKind.CHECKED
    version: int
    fingerprint: str
    keys: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class PeriodsNoted(_Act):
    """Which periods of append-only tables are closed in a data version, and since when their rows are unchanged.

    No other table follows from it. Digests are made with a key that the administrator stores beside the policy.

    Attributes:
      version: the data version that was read.
      fingerprint: of the database's structure at that time.
      key: a hash of the key of the digests.
      nonce: random, part of all digests of this entry; empty in older entries.
      loads: the data versions with such an entry, with their fingerprints; the newest last.
      tables: by append-only table: `before`, the first day that is not closed; `column`, the day column, which older
        entries lack; `ways`, by the name of a chain of references (`planner.reuse.period_scope`): `shape`, a hash of
        what was read, and `periods`, by name (`server.answers.periods.noted_periods`): the version since which it is
        unchanged, and its digest.
      whole: by public table: `shape`, `since` and `digest`.
      reopened: table, period and version of each period that the administrator reported as changed.
    """

    kind = EntryKind.PERIODS
    version: int
    fingerprint: str
    key: str
    loads: Sequence[Sequence[Any]]
    tables: Mapping[str, Mapping[str, Any]]
    whole: Mapping[str, Mapping[str, Any]]
    reopened: Sequence[Sequence[Any]]
    nonce: str = ""


@dataclass(frozen=True, kw_only=True)
class Restored(_Act):
    """The ledger was restored from a copy that lacks `missing` entries; None: the number is unknown."""

    kind = EntryKind.RESTORED
    missing: int | None


@dataclass(frozen=True, kw_only=True)
class ClockNoted(_Act):
    """The clock is behind the ledger (`writes/clock.py`); both fields are in milliseconds."""

    kind = EntryKind.CLOCK
    offset_ms: int
    behind_ms: int


@dataclass(frozen=True, kw_only=True)
class Renewed(_Act):
    """An account is reset: its current period has this number (`terms.Periods`)."""

    kind = EntryKind.RENEWED
    account: str
    period: int


@dataclass(frozen=True, kw_only=True)
class Tuning(_Act):
    """An epsilon is reserved to measure contributions, before a row is read. Everybody may see the result.

    Attributes:
      tuning: its number, from 1 without gaps.
      nano_epsilon: its cost, rounded up.
      version: the data version that is measured.
      policy_hash: the policy that declares who owns which rows.
      measures: what is measured per person: a table, and `rows` or a column.
      accounts, amounts: as in `Reserved`: the dataset's account, or none if there is none.
    """

    kind = EntryKind.TUNING
    tuning: int
    nano_epsilon: int
    version: int
    policy_hash: str
    measures: Sequence[Sequence[str]]
    accounts: Mapping[str, Sequence[Any]]
    amounts: Mapping[Accounting, Mapping[str, object]]


@dataclass(frozen=True, kw_only=True)
class Tuned(_Act):
    """The end of a tuning.

    Attributes:
      tuning: its number.
      histograms: the released ones (`server.ledger.tuning`), in the order of `measures`. None: no private row was
        read, and the epsilon is given back.
    """

    kind = EntryKind.TUNED
    tuning: int
    histograms: Sequence[Mapping[str, Any]] | None = None


Settlement: TypeAlias = Committed | Failed | Released | Crashed

EntryContent: TypeAlias = (
    Opened
    | Reserved
    | Settlement
    | AnalystAdded
    | KeyChanged
    | RoleChanged
    | Enabled
    | Disabled
    | GroupChanged
    | Granted
    | PolicyAccepted
    | DataBumped
    | KeysChecked
    | PeriodsNoted
    | Restored
    | ClockNoted
    | Renewed
    | Tuning
    | Tuned
)
"""All contents. Code that branches over it ends with `assert_never`, so the type checker finds a missing case."""

_CLASSES: dict[str, type[EntryContent]] = {one.kind: one for one in get_args(EntryContent)}


def entry_content(kind: str, text: str) -> EntryContent:
    """Parse a stored content. It checks that fields are present, not their values.

    Raises: ValueError for an unknown kind; KeyError or TypeError for a missing field.
    """
    if kind not in _CLASSES:
        raise ValueError(f"no entry is of the kind {kind}")
    return _CLASSES[kind].read(text)


@dataclass(frozen=True)
class Entry:
    """One entry of the ledger.

    Attributes:
      number: from 1 without gaps.
      at_ms: milliseconds since the epoch; never before the previous entry.
      content: as stored (`EntryContent`); the hash covers this form.
      hash: SHA-256 over the previous entry's hash and the canonical encoding of the other fields, 32 bytes.
    """

    number: int
    at_ms: int
    kind: EntryKind
    content: Mapping[str, object]
    hash: bytes

    @property
    def shown_at_ms(self) -> int:
        """The time that may be shown: exact for administrators' acts, rounded to the hour where it depends on the
        data.
        """
        exactly = self.kind.is_act and self.kind is not EntryKind.TUNED
        return self.at_ms if exactly else shown_ms(self.at_ms)


@dataclass(frozen=True)
class Verification:
    """The result of verifying the whole ledger.

    Attributes:
      entries: how many entries are valid.
      head: the hash of the last valid entry, in hex. Noted elsewhere, it proves the ledger up to there.
      fault: what is wrong, or None.
    """

    entries: int
    head: str
    fault: str | None
