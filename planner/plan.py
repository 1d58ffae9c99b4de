"""The Plan: everything that is decided about a query before any private row is read. All of it is public."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from sqlglot import exp

from planner.released_expression import Display
from planner.sql.rank_grid import AskedRank, Grid
from planner.sql.result_types import KeyCell
from planner.sql.sql_types import ResultType
from planner.sql.trees import ColumnRef
from privacy.registry import MECHANISMS, KeyMechanism, MechanismName, counts_values
from privacy.thresholds import Thresholds, one_threshold, useful_thresholds

SamplingStrategy = Literal["pushdown", "join tree", "thinning", "join result", "as written"]

SizeClass = Literal["linear", "equi_joined", "unbounded"]
SIZE_CLASSES: tuple[SizeClass, ...] = get_args(SizeClass)
"""From the least to the most that a join may explode."""

LONGEST_S = 512.0
"""Beyond the longest that a question waits for a worker and is measured, twice where a connection is lost."""

_GAP = 0.01
"""eta where a tuple has three owners or more. Five times as much would save a quarter of the passes over a dense
graph's tuples (`make benchmark NAME=trust`), and cost every answer 4% more noise: not worth it at any epsilon."""

_EXACT_PARTIES = 2

_MOST_LISTED = 10_000
"""Values of a key that a statement lists."""

_LISTED: frozenset[type] = frozenset({str, int, bool, type(None)})


@dataclass(frozen=True)
class Owner:
    """One owner position: the privacy-unit relation and the SQL expression that holds the unit's key."""

    relation: str
    key: exp.Expr


@dataclass(frozen=True)
class Products:
    """Of a sum of products: the places of its factors' sums and the count, around whose quotients it is measured."""

    x: int
    y: int
    count: int


@dataclass(frozen=True)
class Centre:
    """Of what an average is measured around: the sum over all groups, over how many rows there are, at place `count`.

    It is one number for all groups, and every group's value is that number.
    """

    count: int


@dataclass(frozen=True)
class Deviation:
    """Of a sum for an average: what its centre leaves, S(x) - a n, with a the released centre, by their places."""

    centre: int
    count: int


Around = Products | Centre | Deviation
"""What a sum is measured around, other than 0."""


@dataclass(frozen=True)
class ContributionBound:
    """What the policy says that one person adds to a release, to all groups together, in the answer's own unit.

    Attributes:
      clip: where contributions are cut, below `at_most`; None: they are cut there.
      at_most: what nobody exceeds; None: nothing is promised. Accuracy alone rests on it.
      counted: is a part of the release's epsilon spent on how many people have more than `clip`?
    """

    clip: float | None = None
    at_most: float | None = None
    counted: bool = False


@dataclass(frozen=True)
class Ranked:
    """A quantile or an extreme: SQL of a value's place on a grid, bigint or NULL, and the rank asked for."""

    place: exp.Expr
    grid: Grid
    rank: AskedRank


@dataclass(frozen=True)
class Release:
    """One number per group that a mechanism will release.

    Attributes:
      label: how EXPLAIN names it, for example `sum(l_quantity), positive part`.
      weight: SQL for the integer weight of one join tuple, in units of 2^-30 of `weight_bound`: bigint,
        never NULL, in [0, 2^30], total (it cannot raise).
      weight_bound: W > 0, what 2^30 units of weight are in the answer's own unit.
      epsilon: the part of the query's epsilon that this release spends, for all groups together.
      whole: is every weight 0 or the bound?
      distinct: for COUNT(DISTINCT x), the canonical SQL of x; `weight` is then the whole weight where x is not
        NULL and weight_bound is 1. None otherwise.
      determined: for COUNT(DISTINCT x), does every owner determine x, so that one unit changes the count by at
        most one value (docs/mathematics.md, section 2.7)? Only accuracy rests on it: the count is cut to one value
        per unit.
      owned: for COUNT(DISTINCT x) of tuples with one owner, does x determine the owner, so that each value is one
        unit's (`planner.sensitivity.groups_per_unit`)? Only accuracy rests on it.
      less: SQL of the weight that is taken off `weight`, of the same bound, where rows add to the release with either
        sign; None where none does.
      around: of a sum of products that is measured around means, and of the parts of an average; None of any other.
      ranked: of a quantile or an extreme, what is ranked; `weight` is then the whole weight where the tuple counts,
        and weight_bound 1. None of any other.
      most: the public bound of what one tuple adds, in the answer's own unit; at most W, and hardly less
        (`planner.rewriting.guard_weight`).
      rounded: are weights rounded to units?
      column: of a sum of the values of one column, or of some of them: which column, as (alias, name).
      bound: what the policy says that one person adds (`planner.planning.contribution_bounds`); None: nothing.
    """

    label: str
    weight: exp.Expr
    weight_bound: float
    epsilon: float
    whole: bool
    distinct: exp.Expr | None = None
    determined: bool = False
    owned: bool = False
    less: exp.Expr | None = None
    around: Around | None = None
    ranked: Ranked | None = None
    most: float = 1.0
    rounded: bool = False
    column: ColumnRef | None = None
    bound: ContributionBound | None = None

    @property
    def counts_exceeding(self) -> bool:
        """Is a part of its epsilon spent on how many people have more than the policy lets count?"""
        return self.bound is not None and self.bound.counted

    @property
    def is_raised(self) -> bool:
        """Are its intervals raised by what those people may lose: beside noise, in all groups alike?"""
        return self.bound is not None and self.bound.counted and self.bound.at_most is not None

    @property
    def is_sum(self) -> bool:
        """Is it a sum or count of tuples, not of distinct values, and no rank?"""
        return self.distinct is None and self.ranked is None


@dataclass(frozen=True)
class GroupKey:
    """One GROUP BY key.

    Attributes:
      key: SQL expression over the join tuple.
      type: the result type of the key.
      omitted: a sentence for people: which rows fall into no group; None where all fall into one.
      within: conditions, each total; a row that fails one of them is among those.
    """

    key: exp.Expr
    type: ResultType
    omitted: str | None = None
    within: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class GroupDomain:
    """The public values of one group key, or of several that the public knows together.

    The groups of an answer are every combination of its domains.

    Attributes:
      keys: the places of the keys in Plan.group_keys.
      values: of the one key, or None when `statement` finds them.
      statement: SQL over public tables and declared values, one column per key, distinct and in order; or None.
        Without values and without a statement the key's values are found among the private rows (GroupSelection).
      why: where they come from, for EXPLAIN; `{n}` stands for how many there are.
    """

    keys: tuple[int, ...]
    values: tuple[KeyCell, ...] | None
    statement: exp.Select | None
    why: str

    @property
    def selects_partitions(self) -> bool:
        """Are the values found among the private rows?"""
        return self.values is None and self.statement is None


@dataclass(frozen=True)
class GroupSelection:
    """Which groups an answer shows, decided by their noisy numbers of privacy units: a release of its own.

    Attributes:
      weight: SQL of the weight of a tuple that counts: the whole one, whatever the aggregates ask.
      epsilon: the part of the query's epsilon that it spends, for all groups together.
      delta: the part of the query's delta: more than 0 where keys are found among the private rows, which may only
        show what could be there without any one unit (docs/mathematics.md, section 5.4); 0 where all keys are public.
      minimum: the custodian's minimum frequency, or None.
      votes: does nothing bound the groups of one unit, so that each unit spreads one vote over its own
        (`privacy.mechanisms.partition_selection`)? Otherwise it counts as one in each of at most
        `UnitBounds.groups`.
    """

    weight: exp.Expr
    epsilon: float
    delta: float
    minimum: int | None
    votes: bool = False


@dataclass(frozen=True)
class KindReach:
    """Which groups the units of a privacy-unit relation may be in (`planner.sensitivity.groups_per_unit`).

    Attributes:
      relation: whose units.
      determines: per position that they stand in, the places of the group keys that follow from the unit; no two
        positions are the same function of it. None of them: the unit may be in every group.
    """

    relation: str
    determines: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class UnitBounds:
    """What one unit contributes at most.

    Attributes:
      groups: L0, the largest number of groups one unit can reach; None when only d bounds it.
      rule: `groups`, where the policy's declaration is that number: its tuples in further groups are left out. None:
        there is no such rule, or a key's owner needs none.
      kinds: which group keys follow from units of each relation, where some do and the mechanism makes use of it: how
        many groups each reaches is known with the list of groups. Empty: `groups` is for all of them.
      tuples: Delta, the public bound on the join tuples of one unit by declared fan-outs, before compaction; None
        when none follows.
      assumed: the request's `at_most`, in the unit of the answer: what one person adds at most to a sum
        or count in one group. None: nothing is said. Privacy does not rest on it.
    """

    groups: int | None = None
    rule: int | None = None
    kinds: tuple[KindReach, ...] = ()
    tuples: int | None = None
    assumed: float | None = None


TreeColumn = tuple[int, int]
"""The place of a part of a tree, and of a column among those that are read of it; or CONSTANT and a value."""

MOST_WEIGHT = Fraction(1 << 32)
"""Loads saturate there, in multiples of what one row adds at most: the largest threshold."""

CONSTANT = -1
"""Instead of a part: the same whole number in every tuple. Instead of a part above: there is none."""

Comparison = Literal["<", "<=", ">", ">=", "<>"]


@dataclass(frozen=True)
class TreeShape:
    """How the parts of an acyclic join meet, and what a tuple shows. Parts stand in an order with parents first.

    Attributes:
      parents: per part, the place of the part above; CONSTANT of the first.
      meets: per part, the pairs of its columns and those of the part above that are equal: whole numbers, never NULL.
      widths: per part, how many columns are read.
      comparisons: what else holds of a tuple, of columns of two parts: whole numbers, never NULL.
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
      strategy: `pushdown`: TABLESAMPLE on the one relation whose rows determine the join tuples; `join tree`: the
        proxy reads the tables of an acyclic join, and draws tuples that nobody makes; `thinning`: the
        database compacts and counts, the proxy draws how many of each row's tuples stay; `join result`: the
        same, one row per distinct weights too; `as written`: the analyst's own TABLESAMPLE on a relation that
        fans out.
      rate: q in (0, 1), exactly the chance that a join tuple is kept; released values are divided by it.
      reason: one sentence why this strategy, and what is charged.
      relation: the relation whose rows are sampled, None when the proxy samples.
      alias: its alias in the source, None when the proxy samples.
      percent: the rate as TABLESAMPLE is told it, None when the proxy samples.
      tree: the tree, of `join tree`.
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
      free_steps: how many rows beyond the first no key and no fan-out finds; each multiplies by an unknown number.
      explodes: is a private row among them, so that one person's rows may multiply one another?
      most_tuples: the most join tuples by declared numbers of rows and fan-outs; None where none follows.
      undeclared: the tables whose numbers of rows would have to be declared for `most_tuples`.
      apart: where the class is unbounded, two tables that no key connects, by name.
    """

    kind: SizeClass = "linear"
    free_steps: int = 0
    most_tuples: int | None = None
    undeclared: tuple[str, ...] = ()
    apart: tuple[str, str] | None = None
    explodes: bool = True


@dataclass(frozen=True)
class AnswerTimes:
    """When the answer of one question may leave, in seconds after it began.

    Attributes:
      first_s: the first moment; the others are twice, four times, ... as late. 0: at any time.
      last_s: the last one, at which it fails if it is not there. inf: none is.
    """

    first_s: float = 0.0
    last_s: float = math.inf

    @property
    def outcomes(self) -> float:
        """N: the moments, each with an answer or a failure; inf where the answer is not held."""
        if not self.first_s:
            return math.inf
        last = LONGEST_S if math.isinf(self.last_s) else self.last_s
        return 2 * (max(0, math.ceil(math.log2(last / self.first_s))) + 1)


@dataclass(frozen=True)
class Plan:
    """What will be read, released and charged.

    Attributes:
      source: the join after provenance completion: FROM and WHERE, no select list.
      owners: the distinct owner positions of a join tuple (the union over every base row).
      releases: at least one, but where groups are only named (`planner.planning.make_plan`).
      group_keys: empty without GROUP BY.
      domains: where their values come from; each key stands in one of them.
      display: what the answer shows of the released groups.
      epsilon, delta: the charge: the releases', and the selection's.
      mechanism: which mechanism releases.
      reason: one sentence why this mechanism and these numbers, for EXPLAIN.
      fingerprint: of the schema that the plan was made for.
      policy_hash: of the policy that the plan was made for.
      bounds: what one unit contributes at most.
      sampling: how the join tuples are sampled; None reads them all.
      selection: which groups are shown; None shows all.
      release_delta: what of `delta` the releases may spend together; 0 where every one of them is pure.
      size: how large the join can become.
      times: when its answer may leave.
      notes: sentences for people: what of the question is hardly meant.
      lone: has no join tuple the same owners and group keys as another (`planner.sensitivity.join_steps`)?
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
    bounds: UnitBounds = UnitBounds()
    sampling: SamplingPlan | None = None
    selection: GroupSelection | None = None
    release_delta: float = 0.0
    size: JoinSize = field(default_factory=JoinSize)
    times: AnswerTimes = field(default_factory=AnswerTimes)
    notes: tuple[str, ...] = ()
    lone: bool = False

    def adds_at_most(self, release: Release) -> Fraction | None:
        """What one person adds to a release at most, in normalised weight, by what whoever asks says; else None.

        Where declared fan-outs say less, it is what they say.
        """
        if self.bounds.assumed is None:
            return None
        said = min(normalised(self.bounds.assumed, release), MOST_WEIGHT)
        return said if self.bounds.tuples is None else min(said, Fraction(self.bounds.tuples))

    def named_threshold(self, release: Release) -> Fraction | None:
        """The one threshold that whoever asks, or else the policy, names for a release, in normalised weight.

        None: one is chosen.
        """
        said, bound = self.adds_at_most(release), release.bound
        if said is not None or bound is None:
            return said
        most = bound.at_most if bound.clip is None else bound.clip
        return None if most is None else normalised(most, release)

    def nested(self, release: Release) -> bool:
        """Does a unit add min(tau, load) to a release at every threshold tau, as where every tuple has one owner?"""
        return len(self.owners) == 1 and (release.is_sum or release.determined)

    def thresholds(self, release: Release) -> Thresholds:
        """The thresholds that a release's is chosen from, or the one that is named."""
        named = self.named_threshold(release)
        if named is not None:
            return one_threshold(named)
        counted = self.adds_up(release)  # of whole people
        fine = self.nested(release) or counted
        return useful_thresholds(release.whole or counted, self._most_rows(release), fine=fine)

    def _most_rows(self, release: Release) -> int | None:
        """A bound on the rows of one unit, each of weight 1 at most: of an average also by what is left of its count.

        S(x) - a n of n rows of weights from 0 to 1, and a between them, is at most n; of either sign at most 2 n.
        """
        known = [] if self.bounds.tuples is None else [self.bounds.tuples]
        if isinstance(release.around, Centre | Deviation):
            counted = self.named_threshold(self.releases[release.around.count])
            known += [] if counted is None else [math.ceil(counted) * (1 if release.less is None else 2)]
        return min(known, default=None)

    @property
    def columns(self) -> int:
        """How many columns the answer has, or releases where those are more: each holds a value per group."""
        return max(len(self.display.outputs), len(self.releases))

    def gap(self, release: Release) -> float:
        """eta of a release, the solver's constant relative gap: 0 where exact integers are always within reach.

        That is so when at most two parties share a tuple: its owners and, where distinct values are counted, the
        value. The number of owner positions is public; what a tuple of the data needs is not, and does not matter
        (docs/mathematics.md, section 3.4).
        """
        return _gap(len(self.owners) + (release.distinct is not None))

    @property
    def counts_contributions(self) -> bool:
        """Do its sums follow from how many units have how much, so that no unit need leave the database?

        Of tuples with one owner, all of them read, for mechanisms that ask for truncated sums alone. So does a
        selection of groups that asks how many units each has, whether their keys are public or found among the rows:
        of a found group the loads say all that is read. Where units vote, a vote hangs on how many groups the unit is
        in, and where a rule chooses among the groups of a unit, on what it has in each: there the units themselves
        are needed.
        """
        votes = self.selection is not None and self.selection.votes
        whole = self.sampling is None and self.bounds.rule is None and not votes
        summed = self.selection is not None or any(release.is_sum for release in self.releases)
        return self.counts_norms or (
            whole and summed and len(self.owners) == 1 and MECHANISMS[self.mechanism].by_contributions
        )

    @property
    def counts_norms(self) -> bool:
        """Do its sums follow from what units of each length have in each group (`planner.rewriting.contributions`)?

        Of mechanisms that scale every unit's vector to a length, where no selection of groups asks for more, nor rows
        add with either sign. Rows of no group must not add to a length: the statement tells which they are.
        """
        signed = any(release.less is not None for release in self.releases)
        summed = self.selection is None and not signed and any(release.is_sum for release in self.releases)
        by_norms = MECHANISMS[self.mechanism].by_norms and self.known_keys is not None
        return summed and by_norms and self.sampling is None and len(self.owners) == 1

    @cached_property
    def known_keys(self) -> Mapping[int, Sequence[KeyCell] | None] | None:
        """Of the keys whose rows may lie outside of all groups, the values of a group; None as a value: the domain's
        statement says them. None where a statement is not told which rows have a group: of several keys that the
        public knows together, of values with a fraction, and of very many.
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
        """Are its releases counts of units, each once in a group, by a mechanism that measures all keys at once?"""
        return isinstance(MECHANISMS[self.mechanism], KeyMechanism)

    def is_ruled(self, release: Release) -> bool:
        """Does the custodian's rule of groups per unit bear on it? Not on counts of other distinct values."""
        return release.is_sum or self.counts_units

    def counts_contributions_of(self, release: Release) -> bool:
        """Does a COUNT(DISTINCT x) follow from how many units have how many values?

        Of tuples with one owner, where each value is one unit's: what is left of the count at tau is then the sum of
        min(tau, values of u) over the units u. Where several units may share a value, who keeps it is a program over
        all of them (`privacy.truncation.truncate`).
        """
        by_contributions = release.determined or MECHANISMS[counts_values(self.mechanism)].by_contributions
        whole = self.sampling is None and not self.counts_units and len(self.owners) == 1
        if self.adds_up(release):
            return self.selection is None and self.known_keys is not None
        return release.owned and whole and by_contributions

    def adds_up(self, release: Release) -> bool:
        """Is a COUNT(DISTINCT x) measured as a sum over units, by what each adds to all groups together?

        Of tuples with one owner, each value being one unit's, where a unit may be in several groups.
        """
        by_units = self.mechanism in ("l1_clip", "l2_clip", "joint_scale")
        spread = bool(self.group_keys) and self.bounds.groups != 1
        return release.owned and by_units and spread and self.sampling is None and len(self.owners) == 1

    @property
    def finds_any_number(self) -> bool:
        """Are groups found among private rows, in any number of which one unit may be?"""
        return self.bounds.groups is None and any(domain.selects_partitions for domain in self.domains)

    @property
    def selection_gap(self) -> float:
        """eta of the selection of groups, which counts tuples."""
        return _gap(len(self.owners))


def normalised(most: float, release: Release) -> Fraction:
    """An amount in the answer's own unit as a multiple of what one row adds at most."""
    return Fraction(repr(most)) / Fraction(release.weight_bound)


def _gap(parties: int) -> float:
    return 0.0 if parties <= _EXACT_PARTIES else _GAP


@dataclass(frozen=True)
class BackendQuery:
    """Two kinds of statement for the backend, read in one snapshot.

    Attributes:
      join: SELECT o0, o1, ..., k0, k1, ..., w0, w1, ...: owner keys, group keys, weights (bigint units) of the
        releases without `distinct`, in order, one row per distinct owners and keys. Column names are exactly
        those. None when every release counts distinct values.
        Behind them, where groups are selected, the weight that counts a tuple as one.
      distinct: per release, the statement of a COUNT(DISTINCT x), or of ranks of x: SELECT o0, ..., k0, ..., v, w0:
        one row per distinct owners, keys and value v, or place v; None for other releases.
      ranked: which of these are of ranks, by their places; releases over the same rows have the same statement.
      loads: instead of `join`, where its tuples have one owner and no more than that is needed: SELECT k0, ..., i, b,
        n, s: of the i-th sum, in the group of these keys, n units have a load between the thresholds b - 1 and b, and
          s (bigint units) together. None where the units themselves are read.
      by_norm: does `contributions` say what units of each length have in a group, and how many have it: SELECT k0,
      ..., i,
        b, n, s, r (`planner.rewriting.contributions`)?
      distinct_contributions: per release, instead of the statement in `distinct`, of COUNT(DISTINCT x) where each
      value is
        one unit's: as `contributions`, of the one sum of how many values a unit has. None for others; empty: of none.
      values_by_norm: as `by_norm`, of `distinct_contributions`.
      thresholds: of `contributions` and `distinct_contributions`, rising, in units; empty without.
      relations: the privacy-unit relation of each owner column.
      domains: per domain, the SQL that enumerates it, one column per key of it; or None when `values` does. With
        neither the join's own rows say what its key can be: a private set of groups, of which some are released.
      values: per domain, the values of its one key, or None.
      n_releases: number of weight columns of the join, that of the selection and the count of `counted` included.
      fingerprint: the schema the statement is valid for.
      sampling_rate: q when the answer is that of a sample, None otherwise.
      counted: the join's weights are those of one tuple, and its last column is how many tuples a row stands
        for, of which the proxy keeps each with probability `sampling_rate`. Otherwise the database has sampled.
      parts, tree: instead of `join`, where the proxy draws tuples along a join tree: the SELECT of each part, with
        the columns c0, c1, ..., and how they meet. Empty and None of any other question.
      domain_keys: per domain, the places of its keys; empty: each key has a domain of its own, in order.
      columns: of the answer, or its releases where those are more; they decide how many groups it may have, and
        nothing of what is read.
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
        facts = asdict(self)
        del facts["columns"]
        return facts

    @property
    def discovered(self) -> tuple[int, ...]:
        """The domains that the join's own rows say."""
        pairs = enumerate(zip(self.domains, self.values, strict=True))
        return tuple(place for place, pair in pairs if pair == (None, None))
