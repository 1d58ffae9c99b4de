"""Edits that somebody with the rights of the store's owner could make; each has to be found."""

from __future__ import annotations

from server.ledger.account import Grant
from server.ledger.analyst import key_hash
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge

SPENT_NOTHING = '{"version":1,"atto_delta":0,"currency":"basic","nano_epsilon":0}'

EDITS = {
    "a cheaper charge": (
        "UPDATE entries SET content = replace(content, '\"nano_epsilon\":250000000', '\"nano_epsilon\":1')"
        " WHERE kind = 'reserved'",
    ),
    "another reason": ("UPDATE entries SET content = replace(content, 'a test', 'no reason') WHERE kind = 'grant'",),
    "another time": ("UPDATE entries SET at_ms = at_ms + 1 WHERE number = (SELECT max(number) FROM entries)",),
    "another instance": ("UPDATE entries SET instance = 'me' WHERE number = 5",),
    "another hash": ("UPDATE entries SET hash = (SELECT hash FROM entries WHERE number = 1) WHERE number = 6",),
    "an entry less": (
        "DELETE FROM charges WHERE number = 4",
        "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)",
    ),
    "an entry left out": ("UPDATE entries SET number = number + 1000 WHERE number = 5",),
    "two entries swapped": (
        "UPDATE entries SET number = -1 WHERE number = 5",
        "UPDATE entries SET number = 5 WHERE number = 6",
        "UPDATE entries SET number = 6 WHERE number = -1",
    ),
    "nothing spent": (f"UPDATE accounts SET spent = '{SPENT_NOTHING}' WHERE name = 'dataset'",),
    "a larger budget": ("UPDATE accounts SET nano_epsilon = nano_epsilon + 1 WHERE name = 'analyst:ada'",),
    "a window": ("UPDATE accounts SET window_ms = 1000 WHERE name = 'analyst:ada'",),
    "a period": ("UPDATE accounts SET renew = 'day' WHERE name = 'analyst:ada'",),
    "an earlier period": (
        "UPDATE accounts SET progress = replace(progress, '\"current\":', '\"current\":1')"
        " WHERE name = 'group:monthly'",
    ),
    "a forgotten past": (
        "UPDATE accounts SET progress = replace(progress, '\"past_nano\":0', '\"past_nano\":-1')"
        " WHERE name = 'group:monthly'",
    ),
    "a larger total": ("UPDATE accounts SET most_nano = most_nano + 1 WHERE name = 'group:monthly'",),
    "an account less": ("DELETE FROM accounts WHERE name = 'dataset'",),
    "an account more": (
        "INSERT INTO accounts SELECT 'group:mine', accounting, nano_epsilon, atto_delta, event_atto, window_ms,"
        " nano_cap, started_ms, spent, renew, most_nano, most_atto, progress FROM accounts WHERE name = 'dataset'",
    ),
    "a key": (f"UPDATE analysts SET key_hash = '{key_hash('ng_eve')}' WHERE name = 'ada'",),
    "a verifier": ("UPDATE analysts SET scram_verifier = 'SCRAM-SHA-256$1:eve$eve:eve' WHERE name = 'ada'",),
    "a role": ("UPDATE analysts SET role = 'admin' WHERE name = 'ada'",),
    "a group": ("UPDATE analysts SET belongs_to = 'mine' WHERE name = 'ada'",),
    "a charge given back": ("UPDATE charges SET state = 'released' WHERE number = 1",),
    "a charge of another": ("UPDATE charges SET analyst = 'eve' WHERE number = 1",),
    "an answer paid by another": ("UPDATE charges SET repeats = 1 WHERE number = 2",),
    "a charge less": ("DELETE FROM charges WHERE number = 4",),
    "an answer": ("UPDATE answers SET answer = (SELECT hash FROM entries WHERE number = 1)",),
    "an answer to another question": ("UPDATE answers SET answer_key = 'other'",),
    "an answer less": ("DELETE FROM answers",),
    "an answer more": ("INSERT INTO answers SELECT 2, answer_key, answer FROM answers",),
    "another ledger": ("UPDATE identity SET id = '00000000-0000-0000-0000-000000000000'",),
}
"""What is edited, with the statements that do it; the rules of the store are out of force."""


def fill(ledger: Ledger) -> None:
    """Some of everything: entries 4 to 12."""
    ledger.add_analyst("eve", key_hash("ng_other"), 1.0, 0.0)
    ledger.grant("dataset", Grant(5.0), ACT)
    ledger.commit(reserve(ledger, charge(0.25, answer_key="question")), b"noisy")
    ledger.fail(reserve(ledger, charge(0.25)))
    ledger.release(reserve(ledger, charge(0.125)))
    reserve(ledger, charge(0.125))
    ledger.grant("group:monthly", Grant(1.0, renew="month", most_in_total=9.0), ACT)
