"""Plan a composed statement: its questions with their shares of the budget, and the SELECT around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import TypeVar

from sqlglot import exp

from planner.binding.placeholders import SOME_DAY, number_of, placeholders_in, replace_clock, substitute
from planner.binding.scope import table_reference
from planner.describe import describe, types_around
from planner.errors import PlannerError, RowsNotShown, SensitivityUnbounded, UnsupportedSQL
from planner.group_domains.key_sources import personal_table
from planner.parsing.grammar import check_grammar
from planner.parsing.parse import Statement
from planner.parsing.spellings import check_row_counts
from planner.parsing.syntax import check_syntax
from planner.plan import Plan
from planner.policy.policy import Policy
from planner.policy.table_lookup import find_table
from planner.postprocessing.allowed_sql import check_allowed, check_composed
from planner.postprocessing.composed import Composed, ReleasedTable, is_relation
from planner.postprocessing.decompose import decompose
from planner.postprocessing.interval_ends import (
    ShownIntervals,
    add_interval_ends,
    check_counted_groups,
    expand_stars,
    name_columns,
)
from planner.postprocessing.lineage import NoisyColumns
from planner.postprocessing.released_tables import (
    ONE,
    ReleasedRelation,
    beside_released,
    measured,
    released_relation,
    tables_read,
)
from planner.postprocessing.write_outer import (
    Cell,
    OuterStatement,
    Relation,
    guard_divisions,
    relation_of,
    write_outer,
)
from planner.public.route import means_cte
from planner.released_expression import KeyValue, Output, ReleasedValue, is_noisy, own_sums
from planner.rewriting.dialects.dialect_table import DIALECTS
from planner.schema import Dialect, Schema
from planner.sql import zones
from planner.sql.sql_types import NUMBERS, Family, ResultType, sql_type
from planner.sql.trees import copied, holds, nodes, position_of, tables_of
from server.query import QueryRequest
from server.question import Question
from server.results.evaluate import releases_used

_NANO = 1e9

T = TypeVar("T")


@dataclass(frozen=True)
class TableOfAnswers:
    """A table of released values that a part reads.

    Attributes:
      released: its columns.
      statement: whose rows it has, over answers of earlier parts.
    """

    released: ReleasedRelation
    statement: OuterStatement

    @property
    def answers(self) -> tuple[str, ...]:
        """The relations of the answers that it reads."""
        return tuple(one.name for one in self.statement.relations)

    @property
    def has_one_row(self) -> bool:
        """Is it one value? Else it is a list, or several values."""
        return self.released.relation.keys == (ONE,) and len(self.released.relation.columns) == 2

    def told(self, rows: Sequence[Sequence[Cell]]) -> str:
        """Write the value for people, from what the statement returned."""
        _, value = self.released.with_rows(rows).rows[0]
        return f"{value:.10g}" if isinstance(value, float) else "NULL" if value is None else f"'{value}'"

    def check(self, columns: Sequence[tuple[str, ResultType]]) -> None:
        """Compare with what the database says of the statement's columns. Raises: UnsupportedSQL."""
        ours = [kind for name, kind in self.released.relation.columns if name != ONE]
        for kind, (_, found) in zip(ours, columns, strict=True):
            if kind != found and not (kind in NUMBERS and found in NUMBERS):
                hint = "ask for it alone first, and write its value as a literal"
                raise UnsupportedSQL(f"a released {found} beside private rows is not supported", hint=hint)


@dataclass(frozen=True)
class ComposedPart:
    """One of the questions.

    Attributes:
      relation: the name of its answer in the SELECT around it.
      select: over private rows.
      question: what is released and charged.
      number: from 1; equal questions have the same number.
      epsilon, delta: its share; None: what the policy says.
      tables: the tables of released values that it reads.
    """

    relation: str
    select: exp.Select = field(repr=False)
    question: Question
    number: int
    epsilon: float | None
    delta: float | None
    tables: tuple[TableOfAnswers, ...] = ()

    def of(self, request: QueryRequest) -> QueryRequest:
        """Return the request for this question, from the request for the whole statement."""
        key = request.idempotency_key
        if key and self.number > 1:
            key = f"{key}#{self.number}"
        return replace(request, epsilon=self.epsilon, delta=self.delta, idempotency_key=key, parameters=())


@dataclass(frozen=True)
class Composition:
    """Questions, and a SELECT around their answers.

    Attributes:
      parts: the questions; none for a statement over public tables.
      statement: the SELECT, without rows yet.
      shown: which of its columns have intervals. The ends are its last columns.
      parameters: the type of each `$n`, before their values are known.
    """

    parts: tuple[ComposedPart, ...]
    statement: OuterStatement
    shown: ShownIntervals
    parameters: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        """The number of different questions."""
        return len({part.number for part in self.parts})

    @property
    def tables(self) -> tuple[TableOfAnswers, ...]:
        """The tables of released values that parts read."""
        return tuple({one.released.relation.name: one for part in self.parts for one in part.tables}.values())

    def shows(self, part: ComposedPart) -> bool:
        """Does the SELECT read the part's answer? Else only another part does."""
        return any(one.name == part.relation for one in self.statement.relations)

    def measured(self, values: Mapping[str, str] = MappingProxyType({})) -> str:
        """Say in one sentence what is measured; `values`: those of tables with one row, once they are known."""
        first = {part.number: part.select for part in reversed(self.parts)}
        told = (measured(first[number], values) for number in sorted(first))
        return f"Measured: {('; then ' if self.tables else '; ').join(told)}."

    @property
    def most_bytes(self) -> int:
        """About the most bytes that it takes in memory: of its questions, and of its text."""
        return 64 * len(self.statement.sql) + sum(part.question.most_bytes for part in self.parts)


@dataclass(frozen=True)
class Composer:
    """Plan composed statements under one policy.

    Attributes:
      policy, schema: what plans are made from.
      dialect: of the database.
      plan: plans a SELECT over private rows, and over tables of released values.
    """

    policy: Policy
    schema: Schema
    dialect: Dialect
    plan: Callable[[exp.Select, QueryRequest, Sequence[ReleasedRelation]], Question]

    def compose(self, statement: Statement, request: QueryRequest, now: datetime) -> Composition | None:
        """Split a statement and plan its parts.

        Args:
          request: the parts share its epsilon and delta equally.
        Returns: None for a statement that is no composition of answers.
        Raises: PlannerError for a part, or a SELECT around answers, that cannot be answered.
        """
        if not DIALECTS[self.dialect].around:
            return None  # the refusal of the statement as one question explains it
        grain = self.policy.time_grain
        tree = replace_clock(substitute(statement.tree, request.parameters), now, grain, request.zone)
        check_row_counts(tree)  # before the charge, with the bound values
        splits = self._splits(tree, request.search_path)
        found = _not_refused(splits, lambda split: self._of_split(split, statement, request))
        return min(found, key=lambda one: one.questions, default=None)  # lists leave fewer groups, so less noise

    def _splits(self, tree: exp.Query, search_path: Sequence[str] | None) -> list[Composed]:
        """Return the ways to split a statement: where columns meet an answer, they list values or are keys."""
        grouped = decompose(tree, self.schema, self.policy, search_path)
        if grouped is not None and not grouped.groups_more:
            return [grouped]
        return [one for one in (decompose(tree, self.schema, self.policy, search_path, lists=True), grouped) if one]

    def _of_split(self, split: Composed, statement: Statement, request: QueryRequest) -> Composition:
        """Plan the parts of a statement, and write what is around them."""
        check_composed(split, statement.tokens, self.dialect)
        check_syntax(statement.sql)
        try:
            parts = self._planned(split, request, len(split.parts))
        except SensitivityUnbounded as error:
            raise _of_each_person(statement.tree, error) from None
        different = len({part.question.answer_key for part in parts})
        if different < len(parts):  # two spellings of one question, as the plans show
            parts = self._planned(split, request, different)
        if request.zone != zones.UTC:
            for around in (split.outer, *(table.query for table in split.tables)):
                self._check_zone(around, parts, request)
        return self._composition(split, parts, request)

    def _check_zone(self, outer: exp.Query, parts: Sequence[ComposedPart], request: QueryRequest) -> None:
        """Refuse moments with time zone around answers, because the database computes with them at UTC."""
        named = (
            find_table(table_reference(node), self.schema, self.policy, request.search_path)
            for node in tables_of(outer)
            if isinstance(node.this, exp.Identifier) and not (is_relation(node) or means_cte(node))
        )
        kinds = [sql_type(column.type).family for table in named if table is not None for column in table.columns]
        shown = [output.type for part in parts for output in part.question.plan.display.outputs]
        casts = any(node.to.this == exp.DataType.Type.TIMESTAMPTZ for node in outer.find_all(exp.Cast))
        if Family.TIMESTAMPTZ in kinds or "timestamptz" in shown or casts or holds(outer, exp.AtTimeZone):
            hint = f"SET TimeZone = 'UTC', or group by x AT TIME ZONE '{request.zone}' inside"
            message = f"times with time zone around answers are not supported in the time zone {request.zone}"
            raise UnsupportedSQL(message, hint=hint)

    def _planned(self, split: Composed, request: QueryRequest, count: int) -> tuple[ComposedPart, ...]:
        """Plan the questions; `count` of them are different."""
        epsilon, delta = self._share(request, count)
        asked = replace(request, epsilon=epsilon, delta=delta, parameters=())
        numbers: dict[str, int] = {}
        parts: list[ComposedPart] = []
        tables: dict[str, TableOfAnswers] = {}
        for part in split.parts:
            read = tuple(self._table(one, parts, tables, request) for one in tables_read(part.select, split.tables))
            question = self.plan(part.select, asked, [one.released for one in read])
            if question.plan.names_selected_groups and holds(split.outer, exp.AggFunc):
                message = "a list names only what enough people share, so nothing is computed from its rows"
                hint = "aggregate the rows themselves, as in count(DISTINCT x), or those of each SELECT of a UNION"
                raise RowsNotShown(message, hint=hint, position=position_of(part.select))
            number = numbers.setdefault(question.answer_key, len(numbers) + 1)
            parts.append(ComposedPart(part.relation, part.select, question, number, epsilon, delta, read))
        return tuple(parts)

    def _table(
        self,
        table: ReleasedTable,
        parts: Sequence[ComposedPart],
        tables: dict[str, TableOfAnswers],
        request: QueryRequest,
    ) -> TableOfAnswers:
        """Write the statement of a table of released values, once."""
        if table.name not in tables:
            plans = {part.relation: part.question.plan for part in parts}
            read = _answers_read(table.query, {name: plan.display.outputs for name, plan in plans.items()})
            query = copied(table.query)
            guard_divisions(query)
            relations = [_relation(name, outputs, plans) for name, outputs in read.items()]
            written = write_outer(query, relations, self.schema, self.policy, self.dialect, request.search_path)
            tables[table.name] = TableOfAnswers(released_relation(table, read, plans), written)
        return tables[table.name]

    def _composition(self, split: Composed, parts: tuple[ComposedPart, ...], request: QueryRequest) -> Composition:
        plans = {part.relation: part.question.plan for part in parts}
        answers = _answers_read(split.outer, {name: plan.display.outputs for name, plan in plans.items()})
        plans = {name: plans[name] for name in answers}
        return Composition(parts, *self._written(split.outer, answers, request.search_path, plans))

    def _written(
        self,
        outer: exp.Query,
        answers: Mapping[str, tuple[Output, ...]],
        search_path: Sequence[str] | None,
        plans: Mapping[str, Plan] = MappingProxyType({}),
    ) -> tuple[OuterStatement, ShownIntervals]:
        """Write the SELECT around answers for the database, given the answers' columns, and their plans where there
        are any.
        """
        noisy = {name: list(filter(is_noisy, outputs)) for name, outputs in answers.items()}
        columns = NoisyColumns(
            {name: _names(found) for name, found in noisy.items()},
            {name: _names(_own_sums(outputs, plans.get(name))) for name, outputs in answers.items()},
            {name: _names(_floored(plan)) for name, plan in plans.items()},
            {name: _names(one for one in found if one.type == "int8") for name, found in noisy.items()},
            _identifying(answers, plans),
            {name: _names(_own_sums(outputs, None)) for name, outputs in answers.items()},
        )
        check_counted_groups(outer, columns)
        guard_divisions(outer)
        expand_stars(outer, columns)
        shown = add_interval_ends(outer, columns)
        name_columns(outer, columns)
        relations = [_relation(name, outputs, plans) for name, outputs in answers.items()]
        return write_outer(outer, relations, self.schema, self.policy, self.dialect, search_path), shown

    def described(
        self, statement: Statement, search_path: Sequence[str] | None, given: Sequence[str | None] = ()
    ) -> Composition | None:
        """Describe a statement before the values of its placeholders are known.

        Args:
          given: the client's types of placeholders; None where it leaves one open.
        Returns: None for a statement that is no composition of answers.
        Raises: PlannerError.
        """
        tree = replace_clock(statement.tree, SOME_DAY, self.policy.time_grain)
        splits = self._splits(tree, search_path)
        around = types_around(tree)
        found = _not_refused(splits, lambda one: self._described(one, statement, search_path, given, list(around)))
        return found[0] if found else None

    def _described(
        self,
        split: Composed,
        statement: Statement,
        search_path: Sequence[str] | None,
        given: Sequence[str | None],
        parameters: list[str],
    ) -> Composition:
        """Describe the parts of a statement, and the types of their `parameters`."""
        answers: dict[str, tuple[Output, ...]] = {}
        for part in split.parts:
            check_grammar(part.select, statement.tokens)
            numbers = _renumbered(part.select)
            own = [given[number - 1] if number <= len(given) else None for number in numbers]
            read = [released_relation(one, answers, {}) for one in tables_read(part.select, split.tables)]
            schema, policy = beside_released(self.schema, self.policy, read)
            found = describe(part.select, schema, policy, search_path, own)
            for number, kind in zip(numbers, found.parameters, strict=True):
                parameters[number - 1] = kind
            answers[part.relation] = found.outputs
        outer = _without_placeholders(split.outer)
        check_allowed(outer, statement.tokens, self.dialect)
        check_syntax(statement.sql)
        shown = _answers_read(outer, answers)
        return Composition((), *self._written(outer, shown, search_path), tuple(parameters))

    def _share(self, request: QueryRequest, count: int) -> tuple[float | None, float | None]:
        """Return equal shares of epsilon and delta, rounded down to the ledger's unit."""
        if count < 2:
            return request.epsilon, request.delta
        epsilon = self.policy.epsilon if request.epsilon is None else request.epsilon
        delta = self.policy.delta if request.delta is None else request.delta
        share = math.floor(epsilon / count * _NANO) / _NANO if math.isfinite(epsilon) else epsilon
        return share, (delta / count if delta else None)


def _not_refused(splits: Sequence[Composed], ask: Callable[[Composed], Composition]) -> list[Composition]:
    """Ask of each way to split a statement.

    Raises: the last refusal, where all are refused.
    """
    found: list[Composition] = []
    refusals: list[PlannerError] = []
    for split in splits:
        try:
            found.append(ask(split))
        except PlannerError as refusal:
            refusals.append(refusal)
    if refusals and not found:
        raise refusals[-1]
    return found


def _renumbered(select: exp.Select) -> list[int]:
    """Number a part's placeholders from 1 without gaps, in place, and return their numbers in the statement."""
    nodes = placeholders_in(select)
    numbers = sorted(set(map(number_of, nodes)))
    places = {number: place for place, number in enumerate(numbers, 1)}
    for node in nodes:
        node.set("this", exp.Literal.number(places[number_of(node)]))
    return numbers


def _without_placeholders(outer: exp.Query) -> exp.Query:
    """Replace every placeholder around answers by NULL, whose type the database infers."""
    for node in placeholders_in(outer):
        node.replace(exp.Null())
    return outer


def _answers_read(query: exp.Query, answers: Mapping[str, T]) -> dict[str, T]:
    """Return the answers that a query around them reads."""
    named = {table.name for table in tables_of(query)}
    return {name: outputs for name, outputs in answers.items() if name in named}


def _names(outputs: Iterable[Output]) -> frozenset[str]:
    return frozenset(output.name for output in outputs)


def _own_sums(outputs: Sequence[Output], plan: Plan | None) -> list[Output]:
    """Return columns with noise of their own, independent in every group.

    Intervals raised by what clipping removes are not among them, because that adds up over groups differently from
    noise.
    """
    own = own_sums([output.expression for output in outputs])
    return [
        output
        for output, one in zip(outputs, own, strict=True)
        if one
        and is_noisy(output)
        and not (plan and any(plan.releases[release].is_raised for release in releases_used(output.expression)))
    ]


def _floored(plan: Plan) -> list[Output]:
    """Return columns that are a count or a sum of values that are not negative."""
    return [
        output
        for output in plan.display.outputs
        if isinstance(output.expression, ReleasedValue) and plan.releases[output.expression.release].is_not_negative
    ]


def keys_of(question: Question) -> list[str]:
    """Return the columns that are group keys; none where a group key is not shown."""
    shown = _shown_keys(question.plan.display.outputs)
    return list(shown.values()) if len(shown) == len(question.plan.group_keys) else []


def _shown_keys(outputs: Sequence[Output]) -> dict[int, str]:
    return {output.expression.key: output.name for output in outputs if isinstance(output.expression, KeyValue)}


def _identifying(
    answers: Mapping[str, tuple[Output, ...]], plans: Mapping[str, Plan]
) -> Mapping[str, frozenset[str]]:
    """Return the columns that identify a row of each answer. Without a plan, all group keys count as shown."""
    shown = {name: _shown_keys(outputs) for name, outputs in answers.items()}
    return {
        name: frozenset(keys.values())
        for name, keys in shown.items()
        if name not in plans or len(keys) == len(plans[name].group_keys)
    }


def _relation(name: str, outputs: Sequence[Output], plans: Mapping[str, Plan]) -> Relation:
    return relation_of(name, outputs, one_row=name in plans and not plans[name].group_keys)


def _of_each_person(tree: exp.Query, error: SensitivityUnbounded) -> PlannerError:
    """Return the refusal of an aggregate per person whose rows are aggregated again."""
    table = personal_table(error)
    group = tree.args.get("group")
    own = [*tree.expressions, *(group.expressions if group is not None else [])]
    places = {node.meta["start"] + 1 for part in own for node in nodes(part) if "start" in node.meta}
    if table is None or not isinstance(tree, exp.Select) or error.position in places:
        return error
    if any(isinstance(part, exp.SetOperation) for part in nodes(tree)):
        message = "UNION, INTERSECT or EXCEPT of people inside FROM is not supported"
        hint = "LEFT JOIN both tables to that of the people, and ask for COUNT(DISTINCT key) where x.key IS NOT NULL"
        return UnsupportedSQL(message, hint=hint, position=error.position)
    message = (
        f"a subquery in FROM that aggregates for each row of {table} is not supported: each result would be about "
        "one person"
    )
    hint = "aggregate once, at the top; for the average of such counts divide count(*) by count(DISTINCT key)"
    return UnsupportedSQL(message, hint=hint, position=error.position)
