"""What follows from the entries: every table of the ledger, worked out anew in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import assert_never

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
    PolicyAccepted,
    Released,
    Reserved,
    Restored,
    RoleChanged,
    Settlement,
)
from server.ledger.tables.charge_rows import payments_in
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
        self._open: dict[int, tuple[ChargeRow, Mapping[str, tuple[Spent, int]]]] = {}
        self._digests = bytearray()

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
                behind = said.behind_ms
                self.balances = {name: one.at(entry.at_ms).delayed(behind) for name, one in self.balances.items()}
            case Opened() | PolicyAccepted() | DataBumped() | KeysChecked() | Restored():
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
        for name, (amount, started_ms) in payments.items():
            account = self.balances[name].at(entry.at_ms)
            if account.started_ms != started_ms or not account.admits(amount):
                raise Contradiction(f"a charge that does not fit the account {name}")
            self.balances[name] = account.charged(amount)
        texts = (content.analyst, content.plan_hash, content.answer_key, content.idempotency_key)
        row = (number, entry.number, *texts, content.repeats, entry.instance, "reserved", None, None)
        self._open[number] = row, payments
        self._digests += bytes(DIGEST_BYTES)

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
        row, payments = self._open.pop(number)
        settled = (*row[:8], entry.kind, entry.number, content.answer)
        self._digests[(number - 1) * DIGEST_BYTES : number * DIGEST_BYTES] = row_digest(settled)
        if isinstance(content, Released):
            for name, (amount, started_ms) in payments.items():
                self.balances[name] = self.balances[name].at(entry.at_ms).refunded(amount, started_ms)

    def _grant(self, entry: StoredEntry, content: Granted) -> None:
        name, terms = content.account, content.terms
        there = self.balances.get(name)
        new = Balance.opened(name, terms, entry.at_ms) if there is None else there.regranted(terms, entry.at_ms)
        self.balances[name] = new


def row_digest(row: ChargeRow) -> bytes:
    """Of a charge's row."""
    return blake2b(json.dumps(row).encode(), digest_size=DIGEST_BYTES).digest()
