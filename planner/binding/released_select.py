"""Binds the select list, HAVING and ORDER BY over released values and group keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from sqlglot import exp

from planner.binding.aggregates import Aggregates
from planner.binding.bound_query import BoundQuery
from planner.binding.group_keys import GroupKeys, constant_place
from planner.binding.output_names import construct_name, output_name
from planner.errors import UnknownColumn, UnreadableValue, UnsupportedSQL
from planner.expressions.datetimes import interval_seconds
from planner.released_expression import (
    Apply,
    Constant,
    Given,
    KeyValue,
    Operator,
    Output,
    ReleasedExpression,
    ReleasedValue,
    SortKey,
)
from planner.sql import literals
from planner.sql.datetimes import moment_text
from planner.sql.literals import type_written
from planner.sql.result_types import MOMENTS
from planner.sql.sql_types import NUMBERS, Family, ResultType, SqlType
from planner.sql.trees import columns_of, fold, position_of

_ARITHMETIC: dict[type[exp.Expr], Operator] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_COMPARISONS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_CHOICES: dict[type[exp.Expr], Operator] = {
    exp.Coalesce: "coalesce",
    exp.Greatest: "greatest",
    exp.Least: "least",
}
_OF_ONE: dict[type[exp.Expr], Operator] = {exp.Neg: "negate", exp.Abs: "abs"}


@dataclass(frozen=True)
class Released:
    """An expression over released values; `type` is None for NULL, and `enum` is the type of labels."""

    expression: ReleasedExpression
    type: ResultType | None
    enum: SqlType | None = None

    @property
    def is_number(self) -> bool:
        """Whether the value may stand in arithmetic: a number, or NULL."""
        return self.type is None or self.type in NUMBERS

    @property
    def ordered(self) -> Released:
        """The value to sort by: a label's position in its enum, with the policy's label for other values last."""
        return self if self.enum is None else self.placed_among(self.enum.labels)

    def placed_among(self, labels: Sequence[str]) -> Released:
        """The position of a text among labels, or the number of labels if it is not one of them."""
        cases: list[ReleasedExpression] = [Apply("is null", (self.expression,)), Given(None)]
        for place, label in enumerate(labels):
            cases += [Apply("=", (self.expression, Given(label))), Given(place)]
        return Released(Apply("case", (*cases, Given(len(labels)))), "int8")


class ReleasedArithmetic(ABC):
    """Binds arithmetic over released values. It is post-processing, so no operation can fail."""

    @abstractmethod
    def bind(self, node: exp.Expr) -> Released:
        """Bind an expression; combinations of released values go to `_operation`. Raises: UnsupportedSQL."""

    def _operation(self, node: exp.Expr) -> Released:
        kind = type(node)
        if kind in _ARITHMETIC:
            return self._arithmetic(_ARITHMETIC[kind], [self.bind(node.this), self.bind(node.expression)], node)
        if kind in _COMPARISONS:
            return _compare(_COMPARISONS[kind], [self.bind(node.this), self.bind(node.expression)], node)
        if kind in _CHOICES:
            return self._choice(_CHOICES[kind], node)
        if kind in _OF_ONE:
            return self._number(_OF_ONE[kind], node)
        match node:
            case exp.And() | exp.Or():
                parts = tuple(self._condition(part) for part in node.flatten())
                return Released(Apply("and" if isinstance(node, exp.And) else "or", parts), "bool")
            case exp.Not():
                return Released(Apply("not", (self._condition(node.this),)), "bool")
            case exp.Between():
                value, low, high = (self.bind(node.args[part]) for part in ("this", "low", "high"))
                ends = (_compare(">=", [value, low], node), _compare("<=", [value, high], node))
                return Released(Apply("and", tuple(end.expression for end in ends)), "bool")
            case exp.In() if node.expressions:  # not a subquery, which the database computes around the answer
                value = self.bind(node.this)
                equal = tuple(_compare("=", [value, self.bind(item)], node).expression for item in node.expressions)
                return Released(Apply("or", equal), "bool")
            case exp.Nullif():
                operands = [self.bind(node.this), self.bind(node.expression)]
                _compare("=", operands, node)
                nullified = Apply("nullif", tuple(part.expression for part in operands))
                return Released(nullified, operands[0].type, operands[0].enum)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                operands = [self.bind(node.this), self.bind(node.expression)]
                nulls = Apply("and", tuple(Apply("is null", (part.expression,)) for part in operands))
                same = Apply("coalesce", (_compare("=", operands, node).expression, nulls))
                return Released(same if isinstance(node, exp.NullSafeEQ) else Apply("not", (same,)), "bool")
            case exp.Is():
                return self._is(node)
            case exp.Round():
                return self._round(node)
            case exp.Case():
                return self._case(node)
            case exp.Extract():
                return self._seconds(node)
            case exp.Cast():
                return self._cast(node)
        return _literal(node)

    def _choice(self, operator: Operator, node: exp.Expr) -> Released:
        parts = [self.bind(part) for part in (node.this, *node.expressions)]
        if operator != "coalesce" and _enum(parts, node) is not None:
            raise UnsupportedSQL("GREATEST and LEAST of enum labels are not supported", at=node)
        chosen = Apply(operator, tuple(part.expression for part in parts))
        return Released(chosen, _common(parts, node), _enum(parts, node))

    def _condition(self, node: exp.Expr) -> ReleasedExpression:
        bound = self.bind(node)
        if bound.type not in ("bool", None):
            raise UnsupportedSQL(
                "this expression is not true or false, so it is not a condition",
                hint="write a comparison, as in x > 0",
                at=node,
            )
        return bound.expression

    def _arithmetic(self, operator: Operator, operands: list[Released], node: exp.Expr) -> Released:
        lengths = [operand.type == "interval" for operand in operands]
        if (all(lengths) and operator in ("+", "-")) or (
            operator in ("*", "/") and lengths[0] and operands[1].is_number
        ):
            return Released(Apply(operator, tuple(operand.expression for operand in operands)), "interval")
        if not all(operand.is_number for operand in operands):
            raise UnsupportedSQL("arithmetic needs numbers, and this value is not a number", at=node)
        types = {operand.type for operand in operands}
        whole = types <= {"int8", None}
        if operator == "/" and whole and not any(_is_released(operand.expression) for operand in operands):
            hint = "write one of them with a point, as in 1.0"
            raise UnsupportedSQL("a division of two whole numbers would drop the fraction", hint=hint, at=node)
        kind: ResultType = "int8" if whole and operator != "/" else "float8"
        return Released(Apply(operator, tuple(operand.expression for operand in operands)), kind)

    def _number(self, operator: Operator, node: exp.Expr) -> Released:
        inner = self.bind(node.this)
        if not inner.is_number:
            raise UnsupportedSQL("arithmetic needs numbers, and this value is not a number", at=node)
        return Released(Apply(operator, (inner.expression,)), inner.type)

    def _round(self, node: exp.Round) -> Released:
        inner, digits = self._number("abs", node), node.args.get("decimals")
        places = 0
        if digits is not None:
            sign = -1 if isinstance(digits, exp.Neg) else 1
            text = digits.this if sign < 0 else digits
            if not (isinstance(text, exp.Literal) and text.name.isdigit() and len(text.name) < 3):
                hint = "write a whole number of digits"
                raise UnsupportedSQL("ROUND to this many digits is not supported", hint=hint, at=node)
            places = sign * int(text.name)
        assert isinstance(inner.expression, Apply), "just made"
        return Released(Apply("round", (*inner.expression.arguments, Given(places))), inner.type)

    def _seconds(self, node: exp.Extract) -> Released:
        """Bind EXTRACT(epoch FROM an average of intervals)."""
        inner = None if node.name.upper() != "EPOCH" else self.bind(node.expression)
        return _literal(node) if inner is None or inner.type != "interval" else replace(inner, type="float8")

    def _is(self, node: exp.Is) -> Released:
        null = isinstance(node.expression, exp.Null)
        inner = self.bind(node.this).expression if null else self._condition(node.this)
        if not null and not isinstance(node.expression, exp.Boolean):
            raise UnsupportedSQL("this form of IS is not supported", hint="use IS NULL, IS TRUE or IS FALSE", at=node)
        test: ReleasedExpression = Apply("is null", (inner,))
        if not null:  # x IS TRUE is true or false, also where x is NULL
            equal = Apply("=", (inner, Given(bool(node.expression.this))))
            test = Apply("coalesce", (equal, Given(False)))
        return Released(Apply("not", (test,)) if node.args.get("negate") else test, "bool")

    def _case(self, node: exp.Case) -> Released:
        subject = node.args.get("this")
        arguments: list[ReleasedExpression] = []
        results = []
        for branch in node.args["ifs"]:
            if subject is None:
                arguments.append(self._condition(branch.this))
            else:
                arguments.append(_compare("=", [self.bind(subject), self.bind(branch.this)], node).expression)
            results.append(self.bind(branch.args["true"]))
            arguments.append(results[-1].expression)
        default = node.args.get("default")
        results.append(Released(Given(None), None) if default is None else self.bind(default))
        chosen = Apply("case", (*arguments, results[-1].expression))
        return Released(chosen, _common(results, node), _enum(results, node))

    def _cast(self, node: exp.Cast) -> Released:
        if type_written(node.args["to"]) is not None:
            return self._label(node)
        moment = literals.moment(node) if isinstance(node.this, exp.Literal) and node.this.is_string else None
        if moment is not None:
            return _moment(moment)
        inner = self.bind(node.this)
        to = node.args["to"]
        kinds = exp.DataType.Type
        if inner.is_number and to.this in (kinds.DOUBLE, kinds.FLOAT):
            return Released(inner.expression, "float8")
        if inner.is_number and to.this is kinds.DECIMAL:
            sizes = [size.name for size in to.expressions]
            if not sizes:
                return Released(inner.expression, "float8")
            scale = int(sizes[1]) if len(sizes) > 1 and sizes[1].isdigit() else 0
            return Released(Apply("round", (inner.expression, Given(scale))), "float8")
        if inner.is_number and to.this in (kinds.INT, kinds.BIGINT, kinds.SMALLINT):
            return Released(Apply("round", (inner.expression, Given(0))), "int8")
        hint = "released values can be cast to double precision, numeric and bigint"
        raise UnsupportedSQL("this cast is not supported", hint=hint, at=node)

    def _label(self, node: exp.Cast) -> Released:
        """Bind a label with a cast to its type, or a key of that type."""
        inner = self.bind(node.this)
        if inner.enum is None and not (isinstance(inner.expression, Given) and inner.type in ("text", None)):
            raise UnsupportedSQL("this cast is not supported", hint="cast a label to its enum", at=node)
        return inner


class ReleasedBinder(ReleasedArithmetic):
    """Binds expressions over group keys and aggregates."""

    def __init__(self, keys: GroupKeys, aggregates: Aggregates) -> None:
        self._groups = keys
        self._aggregates = aggregates

    def bind(self, node: exp.Expr) -> Released:
        """Bind an expression over bound columns. Raises: UnsupportedSQL, also for a column that is no group key."""
        place = self._groups.place(node)
        if place is not None:
            key = self._groups.keys[place]
            return Released(KeyValue(place), key.result, self._groups.enum(place))
        if isinstance(node, exp.Paren):
            return self.bind(node.this)
        aggregate = self._aggregates.bind(node)
        if aggregate is not None:
            called = node.this if isinstance(node, exp.Filter) else node
            return Released(aggregate, self._aggregates.type_of(called, aggregate))
        if isinstance(node, exp.Column):
            hint = "add it to GROUP BY, or aggregate it"
            message = f"column {node.name!r} is neither in GROUP BY nor inside an aggregate"
            raise UnsupportedSQL(message, hint=hint, at=node)
        return self._operation(node)


def _is_released(expression: ReleasedExpression) -> bool:
    if isinstance(expression, Apply):
        return any(_is_released(argument) for argument in expression.arguments)
    return isinstance(expression, ReleasedValue)


def _literal(node: exp.Expr) -> Released:
    if isinstance(node, exp.Null):
        return Released(Given(None), None)
    if isinstance(node, exp.Boolean):
        return Released(Given(bool(node.this)), "bool")
    if isinstance(node, exp.Literal) and node.is_string:
        return Released(Given(node.name), "text")
    if isinstance(node, exp.Literal):
        value = literals.number(node)
        whole = node.name.isdigit() and abs(value) < 1 << 63
        return Released(Given(int(value) if whole else float(value)), "int8" if whole else "float8")
    moment = literals.moment(node) if isinstance(node, (exp.Add, exp.Sub)) else None
    if moment is not None:
        return _moment(moment)
    if isinstance(node, exp.Interval):
        return Released(Given(float(interval_seconds(node))), "interval")
    if isinstance(node, exp.Star):
        raise UnsupportedSQL("* in the select list would show rows", hint="name group keys and aggregates", at=node)
    name = construct_name(node)
    hint = "apply it inside an aggregate, or to a group key in GROUP BY"
    raise UnsupportedSQL(f"{name} is not supported around noisy answers", hint=hint, at=node)


def _moment(value: date | datetime) -> Released:
    """Return a date or timestamp as text, as group keys hold it."""
    return Released(Given(moment_text(value)), "timestamp" if isinstance(value, datetime) else "date")


def _compare(operator: Operator, operands: list[Released], node: exp.Expr) -> Released:
    """Bind a comparison of values of one type; a quoted literal takes the other side's type."""
    _check_moments(operands, node)
    left, right = _aligned(operands[0], operands[1], node), _aligned(operands[1], operands[0], node)
    enum = _enum(operands, node)
    if enum is not None and operator in ("<", "<=", ">", ">="):
        left, right = (one if one.type is None else one.placed_among(enum.labels) for one in (left, right))
    comparable = left.type == right.type or None in (left.type, right.type) or (left.is_number and right.is_number)
    if not comparable:
        message = f"{left.type} and {right.type} cannot be compared"
        raise UnsupportedSQL(message, hint="compare values of one type", at=node)
    return Released(Apply(operator, (left.expression, right.expression)), "bool")


def _enum(parts: Sequence[Released], node: exp.Expr) -> SqlType | None:
    """Return the enum of the first part that has one; texts beside it must be its labels. Raises: UnreadableValue."""
    enum = next((part.enum for part in parts if part.enum is not None), None)
    for part in parts:
        text = part.expression.value if isinstance(part.expression, Given) else None
        if enum is not None and isinstance(text, str) and text not in enum.labels:
            raise UnreadableValue("the text is not a label of the enum", at=node)
    return enum


def _check_moments(parts: Sequence[Released], node: exp.Expr) -> None:
    """Refuse to compute with a released date; keys and literals are allowed. Raises: UnsupportedSQL."""
    for part in parts:
        moment = None if part.type is None else MOMENTS.get(part.type)
        if moment is not None and _is_released(part.expression):
            hint = "select it alone, or count the rows after a date: count(*) FILTER (WHERE x > DATE '2024-01-01')"
            raise UnsupportedSQL("computing with a noisy date is not supported", hint=hint, at=node)


def _aligned(value: Released, other: Released, node: exp.Expr) -> Released:
    family = None if other.type is None else MOMENTS.get(other.type)
    if family is None or not isinstance(value.expression, Given) or value.type == other.type:
        return value
    written: Constant = value.expression.value
    if not isinstance(written, str):
        return value
    moment = literals.written_moment(written, family, position_of(node))
    return Released(Given(moment_text(moment)), other.type)


def _common(parts: Sequence[Released], node: exp.Expr) -> ResultType | None:
    _check_moments(parts, node)
    types = {part.type for part in parts if part.type is not None}
    if types <= NUMBERS and len(types) > 1:
        return "float8"
    if len(types) > 1:
        message = f"the branches have different types: {' and '.join(sorted(types))}"
        raise UnsupportedSQL(message, hint="give every branch the same type", at=node)
    return next(iter(types), None)


class ReleasedClauses:
    """Binds the clauses of a question's SELECT, or of a SELECT around answers.

    Args:
      bind: binds each expression of a clause.
    """

    def __init__(self, select: exp.Select, bind: Callable[[exp.Expr], Released]) -> None:
        self._select = select
        self._bind = bind

    def output(self, item: exp.Expr) -> Output:
        """Bind an item of the select list."""
        released = self._bind(item.unalias())
        return Output(output_name(item), released.type or "text", released.expression, released.enum)

    def condition(self, part: str, over: ReleasedArithmetic | None = None) -> ReleasedExpression | None:
        """Bind the condition of WHERE or HAVING (`part`), with the binder `over` if given. Raises: UnsupportedSQL."""
        clause, words = self._select.args.get(part), part.upper()
        if clause is None:
            return None
        try:
            released = self._bind(clause.this) if over is None else over.bind(clause.this)
        except UnknownColumn as error:
            if not self._is_named(clause, error.position):
                raise
            hint = (
                f"{words} cannot use names of the select list: write the expression itself, for example count(*) > 5"
            )
            raise UnknownColumn(error.message, hint=hint, position=error.position) from None
        if released.type not in ("bool", None):
            raise UnsupportedSQL(f"{words} takes a condition", hint="write a comparison", at=clause)
        return released.expression

    def _is_named(self, clause: exp.Expr, position: int | None) -> bool:
        """Does the clause name an output of the select list at this position?"""
        names = {output_name(item) for item in self._select.expressions if isinstance(item, exp.Alias)}
        there = [column for column in columns_of(clause) if position_of(column) == position]
        return any(isinstance(column.this, exp.Identifier) and fold(column.this) in names for column in there)

    def order(self, outputs: Sequence[Output]) -> tuple[SortKey, ...]:
        """Bind the keys of ORDER BY. Raises: UnsupportedSQL, InvalidSyntax."""
        clause = self._select.args.get("order")
        return tuple(self._sort_key(item, outputs) for item in clause.expressions) if clause is not None else ()

    def _sort_key(self, item: exp.Ordered, outputs: Sequence[Output]) -> SortKey:
        """Bind a position, an alias of the select list (before a column, as in PostgreSQL) or an expression."""
        node = item.this.unnest()
        value = None
        place = constant_place(len(outputs), node, "ORDER BY")
        if place is not None:
            value = outputs[place]
        elif (
            isinstance(node, exp.Column) and node.args.get("table") is None and isinstance(node.this, exp.Identifier)
        ):
            named = {output.expression: output for output in outputs if output.name == fold(node.this)}
            if len(named) > 1:
                hint = "sort by the position of the column, as in ORDER BY 1"
                raise UnsupportedSQL(
                    f"ORDER BY {node.name} is ambiguous: several columns have this name", hint=hint, at=node
                )
            value = next(iter(named.values()), None)
        sorted_by = self._bind(node) if value is None else Released(value.expression, value.type, value.enum)
        expression = sorted_by.ordered.expression
        return SortKey(expression, bool(item.args.get("desc")), bool(item.args.get("nulls_first")))


def check_released_moments(query: BoundQuery, zone: str) -> None:
    """Refuse to compute with timestamptz keys outside UTC, since their text would be read at UTC."""
    zoned = {KeyValue(index) for index, key in enumerate(query.keys) if key.shown == "timestamptz"}
    zoned |= {KeyValue(index) for index, key in enumerate(query.keys) if key.type.family is Family.TIMESTAMPTZ}
    stack = [expression for expression in query.display.expressions if isinstance(expression, Apply)]
    while stack:
        for argument in stack.pop().arguments:
            if argument in zoned:
                hint = f"write the condition in WHERE, or group by date_trunc('day', x AT TIME ZONE '{zone}')"
                message = f"a condition on a group key with time zone is not supported in the time zone {zone}"
                raise UnsupportedSQL(message, hint=hint)
            if isinstance(argument, Apply):
                stack.append(argument)
