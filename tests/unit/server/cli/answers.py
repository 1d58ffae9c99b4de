"""Bodies as the HTTP API sends them."""

from typing import Any

SCALAR: dict[str, Any] = {
    "columns": [{"name": "count", "type": "int8"}],
    "rows": [[1234567]],
    "intervals": [[{"low": 1234000.0, "high": 1235134.0}]],
    "confidence": 0.95,
    "covers": "clipped value",
    "mechanism": "gem",
    "charge": {"epsilon": 1.0, "delta": 0.0},
    "budget": {"epsilon": 10.0, "delta": 0.0, "epsilon_left": 8.5, "delta_left": 0.0},
    "request_id": "r-1",
    "taus": [[[64.0]]],
    "details": ["The bias of cutting contributions is outside of it."],
    "detail_kinds": ["plain"],
}

BUDGET: dict[str, Any] = SCALAR["budget"] | {
    "accounting": "basic",
    "epsilon_left_basic": None,
    "delta_left_basic": None,
    "renew": "month",
    "renews_at_ms": 1_798_761_600_000,
    "period": "2026-12",
    "past_epsilon": 12.5,
    "total_epsilon": 22.5,
    "total_delta": 0.0,
    "most_in_total": 50.0,
    "tuning_epsilon": 0.0,
    "epsilon_total": 1.0,
    "guarantee": "epsilon 10 per month; at most epsilon 22.5 in all periods together until the end of 2026-12;"
    " at most epsilon 50 in total, where renewal stops",
    "questions_left": 17,
    "questions_like": 10,
    "limited_by": "analyst:ada",
}

GROUPED: dict[str, Any] = SCALAR | {
    "columns": [{"name": "n_name", "type": "text"}, {"name": "revenue", "type": "float8"}],
    "rows": [["FRANCE", 1048576.25], ["[red]\x1b[31m", -3.5]],
    "intervals": [[None, {"low": 1048000.0, "high": None}], [None, {"low": -10.0, "high": 3.0}]],
    "taus": [[None, [1.0]], [None, [2.0]]],
}

EXACT: dict[str, Any] = SCALAR | {
    "columns": [{"name": "n_name", "type": "text"}, {"name": "mean", "type": "float8"}],
    "rows": [["FRANCE", 1048576.123456789]],
    "intervals": [[None, None]],
    "taus": [[None, None]],
    "confidence": 1.0,
    "covers": "exact",
    "mechanism": "none",
    "charge": {"epsilon": 0.0, "delta": 0.0},
    "details": ["Only public tables were read, so the answer is exact and free."],
    "detail_kinds": ["plain"],
}

EXPLANATION: dict[str, Any] = {
    "rewritten_sql": "SELECT o_custkey AS o0\nFROM orders",
    "privacy_units": ["customer"],
    "owners": ["customer: orders.o_custkey"],
    "weight_bounds": [["count(*)", 1.0]],
    "groups_per_unit": None,
    "mechanism": "gem",
    "reason": "one owner per tuple",
    "epsilon": 1.0,
    "delta": 0.0,
    "expected_noise": [["count(*)", [[1.0, 6.0], [2.0, 12.0]]]],
    "columns": [{"name": "count", "type": "int8"}],
}


def refusal(code: str, message: str, **more: object) -> dict[str, object]:
    """An error body."""
    return {"code": code, "message": message, "hint": None, "position": None, "request_id": "r-1"} | more
