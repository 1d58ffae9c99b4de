"""The plan of a query: everything decided before a private row is read. All of it is public."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from sqlglot import exp

from planner.released_expression import Display, KeyValue
from planner.sql.rank_grid import AskedRank, Grid
from planner.sql.result_types import KeyCell
from planner.sql.sql_types import ResultType
from planner.sql.trees import ColumnRef
from privacy.registry import MECHANISMS, KeyMechanism, MechanismName, counts_values
from privacy.thresholds import Thresholds, one_threshold, useful_thresholds

SamplingStrategy = Literal["pushdown", "join tree", "thinning", "join result", "as written"]

SizeClass = Literal["linear", "equi_joined", "unbounded"]
SIZE_CLASSES: tuple[SizeClass, ...] = get_args(SizeClass)
"""In order: each class may grow faster than the one before."""

LONGEST_S = 512.0
"""Seconds, longer than any question takes, including a second measurement after a lost connection."""

_GAP = 0.01
"""The solver's relative gap eta where a tuple has three owners or more.

Five times as much would save a quarter of the solver's passes on dense graphs (`make benchmark NAME=trust`). It would
add 4% noise to every answer, so it does not pay at any epsilon.
"""

_EXACT_PARTIES = 2

_MOST_LISTED = 10_000
"""The most values of a key that a statement lists."""

_LISTED: frozenset[type] = frozenset({str, int, bool, type(None)})


@dataclass(frozen=True)
class Owner:
    """One owner position: the privacy-unit relation, and SQL for the unit's key."""

    relation: str
    key: exp.Expr


@dataclass(frozen=True)
class Products:
    """What a sum of products is measured around: the quotients of its factors' sums and the count.

    The fields are places among the plan's releases.
    """

    x: int
    y: int
    count: int


@dataclass(frozen=True)
class Centre:
    """A released centre for an average: the sum over all groups, divided by the release at place `count`.

    It is one number, the same for all groups.
    """

    count: int


@dataclass(frozen=True)
class Deviation:
    """The part of an average that its centre leaves: S(x) - a n, with a the released centre, n the count.

    The fields are places among the plan's releases.
    """

    centre: int
    count: int


Around = Products | Centre | Deviation
"""What a sum is measured around, if not 0."""


@dataclass(frozen=True)
class ContributionBound:
    """The policy's bound on what one person contributes to a release, over all groups, in the answer's own unit.

    Attributes:
      clip: where contributions are clipped, below `at_most`; None: at `at_most`.
      at_most: what nobody exceeds; None: not declared. Only accuracy rests on it.
      chosen: is a threshold chosen up to `clip`?
      counted: does part of the release's epsilon count the people above `clip`?
    """

    clip: float | None = None
    at_most: float | None = None
    chosen: bool = False
    counted: bool = False


@dataclass(frozen=True)
class Ranked:
    """A quantile or an extreme: SQL for a value's place on a grid (bigint or NULL), and the rank."""

    place: exp.Expr
    grid: Grid
    rank: AskedRank


@dataclass(frozen=True)
class Release:
    """One number per group that a mechanism will release.

    Attributes:
      label: how EXPLAIN names it, for example `sum(l_quantity), positive part`.
      weight: SQL for the weight of one join tuple in units of 2^-30 of `weight_bound`: a bigint in [0, 2^30]. It is
        never NULL and cannot raise.
      weight_bound: W > 0, what 2^30 units are in the answer's own unit.
      epsilon: its part of the query's epsilon, for all groups together.
      whole: is every weight either 0 or the bound?
      distinct: for COUNT(DISTINCT x), the canonical SQL of x. `weight` is then whole where x is not NULL, and
        `weight_bound` is 1. For SUM(DISTINCT x), `weight` is that of x.
      determined: for COUNT(DISTINCT x), does every owner determine x? Then one unit changes the count by at most one
        value (docs/mathematics.md, section 2.7). Only accuracy rests on it: each unit counts with one value.
      adds_values: is it a sum of distinct values?
      owned: for COUNT(DISTINCT x), does x determine the one owner of its tuple, so that each value belongs to one
        unit (`planner.sensitivity.groups_per_unit`)? Only accuracy rests on it.
      less: SQL of a weight that is subtracted from `weight`, with the same bound; None if rows only add.
      around: what it is measured around: only for sums of products and the parts of an average.
      ranked: what is ranked: only for a quantile or an extreme. `weight` is then whole where the tuple counts, and
        `weight_bound` is 1.
      most: the public bound on one tuple, in the answer's own unit: W or a little less
        (`planner.rewriting.guard_weight`).
      rounded: are weights rounded to units?
      column: the summed column as (alias, name); None if it is not the sum of one column.
      bound: the policy's bound on one person's contribution (`planner.planning.contribution_bounds`), if any.
      alone: is it measured by itself, though other sums of the question share one factor?
    """

    label: str
    weight: exp.Expr
    weight_bound: float
    epsilon: float
    whole: bool
    distinct: exp.Expr | None = None
    determined: bool = False
    owned: bool = False
    adds_values: bool = False
    less: exp.Expr | None = None
    around: Around | None = None
    ranked: Ranked | None = None
    most: float = 1.0
    rounded: bool = False
    column: ColumnRef | None = None
    bound: ContributionBound | None = None
    alone: bool = False

    @property
    def counts_exceeding(self) -> bool:
        """Does part of its epsilon count the people above the policy's `clip`?"""
        return self.bound is not None and self.bound.counted

    @property
    def is_raised(self) -> bool:
        """Are its intervals extended by what people above `clip` may lose?"""
        return self.bound is not None and self.bound.counted and self.bound.at_most is not None

    @property
    def is_not_negative(self) -> bool:
        """Is its true value never negative: a count, or a sum of values that are not?"""
        return self.ranked is None and self.less is None and self.around is None

    @property
    def is_sum(self) -> bool:
        """Is it a sum or a count of tuples, rather than of distinct values or a rank?"""
        return self.distinct is None and self.ranked is None


@dataclass(frozen=True)
class GroupKey:
    """One GROUP BY key.

    Attributes:
      key: SQL over the join tuple.
      type: the result type of the key.
      omitted: a sentence about the rows that fall into no group; None if there are none.
      within: conditions that cannot raise; a row that fails one of them falls into no group.
    """

    key: exp.Expr
    type: ResultType
    omitted: str | None = None
    within: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class GroupDomain:
    """The public values of one group key, or of several keys together.

    The groups of an answer are all combinations of its domains.

    Attributes:
      keys: places in Plan.group_keys.
      values: of the single key; None if `statement` finds them.
      statement: SQL over public tables and declared values, one column per key, distinct and in order. If both are
        None, partition selection finds the values among private rows (GroupSelection).
      why: where the values come from, for EXPLAIN; `{n}` stands for their number.
    """

    keys: tuple[int, ...]
    values: tuple[KeyCell, ...] | None
    statement: exp.Select | None
    why: str

    @property
    def selects_partitions(self) -> bool:
        """Does partition selection find the values among private rows?"""
        return self.values is None and self.statement is None


@dataclass(frozen=True)
class GroupSelection:
    """The release that decides which groups an answer shows, by their noisy numbers of privacy units.

    Attributes:
      weight: SQL of the weight of a tuple that counts: always whole.
      epsilon: its part of the query's epsilon, for all groups together.
      delta: its part of the query's delta: above 0 if keys are found among private rows (docs/mathematics.md, section
        5.4), else 0.
      minimum: the administrator's minimum frequency, or None.
      votes: is the number of a unit's groups unbounded, so that each unit spreads one vote over its groups
        (`privacy.mechanisms.partition_selection`)? Otherwise it counts as one in at most `UnitBounds.groups` groups.
    """

    weight: exp.Expr
    epsilon: float
    delta: float
    minimum: int | None
    votes: bool = False


@dataclass(frozen=True)
class KindReach:
    """Which groups the units of one relation may reach (`planner.sensitivity.groups_per_unit`).

    Attributes:
      relation: the privacy-unit relation.
      determines: per position, the places of the group keys that follow from the unit. Positions that are the same
        function of the unit are listed once. Empty: the unit may reach every group.
    """

    relation: str
    determines: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class UnitBounds:
    """The most that one unit contributes.

    Attributes:
      groups: L0, the most groups that one unit reaches; None if only the number of groups bounds it.
      rule: equal to `groups` if the policy's `groups_per_unit` sets that number: a unit's tuples in further groups
        are left out. None if the policy has no such setting, or the query needs none.
      kinds: which group keys follow from the units of each relation, if the mechanism uses that. The numbers follow
        once the groups are known. Empty: `groups` holds for all units.
      tuples: Delta, the most join tuples of one unit by declared fan-outs, before merging; None if unbounded.
      assumed: the request's `at_most`: the most that one person adds to a sum or count in one group, in the answer's
        unit; None if the request has none. Privacy does not rest on it.
    """

    groups: int | None = None
    rule: int | None = None
    kinds: tuple[KindReach, ...] = ()
    tuples: int | None = None
    assumed: float | None = None


TreeColumn = tuple[int, int]
"""The place of a part in a join tree and of a column in that part; or CONSTANT and a value."""

MOST_WEIGHT = Fraction(1 << 32)
"""The largest clipping threshold: contributions saturate there, in multiples of what one row adds at most."""

CONSTANT = -1
"""In the place of a part: the same whole number in every tuple; in the place of a parent: there is none."""

Comparison = Literal["<", "<=", ">", ">=", "<>"]


@dataclass(frozen=True)
class TreeShape:
    """How the parts of an acyclic join meet, and what a tuple shows. Parents come before their children.

    Attributes:
      parents: per part, the place of its parent; CONSTANT for the first part.
      meets: per part, the pairs of equal columns in it and in its parent: whole numbers, never NULL.
      widths: per part, the number of columns that are read.
      comparisons: further conditions on columns of two parts: whole numbers, never NULL.
      outputs: what BackendQuery.join would show: o0, ..., k0, ..., w0, ....
    """

    parents: tuple[int, ...]
    meets: tuple[tuple[tuple[int, int], ...], ...]
    widths: tuple[int, ...]
    comparisons: tuple[tuple[TreeColumn, Comparison, TreeColumn], ...]
    outputs: tuple[TreeColumn, ...]


@dataclass(frozen=True)
class SampledTree:
    """An acyclic join that the proxy samples: its shape, and the SELECT of each part."""

    shape: TreeShape
    selects: tuple[exp.Select, ...]


@dataclass(frozen=True)
class SamplingPlan:
    """How the join tuples are sampled.

    Attributes:
      strategy: one of:
        `pushdown`: TABLESAMPLE on the one relation whose rows determine the join tuples;
        `join tree`: the proxy reads the tables of an acyclic join and draws tuples without making the join;
        `thinning`: the database counts equal tuples, and the proxy draws how many of them stay;
        `join result`: the same, with one row per distinct weight, too;
        `as written`: the analyst's TABLESAMPLE on a relation whose rows may stand in several tuples.
      rate: q in (0, 1), exactly the chance that a join tuple stays; released values are divided by it.
      reason: one sentence on why this strategy, and what is charged.
      relation: the sampled relation; None if the proxy samples.
      alias: its alias in the source; None if the proxy samples.
      percent: the rate as TABLESAMPLE takes it; None if the proxy samples.
      tree: the tree of a `join tree`.
    """

    strategy: SamplingStrategy
    rate: float
    reason: str
    relation: str | None = None
    alias: str | None = None
    percent: str | None = None
    tree: SampledTree | None = None

    @property
    def amplifies(self) -> bool:
        """Does each join tuple enter the sample independently, so that amplification may be claimed?"""
        return self.strategy != "as written"


@dataclass(frozen=True)
class JoinSize:
    """The public size of a join.

    Attributes:
      kind: its class (`planner.sensitivity.join_size`).
      free_steps: how many rows after the first are found by no key and no fan-out; each multiplies the join by an
        unknown number.
      explodes: is a private row among them, so that one person's rows may multiply each other?
      most_tuples: the most join tuples by declared rows and fan-outs; None if unbounded.
      undeclared: the tables whose `rows` would have to be declared for `most_tuples`.
      apart: for an unbounded join, two tables that no key connects.
    """

    kind: SizeClass = "linear"
    free_steps: int = 0
    most_tuples: int | None = None
    undeclared: tuple[str, ...] = ()
    apart: tuple[str, str] | None = None
    explodes: bool = True


@dataclass(frozen=True)
class AnswerTimes:
    """When the answer of one question may leave, in seconds after the question began.

    Attributes:
      first_s: the first moment; each further one is twice as late. 0: at any time.
      last_s: the last moment; a question without an answer fails then. inf: there is no last one.
    """

    first_s: float = 0.0
    last_s: float = math.inf

    @property
    def outcomes(self) -> float:
        """N: every moment with an answer or a failure; inf if the answer is not held."""
        if not self.first_s:
            return math.inf
        last = LONGEST_S if math.isinf(self.last_s) else self.last_s
        return 2 * (max(0, math.ceil(math.log2(last / self.first_s))) + 1)


@dataclass(frozen=True)
class Plan:
    """What will be read, released and charged.

    Attributes:
      source: the join with the tables that find the owners: FROM and WHERE, no select list.
      owners: the distinct owner positions of a join tuple (the union over every base row).
      releases: none only if the query asks for group keys alone (`planner.planning.make_plan`).
      group_keys: empty without GROUP BY.
      domains: where the values of the keys come from; each key belongs to one domain.
      display: what the answer shows of the released groups.
      epsilon, delta: the whole charge, including that of the selection.
      mechanism: what releases.
      reason: one sentence on the choice of the mechanism, for EXPLAIN.
      fingerprint: of the schema that the plan was made for.
      policy_hash: of the policy that the plan was made for.
      relied_on: hash of that part of the policy on which its answer depends.
      bounds: the most that one unit contributes.
      sampling: how the join tuples are sampled; None reads them all.
      selection: which groups are shown; None shows all.
      release_delta: the part of `delta` that the releases share; 0 if all of them are pure.
      size: how large the join can become.
      times: when its answer may leave.
      notes: sentences for the analyst.
      lone: do no two join tuples have the same owners and group keys (`planner.sensitivity.join_steps`)?
    """

    source: exp.Select
    owners: tuple[Owner, ...]
    releases: tuple[Release, ...]
    group_keys: tuple[GroupKey, ...]
    domains: tuple[GroupDomain, ...]
    display: Display
    epsilon: float
    delta: float
    mechanism: MechanismName
    reason: str
    fingerprint: str
    policy_hash: str
    relied_on: str
    bounds: UnitBounds = UnitBounds()
    sampling: SamplingPlan | None = None
    selection: GroupSelection | None = None
    release_delta: float = 0.0
    size: JoinSize = field(default_factory=JoinSize)
    times: AnswerTimes = field(default_factory=AnswerTimes)
    notes: tuple[str, ...] = ()
    lone: bool = False

    def adds_at_most(self, release: Release) -> Fraction | None:
        """The most that one person adds to a release by the request's `at_most`; None without it.

        In normalised weight. Declared fan-outs lower it.
        """
        if self.bounds.assumed is None:
            return None
        said = min(normalised(self.bounds.assumed, release), MOST_WEIGHT)
        return said if self.bounds.tuples is None else min(said, Fraction(self.bounds.tuples))

    def named_threshold(self, release: Release) -> Fraction | None:
        """The clipping threshold that the request or the policy names, in normalised weight; None: one is chosen."""
        said, bound = self.adds_at_most(release), release.bound
        if said is not None or bound is None or bound.chosen:
            return said
        most = bound.at_most if bound.clip is None else bound.clip
        return None if most is None else normalised(most, release)

    def nested(self, release: Release) -> bool:
        """Does a unit add min(tau, contribution) at every threshold tau, as when every tuple has one owner?"""
        return len(self.owners) == 1 and (release.is_sum or release.determined)

    def thresholds(self, release: Release) -> Thresholds:
        """The candidate thresholds of a release, or the one that is named."""
        named = self.named_threshold(release)
        if named is not None:
            return one_threshold(named)
        counted = self.adds_up(release)  # of whole people
        fine = self.nested(release) or counted
        rows, most = self.largest_contribution(release), self._largest_threshold(release)
        return useful_thresholds(release.whole or counted, rows, fine=fine, most=most)

    def is_capped(self, release: Release) -> bool:
        """Is a threshold chosen up to the policy's `clip`?"""
        return self.named_threshold(release) is None and self._largest_threshold(release) is not None

    def _largest_threshold(self, release: Release) -> Fraction | None:
        """The largest threshold that the request or the policy allows, in normalised weight; None: any."""
        bound = release.bound
        if bound is not None and bound.chosen and bound.clip is not None:
            return normalised(bound.clip, release)
        return self.named_threshold(release)

    def largest_contribution(self, release: Release) -> int | None:
        """A bound on what one unit adds to a release, in normalised weight; None without one.

        A row weighs 1 at most. Around a mean, x - a with x and a in [0, 1] is at most 1 in size, and 2 with either
        sign. So n rows add at most n, or 2 n; a product of two deviations adds at most n, 2 n or 4 n.
        """
        known = [] if self.bounds.tuples is None else [self.bounds.tuples]
        if isinstance(release.around, Centre | Deviation):
            counted = self._largest_threshold(self.releases[release.around.count])
            known += [] if counted is None else [math.ceil(counted)]
        if not known:
            return None
        return min(known) * math.prod(1 if one.less is None else 2 for one in self._deviating(release))

    def _deviating(self, release: Release) -> list[Release]:
        """The releases whose rows' distances from a mean a release adds or multiplies."""
        if isinstance(release.around, Products):
            return [self.releases[release.around.x], self.releases[release.around.y]]
        return [release] if isinstance(release.around, Deviation) else []

    @property
    def columns(self) -> int:
        """How many values the answer needs per group: its columns, or the releases if there are more."""
        return max(len(self.display.outputs), len(self.releases))

    def gap(self, release: Release) -> float:
        """The solver's relative gap eta for a release: 0 if exact integers are always within reach.

        They are if at most two parties share a tuple: its owners and, for distinct values, the value. The number of
        owner positions is public (docs/mathematics.md, section 3.4).
        """
        return _gap(len(self.owners) + (release.distinct is not None))

    @property
    def names_selected_groups(self) -> bool:
        """Does the answer show keys alone, those that partition selection finds?"""
        shown = all(isinstance(output.expression, KeyValue) for output in self.display.outputs)
        return shown and self.display.having is None and bool(self.releases)

    @property
    def counts_contributions(self) -> bool:
        """Can the database add up contributions, so that no unit's key leaves it?

        It can if all tuples are read, each has one owner, and the mechanism needs truncated sums only. A selection of
        groups counts the units of each group, which works the same way. Votes need the number of a unit's groups, and
        the rule of groups per unit needs what a unit has in each: both need the units themselves.
        """
        votes = self.selection is not None and self.selection.votes
        whole = self.sampling is None and self.bounds.rule is None and not votes
        summed = self.selection is not None or any(release.is_sum for release in self.releases)
        return self.counts_norms or (
            whole and summed and len(self.owners) == 1 and MECHANISMS[self.mechanism].by_contributions
        )

    @property
    def counts_norms(self) -> bool:
        """Can the database add up the units of each norm in each group (`planner.rewriting.contributions`)?

        It can for mechanisms that scale each unit's vector to a norm, without a selection of groups and without rows
        that subtract. Rows outside all groups must not count towards a norm, so the statement must know which they
        are.
        """
        signed = any(release.less is not None for release in self.releases)
        summed = self.selection is None and not signed and any(release.is_sum for release in self.releases)
        by_norms = MECHANISMS[self.mechanism].by_norms and self.known_keys is not None
        return summed and by_norms and self.sampling is None and len(self.owners) == 1

    @cached_property
    def known_keys(self) -> Mapping[int, Sequence[KeyCell] | None] | None:
        """For each key with rows outside all groups, the values that have a group.

        None as a value: the domain's statement lists them. None as a whole: a statement cannot list them, as of
        several keys in one domain, of values with a fraction, or of too many values.
        """
        found: dict[int, Sequence[KeyCell] | None] = {}
        for domain in self.domains:
            if all(self.group_keys[key].omitted is None for key in domain.keys) and not domain.selects_partitions:
                continue
            values = domain.values
            listed = values is not None and len(values) <= _MOST_LISTED and set(map(type, values)) <= _LISTED
            if len(domain.keys) > 1 or not (listed or domain.statement is not None):
                return None
            found[domain.keys[0]] = values
        return found

    @property
    def counts_units(self) -> bool:
        """Does every release count units, each once per group, by a mechanism that measures all keys at once?"""
        return isinstance(MECHANISMS[self.mechanism], KeyMechanism)

    def is_ruled(self, release: Release) -> bool:
        """Does the administrator's `groups_per_unit` apply to it? Not to counts of other distinct values."""
        return release.is_sum or self.counts_units

    def counts_contributions_of(self, release: Release) -> bool:
        """Can the database compute a COUNT(DISTINCT x) from how many values each unit has?

        It can if all tuples are read, each has one owner, and each value belongs to one unit. The count clipped at
        tau is then the sum of min(tau, values of u) over the units u. Values that several units share need the
        program of `privacy.truncation.truncate`.
        """
        by_contributions = release.determined or MECHANISMS[counts_values(self.mechanism)].by_contributions
        whole = self.sampling is None and not self.counts_units and len(self.owners) == 1
        if self.adds_up(release):
            return self.selection is None and self.known_keys is not None
        return release.owned and whole and by_contributions

    def adds_up(self, release: Release) -> bool:
        """Is a COUNT(DISTINCT x) measured as a sum over units, by what each adds to all groups together?

        Only if each tuple has one owner, each value belongs to one unit, and a unit may be in several groups.
        """
        by_units = self.mechanism in ("l1_clip", "l2_clip", "joint_scale")
        spread = bool(self.group_keys) and self.bounds.groups != 1
        return release.owned and by_units and spread and self.sampling is None and len(self.owners) == 1

    @property
    def finds_any_number(self) -> bool:
        """Does partition selection find groups, with no bound on how many of them one unit reaches?"""
        return self.bounds.groups is None and any(domain.selects_partitions for domain in self.domains)

    @property
    def selection_gap(self) -> float:
        """The solver's relative gap eta for the selection of groups, which counts tuples."""
        return _gap(len(self.owners))


def normalised(most: float, release: Release) -> Fraction:
    """An amount in the answer's own unit, as a multiple of what one row adds at most."""
    return Fraction(repr(most)) / Fraction(release.weight_bound)


def _gap(parties: int) -> float:
    return 0.0 if parties <= _EXACT_PARTIES else _GAP


@dataclass(frozen=True)
class BackendQuery:
    """The statements for the backend, read in one snapshot.

    Attributes:
      join: SELECT o0, o1, ..., k0, k1, ..., w0, w1, ...: owner keys, group keys, and the weights (bigint units) of
        the releases without `distinct`, in order. One row per distinct owners and keys; exactly these column names.
        If groups are selected, the last weight counts a tuple as one. None if every release counts distinct values.
      distinct: per release, the statement of a COUNT(DISTINCT x) or of ranks of x: SELECT o0, ..., k0, ..., v, w0,
        with one row per distinct owners, keys and value (or place) v. None for other releases.
      ranked: the places of the releases that are ranks; ranks of the same rows share a statement.
      contributions: instead of `join`, if tuples have one owner and sums suffice: SELECT k0, ..., i, b, n, s. For the
        i-th sum in the group of these keys, n units contribute between the thresholds b - 1 and b, and s (bigint
        units) together. None if the units themselves are read.
      by_norm: does `contributions` count the units of each norm in a group, as SELECT k0, ..., i, b, n, s, r
        (`planner.rewriting.contributions`)?
      distinct_contributions: per release, as `contributions` but of how many values each unit has, for a
        COUNT(DISTINCT x) whose values belong to one unit each. None for other releases; empty if there are none.
      values_by_norm: as `by_norm`, for `distinct_contributions`.
      thresholds: of both, rising, in units; empty without them.
      relations: the privacy-unit relation of each owner column.
      domains: per domain, SQL that lists it, one column per key; None if `values` does. If both are None, the keys of
        the join's own rows are the domain: a private set, of which partition selection releases some.
      values: per domain, the values of its one key, or None.
      n_releases: the number of weight columns in the join, with those of the selection and of `counted`.
      fingerprint: the schema that the statement is valid for.
      sampling_rate: q of a sample, else None.
      counted: does the last column count the tuples that a row stands for, of which the proxy keeps each with
        probability `sampling_rate`? Otherwise the database has sampled.
      parts, tree: instead of `join`, for a sample along a join tree: the SELECT of each part, with the columns c0,
        c1, ..., and how they meet.
      domain_keys: per domain, the places of its keys; empty: one key per domain, in order.
      columns: values per group; they limit the number of groups, and change nothing that is read.
    """

    join: str | None
    distinct: tuple[str | None, ...]
    relations: tuple[str, ...]
    domains: tuple[str | None, ...]
    values: tuple[tuple[KeyCell, ...] | None, ...]
    n_releases: int
    fingerprint: str
    sampling_rate: float | None = None
    counted: bool = False
    domain_keys: tuple[tuple[int, ...], ...] = ()
    columns: int = field(default=1, compare=False)
    ranked: tuple[int, ...] = ()
    contributions: str | None = None
    distinct_contributions: tuple[str | None, ...] = ()
    thresholds: tuple[int, ...] = ()
    by_norm: bool = False
    values_by_norm: bool = False
    parts: tuple[str, ...] = ()
    tree: TreeShape | None = None

    def what_is_read(self) -> dict[str, object]:
        """Everything that decides what is read, by name."""
        facts = {one.name: getattr(self, one.name) for one in fields(self) if one.compare}
        return facts | {"tree": None if self.tree is None else asdict(self.tree)}

    @property
    def texts(self) -> Iterator[str]:
        """Its statements, before contributions are counted."""
        maybe = (self.join, *self.distinct, *self.domains, *self.parts)
        return (text for text in maybe if text is not None)

    def over(self, relations: str) -> BackendQuery:
        """The same statements over relations of released values; `relations`: their entries in WITH."""

        def read(statement: str | None) -> str | None:
            if statement is None:
                return None
            more = statement.startswith("WITH ")
            return f"WITH {relations}, {statement[5:]}" if more else f"WITH {relations} {statement}"

        return replace(
            self,
            join=read(self.join),
            distinct=tuple(map(read, self.distinct)),
            contributions=read(self.contributions),
            distinct_contributions=tuple(map(read, self.distinct_contributions)),
            parts=tuple(filter(None, map(read, self.parts))),
        )

    @property
    def discovered(self) -> tuple[int, ...]:
        """The places of the domains whose keys come from the join's own rows."""
        pairs = enumerate(zip(self.domains, self.values, strict=True))
        return tuple(place for place, pair in pairs if pair == (None, None))
