"""Verify a ledger: replay all entries in memory, compare every table, and check the marker before it opens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import assert_never

from planner.errors import PlannerError
from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import Spent
from privacy.errors import PrivacyError
from server.errors import LedgerInvalid, LedgerMissing
from server.ledger.account import DATASET, analyst_account, group_account
from server.ledger.analyst import Credentials
from server.ledger.balance import Balance
from server.ledger.entry import (
    AnalystAdded,
    ClockNoted,
    Committed,
    Crashed,
    DataBumped,
    Disabled,
    Enabled,
    Failed,
    Granted,
    GroupChanged,
    KeyChanged,
    KeysChecked,
    Opened,
    PeriodsNoted,
    PolicyAccepted,
    Released,
    Renewed,
    Reserved,
    Restored,
    RoleChanged,
    Settlement,
    Tuned,
    Tuning,
    Verification,
)
from server.ledger.high_water_mark import HighWaterMark, read_marker, write_marker
from server.ledger.store import SCHEMA_VERSION, Head, Reading
from server.ledger.writes import account_rows
from server.ledger.writes.charge_rows import basic_in, digest, payments_in
from server.ledger.writes.journal import StoredEntry, hash_of, stored_entries

DIGEST_BYTES = 16

ChargeRow = tuple[object, ...]
"""number, entry, analyst, plan_hash, answer_key, idempotency_key, repeats, instance, state, settled_by, answer."""


class Contradiction(Exception):
    """An entry that no ledger would write after those before it."""


class Replay:
    """The state of a ledger after the entries so far.

    Attributes:
      analysts: by name: fingerprint of the credentials, role, group, enabled.
    """

    def __init__(self) -> None:
        self.analysts: dict[str, list[object]] = {}
        self.balances: dict[str, Balance] = {}
        self._open: dict[int, tuple[ChargeRow, Mapping[str, tuple[Spent, int]], Amount]] = {}
        self._tunings = 0
        self._open_tunings: dict[int, Tuning] = {}
        self._digests = bytearray()
        self._offset_ms = 0  # of the ledger's time from the clock

    @property
    def n_charges(self) -> int:
        """The number of charges."""
        return len(self._digests) // DIGEST_BYTES

    def apply(self, entry: StoredEntry) -> None:
        """Apply one entry. Raises Contradiction; KeyError, TypeError or ValueError for a malformed content."""
        said = entry.says
        match said:
            case Reserved():
                self._reserve(entry, said)
            case Committed() | Failed() | Released() | Crashed():
                self._settle(entry, said)
            case AnalystAdded():
                self.analysts[said.analyst] = [said.credentials, said.role, said.group, 1]
            case KeyChanged():
                self.analysts[said.analyst][0] = said.credentials
            case RoleChanged():
                self.analysts[said.analyst][1] = said.role
            case GroupChanged():
                self.analysts[said.analyst][2] = said.group
            case Enabled() | Disabled():
                self.analysts[said.analyst][3] = said.enabled
            case Granted():
                self._grant(entry, said)
            case ClockNoted():
                self._note_clock(entry, said)
            case Renewed():
                self._renew(entry, said)
            case Tuning():
                self._tune(entry, said)
            case Tuned():
                self._settle_tuning(entry, said)
            case Opened() | PolicyAccepted() | DataBumped() | KeysChecked() | PeriodsNoted() | Restored():
                pass  # no table follows from them
            case _:
                assert_never(said)

    def digest(self, number: int) -> bytes:
        """The expected digest of a charge's row."""
        if number in self._open:
            return row_digest(self._open[number][0])
        return bytes(self._digests[(number - 1) * DIGEST_BYTES : number * DIGEST_BYTES])

    def _reserve(self, entry: StoredEntry, content: Reserved) -> None:
        number = content.charge
        if number != self.n_charges + 1:
            raise Contradiction("a charge without the next number")
        payments = payments_in(content)
        payers = self._payers(content)
        young = set() if content.repeats is None else {DATASET} & payments.keys()  # the account, not the answer
        if payments.keys() != payers | young:
            raise Contradiction("a charge that others pay than should")
        self._pay(entry, payments, basic_in(content))
        texts = (content.analyst, content.plan_hash, content.answer_key, content.idempotency_key)
        row = (number, entry.number, *texts, content.repeats, entry.instance, "reserved", None, None)
        self._open[number] = row, payments, basic_in(content)
        self._digests += bytes(DIGEST_BYTES)

    def _pay(self, entry: StoredEntry, payments: Mapping[str, tuple[Spent, int]], basic: Amount) -> None:
        for name, (amount, started_ms) in payments.items():
            account = self.balances[name].at(entry.at_ms)
            if account.started_ms != started_ms or not account.admits(amount):
                raise Contradiction(f"a charge that does not fit the account {name}")
            self.balances[name] = account.charged(amount, basic)

    def _payers(self, content: Reserved) -> set[str]:
        """The accounts that must pay: the analyst's, the group's, and for a release the dataset's."""
        _, _, group, enabled = self.analysts[content.analyst]
        if not enabled:
            raise Contradiction("a charge of a disabled analyst")
        asked = {analyst_account(content.analyst)} | ({group_account(str(group))} if group is not None else set())
        return asked | ({DATASET} & self.balances.keys() if content.repeats is None else set())

    def _settle(self, entry: StoredEntry, content: Settlement) -> None:
        number = content.charge
        if number not in self._open:
            raise Contradiction("the settlement of a charge that is not reserved")
        row, payments, basic = self._open.pop(number)
        settled = (*row[:8], entry.kind, entry.number, content.answer)
        self._digests[(number - 1) * DIGEST_BYTES : number * DIGEST_BYTES] = row_digest(settled)
        if isinstance(content, Released):
            self._give_back(entry, payments, basic)

    def _give_back(self, entry: StoredEntry, payments: Mapping[str, tuple[Spent, int]], basic: Amount) -> None:
        for name, (amount, started_ms) in payments.items():
            self.balances[name] = self.balances[name].at(entry.at_ms).refunded(amount, basic, started_ms)

    def _tune(self, entry: StoredEntry, content: Tuning) -> None:
        self._tunings += 1
        payments = payments_in(content)
        if content.tuning != self._tunings or payments.keys() != {DATASET} & self.balances.keys():
            raise Contradiction("a tuning without the next number, or that others pay than should")
        self._pay(entry, payments, Amount(content.nano_epsilon))
        self._open_tunings[content.tuning] = content

    def _settle_tuning(self, entry: StoredEntry, content: Tuned) -> None:
        if content.tuning not in self._open_tunings:
            raise Contradiction("the settlement of a tuning that is not reserved")
        tuning = self._open_tunings.pop(content.tuning)
        if content.histograms is None:
            self._give_back(entry, payments_in(tuning), Amount(tuning.nano_epsilon))

    def _grant(self, entry: StoredEntry, content: Granted) -> None:
        name, terms = content.account, content.terms
        there, at = self.balances.get(name), (entry.at_ms, self._utc_ms(entry))
        self.balances[name] = Balance.opened(name, terms, *at) if there is None else there.regranted(terms, *at)

    def _renew(self, entry: StoredEntry, content: Renewed) -> None:
        """Only the current period by the clock is accepted, and only if it is later than every one that was spent."""
        account, utc_ms = self.balances[content.account], self._utc_ms(entry)
        if not account.is_due(utc_ms):
            raise Contradiction(f"a renewal of {account.name} before its period was over")
        renewed = account.renewed(entry.at_ms, utc_ms)
        if renewed.periods is None or renewed.periods.current != content.period:
            raise Contradiction(f"a renewal of {account.name} into another period")
        self.balances[account.name] = renewed

    def _note_clock(self, entry: StoredEntry, content: ClockNoted) -> None:
        self._offset_ms = content.offset_ms
        behind, utc_ms = content.behind_ms, self._utc_ms(entry)
        self.balances = {name: one.at(entry.at_ms).delayed(behind, utc_ms) for name, one in self.balances.items()}

    def _utc_ms(self, entry: StoredEntry) -> int:
        """The clock's time when the entry was written."""
        return entry.at_ms - self._offset_ms


def row_digest(row: ChargeRow) -> bytes:
    """The digest of a charge's row."""
    return blake2b(json.dumps(row).encode(), digest_size=DIGEST_BYTES).digest()


_PAGE = 500
_IMPOSSIBLE = (Contradiction, KeyError, TypeError, ValueError, PrivacyError, PlannerError)


def verify(reading: Reading) -> Verification:
    """Verify all entries, then compare the tables with their replay.

    Cost: about a tenth of a millisecond per entry; memory: 16 bytes per charge.
    """
    replay, head = Replay(), Head()
    for entry in stored_entries(reading):
        if not entry.follows(head):
            return _verification(head, f"Entry {head.number + 1} was changed, moved or left out.")
        try:
            replay.apply(entry)
        except _IMPOSSIBLE:
            return _verification(head, f"Entry {entry.number} ({entry.kind}) contradicts those before it.")
        head = entry.head
    fault = _accounts_fault(reading, replay) or _analysts_fault(reading, replay) or _charges_fault(reading, replay)
    return _verification(head, fault or _identity_fault(reading) or _answers_fault(reading))


def _verification(head: Head, fault: str | None) -> Verification:
    return Verification(head.number, head.hash.hex(), fault)


def _accounts_fault(reading: Reading, replay: Replay) -> str | None:
    expected = [replay.balances[name] for name in sorted(replay.balances)]
    actual = sorted(account_rows.all_balances(reading), key=lambda account: account.name)
    for right, stored in zip_longest(expected, actual):
        if right != stored:
            name = min(account.name for account in (right, stored) if account is not None)
            return f"The account {name} is not what follows from the entries."
    return None


def _analysts_fault(reading: Reading, replay: Replay) -> str | None:
    rows = reading.rows("SELECT name, key_hash, scram_verifier, role, belongs_to, enabled FROM analysts")
    actual = {row[0]: [Credentials(row[1], row[2]).fingerprint, *row[3:]] for row in rows}
    different = {
        name for name in actual.keys() | replay.analysts.keys() if actual.get(name) != replay.analysts.get(name)
    }
    return f"The analyst {min(different)} is not what follows from the entries." if different else None


def _charges_fault(reading: Reading, replay: Replay) -> str | None:
    last = 0
    while rows := reading.rows(
        "SELECT c.number, c.entry, c.analyst, c.plan_hash, c.answer_key, c.idempotency_key, c.repeats, c.instance,"
        " c.state, c.settled_by, a.answer FROM charges c LEFT JOIN answers a ON a.number = c.number"
        f" WHERE c.number > ? ORDER BY c.number LIMIT {_PAGE}",
        last,
    ):
        for *fields, answer in rows:
            last += 1
            row = (*fields, None if answer is None else digest(bytes(answer)))
            if last > replay.n_charges or row_digest(row) != replay.digest(last):
                return f"The charge {fields[0]}, or its answer, is not what follows from the entries."
    return None if last == replay.n_charges else "Charges are missing."


def _identity_fault(reading: Reading) -> str | None:
    """Compare the id with the first entry."""
    first = next(stored_entries(reading), None)
    row = reading.row("SELECT id FROM identity")
    there = first is not None and row is not None and f'"ledger":"{row[0]}"' in first.content
    return None if there else "The ledger does not begin as this one did."


def _answers_fault(reading: Reading) -> str | None:
    row = reading.row(
        "SELECT a.number FROM answers a LEFT JOIN charges c ON c.number = a.number"
        " WHERE c.number IS NULL OR c.answer_key <> a.answer_key LIMIT 1"
    )
    return None if row is None else f"The cached answer {row[0]} belongs to no charge."


_RESTORE = "Restore the newest copy of the ledger: noisegate ledger restore --policy FILE DIRECTORY --reason WHY"

VERIFIED_AT_OPEN = 10_000
"""Ledgers of up to this many entries are verified whenever they are opened, longer ones by `ledger verify`."""


def check_marker(reading: Reading, identity: str, path: Path, name: str) -> None:
    """Check that the ledger is the marker's and lacks nothing, and update the marker.

    Without a marker the ledger is adopted. Nobody else writes during this view, and others mark only durable entries.
    Raises: LedgerInvalid, with the ledger's name.
    """
    known = read_marker(path)
    last = reading.head
    if known is not None and known.ledger != identity:
        raise LedgerInvalid(
            f"{name} is not the ledger that the marker {path.name} records.",
            hint="Restore the ledger that belongs to this policy.",
        )
    if known is not None and not holds(reading, known):
        raise LedgerInvalid(
            f"{name} is an older copy, or continues one: it lacks charges that the marker {path.name} records.",
            hint="Restore the newest copy. If this is the newest, `noisegate ledger restore --policy FILE DIRECTORY"
            " --reason WHY --forget-charges` accepts it and undoes everything since. Only `noisegate ledger backup`"
            " makes consistent copies of a running proxy's ledger.",
        )
    write_marker(path, HighWaterMark(identity, last.number, last.hash.hex()))


def check_entries(reading: Reading) -> None:
    """Verify a ledger that is not long. Raises LedgerInvalid."""
    if reading.head.number > VERIFIED_AT_OPEN:
        return
    if (fault := verify(reading).fault) is not None:
        raise LedgerInvalid(f"The ledger was edited. {fault}", hint=_RESTORE)


def gone(name: str) -> LedgerMissing:
    """The error for a ledger that the marker names and that is missing."""
    return LedgerMissing(
        f"The ledger {name} is gone; starting without it would reset every budget.",
        hint=_RESTORE,
    )


def other_version(version: int) -> LedgerInvalid:
    """The error for a ledger of another format. Ledgers are never migrated."""
    return LedgerInvalid(
        f"The ledger has version {version}; this Noisegate reads version {SCHEMA_VERSION}.",
        hint="Run the Noisegate that made it; ledgers older than version 3 are of no release.",
    )


def absent(name: str) -> LedgerMissing:
    """The error for a ledger that was never created."""
    return LedgerMissing(
        f"There is no ledger {name} yet.",
        hint="Add an analyst first: noisegate analyst add NAME --policy FILE --epsilon 10",
    )


def holds(reading: Reading, known: HighWaterMark) -> bool:
    """Whether a ledger contains everything that a marker records."""
    link = hash_of(reading, known.entries)
    return not known.entries or (link is not None and link.hex() == known.hash)
