"""Can the proxy sample a join that nobody makes? Where it is acyclic: its parts are read, and its tuples numbered.

A part is a table of FROM with the parents that only say who owns its rows, and with every condition that reads
nothing else. Parts meet in equal columns of whole numbers; they are acyclic where the parts that share a class of
equal columns hang together in one tree, for every class (the running intersection property). Then
`privacy.sampling.join_tree` numbers the tuples and finds the rows of any of them. What compares columns of two parts
is asked of the tuples that were drawn: a Bernoulli sample of more tuples, of which those stay that pass, is one of
those that pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.group_domains.discovered_keys import keys_found
from planner.plan import CONSTANT, Comparison, Plan, SampledTree, TreeColumn, TreeShape
from planner.policy.policy import Policy
from planner.rules.complete_provenance import complete_provenance
from planner.rules.guard_weight import UNITS, whole_weight
from planner.rules.join_tables import join_tables
from planner.rules.select_part import select_part
from planner.sensitivity.provenance import Provenance
from planner.sql.columns import ColumnRef, bound_column, column_ref
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family
from planner.sql.trees import columns_of

_COMPARISONS: dict[type[exp.Expr], Comparison] = {
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NEQ: "<>",
}


def sampled_tree(query: BoundQuery, found: Provenance, plan: Plan, policy: Policy) -> SampledTree | None:
    """The parts of the join of a plan, and how they meet.

    Args:
      query, found: what the plan was made from.
      plan: finished but for this.
      policy: whose discovered keys are conditions of the join.
    Returns: None where the join is no tree of parts: it is cyclic or has one table; tables meet in columns that hold
      no whole numbers, or in other ways than by equal columns; an owner, a key or a weight is computed from several
      tables; a LEFT JOIN, a semi-join or a per-person table is among them; or the analyst samples a table.
    Cost: cubic in the tables, of which there are few.
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
    """One part in the making: its conditions, and what is selected of it."""

    conditions: list[exp.Expr] = field(default_factory=list)
    columns: list[exp.Expr] = field(default_factory=list)

    def column(self, expression: exp.Expr) -> int:
        """The place of a column among those that are selected."""
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
        """Note a condition; False where it is of a kind that is not understood here."""
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
        """The tree, if the parts are one and each output is of one part."""
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
        """The columns of a class that a part has, in order."""
        return sorted(column for column in members if self._place[column[0]] == part)

    def _shared(self, left: int, right: int) -> int:
        return sum(bool(self._of(left, one)) and bool(self._of(right, one)) for one in self._classes)

    def _meeting(self, part: int, parent: int) -> Iterator[tuple[ColumnRef, ColumnRef]]:
        for members in self._classes if parent >= 0 else ():
            own, other = self._of(part, members), self._of(parent, members)
            if own and other:
                yield own[0], other[0]

    def _spanning(self) -> dict[int, int] | None:
        """Per part the one above, in the order of the tree; None where the join is cyclic.

        A join is acyclic exactly if a spanning tree of the most shared classes has the running intersection property
        (Maier 1983): the parts of each class are joined by one edge fewer than they are.
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
        """The statement of a part: its rows that can stand in a tuple at all."""
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
