"""A request that is sent twice under one idempotency key is charged once."""

from __future__ import annotations

from server.errors import DuplicateRequest, KeyReused
from server.ledger.charge import Charge, KeptAnswer
from server.ledger.currency import charged_delta, charged_epsilon
from server.ledger.ledger import Ledger

_ANEW = "nothing was charged now; ask with a new key"
_AGAIN = {
    "reserved": ("is under way, or was cut off", "nothing was charged now; ask again a little later"),
    "crashed": ("was cut off after its charge", _ANEW),
    "failed": ("failed after its charge", _ANEW),
    "released": ("could not be begun", _ANEW),
}


def first_attempt(ledger: Ledger, charge: Charge) -> KeptAnswer | None:
    """The answer that the analyst got, or should have got, for this very request.

    It is that answer even when the policy or the data version has changed since, or the answer is kept anew.

    Args:
      ledger: knows which charge the key has made.
      charge: of the request as it is now.
    Returns: None without a key, or when it has made no charge.
    Raises: KeyReused when it was sent with another request: statement, parameters and settings are compared as they
      were written; DuplicateRequest when it was for another price or reading of the same request, or never answered.
    """
    if not charge.idempotency_key:
        return None
    record = ledger.charge_of(charge.analyst, charge.idempotency_key)
    if record is None:
        return None
    if not _same_request(record.charge, charge):
        raise KeyReused("The idempotency key belongs to another request.", hint=_ANEW)
    if _priced(record.charge) != _priced(charge):
        raise DuplicateRequest(
            "The request with this idempotency key meant something else when it was first sent.", hint=_ANEW
        )
    kept = ledger.kept_answer(record.charge.answer_key, charge.analyst) if record.state == "committed" else None
    if kept is None or not kept.paid:
        what, hint = _AGAIN.get(record.state, ("was answered, but its answer was not kept", _ANEW))
        raise DuplicateRequest(f"The request with this idempotency key {what}.", hint=hint)
    return kept


def _same_request(before: Charge, now: Charge) -> bool:
    """Of charges from before requests were noted, the answer's own name says it."""
    if not before.request_hash:
        return before.answer_key == now.answer_key
    return before.request_hash == now.request_hash


def _priced(charge: Charge) -> tuple[object, ...]:
    """What is read, and for how much: under a policy or at a time that changed it, the answer kept is of another."""
    return charge.plan_hash, charge.mechanism, charged_epsilon(charge.epsilon), charged_delta(charge.delta)
