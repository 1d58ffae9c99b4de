"""What is public without a number being released: groups that there may be, and how many rows some answers have.

Filters of dashboards ask for the groups to fill their choices; before they fetch an answer tools count its rows. The
groups are the domain that the same GROUP BY has beside a COUNT(*): declared values, public tables' keys, steps of a
range; whether somebody is in a group it does not say.
"""

from __future__ import annotations

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.errors import RowsNotShown
from planner.group_domains.group_domains import check_size, group_domains
from planner.plan import Output, Plan
from planner.policy.policy import Policy
from planner.schema import Schema
from planner.sensitivity.provenance import provenance

_REASON = "Nothing is released: which groups there may be is public, and no private row is read."
_COUNTED_PUBLICLY = (
    "Nothing is released: how many rows that answer has does not depend on them, and no private row is read."
)


def list_groups(bound: BoundQuery, schema: Schema, policy: Policy) -> Plan:
    """The plan of a question without aggregates: no release, no charge.

    Args:
      bound: as for `planner.planning.make_plan.make_plan`; one without group keys is a row of constants.
    Raises: RowsNotShown for keys that only private rows know; otherwise what `group_domains` raises.
    """
    assert not bound.aggregates, "the others are planned"
    keys, domains = group_domains(bound, schema, policy, provenance(bound, schema, policy).equalities)
    if any(domain.is_discovered for domain in domains):
        message = "group keys that are found among private rows are not listed by themselves"
        raise RowsNotShown(message, hint="select COUNT(*) beside them", position=bound.keys[0].position)
    plan = Plan(
        source=exp.Select(),
        owners=(),
        releases=(),
        group_keys=keys,
        domains=domains,
        outputs=tuple(Output(output.name, output.type, output.expression, output.enum) for output in bound.outputs),
        having=bound.having,
        order=bound.order,
        limit=bound.limit,
        offset=bound.offset,
        groups_per_unit=None,
        epsilon=0.0,
        delta=0.0,
        mechanism="gem",
        reason=_REASON if bound.keys else _COUNTED_PUBLICLY,
        fingerprint=schema.fingerprint,
        policy_hash=policy.hash,
    )
    check_size(plan.domains, plan.columns)
    return plan
