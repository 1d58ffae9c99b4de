"""Views that a policy declares to be tables: public ones alone, and none that shows people's own rows."""

from __future__ import annotations

from dataclasses import replace

from planner.errors import PolicyInvalid
from planner.policy.declared_keys import with_declared_keys
from planner.policy.policy import Policy
from planner.schema import Schema
from planner.views.examine import ShownView, examined_views


def check_declared_views(policy: Policy, schema: Schema) -> None:
    """Refuse a policy that calls a view public although its definition says whose rows it shows.

    Args:
      schema: with the policy's views declared (`Schema.declaring`).
    Raises: PolicyInvalid listing every such view, one per line.
    """
    schema = with_declared_keys(schema, policy)  # without its keys a table may seem to belong to nobody
    problems = []
    for name in sorted(policy.tables.keys() & schema.views.keys() & schema.tables.keys()):
        others = replace(schema, tables={other: table for other, table in schema.tables.items() if other != name})
        shown = next(view for view in examined_views(others, policy) if view.name == name)
        if isinstance(shown, ShownView) and not (shown.public or shown.answers):
            advice = "leave the section out: it can be asked as its tables can"
            problems.append(f"- tables.{name}: cannot be public, because it shows rows of private tables; {advice}")
    if problems:
        raise PolicyInvalid("\n".join(["the policy does not fit the database:", *problems]))
