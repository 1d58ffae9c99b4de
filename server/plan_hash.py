"""The hash that names a rewritten query in the ledger."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from planner.plan import BackendQuery


def plan_hash(query: BackendQuery) -> str:
    """SHA-256 of everything that decides what is read."""
    document = json.dumps(asdict(query), sort_keys=True, default=str)
    return hashlib.sha256(document.encode()).hexdigest()
