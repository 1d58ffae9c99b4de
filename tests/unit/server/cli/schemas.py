"""What a stand-in says may be asked."""

from typing import Any


def column(name: str, kind: str = "integer", note: str = "", nullable: bool = False) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "low": None, "high": None, "domain": None, "note": note}


SCHEMA: dict[str, Any] = {
    "dataset": "demo",
    "schemas": ["public"],
    "tables": [
        {
            "name": "customer",
            "namespace": "public",
            "sql": "customer",
            "public": False,
            "privacy_unit": True,
            "columns": [column("c_custkey"), column("c_acctbal", "numeric", "-1000 to 10000", nullable=True)],
            "keys": [["c_custkey"]],
            "joins": [],
        },
        {
            "name": "orders",
            "namespace": "public",
            "sql": "orders",
            "public": False,
            "privacy_unit": False,
            "columns": [column("o_orderkey"), column("o_custkey")],
            "keys": [["o_orderkey"]],
            "joins": [{"columns": ["o_custkey"], "table": "customer", "key": ["c_custkey"], "owning": True}],
        },
    ],
    "epsilon": 1.0,
    "min_epsilon": 0.001,
    "max_epsilon": 5.0,
    "delta": 0.0,
    "time_grain": "day",
    "answer_quantum_s": 1.0,
    "hold_all_answers": False,
    "unbounded_joins": False,
    "max_join_tuples": None,
    "examples": [],
}
