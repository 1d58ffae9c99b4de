"""A bound query to a Plan: who owns a tuple, what it weighs, which groups there are, what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from planner.bound_query import BoundQuery
from planner.dependencies import groups_per_unit
from planner.discovered_keys import keys_found
from planner.domains import group_domains
from planner.equalities import ColumnRef
from planner.errors import InvalidSetting
from planner.fanout import tuples_per_unit
from planner.group_listing import list_groups
from planner.group_selection import GroupReach, group_reach, group_selection, is_selected
from planner.mechanism_choice import APPROXIMATE, Circumstances, MechanismChoice, choose_mechanism, granted_delta
from planner.owner_sql import owner_sql
from planner.plan import GroupDomain, Output, Plan, SamplingPlan
from planner.policy import Policy
from planner.provenance import Provenance, provenance
from planner.reach import Reach
from planner.released import substitute
from planner.releases import equal_share, releases
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
      delta: the most to charge, in [0, policy.delta]; None: the policy's. It is charged where the mechanism is one of
        approximate differential privacy, or a group key is found among private rows; otherwise nothing is.
      mechanism: one of `MechanismName`; None: the planner's choice.
      sampling_rate: q in [1e-6, 1], to answer from a sample of the join tuples; None and 1 read them all.
    Returns: the plan.
    Raises: InvalidSetting, SensitivityUnbounded, UnsupportedSQL, StatementTooComplex.
    Cost: a few milliseconds for TPC-H Q5.
    """
    if not bound.aggregates:
        return list_groups(bound, schema, policy)
    charge = _epsilon(epsilon, policy)
    granted = granted_delta(delta, policy)
    found = provenance(bound, schema, policy)

    def reached(columns: Sequence[ColumnRef]) -> int | None:
        return groups_per_unit(found.owners, columns, found.equalities)

    keys, domains = group_domains(bound, schema, policy, found.equalities)
    selected = is_selected(domains, policy)
    released = releases(bound, charge, lambda columns: reached(columns) == 1, beside=selected)
    connected = Reach(bound, found, policy)
    sampling = sampling_plan(bound, connected, released.releases, sampling_rate)
    tuples = tuples_per_unit(bound, found, connected, schema, policy)
    determined = reached([column for key in bound.keys for column in key.columns])
    reach = group_reach(determined, found.owners, domains, policy)
    sums = [release for release in released.releases if release.distinct is None]
    circumstances = Circumstances(
        grouped=bool(keys),
        sums=len(sums),
        epsilon=math.fsum(release.epsilon for release in sums),
        owners=len(found.owners),
        groups_per_unit=reach.groups_per_unit,
        tuples_per_unit=tuples,
        sampled=sampling is not None,
        delta=granted,
    )
    choice = choose_mechanism(mechanism, policy, circumstances)
    discovers = any(domain.is_discovered for domain in domains)
    part = equal_share(granted, max(1, discovers + choice.approximate))
    selection = group_selection(domains, reach, policy, released.share, part, len(found.owners))
    if choice.mechanism in APPROXIMATE and selection is None:
        reach = GroupReach(determined)  # these bound a unit in all groups together, so no rule leaves rows out
    return Plan(
        source=_source(bound, found, sampling, domains, policy),
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
        groups_per_unit=reach.groups_per_unit,
        epsilon=charge,
        delta=granted if discovers or choice.approximate else 0.0,
        mechanism=choice.mechanism,
        reason=_reason(choice, circumstances, len(released.releases) + selected),
        fingerprint=schema.fingerprint,
        policy_hash=policy.hash,
        tuples_per_unit=tuples,
        sampling=sampling,
        group_rule=reach.rule,
        selection=selection,
        release_delta=part if choice.approximate else 0.0,
    )


def _source(
    bound: BoundQuery,
    found: Provenance,
    sampling: SamplingPlan | None,
    domains: Sequence[GroupDomain],
    policy: Policy,
) -> exp.Select:
    """The join, completed, over the rows that are sampled and have every key that is found among them."""
    conditions = [*bound.predicates, *keys_found(bound, domains, policy)]
    source = complete_provenance(join_tables(bound.tables, conditions), found.completions, found.ends)
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


def _reason(choice: MechanismChoice, known: Circumstances, count: int) -> str:
    share = "the whole epsilon" if count == 1 else f"epsilon / {count}"
    share += "" if known.one_group else " for all the groups that a unit reaches together"
    people = "one privacy unit" if known.owners == 1 else f"up to {known.owners} privacy units"
    groups = 1 if not known.grouped else known.groups_per_unit
    reach = "any number of groups" if groups is None else "one group" if groups == 1 else f"at most {groups} groups"
    why = f"{choice.mechanism}, {choice.why}; a tuple belongs to {people}, a unit reaches {reach}"
    return f"{why}, each release has {share}{', and they share the delta' if choice.approximate else ''}."
