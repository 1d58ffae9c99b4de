"""What follows from the entries: every table of the ledger, worked out anew in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import assert_never

from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.saved_spending import Spent
from server.ledger.account import DATASET, analyst_account, group_account
from server.ledger.accounts.balance import Balance
from server.ledger.entry_contents import (
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
)
from server.ledger.tables.charge_rows import basic_in, payments_in
from server.ledger.tables.entry_rows import StoredEntry

DIGEST_BYTES = 16

ChargeRow = tuple[object, ...]
"""number, entry, analyst, plan_hash, answer_key, idempotency_key, repeats, instance, state, settled_by, answer."""


class Contradiction(Exception):
    """An entry that no ledger would have written after those before it."""


class Replay:
    """The state of a ledger after the entries so far.

    Attributes:
      analysts: by name: fingerprint of the credentials, role, group, enabled.
      balances: by name.
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
        """How many charges there are."""
        return len(self._digests) // DIGEST_BYTES

    def apply(self, entry: StoredEntry) -> None:
        """Go on by one entry. Raises Contradiction, or KeyError, TypeError or ValueError for a foreign content."""
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
        """The digest of a charge's row, as it has to be."""
        if number in self._open:
            return row_digest(self._open[number][0])
        return bytes(self._digests[(number - 1) * DIGEST_BYTES : number * DIGEST_BYTES])

    def _reserve(self, entry: StoredEntry, content: Reserved) -> None:
        number = content.charge
        if number != self.n_charges + 1:
            raise Contradiction("a charge without the next number")
        payments = payments_in(content)
        if payments.keys() != self._payers(content):
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
        """The accounts that have to pay: the analyst's, the group's, and for a release the dataset's, too."""
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
        """Only into the period that it was by the clock, and only one later than the account has spent."""
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
    """Of a charge's row."""
    return blake2b(json.dumps(row).encode(), digest_size=DIGEST_BYTES).digest()
