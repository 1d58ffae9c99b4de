"""The groups of a question without a number: which there may be is public, so naming them is free.

Filters of dashboards ask it to fill their choices. The answer is the domain that the same GROUP BY has beside a
COUNT(*): declared values, public tables' keys, steps of a range; whether somebody is in a group it does not say.
"""

from __future__ import annotations

from sqlglot import exp

from planner.bound_query import BoundQuery
from planner.domains import group_domains
from planner.errors import RowsNotShown
from planner.plan import Output, Plan
from planner.policy import Policy
from planner.provenance import provenance
from planner.schema import Schema
from planner.trees import copied, holds

_REASON = "Nothing is released: which groups there may be is public, and no private row is read."


def distinct_as_groups(select: exp.Select) -> exp.Select:
    """`SELECT DISTINCT a, b FROM t` as `SELECT a, b FROM t GROUP BY a, b`; any other statement as it is.

    >>> from sqlglot import parse_one
    >>> distinct_as_groups(parse_one("SELECT DISTINCT ward AS w, day FROM visit")).sql()
    'SELECT ward AS w, day FROM visit GROUP BY ward, day'
    """
    clause = select.args.get("distinct")
    items = [item.unalias() for item in select.expressions]
    plain = not any(isinstance(item, exp.Literal) or holds(item, exp.Star, exp.AggFunc) for item in items)
    if clause is None or clause.args.get("on") is not None or select.args.get("group") or not plain:
        return select
    copy = copied(select)
    copy.set("distinct", None)
    copy.set("group", exp.Group(expressions=[copied(item) for item in items]))
    return copy


def list_groups(bound: BoundQuery, schema: Schema, policy: Policy) -> Plan:
    """The plan of a question without aggregates: no release, no charge.

    Args:
      bound: with group keys; as for `planner.planner.make_plan`.
    Raises: RowsNotShown for keys that only private rows know; otherwise what `group_domains` raises.
    """
    assert bound.keys and not bound.aggregates, "the binder lets nothing else through"
    keys, domains = group_domains(bound, schema, policy, provenance(bound, schema, policy).equalities)
    if any(domain.is_discovered for domain in domains):
        message = "group keys that are found among private rows are not listed by themselves"
        raise RowsNotShown(message, hint="select COUNT(*) beside them", position=bound.keys[0].position)
    return Plan(
        source=exp.Select(),
        owners=(),
        releases=(),
        group_keys=keys,
        domains=domains,
        outputs=tuple(Output(output.name, output.type, output.expression) for output in bound.outputs),
        having=bound.having,
        order=bound.order,
        limit=bound.limit,
        offset=bound.offset,
        groups_per_unit=None,
        epsilon=0.0,
        delta=0.0,
        mechanism="gem",
        reason=_REASON,
        fingerprint=schema.fingerprint,
        policy_hash=policy.hash,
    )
