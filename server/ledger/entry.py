"""An entry, the only thing that is ever written down: what it says, by its kind, and its JSON form.

Everything else in the ledger follows from the entries. A new kind is a member of `EntryKind` and a class of
`EntryContent` here, a write (`writes/`), and what follows from it (`verify.py`); the type checker names every place
that has not decided about it.
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
    """The kinds of entries, as the chain of hashes holds them; none may ever be renamed."""

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
        """Was it done by a custodian or by the proxy itself? Otherwise it belongs to a question, so that when it was
        written depends on the data."""
        return self not in _OF_QUESTIONS


_OF_QUESTIONS = frozenset(
    {EntryKind.RESERVED, EntryKind.COMMITTED, EntryKind.FAILED, EntryKind.RELEASED, EntryKind.CRASHED}
)


@dataclass(frozen=True)
class _Content:
    """What every kind has; a field that is None by default is left out of the JSON where it is None."""

    kind: ClassVar[EntryKind]

    @property
    def json(self) -> dict[str, object]:
        """Strings, whole numbers, booleans, None, and lists and objects of them."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in values.items() if value is not None or default is not None}

    @classmethod
    def arguments(cls, said: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the class in its JSON form; fields of later versions are left aside."""
        return {field.name: said[field.name] for field in fields(cls) if field.name in said}

    @classmethod
    def read(cls, text: str) -> Self:
        """The content that a text has. Raises: as `entry_content`."""
        return cls(**cls.arguments(json.loads(text)))


@dataclass(frozen=True, kw_only=True)
class _Act(_Content):
    """What is done on somebody's word: who did it, and why."""

    by: str
    reason: str


@dataclass(frozen=True)
class Opened(_Content):
    """The first entry: which ledger this is."""

    kind = EntryKind.OPENED
    ledger: str


@dataclass(frozen=True, kw_only=True)
class Reserved(_Content):
    """A charge taken from its accounts; the fields are those of `Charge`, its amounts rounded up to whole numbers.

    Attributes:
      charge: its number.
      event: as `charge_rows.save_event` writes it.
      request_hash: None in charges that are older than it.
      accounts: by name: the accounting, and when the window began, in milliseconds since the epoch.
      amounts: by accounting: what was taken, as `privacy.accounting.amounts` writes it.
      sealed_question: the words of the question, sealed (`question_texts.py`); None where they are not kept.
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
    """What became of a charge.

    Attributes:
      charge: its number.
      answer: SHA-256 of the answer that is kept, in hex.
      analyst, plan_hash: of a failure that counts against the limit; None for all other settlements.
    """

    charge: int
    answer: str | None
    analyst: str | None = None
    plan_hash: str | None = None


class Committed(_Settlement):
    """The question was answered."""

    kind = EntryKind.COMMITTED


class Failed(_Settlement):
    """It was not answered, though private rows could have been read."""

    kind = EntryKind.FAILED


class Released(_Settlement):
    """The charge was given back: no private row was read."""

    kind = EntryKind.RELEASED


class Crashed(_Settlement):
    """The process ended in between."""

    kind = EntryKind.CRASHED


@dataclass(frozen=True, kw_only=True)
class _OfAnalyst(_Act):
    analyst: str


@dataclass(frozen=True, kw_only=True)
class AnalystAdded(_OfAnalyst):
    """A new analyst; `credentials` is their fingerprint."""

    kind = EntryKind.ANALYST
    role: str
    group: str | None
    credentials: str


@dataclass(frozen=True, kw_only=True)
class KeyChanged(_OfAnalyst):
    """Other credentials, by their fingerprint."""

    kind = EntryKind.KEY
    credentials: str


@dataclass(frozen=True, kw_only=True)
class RoleChanged(_OfAnalyst):
    """What the analyst's key opens."""

    kind = EntryKind.ROLE
    role: str


@dataclass(frozen=True, kw_only=True)
class Enabled(_OfAnalyst):
    """The analyst may ask. In older ledgers `enabled` is 0 where the analyst was disabled."""

    kind = EntryKind.ENABLED
    enabled: int


@dataclass(frozen=True, kw_only=True)
class Disabled(_OfAnalyst):
    """The analyst may not ask: `enabled` is 0."""

    kind = EntryKind.DISABLED
    enabled: int


@dataclass(frozen=True, kw_only=True)
class GroupChanged(_OfAnalyst):
    """The group that pays beside the analyst, or none."""

    kind = EntryKind.GROUP
    group: str | None


@dataclass(frozen=True, kw_only=True)
class Granted(_Act):
    """What an account may spend; the JSON has the fields of its terms beside the others."""

    kind = EntryKind.GRANT
    account: str
    terms: Terms

    @property
    def json(self) -> dict[str, object]:
        """As of every content, flat."""
        return {"account": self.account, "by": self.by, "reason": self.reason} | self.terms.content

    @classmethod
    def arguments(cls, said: Mapping[str, Any]) -> dict[str, Any]:
        """As of every content."""
        terms = Terms(**{field.name: said[field.name] for field in fields(Terms) if field.name in said})
        return {"account": said["account"], "terms": terms, "by": said["by"], "reason": said["reason"]}


@dataclass(frozen=True, kw_only=True)
class PolicyAccepted(_Act):
    """The policy in force from now on; what makes rows people's own, or None (not noted); what is weaker; which rows
    the custodian knows to be counted less than others, or None."""

    kind = EntryKind.POLICY
    policy_hash: str
    ownership: Sequence[str] | None = None
    weakens: Sequence[str]
    acknowledged: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class DataBumped(_Act):
    """The data is a new load, of this version; `mirror` names the copy that was made of it, where one was."""

    kind = EntryKind.DATA
    version: int
    mirror: str | None = None


@dataclass(frozen=True, kw_only=True)
class KeysChecked(_Act):
    """Keys that no constraint enforces have been counted over all rows, and none is held twice.

    Attributes:
      version: of the data that was counted.
      fingerprint: of the database's structure then.
    """

    kind = EntryKind.CHECKED
    version: int
    fingerprint: str
    keys: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class PeriodsNoted(_Act):
    """Which periods of append-only tables are closed in a version of the data, and since when they are as they are.

    No row follows from it: digests are made with a key that the custodian keeps beside the policy.

    Attributes:
      version: of the data that was read.
      fingerprint: of the database's structure then.
      key: which key the digests are made with, by a hash of it.
      nonce: random, in all digests of this entry; empty in entries of versions that had none.
      loads: the versions of which this was noted, with their fingerprints; the newest last.
      tables: by append-only table: `before`, the first day that is not closed; `ways`, by the name of a chain of
        references (`planner.reuse.period_scope`): `shape`, a hash of what was read, and `periods`, by the name of
        each (`server.answers.periods.noted_periods`), the version since which it is so, and its digest.
      whole: by public table: `shape`, `since` and `digest`.
      reopened: what the custodian has called changed, or would not vouch for: table, period and version.
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
    """The ledger was restored from a copy that lacks so many entries; None: nothing told how many."""

    kind = EntryKind.RESTORED
    missing: int | None


@dataclass(frozen=True, kw_only=True)
class ClockNoted(_Act):
    """The clock is behind the ledger (`writes/clock.py`); both in milliseconds."""

    kind = EntryKind.CLOCK
    offset_ms: int
    behind_ms: int


@dataclass(frozen=True, kw_only=True)
class Renewed(_Act):
    """An account starts again from nothing: the period that it is in now has this number (`terms.Periods`)."""

    kind = EntryKind.RENEWED
    account: str
    period: int


@dataclass(frozen=True, kw_only=True)
class Tuning(_Act):
    """An epsilon is taken for counting how much people have, before a row is read. Everybody sees what it finds.

    Attributes:
      tuning: its number, from 1 without gaps.
      nano_epsilon: what it spends, rounded up.
      policy_hash: of the policy that says whose rows are counted.
      measures: what is counted of each person: a table, and `rows` or a column.
      accounts, amounts: as of `Reserved`: the dataset's account, or none where there is none.
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
    """What a tuning came to.

    Attributes:
      tuning: its number.
      histograms: the released ones (`server.ledger.tuning`), in the order of its measures; None: no private row was
        read, so the epsilon is given back.
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
"""All of them: what branches over it ends with `assert_never`, so the type checker finds a branch that is missed."""

_CLASSES: dict[str, type[EntryContent]] = {one.kind: one for one in get_args(EntryContent)}


def entry_content(kind: str, text: str) -> EntryContent:
    """The content of an entry as it is stored; of the values nothing is checked but that they are there.

    Raises: ValueError for a kind that there is not; KeyError or TypeError for a field that is missing.
    """
    if kind not in _CLASSES:
        raise ValueError(f"no entry is of the kind {kind}")
    return _CLASSES[kind].read(text)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Attributes:
      number: from 1 without gaps.
      at_ms: milliseconds since the epoch; never before the entry before it, whatever the clock did.
      content: what the kind says (`EntryContent`), as it is stored: the hash is over this form.
      hash: SHA-256 over the previous entry's hash and the canonical encoding of all of the above, 32 bytes.
    """

    number: int
    at_ms: int
    kind: EntryKind
    content: Mapping[str, object]
    hash: bytes

    @property
    def shown_at_ms(self) -> int:
        """When, as it may be shown: exactly for what custodians do, to the hour where it depends on the data."""
        exactly = self.kind.is_act and self.kind is not EntryKind.TUNED
        return self.at_ms if exactly else shown_ms(self.at_ms)


@dataclass(frozen=True)
class Verification:
    """What a walk over the whole ledger found.

    Attributes:
      entries: how many entries hold.
      head: the hash of the last entry that holds, in hex: noted elsewhere, it proves the whole ledger up to there.
      fault: what does not hold, or None.
    """

    entries: int
    head: str
    fault: str | None
