"""Spent amounts as JSON of whole numbers: what a ledger keeps, for as long as it lives."""

from __future__ import annotations

from collections.abc import Mapping

from privacy.accounting.amounts import Charge, RenyiSpent, ZCDPSpent
from privacy.errors import InvalidParameter

VERSION = 1
"""Raised when the meaning of a field changes; an unknown one is refused."""

Spent = Charge | ZCDPSpent | RenyiSpent
Saved = dict[str, int | str | list[int] | list[str]]


def save(spent: Spent) -> Saved:
    """The amount as a JSON object; equal amounts give equal objects. Orders are spelled as decimals."""
    saved: Saved = {"version": VERSION, "atto_delta": spent.atto_delta}
    if isinstance(spent, Charge):
        return saved | {"currency": "basic", "nano_epsilon": spent.nano_epsilon}
    if isinstance(spent, ZCDPSpent):
        return saved | {"currency": "zcdp", "femto_rho": spent.femto_rho}
    return saved | {"currency": "renyi", "orders": [repr(x) for x in spent.orders], "femto": list(spent.femto)}


def load(saved: Mapping[str, object]) -> Spent:
    """The amount that was saved.

    Raises: InvalidParameter for another version, an unknown currency, or fields missing or not whole numbers.
    """
    if saved.get("version") != VERSION:
        raise InvalidParameter("what was spent was saved by another version")
    currency = saved.get("currency")
    if currency == "basic":
        return Charge(_whole(saved.get("nano_epsilon")), _whole(saved.get("atto_delta")))
    if currency == "zcdp":
        return ZCDPSpent(_whole(saved.get("femto_rho")), _whole(saved.get("atto_delta")))
    if currency == "renyi":
        femto = tuple(_whole(amount) for amount in _list(saved.get("femto")))
        orders = tuple(_order(order) for order in _list(saved.get("orders")))
        return RenyiSpent(femto, _whole(saved.get("atto_delta")), orders)
    raise InvalidParameter("no amount is counted in this currency")


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidParameter("amounts are whole numbers")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidParameter("there is one amount per order")
    return value


def _order(value: object) -> float:
    if not isinstance(value, str):
        raise InvalidParameter("an order is spelled as a decimal")
    try:
        return float(value)
    except ValueError:
        raise InvalidParameter("an order is spelled as a decimal") from None
