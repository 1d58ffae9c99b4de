"""What two questions must share to have one answer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from planner.plan import BackendQuery, Plan, Release

_VERSION = 1


def answer_key(plan: Plan, query: BackendQuery, time_grain: str, data_version: int) -> str:
    """Name everything that decides what is released, and nothing that only decides how it is shown.

    Parameters, and the moment that now() stands for, are literals of the plan by now, aliases and spacing are gone.
    Output names, HAVING, ORDER BY and LIMIT read released values only and are left out.

    Args:
      plan: what is released, with its policy's hash.
      query: what is read, with the schema's fingerprint.
      time_grain: what the policy snaps now() to.
      data_version: the custodian's.
    Returns: SHA-256 in hex.
    """
    sampling, chosen = plan.sampling, plan.selection
    document = {
        "version": _VERSION,
        "policy": plan.policy_hash,
        "data_version": data_version,
        "time_grain": time_grain,
        "read": asdict(query),
        "releases": [_measured(release) for release in plan.releases],
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "mechanism": plan.mechanism,
        "groups_per_unit": plan.groups_per_unit,
        "tuples_per_unit": plan.tuples_per_unit,
        "owners": len(plan.owners),
        "release_delta": plan.release_delta,
        "group_rule": plan.group_rule,
        "selection": None if chosen is None else [chosen.epsilon, chosen.delta, chosen.minimum],
        "sampling": None if sampling is None else [sampling.strategy, sampling.rate, sampling.amplifies],
    }
    # repr tells a date of a declared domain from the text that looks like it.
    text = json.dumps(document, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _measured(release: Release) -> list[object]:
    """What a mechanism is told of a release; its SQL is part of the query."""
    return [release.weight_bound, release.epsilon, release.whole, release.distinct is not None, release.determined]
