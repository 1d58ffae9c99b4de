"""A new data version, and which closed periods have the same fingerprints as before.

Cached answers do not rest on the policy's word about closed rows. For every new data version, the rows of all periods
that were closed before are fingerprinted again, with the rows that they lead to. If nothing has changed, cached
answers about a period stay valid. Otherwise the period is reopened: only answers of this version on count.

Reopening is public, since questions about the period are charged again. It may show that somebody's old rows were
added or removed. So no data version reopens anything by itself. It is refused, and the administrator is shown which
periods changed. The administrator then decides whether analysts may learn that (`changed`), or reopens all closed
periods alike (`all`). Until then nothing is written, and answers stay about the rows of the last version.

A period without a record, or with another key, other columns or another engine, counts from this version on. That
depends on no row.

Each data version has a random nonce in its digests. Without it, equal digests in two entries of an exported ledger
would show that a month has not changed, and different ones that it has, whatever was reopened.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy
from planner.reuse.period_scope import OWN, ways
from planner.schema import Schema
from server.backends.custody import Custody, Print, WayPrints, day_prints, whole_print
from server.backends.open_custody import open_policy_custody
from server.ledger.analyst import Act
from server.ledger.entry import PeriodsNoted
from server.ledger.ledger import Ledger
from server.policy.calendar import closed_periods, days_of
from server.policy.secrets import key_name, periods_key, resolve

Reopen = Literal["changed", "all"]

_Sign = Callable[[str, str, Print], str]
"""A name, its columns and its rows to their digest, in one data version: `_digest`."""

_VERSIONS = 366
_REOPENED = 100
"""How many versions, and reopened periods, are reported."""


@dataclass(frozen=True)
class TablePrints:
    """What was read of an append-only table.

    Attributes:
      column: the day column by which they are read.
      before: the first day that is not closed.
      first: the first day of its declared range.
      ways: by name, OWN among them.
    """

    column: str
    before: date
    first: date | None
    ways: Mapping[str, WayPrints] = field(repr=False)


@dataclass(frozen=True)
class VersionPrints:
    """What was read of one data version.

    Attributes:
      fingerprint: of the database's structure, and of the state of files.
      tables: by append-only table.
      whole: by public table.
    """

    fingerprint: str
    tables: Mapping[str, TablePrints] = field(repr=False)
    whole: Mapping[str, tuple[str, Print]] = field(repr=False)


def promises(policy: Policy) -> bool:
    """Whether the policy declares a table append-only."""
    return any(declared.append_only is not None for declared in policy.tables.values())


def read_prints(custody: Custody, schema: Schema, policy: Policy, now: datetime) -> VersionPrints:
    """Fingerprint the closed rows of every append-only table, the rows that they lead to, and every public table.

    Args:
      custody, schema: of one snapshot; the schema has the keys that the policy declares.
      now: when the data version was complete: before the snapshot, so that no open row counts as closed.
    Raises: BackendFailed.
    Cost: one scan per table, a join along each way; a hash per row for each.
    """
    today = now.astimezone(UTC).date()
    tables = {}
    for name, declared in policy.tables.items():
        promise, table = declared.append_only, schema.tables.get(name)
        if promise is None or table is None:
            continue
        before = today - timedelta(days=promise.closed_after_days)
        read = day_prints(custody, table, promise.column, before, ways(table, schema, policy))
        dates = policy.column(name, promise.column).dates
        tables[name] = TablePrints(promise.column, before, None if dates is None else dates[0], read)
    public = [name for name, declared in policy.tables.items() if declared.public and name in schema.tables]
    whole = {name: whole_print(custody, schema.tables[name]) for name in public}
    return VersionPrints(schema.fingerprint, tables, whole)


@dataclass(frozen=True)
class Compared:
    """A data version beside the one recorded before.

    Attributes:
      changed: table, way and period of what was closed and has changed; for the administrator alone until it is
        reopened.
      periods: how many periods were compared.
      incomparable: was nothing compared, without an earlier record or with another key?
    """

    changed: tuple[tuple[str, str, str], ...]
    periods: int
    incomparable: bool

    @property
    def subjects(self) -> tuple[str, ...]:
        """What has changed, a line each: `visit, 2025-03`; also the rows that they lead to, if only these changed."""
        own = {(table, period) for table, way, period in self.changed if way == OWN}
        return tuple(
            f"{table}, {period}" + ("" if way == OWN else f": rows of {way.removeprefix('/')}")
            for table, way, period in self.changed
            if way == OWN or (table, period) not in own
        )


def compared(prints: VersionPrints, noted: PeriodsNoted | None, key: bytes) -> Compared:
    """Compare the closed periods with the ledger's record of an earlier version; `key` is that of the digests."""
    if noted is None or noted.key != key_name(key):
        return Compared((), 0, incomparable=True)
    changed: list[tuple[str, str, str]] = []
    seen: set[tuple[str, str, str]] = set()
    sign = partial(_digest, key, noted.nonce)
    for table, way, periods, read in _comparable(prints, noted):
        for period, (_, digest) in periods.items():
            named = (table, way, _called(period, noted, table))
            seen.add(named)
            if sign(f"{table} {way} {period}", read.shape, _of_period(read, period)) != digest:
                changed.append(named)
    return Compared(tuple(dict.fromkeys(changed)), len(seen), incomparable=False)


def _called(period: str, noted: PeriodsNoted, table: str) -> str:
    """A period, or the month of a day whose month is closed: nothing finer is compared, reported or reopened."""
    first, last = days_of(period)
    month = f"{first:%Y-%m}"
    over = first == last and days_of(month)[1] < date.fromisoformat(noted.tables[table]["before"])
    return month if over else period


def noted_version(
    prints: VersionPrints,
    noted: PeriodsNoted | None,
    found: Compared,
    version: int,
    key: bytes,
    reopen: Reopen | None,
    act: Act,
) -> PeriodsNoted:
    """The ledger's record of a data version.

    Args:
      noted: its record of the version before; None if it is not to be continued.
      found: `compared` of both.
      version: of the data.
      reopen: the administrator's decision; needed if something has changed.
    """
    assert not found.changed or reopen is not None, "only the administrator reopens changed periods"
    before = None if noted is None or found.incomparable else noted
    nonce = secrets.token_hex(16)
    sign = partial(_digest, key, nonce)
    held = {} if before is None or reopen == "all" else _held(prints, before, found.changed)
    tables = {
        name: {
            "before": read.before.isoformat(),
            "column": read.column,
            "ways": {
                way: _noted_way(f"{name} {way}", read, prints_of, held.get((name, way), {}), version, sign)
                for way, prints_of in read.ways.items()
            },
        }
        for name, read in prints.tables.items()
    }
    return PeriodsNoted(
        version=version,
        fingerprint=prints.fingerprint,
        key=key_name(key),
        nonce=nonce,
        loads=[*([] if before is None else before.loads), [version, prints.fingerprint]][-_VERSIONS:],
        tables=tables,
        whole={
            name: _noted_whole(name, shape, one, before, version, key, sign)
            for name, (shape, one) in prints.whole.items()
        },
        reopened=[*([] if before is None else before.reopened), *_reopened(before, found, version, reopen)][
            -_REOPENED:
        ],
        by=act.by,
        reason=act.reason,
    )


def _comparable(
    prints: VersionPrints, noted: PeriodsNoted
) -> Iterator[tuple[str, str, Mapping[str, Any], WayPrints]]:
    """The ways with the same columns in both versions, with the periods that were closed and still are."""
    for table, read in prints.tables.items():
        for way, one in read.ways.items():
            told = noted.tables.get(table, {}).get("ways", {}).get(way)
            if told is not None and told["shape"] == one.shape:
                all_closed = date.fromisoformat(noted.tables[table]["before"]) <= read.before
                periods = told["periods"].items()
                still = {name: kept for name, kept in periods if all_closed or days_of(name)[1] < read.before}
                yield table, way, still, one


def _held(
    prints: VersionPrints, noted: PeriodsNoted, changed: Sequence[tuple[str, str, str]]
) -> dict[tuple[str, str], dict[str, int]]:
    """By table and way, the unchanged periods, with the version since which they are unchanged.

    A change in one table reopens the period in all. So what stays free tells which period changed, and not whose
    rows.
    """
    otherwise = [days_of(period) for _, _, period in changed]
    return {
        (table, way): {
            period: int(since)
            for period, (since, _) in periods.items()
            if not _meets(_called(period, noted, table), otherwise)
        }
        for table, way, periods, _ in _comparable(prints, noted)
    }


def _meets(period: str, others: Sequence[tuple[date, date]]) -> bool:
    first, last = days_of(period)
    return any(start <= last and first <= end for start, end in others)


def _noted_way(
    name: str, table: TablePrints, read: WayPrints, held: Mapping[str, int], version: int, sign: _Sign
) -> dict[str, object]:
    """Each period with its digest and the version since which all of its days are unchanged."""
    days = [(days_of(period), since) for period, since in held.items()]
    periods = {
        period: [
            _since(days_of(period), days, version),
            sign(f"{name} {period}", read.shape, _of_period(read, period)),
        ]
        for period in closed_periods(table.before, table.first)
    }
    return {"shape": read.shape, "periods": periods}


def _since(period: tuple[date, date], held: Sequence[tuple[tuple[date, date], int]], version: int) -> int:
    """The newest version among a period's parts; this version if a day of it was not held before."""
    within = [(max(days[0], period[0]), min(days[1], period[1]), since) for days, since in held]
    within = [one for one in within if one[0] <= one[1]]
    covered = sum(last.toordinal() - first.toordinal() + 1 for first, last, _ in within)
    whole = period[1].toordinal() - period[0].toordinal() + 1
    return max((since for _, _, since in within), default=1) if covered == whole else version


def _noted_whole(
    name: str, shape: str, read: Print, noted: PeriodsNoted | None, version: int, key: bytes, sign: _Sign
) -> dict[str, object]:
    told = {} if noted is None else noted.whole.get(name, {})
    before = "" if noted is None else _digest(key, noted.nonce, name, shape, read)
    same = (told.get("shape"), told.get("digest")) == (shape, before)
    since = int(told["since"]) if same else version
    return {"shape": shape, "since": since, "digest": sign(name, shape, read)}


def _reopened(noted: PeriodsNoted | None, found: Compared, version: int, reopen: Reopen | None) -> list[list[object]]:
    """Table, period and version: the same periods for all tables."""
    if noted is None or (reopen != "all" and not found.changed):
        return []
    changed = None if reopen == "all" else [days_of(period) for _, _, period in found.changed]
    every = [
        (table, name)
        for table, told in noted.tables.items()
        for name in (_called(period, noted, table) for period in told["ways"].get(OWN, {}).get("periods", {}))
        if changed is None or _meets(name, changed)
    ]
    return [[table, period, version] for table, period in dict.fromkeys(every)]


def _of_period(read: WayPrints, period: str) -> Print:
    first, last = (day.toordinal() for day in days_of(period))
    return sum((one for day, one in read.days.items() if first <= day <= last), Print())


def _digest(key: bytes, nonce: str, name: str, shape: str, read: Print) -> str:
    """The digest of what was read. A version without a nonce comes from an earlier release of this program."""
    text = f"{shape} {read.count} {read.sums[0]} {read.sums[1]}"
    return hmac.new(key, (f"{nonce} {name} {text}" if nonce else text).encode(), hashlib.sha256).hexdigest()[:32]


_NO_TIMEOUT_MS = 0  # reading all rows takes as long as the tables are large

_NOTHING = Compared((), 0, incomparable=True)


@dataclass(frozen=True)
class Bumped:
    """The outcome of recording a data version.

    Attributes:
      version: of the data; None: nothing was written, since changed periods were not reopened.
      found: the comparison; None if no table is append-only.
      noted: were the closed periods recorded? Not if somebody else recorded a version in between.
    """

    version: int | None
    found: Compared | None = None
    noted: bool = False


def bump_version(
    contract: Policy,
    policy_path: Path,
    ledger: Ledger,
    act: Act,
    reopen: Reopen | None = None,
    at: datetime | None = None,
    record: Callable[[], int] | None = None,
) -> Bumped:
    """Record a new data version, and since when its closed periods are unchanged.

    Args:
      reopen: the administrator's decision on changed periods.
      at: when the data version was complete, which decides what is closed; None: now.
      record: writes the new data version into the ledger, and returns it; None: nothing is made with it.
    Raises: BackendUnavailable, BackendFailed, ConfigurationInvalid, LedgerUnavailable; nothing is written then.
    Cost: as `read_prints`, if a table is append-only.
    """
    record = record or partial(ledger.bump_data, act)
    if not promises(contract):
        return Bumped(record())
    before, noted, key = ledger.data_version(), ledger.noted_periods(), periods_key(policy_path)
    prints = _prints(contract, policy_path, at)
    found = compared(prints, noted, key)
    if found.changed and reopen is None:
        return Bumped(None, found)
    version = record()
    if version != before + 1:
        return Bumped(version, found)
    return Bumped(version, found, ledger.note_periods(noted_version(prints, noted, found, version, key, reopen, act)))


def note_first(contract: Policy, policy_path: Path, ledger: Ledger, act: Act, at: datetime | None = None) -> bool:
    """Record the closed periods of a version without such a record: answers count from this version on.

    It depends on no row. Records of earlier versions are not continued: whether anything has changed since is for
    `bump_version`.

    Returns: was it recorded now?
    Raises: BackendUnavailable, BackendFailed, ConfigurationInvalid, LedgerUnavailable.
    """
    version, noted = ledger.data_version(), ledger.noted_periods()
    if not promises(contract) or (noted is not None and noted.version == version):
        return False
    prints, key = _prints(contract, policy_path, at), periods_key(policy_path)
    return ledger.note_periods(noted_version(prints, None, _NOTHING, version, key, None, act))


def compare_version(contract: Policy, policy_path: Path, custody: Custody, ledger: Ledger) -> Compared | None:
    """Which closed periods have changed since the last record; None without one. For the administrator only.

    Raises: as `note_first`.
    """
    noted = ledger.noted_periods()
    if noted is None or not promises(contract):
        return None
    return compared(_read(contract, custody, None), noted, periods_key(policy_path))


def _prints(contract: Policy, policy_path: Path, at: datetime | None) -> VersionPrints:
    url, now = resolve(contract.database_url, policy_path.parent), datetime.now(UTC)  # before the snapshot
    with open_policy_custody(contract, url, _NO_TIMEOUT_MS) as custody:
        return _read(contract, custody, at or now)


def _read(contract: Policy, custody: Custody, at: datetime | None) -> VersionPrints:
    schema = custody.schema(contract.namespaces).declaring(contract.tables)
    return read_prints(custody, with_declared_keys(schema, contract), contract, at or datetime.now(UTC))
