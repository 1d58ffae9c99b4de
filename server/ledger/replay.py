"""What follows from the entries: every table of the ledger, worked out anew in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from privacy.accounting.saved_spending import Spent
from server.ledger.account import DATASET, analyst_account, group_account
from server.ledger.balance import Balance
from server.ledger.charge_rows import payments_in
from server.ledger.entry_rows import StoredEntry
from server.ledger.terms import Terms

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
        content = json.loads(entry.content)
        if entry.kind == "reserved":
            self._reserve(entry, content)
        elif entry.kind in ("committed", "failed", "released", "crashed"):
            self._settle(entry, content)
        elif entry.kind == "analyst":
            self.analysts[content["analyst"]] = [content["credentials"], content["role"], content["group"], 1]
        elif entry.kind in _CHANGES:
            place, field = _CHANGES[entry.kind]
            self.analysts[content["analyst"]][place] = content[field]
        elif entry.kind == "grant":
            self._grant(entry, content)
        elif entry.kind not in ("opened", "policy", "data"):
            raise Contradiction(f"an entry of the unknown kind {entry.kind}")

    def digest(self, number: int) -> bytes:
        """The digest of a charge's row, as it has to be."""
        if number in self._open:
            return row_digest(self._open[number][0])
        return bytes(self._digests[(number - 1) * DIGEST_BYTES : number * DIGEST_BYTES])

    def _reserve(self, entry: StoredEntry, content: Mapping[str, Any]) -> None:
        number = content["charge"]
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
        texts = (content[field] for field in ("analyst", "plan_hash", "answer_key", "idempotency_key"))
        row = (number, entry.number, *texts, content["repeats"], entry.instance, "reserved", None, None)
        self._open[number] = row, payments
        self._digests += bytes(DIGEST_BYTES)

    def _payers(self, content: Mapping[str, Any]) -> set[str]:
        """The accounts that have to pay: the analyst's, the group's, and for a release the dataset's, too."""
        _, _, group, enabled = self.analysts[content["analyst"]]
        if not enabled:
            raise Contradiction("a charge of a disabled analyst")
        asked = {analyst_account(content["analyst"])} | ({group_account(str(group))} if group is not None else set())
        return asked | ({DATASET} & self.balances.keys() if content["repeats"] is None else set())

    def _settle(self, entry: StoredEntry, content: Mapping[str, Any]) -> None:
        number = content["charge"]
        if number not in self._open:
            raise Contradiction("the settlement of a charge that is not reserved")
        row, payments = self._open.pop(number)
        settled = (*row[:8], entry.kind, entry.number, content["answer"])
        self._digests[(number - 1) * DIGEST_BYTES : number * DIGEST_BYTES] = row_digest(settled)
        if entry.kind == "released":
            for name, (amount, started_ms) in payments.items():
                self.balances[name] = self.balances[name].at(entry.at_ms).refunded(amount, started_ms)

    def _grant(self, entry: StoredEntry, content: Mapping[str, Any]) -> None:
        name = content["account"]
        terms = Terms(**{field: content[field] for field in Terms.__dataclass_fields__})
        there = self.balances.get(name)
        new = Balance.opened(name, terms, entry.at_ms) if there is None else there.regranted(terms, entry.at_ms)
        self.balances[name] = new


_CHANGES = {"key": (0, "credentials"), "role": (1, "role"), "group": (2, "group"), "enabled": (3, "enabled")}


def row_digest(row: ChargeRow) -> bytes:
    """Of a charge's row."""
    return blake2b(json.dumps(row).encode(), digest_size=DIGEST_BYTES).digest()
