"""What is undone where an older copy takes a ledger's place: charges, and by name what custodians have done since."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from server.ledger.account import analyst_account
from server.ledger.accounts.amounts import delta_of, epsilon_of
from server.ledger.entry_contents import EntryKind
from server.ledger.sqlite.connection import connect, read_transaction
from server.ledger.sqlite.store import SqliteView
from server.ledger.tables.charge_rows import reserved_in
from server.ledger.tables.schema import CHARGE_KINDS

_NAMED = 10
"""Names of one kind in a message."""

_HASH = 12
"""Characters of a policy's hash, which tell it from others."""

_ACTS = {
    EntryKind.KEY: ("analyst", "keys rotated"),
    EntryKind.DISABLED: ("analyst", "disabled"),
    EntryKind.ENABLED: ("analyst", "enabled"),
    EntryKind.ANALYST: ("analyst", "added"),
    EntryKind.ROLE: ("analyst", "roles changed"),
    EntryKind.GROUP: ("analyst", "groups changed"),
    EntryKind.GRANT: ("account", "grants"),
    EntryKind.RENEWED: ("account", "renewals"),
    EntryKind.DATA: ("version", "loads of the data"),
    EntryKind.POLICY: ("policy_hash", "policies accepted"),
    EntryKind.TUNING: ("tuning", "tunings"),
}
"""By kind of act: the field that names what it was done to, and what it is called."""


@dataclass(frozen=True)
class Undone:
    """What a ledger holds and a copy of it lacks.

    Attributes:
      charges: how many questions were charged since.
      given_back: by account, nano-epsilon and atto-delta of those charges.
      acts: by kind of act, what it was done to, each once, in order.
    """

    charges: int = 0
    given_back: dict[str, tuple[int, int]] = field(default_factory=dict)
    acts: dict[EntryKind, tuple[str, ...]] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """For people: each kind that occurs, with at most so many names; empty where nothing is undone."""
        parts = []
        if self.charges:
            amounts = [
                f"{account} epsilon {epsilon_of(nano):g}" + (f", delta {delta_of(atto):g}" if atto else "")
                for account, (nano, atto) in sorted(self.given_back.items())
            ]
            parts.append(f"{self.charges} charge{'s' * (self.charges > 1)} ({_listed(amounts)})")
        parts += [f"{called}: {_listed(self.acts[kind])}" for kind, (_, called) in _ACTS.items() if kind in self.acts]
        return "; ".join(parts)


def undone_by(copied_entries: int, ledger: Path) -> Undone:
    """What the ledger in place has after so many entries; nothing where it has no more, or is not there to tell.

    Args:
      copied_entries: how many entries the copy has.
      ledger: the file in place.
    Cost: one read of the entries since the copy.
    """
    if not ledger.exists():
        return Undone()
    with closing(connect(ledger)) as connection, read_transaction(connection):
        view = SqliteView(connection, time.time)
        charged = view.rows(
            "SELECT e.content FROM charges c JOIN entries e ON e.number = c.entry"
            " WHERE e.number > ? AND c.state <> 'released'",
            copied_entries,
        )
        acts = view.rows(
            f"SELECT kind, content FROM entries WHERE number > ? AND kind NOT IN {CHARGE_KINDS} ORDER BY number",
            copied_entries,
        )
    given_back: dict[str, tuple[int, int]] = {}
    for (content,) in charged:
        charge = reserved_in(content)
        for account in charge.accounts:
            nano, atto = given_back.get(account, (0, 0))
            given_back[account] = nano + charge.nano_epsilon, atto + charge.atto_delta
    return Undone(len(charged), given_back, _by_kind([(EntryKind(kind), json.loads(said)) for kind, said in acts]))


def _by_kind(acts: list[tuple[EntryKind, dict[str, object]]]) -> dict[EntryKind, tuple[str, ...]]:
    """What acts were done to; of somebody who was added since, only that."""
    added = {str(said["analyst"]) for kind, said in acts if kind is EntryKind.ANALYST}
    whole = added | {analyst_account(name) for name in added}
    found: dict[EntryKind, dict[str, None]] = {}
    for kind, said in acts:
        if kind is EntryKind.ENABLED and not said["enabled"]:
            kind = EntryKind.DISABLED  # as older ledgers write it
        if kind not in _ACTS:
            continue
        names_what, _ = _ACTS[kind]
        name = str(said[names_what])
        if kind is EntryKind.ANALYST or names_what not in ("analyst", "account") or name not in whole:
            found.setdefault(kind, {})[name[:_HASH] if kind is EntryKind.POLICY else name] = None
    return {kind: tuple(names) for kind, names in found.items()}


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
