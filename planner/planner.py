"""A bound query to a Plan: who owns a tuple, what it weighs, which groups there are, what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from sqlglot import exp

from planner.bound_query import BoundQuery
from planner.dependencies import groups_per_unit
from planner.domains import group_domains
from planner.equalities import ColumnRef
from planner.errors import InvalidSetting
from planner.fanout import tuples_per_unit
from planner.owner_sql import owner_sql
from planner.plan import MechanismName, Output, Plan, SamplingPlan
from planner.policy import Policy
from planner.provenance import Provenance, provenance
from planner.reach import Reach
from planner.released import substitute
from planner.releases import releases
from planner.rules.complete_provenance import complete_provenance
from planner.rules.join_tables import join_tables
from planner.rules.sample_rows import sample_rows
from planner.sampling import sampling_plan
from planner.schema import Schema

MIN_EPSILON = 1e-4
"""The least that a query may ask for: below it no answer says anything, and noise scales leave their range."""


def make_plan(
    bound: BoundQuery,
    schema: Schema,
    policy: Policy,
    *,
    epsilon: float | None,
    delta: float | None,
    mechanism: str | None,
    sampling_rate: float | None = None,
) -> Plan:
    """Decide everything about a query before any private row is read.

    Args:
      bound: from `planner.bind.bind` with the same schema and policy.
      schema, policy: a policy that `planner.policy_check.validate` accepts for the schema.
      epsilon: the charge, in (0, policy.max_epsilon]; None: the policy's.
      delta: the most to charge, in [0, policy.delta]; None: the policy's. Every mechanism here spends none.
      mechanism: `gem`, `r2t` or `s4s`; None: the planner's choice.
      sampling_rate: q in [1e-6, 1], to answer from a sample of the join tuples; None and 1 read them all.
    Returns: the plan.
    Raises: InvalidSetting, SensitivityUnbounded, UnsupportedSQL, StatementTooComplex.
    Cost: a few milliseconds for TPC-H Q5.
    """
    charge = _epsilon(epsilon, policy)
    chosen = _mechanism(mechanism, policy)
    found = provenance(bound, schema, policy)

    def reached(columns: Sequence[ColumnRef]) -> int | None:
        return groups_per_unit(found.owners, columns, found.equalities)

    released = releases(bound, charge, lambda columns: reached(columns) == 1)
    keys, domains = group_domains(bound, schema, policy, found.equalities)
    reach = Reach(bound, found, policy)
    sampling = sampling_plan(bound, reach, released.releases, sampling_rate)
    tuples = tuples_per_unit(bound, found, reach, schema, policy)
    if chosen == "s4s" and tuples is None:
        hint = "declare the fan-outs in the policy, or use gem, which needs none"
        raise InvalidSetting("s4s needs a bound on the join tuples of one unit, which does not follow", hint=hint)
    groups = reached([column for key in bound.keys for column in key.columns])
    return Plan(
        source=_source(bound, found, sampling),
        owners=tuple(owner_sql(owner, found.equalities) for owner in found.owners),
        releases=released.releases,
        group_keys=keys,
        domains=domains,
        outputs=tuple(
            Output(output.name, output.type, substitute(output.expression, released.values))
            for output in bound.outputs
        ),
        having=None if bound.having is None else substitute(bound.having, released.values),
        order=tuple(replace(key, expression=substitute(key.expression, released.values)) for key in bound.order),
        limit=bound.limit,
        offset=bound.offset,
        groups_per_unit=groups,
        epsilon=charge,
        delta=_delta(delta, policy, chosen),
        mechanism=chosen,
        reason=_reason(chosen, mechanism, len(found.owners), groups if keys else 1, len(released.releases)),
        fingerprint=schema.fingerprint,
        policy_hash=policy.hash,
        tuples_per_unit=tuples,
        sampling=sampling,
    )


def _source(bound: BoundQuery, found: Provenance, sampling: SamplingPlan | None) -> exp.Select:
    """The join, completed, over the rows that are sampled."""
    source = complete_provenance(join_tables(bound.tables, bound.predicates), found.completions, found.ends)
    if sampling is None or sampling.alias is None or sampling.percent is None:
        return source
    return sample_rows(source, sampling.alias, sampling.percent)


def _epsilon(epsilon: float | None, policy: Policy) -> float:
    value = policy.epsilon if epsilon is None else epsilon
    if not math.isfinite(value) or not MIN_EPSILON <= value <= policy.max_epsilon:
        hint = "max_epsilon is the policy's" if value > policy.max_epsilon else None
        bounds = f"at least {MIN_EPSILON:g} and at most {policy.max_epsilon:g}"
        raise InvalidSetting(f"epsilon must be {bounds} for one query", hint=hint)
    return float(value)


def _delta(delta: float | None, policy: Policy, mechanism: MechanismName) -> float:
    """What of the delta that may be spent is spent: nothing by a pure mechanism, and so far all are pure."""
    value = policy.delta if delta is None else delta
    if value > 0 and policy.delta == 0:
        raise InvalidSetting("this policy grants no delta", hint="leave delta out")
    if not math.isfinite(value) or not 0 <= value <= policy.delta:
        raise InvalidSetting(f"delta must be at least 0 and at most {policy.delta:g}")
    assert mechanism in get_args(MechanismName), "pure mechanisms"
    return 0.0


_LIBRARY = "it is there for comparison, as a library function; use gem"
_NOT_SERVED = {
    "s4s_as_published": "budgets amplified one by one are no bound for one shared sample; s4s has the sound ones",
    "s4s_fresh": "a query draws one sample; s4s answers from it",
    "s4s_rdp": "it needs a delta of its own; s4s needs none",
    "s4s_rdp_as_published": "budgets amplified one by one are no bound for one shared sample; use s4s",
    "s4s_rdp_fresh": "a query draws one sample; s4s answers from it",
    "laplace_global": _LIBRARY,
    "simple_sampling": _LIBRARY,
    "sample_and_explore": _LIBRARY,
    "repeated_sample_and_explore": _LIBRARY,
}
"""Mechanisms that a server knows and does not run, with what to do instead."""


def _mechanism(mechanism: str | None, policy: Policy) -> MechanismName:
    for name in get_args(MechanismName):
        if name == (mechanism or "gem"):
            if name == "r2t" and policy.global_sensitivity is None:
                hint = "use gem, which needs none"
                raise InvalidSetting("r2t needs a global_sensitivity, which the policy does not declare", hint=hint)
            chosen: MechanismName = name
            return chosen
    named = ", ".join(get_args(MechanismName))
    raise InvalidSetting(f"the mechanism must be one of {named}", hint=_NOT_SERVED.get(mechanism or ""))


def _reason(chosen: str, asked: str | None, owners: int, groups: int | None, count: int) -> str:
    why = "as asked" if asked else "the default: it selects one threshold and releases once"
    share = "the whole epsilon" if count == 1 else f"epsilon / {count}"
    share += "" if groups == 1 else " for all the groups that a unit reaches together"
    people = "one privacy unit" if owners == 1 else f"up to {owners} privacy units"
    reach = "any number of groups" if groups is None else "one group" if groups == 1 else f"at most {groups} groups"
    return f"{chosen}, {why}; a tuple belongs to {people}, a unit reaches {reach}, each release has {share}."
