"""Which join tuples are read for a sample, and why that is a sample of the join.

Each join tuple is drawn independently, with a fresh secret that no statement can name:

* in PostgreSQL by TABLESAMPLE BERNOULLI, with a new 32-bit seed for each scan;
* in the proxy, from the operating system's entropy, after the database has counted equal tuples;
* in the proxy, by number, if the join is acyclic: nobody makes the whole join.

Proof for the last way (docs/mathematics.md, section 7.4). Let T be the tuples of the parts' join. P are those that
also pass the comparisons between parts, the tuples of the question. `privacy.sampling.join_tree` is a bijection from
0..|T|-1 onto T, which depends on the data. `privacy.sampling.draws` keeps each number with probability q,
independently. So each t of T stays with probability q, independently of all others: a product distribution does not
depend on the order of its factors. The tuples of P among them are a Bernoulli sample of P. If a unit leaves, T' and
P' are T and P without its tuples (docs/mathematics.md, section 1.4). So the sample of P' has the distribution of that
of P without the unit's tuples, of which there are Binomial(its tuples, q). The joint loss (`privacy.sampling.design`)
and amplification rest on this coupling, as they do where the proxy thins counted tuples.

Two other ways are not used. `random() < q` over the join forbids parallel plans. A hash of row identifiers with a
secret seed runs in parallel, but hashint8extended is not cryptographic. Tuples that share a row have related hashes,
so neither independence nor amplification could be claimed.

A part is a table of FROM, with the parents that only say who owns its rows and the conditions on these alone. Parts
meet in equal columns of whole numbers. They are acyclic if, for every class of equal columns, the parts that share it
form one tree (the running intersection property).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.errors import InvalidSetting, UnsupportedSQL
from planner.group_domains.key_sources import keys_found
from planner.plan import CONSTANT, Comparison, Plan, Release, SampledTree, SamplingPlan, TreeColumn, TreeShape
from planner.policy.policy import Policy
from planner.rewriting.compact_tuples import bernoulli_percent, is_constant
from planner.rewriting.guard_weight import UNITS, whole_weight
from planner.rewriting.join_tables import complete_provenance, join_tables, select_part
from planner.sensitivity.join_steps import JoinSteps
from planner.sensitivity.provenance import Provenance
from planner.sql.sql_types import Family
from planner.sql.trees import ColumnRef, bound_column, cast_sql, column_ref, columns_of

MIN_RATE = 1e-6
"""The lowest rate: below it PostgreSQL's 32 bits are too coarse, and most answers would have nothing left."""

_CHARGE = "the whole epsilon is charged"
_AMPLIFIES = f"{_CHARGE}; amplification lowers the noise if fan-outs bound a person's tuples"


def sampling_plan(
    query: BoundQuery, join_steps: JoinSteps, releases: Sequence[Release], sampling_rate: float | None
) -> SamplingPlan | None:
    """Choose how join tuples are sampled; None without a sample, or at a rate of 1, so that everything is read.

    Raises: InvalidSetting for a rate outside [1e-6, 1] or given twice; UnsupportedSQL for what cannot be sampled.
    """
    written = [entry for entry in query.tables if entry.sample is not None]
    rate = _rate(written, sampling_rate)
    if rate is None:
        return None
    place = written[0].start if written else None
    if any(release.ranked is not None for release in releases):
        message, hint = "quantiles, MIN and MAX of a sample are not supported", "ask for it without sampling"
        raise UnsupportedSQL(message, hint=hint, position=place)
    if any(release.distinct is not None for release in releases):
        hint = "ask for it without sampling: a sample does not show how many values it misses"
        raise UnsupportedSQL("COUNT(DISTINCT ...) of a sample is not supported", hint=hint, position=place)
    entries = [entry for entry in query.tables if _determines(entry, join_steps)]
    if written:
        return _pushdown(written[0], rate) if written[0] in entries else _as_written(written[0], rate)
    if entries:
        return _pushdown(entries[0], rate)
    return _in_the_proxy(rate, all(is_constant(release.weight) for release in releases))


def along_a_tree(plan: Plan, tree: SampledTree | None) -> Plan:
    """The plan with its sample drawn along the join tree, if there is one and it saves work.

    The database is better at a linear join of one owner: it adds up person by person, so that few rows leave it. Any
    other join has about as many distinct tuples as tuples, all of which the database would make and the proxy would
    read.
    """
    sampling = plan.sampling
    if tree is None or sampling is None or sampling.alias is not None:
        return plan
    if plan.size.kind == "linear" and len(plan.owners) == 1:
        return plan
    reason = (
        "the join is a tree of tables: the database reads each table, and the proxy draws tuples by number, each "
        f"independently, without making the join; {_AMPLIFIES}"
    )
    return replace(plan, sampling=replace(sampling, strategy="join tree", reason=reason, tree=tree))


def _rate(written: Sequence[BoundTable], asked: float | None) -> float | None:
    if len(written) > 1:
        raise UnsupportedSQL(
            "TABLESAMPLE on several tables is not supported", hint="sample one table", position=written[1].start
        )
    if written and asked is not None:
        raise InvalidSetting("TABLESAMPLE and the sampling rate cannot be combined", hint="leave out one of them")
    if written and written[0].outer is not None:
        message = "TABLESAMPLE on the right of a LEFT JOIN is not supported"
        raise UnsupportedSQL(message, hint="sample the table on its left", position=written[0].start)
    rate = written[0].sample if written else asked
    if rate is None:
        return None
    if not math.isfinite(rate) or not MIN_RATE <= rate <= 1:
        raise InvalidSetting(f"the sampling rate must be between {MIN_RATE:g} and 1 (100 percent)")
    return None if rate == 1 else rate


def _determines(entry: BoundTable, join_steps: JoinSteps) -> bool:
    """Does each row of the entry lead to at most one join tuple, by enforced keys alone?

    If so, and the table occurs once, a sample of its rows is a sample of the tuples (docs/mathematics.md, section
    7.4). No database samples a view.
    """
    once = sum(table == entry.table for table in join_steps.tables) == 1
    there = entry.outer is None and entry.sampled and once
    return there and join_steps.determined_by(entry.alias) == join_steps.all_rows()


def _pushdown(entry: BoundTable, rate: float) -> SamplingPlan:
    reason = (
        f"TABLESAMPLE BERNOULLI samples rows of {entry.table.name}: enforced keys lead from each to at most one join "
        "tuple, so tuples are drawn independently, as far as the database's 32-bit seed and hash are random; "
        f"{_AMPLIFIES}"
    )
    percent, exact = bernoulli_percent(rate)
    return SamplingPlan("pushdown", exact, reason, entry.table.name, entry.alias, percent)


def _as_written(entry: BoundTable, rate: float) -> SamplingPlan:
    reason = (
        f"rows of {entry.table.name} are sampled as written, but one row may be in many join tuples, which are drawn "
        f"together: no amplification can be claimed; {_CHARGE}"
    )
    percent, exact = bernoulli_percent(rate)
    return SamplingPlan("as written", exact, reason, entry.table.name, entry.alias, percent)


def _in_the_proxy(rate: float, counts: bool) -> SamplingPlan:
    """For joins that no table determines: the database counts equal tuples, the proxy draws."""
    why = "no table determines the join tuples by enforced keys: the database counts equal tuples, and the proxy"
    apart = "" if counts else ", separately by weight"
    reason = f"{why} draws how many of them stay{apart}; {_AMPLIFIES}"
    return SamplingPlan("thinning" if counts else "join result", rate, reason)


_COMPARISONS: dict[type[exp.Expr], Comparison] = {
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NEQ: "<>",
}


def sampled_tree(query: BoundQuery, found: Provenance, plan: Plan, policy: Policy) -> SampledTree | None:
    """The parts of the join of a finished plan, and how they meet; cubic in the tables.

    Returns: None if the join is not a tree of parts. It is cyclic or has one table, or tables meet in columns without
      whole numbers or by other conditions than equality. Or an owner, a key or a weight is computed from several
      tables, or it has a LEFT JOIN, a semi-join, a per-person subquery or a TABLESAMPLE.
    """
    plain = all(entry.outer is None and entry.sample is None and entry.rows is None for entry in query.tables)
    if not plain or query.semi_joins or len(query.tables) < 2:
        return None
    parts = _Parts(query, found)
    within = dict.fromkeys(condition for key in plan.group_keys for condition in key.within)
    conditions = [*query.predicates, *keys_found(query, plan.domains, policy), *within]
    if not all(parts.enter(condition) for condition in conditions):
        return None
    return parts.tree(
        [
            *(owner.key for owner in plan.owners),
            *(key.key for key in plan.group_keys),
            *(release.weight for release in plan.releases),
            *([] if plan.selection is None else [plan.selection.weight]),
        ]
    )


@dataclass
class _Part:
    """One part under construction: its conditions, and its selected columns."""

    conditions: list[exp.Expr] = field(default_factory=list)
    columns: list[exp.Expr] = field(default_factory=list)

    def column(self, expression: exp.Expr) -> int:
        """The place of a column among the selected ones."""
        if expression not in self.columns:
            self.columns.append(expression)
        return self.columns.index(expression)


class _Parts:
    """The parts of a join and what connects them."""

    def __init__(self, query: BoundQuery, found: Provenance) -> None:
        self._query, self._found = query, found
        self._place = {entry.alias: place for place, entry in enumerate(query.tables)}
        for completion in found.completions:  # each after the row that it completes
            self._place[completion.alias] = self._place[completion.child]
        self._parts = [_Part() for _ in query.tables]
        self._classes: list[set[ColumnRef]] = []
        self._comparisons: list[tuple[ColumnRef, Comparison, ColumnRef]] = []

    def enter(self, condition: exp.Expr) -> bool:
        """Record a condition of the join. Returns: False if a tree of parts cannot have such a condition."""
        places = self._places(condition)
        if len(places) < 2:
            self._parts[min(places, default=0)].conditions.append(condition)
            return True
        left, right = condition.args.get("this"), condition.args.get("expression")
        if not isinstance(left, exp.Column) or not isinstance(right, exp.Column) or not self._whole(left, right):
            return False
        pair = column_ref(left), column_ref(right)
        if isinstance(condition, exp.EQ):
            together = [one for one in self._classes if one & set(pair)]
            self._classes = [one for one in self._classes if one not in together]
            self._classes.append({*pair}.union(*together))
            return True
        operator = _COMPARISONS.get(type(condition))
        if operator is not None:
            self._comparisons.append((pair[0], operator, pair[1]))
        return operator is not None

    def tree(self, outputs: Sequence[exp.Expr]) -> SampledTree | None:
        """Build the join tree of the parts; None if the join is cyclic, or if an output reads several parts."""
        above = self._spanning()
        if above is None or any(len(self._places(output)) > 1 for output in outputs):
            return None
        order = list(above)
        turn = {place: number for number, place in enumerate(order)}

        def column(part: int, expression: exp.Expr) -> TreeColumn:
            return turn[part], self._parts[part].column(expression)

        def output(expression: exp.Expr) -> TreeColumn:
            if expression == whole_weight():
                return CONSTANT, UNITS
            return column(min(self._places(expression), default=0), expression)

        def joined(reference: ColumnRef) -> TreeColumn:
            return column(self._place[reference[0]], cast_sql(bound_column(*reference), "BIGINT"))

        meets = [
            tuple((joined(own)[1], joined(other)[1]) for own, other in self._meeting(part, parent))
            for part, parent in above.items()
        ]
        compared = [(joined(left), operator, joined(right)) for left, operator, right in self._comparisons]
        shown = [output(expression) for expression in outputs]
        shape = TreeShape(
            parents=tuple(turn.get(parent, CONSTANT) for parent in above.values()),
            meets=tuple(meets),
            widths=tuple(len(self._parts[part].columns) for part in order),
            comparisons=tuple(compared),
            outputs=tuple(shown),
        )
        return SampledTree(shape, tuple(self._select(part) for part in order))

    def _places(self, expression: exp.Expr) -> set[int]:
        return {self._place[column_ref(column)[0]] for column in columns_of(expression)}

    def _whole(self, *columns: exp.Column) -> bool:
        return all(self._query.type_of(column).family is Family.INTEGER for column in columns)

    def _of(self, part: int, members: set[ColumnRef]) -> list[ColumnRef]:
        return sorted(column for column in members if self._place[column[0]] == part)

    def _shared(self, left: int, right: int) -> int:
        return sum(bool(self._of(left, one)) and bool(self._of(right, one)) for one in self._classes)

    def _meeting(self, part: int, parent: int) -> Iterator[tuple[ColumnRef, ColumnRef]]:
        for members in self._classes if parent >= 0 else ():
            own, other = self._of(part, members), self._of(parent, members)
            if own and other:
                yield own[0], other[0]

    def _spanning(self) -> dict[int, int] | None:
        """Per part its parent, in the order of the tree; None if the join is cyclic.

        A join is acyclic exactly if a spanning tree with the most shared classes has the running intersection
        property (Maier 1983): the parts of each class are joined by one edge fewer than their number.
        """
        above = {0: -1}
        while len(above) < len(self._parts):
            rest = [place for place in range(len(self._parts)) if place not in above]
            pairs = [(part, parent) for part in rest for parent in above]
            part, parent = max(pairs, key=lambda pair: self._shared(*pair))
            above[part] = parent
        for members in self._classes:
            holding = [part for part in above if self._of(part, members)]
            if sum(above[part] in holding for part in holding) != len(holding) - 1:
                return None
        return above

    def _select(self, place: int) -> exp.Select:
        """The statement of a part: its rows that can be in a tuple at all."""
        part, entry = self._parts[place], self._query.tables[place]
        conditions = list(part.conditions)
        for members in self._classes:
            own = self._of(place, members)
            conditions += [exp.EQ(this=bound_column(*own[0]), expression=bound_column(*other)) for other in own[1:]]
            conditions += [self._present(column) for column in own[:1] if self._nullable(column)]
        for left, _, right in self._comparisons:
            mine = [column for column in (left, right) if self._place[column[0]] == place]
            conditions += [self._present(column) for column in mine if self._nullable(column)]
        source = complete_provenance(
            join_tables([entry], conditions),
            [one for one in self._found.completions if self._place[one.child] == place],
            [end for end in self._found.ends if self._place[end[0][0]] == place],
        )
        return select_part(source, part.columns)

    def _nullable(self, column: ColumnRef) -> bool:
        declared = self._found.equalities.tables[column[0]].column(column[1])
        return declared is None or declared.nullable

    @staticmethod
    def _present(column: ColumnRef) -> exp.Is:
        return exp.Is(this=bound_column(*column), expression=exp.Null(), negate=True)
