"""The Plan: everything that is decided about a query before any private row is read. All of it is public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

MechanismName = Literal["gem", "r2t"]
ResultType = Literal["int8", "float8", "numeric", "text", "bool", "date", "timestamp"]


@dataclass(frozen=True)
class Owner:
    """One owner position: the privacy-unit relation and the SQL expression that holds the unit's key."""

    relation: str
    key: exp.Expression


@dataclass(frozen=True)
class Release:
    """One number per group that a mechanism will release.

    Attributes:
      label: how EXPLAIN names it, for example `sum(l_quantity), positive part`.
      weight: SQL for the integer weight of one join tuple, in units of 2^-30 of `weight_bound`: bigint,
        never NULL, in [0, 2^30], total (it cannot raise).
      weight_bound: W > 0, the public bound of one tuple's weight, in the answer's own unit.
      epsilon: the part of the query's epsilon that this release spends, for all groups together.
      whole: is every weight 0 or the bound?
    """

    label: str
    weight: exp.Expression
    weight_bound: float
    epsilon: float
    whole: bool


@dataclass(frozen=True)
class GroupKey:
    """One GROUP BY key and its public domain.

    Attributes:
      key: SQL expression over the join tuple.
      type: the result type of the key.
      values: the declared domain, or None when `domain` enumerates it.
      domain: SQL over public tables that returns the distinct non-NULL keys in order, or None.
    """

    key: exp.Expression
    type: ResultType
    values: tuple[str | int | float | bool, ...] | None
    domain: exp.Expression | None


@dataclass(frozen=True)
class Output:
    """One column of the answer.

    Attributes:
      name: the column's name.
      type: its type.
      group_key: index into Plan.group_keys, or None for an aggregate.
      terms: for an aggregate, (index into Plan.releases, sign): the value is the signed sum of
        value * weight_bound. COUNT is rounded to a whole number after the noise.
    """

    name: str
    type: ResultType
    group_key: int | None
    terms: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Plan:
    """What will be read, released and charged.

    Attributes:
      source: the join after provenance completion: FROM and WHERE, no select list.
      owners: the distinct owner positions of a join tuple (the union over every base row).
      releases: at least one.
      group_keys: empty without GROUP BY.
      outputs: the columns of the answer, in the order of the select list.
      groups_per_unit: L0, the largest number of groups one unit can reach; None when only d bounds it.
      epsilon, delta: the charge.
      mechanism: which mechanism releases.
      gap: eta; the solver's constant relative gap, 0 or 0.01, from the number of owners alone.
      reason: one sentence why this mechanism and these numbers, for EXPLAIN.
      fingerprint: of the schema that the plan was made for.
      policy_hash: of the policy that the plan was made for.
    """

    source: exp.Select
    owners: tuple[Owner, ...]
    releases: tuple[Release, ...]
    group_keys: tuple[GroupKey, ...]
    outputs: tuple[Output, ...]
    groups_per_unit: int | None
    epsilon: float
    delta: float
    mechanism: MechanismName
    gap: float
    reason: str
    fingerprint: str
    policy_hash: str


@dataclass(frozen=True)
class BackendQuery:
    """Two kinds of statement for the backend, read in one snapshot.

    Attributes:
      join: SELECT o0, o1, ..., k0, k1, ..., w0, w1, ...: owner keys, group keys, weights (bigint units),
        one row per distinct owners and keys. Column names are exactly those.
      relations: the privacy-unit relation of each owner column.
      domains: per group key, the SQL that enumerates it (one column), or None when `values` does.
      values: per group key, the declared values, or None.
      n_releases: number of weight columns.
      fingerprint: the schema the statement is valid for.
    """

    join: str
    relations: tuple[str, ...]
    domains: tuple[str | None, ...]
    values: tuple[tuple[str | int | float | bool, ...] | None, ...]
    n_releases: int
    fingerprint: str
