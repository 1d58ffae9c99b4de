"""Binds expressions and aggregates over public rows: exact, with PostgreSQL's results.

They use the table of `planner.expressions.functions`. Numbers are not clamped, since no noise needs a bound. Exact
decimals stay exact while their digits can be counted; other numbers are double precision. A function without a value
is NULL on every database: a quotient by zero, a root or logarithm outside its domain, an exponential that overflows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.aggregates import check_typed
from planner.binding.group_keys import determined
from planner.binding.output_names import construct_name
from planner.binding.scope import Source
from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.expressions import arithmetic, casts, numeric_functions
from planner.expressions.coercion import align, number, rounded, settle, whole_literal
from planner.expressions.functions import TABLE
from planner.expressions.intervals import Bounds
from planner.expressions.predicates import truth
from planner.expressions.scalar import Binder, Digits, Scalar, repeated, wrap
from planner.expressions.strings import as_text
from planner.public.relation import PublicScope
from planner.sql.sql_types import REAL, Family, SqlType, sql_type
from planner.sql.trees import cast_sql, columns_of, copied, holds

_DOUBLE = SqlType(Family.FLOAT)
_ANY = Bounds(-1e15, 1e15, 1e-15, integral=False)
"""Fills in for a proved range; it does not change the SQL."""
_EXPONENT = 700


def as_it_stands(scalar: Scalar) -> Scalar:
    """Return a scalar whose only form is the plain one, without clamping or ranges."""
    if scalar.type is None or not scalar.type.is_number:
        return scalar
    kind = scalar.type
    sql = scalar.plain
    if sql is None:
        kind, sql = REAL if kind == REAL else _DOUBLE, scalar.measured()[0]
    return replace(
        scalar, type=kind, plain=sql, clamped=lambda: (cast_sql(copied(sql), "DOUBLE PRECISION"), _ANY), unranged=()
    )


def typed(node: exp.Expr, kind: SqlType, sql: exp.Expr, digits: Digits | None = None) -> Scalar:
    """Return an expression of known type from its SQL, with a number's digits if they are known."""
    return as_it_stands(Scalar(node, kind, sql, digits=digits))


def double(node: exp.Expr, sql: exp.Expr) -> Scalar:
    """Return an expression of type double precision from its SQL."""
    return typed(node, _DOUBLE, sql)


def as_double(part: Scalar) -> exp.Expr:
    """Cast a number to a double."""
    return cast_sql(part.sql, "DOUBLE PRECISION")


def quotient(node: exp.Expr, binder: Binder) -> Scalar:
    """Bind `x / y`: whole numbers drop the fraction, as in PostgreSQL; other quotients are doubles."""
    left, right = (number(binder.scalar(part), binder) for part in (node.this, node.args["expression"]))
    if left.is_null or right.is_null:
        return arithmetic.null(node)
    exact, divisor = arithmetic.exact_form(left), arithmetic.exact_form(right)
    if exact is not None and divisor is not None and exact[1].integral and divisor[1].integral:
        sql = exp.IntDiv(this=exact[0], expression=_nonzero(divisor[0], right))
        digits = Digits(exact[1].whole, 0, True)
        return typed(node, digits.type, sql, digits)
    found = divided(left, right)
    return typed(node, REAL, rounded(found, node)) if left.type == right.type == REAL else double(node, found)


def divided(left: Scalar, right: Scalar) -> exp.Expr:
    """Divide numbers as doubles, NULL where the divisor is zero."""
    return exp.Div(this=wrap(as_double(left)), expression=_nonzero(as_double(right), right), typed=True)


def _nonzero(sql: exp.Expr, divisor: Scalar) -> exp.Expr:
    """Return the divisor, NULL where it is zero."""
    return wrap(sql) if divisor.value else exp.Nullif(this=sql, expression=exp.Literal.number(0))


def remainder(node: exp.Expr, binder: Binder) -> Scalar:
    """Bind `mod(x, y)` and `x % y` of exact numbers; the result has the sign of x. Raises: UnsupportedSQL."""
    left, right = (number(binder.scalar(part), binder) for part in (node.this, node.args["expression"]))
    if left.is_null or right.is_null:
        return arithmetic.null(node)
    a, b = arithmetic.exact_form(left), arithmetic.exact_form(right)
    if a is None or b is None:
        hint = "use columns of a whole or numeric type"
        raise UnsupportedSQL("a remainder of a floating point number", hint=hint, at=node)
    digits = Digits(b[1].whole, max(a[1].scale, b[1].scale), a[1].integral and b[1].integral)
    sql = exp.Mod(this=wrap(a[0]), expression=_nonzero(b[0], right))
    return typed(node, digits.type, sql, digits)


def square_root(node: exp.Expr, binder: Binder) -> Scalar:
    """Bind `sqrt(x)`, NULL where x is negative."""
    return _where(node, node.this, binder, lambda x: exp.GTE(this=x, expression=_zero()), lambda x: exp.Sqrt(this=x))


def exponential(node: exp.Expr, binder: Binder) -> Scalar:
    """Bind `exp(x)`, NULL where x is outside -700 to 700."""
    low, high = (cast_sql(exp.Literal.string(str(end)), "DOUBLE PRECISION") for end in (-_EXPONENT, _EXPONENT))
    return _where(
        node, node.this, binder, lambda x: exp.Between(this=x, low=low, high=high), lambda x: exp.Exp(this=x)
    )


def logarithm(node: exp.Expr, binder: Binder) -> Scalar:
    """Bind ln(x), log(x) and log10(x) of base 10, and log(b, x); NULL where x is not positive."""
    argument, base = numeric_functions.logarithm_parts(node)

    def sql(x: exp.Expr) -> exp.Expr:
        natural = exp.Ln(this=x)
        if base is None:
            return natural
        divisor = cast_sql(exp.Literal.number(base), "DOUBLE PRECISION")
        return exp.Div(this=natural, expression=exp.Ln(this=divisor), typed=True)

    return _where(node, argument, binder, lambda x: exp.GT(this=x, expression=_zero()), sql)


def _where(
    node: exp.Expr,
    argument: exp.Expr,
    binder: Binder,
    holds: Callable[[exp.Expr], exp.Expr],
    sql: Callable[[exp.Expr], exp.Expr],
) -> Scalar:
    """Bind a function of a double, NULL where its condition does not hold."""
    inner = number(binder.scalar(argument), binder)
    if inner.is_null:
        return arithmetic.null(node)
    x = repeated(as_double(inner), node)
    return double(node, exp.Case(ifs=[exp.If(this=holds(copied(x)), true=sql(x))]))


def _zero() -> exp.Expr:
    return cast_sql(exp.Literal.number(0), "DOUBLE PRECISION")


def cast(node: exp.Expr, binder: Binder) -> Scalar:
    """Bind a cast as `planner.expressions.casts.cast` does, but let the database write dates and times as text."""
    part = binder.scalar(node.this)
    moment = part.type is not None and part.type.is_moment and isinstance(part.plain, exp.Column)
    target = sql_type(node.args["to"].sql("postgres").lower())
    if moment and target == SqlType(Family.TEXT):
        return typed(node, target, cast_sql(part.sql, "TEXT"))
    return casts.cast(node, binder)


def round_numeric(node: exp.Expr, binder: Binder) -> Scalar:
    """Round as `planner.expressions.numeric_functions.rounded` does, and keep all digits of a numeric without a
    scale.
    """
    inner = number(binder.scalar(node.this), binder)
    exact = inner.type is not None and inner.type.family is Family.NUMERIC and inner.digits is None
    if not exact or not isinstance(node, exp.Round):
        return numeric_functions.rounded(node, binder)
    places = node.args.get("decimals")
    count = 0 if places is None else whole_literal(places, -_MOST_PLACES, _MOST_PLACES)
    literal = exp.Literal.number(abs(count))
    decimals = literal if count >= 0 else exp.Neg(this=literal)
    return typed(node, SqlType(Family.NUMERIC), exp.Round(this=inner.sql, decimals=decimals))


_MOST_PLACES = 30

HANDLERS: dict[type[exp.Expr], Callable[[exp.Expr, Binder], Scalar]] = {
    exp.Cast: cast,
    exp.Div: quotient,
    exp.Mod: remainder,
    exp.Round: round_numeric,
    exp.Sqrt: square_root,
    exp.Exp: exponential,
    exp.Ln: logarithm,
    exp.Log: logarithm,
}
"""Replaces handlers of `planner.expressions.functions` that need a proof that no row fails."""


AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)

ROW_DIGITS = 12
"""The most digits of the number of rows in one sum."""

_COUNT = SqlType(Family.INTEGER, 19)
_COUNTED = Digits(19, 0, True)
_TEXT = SqlType(Family.TEXT)
_MOST_DIGITS = 1000
_SMALL = 10
_NO_ORDER = (Family.BOOL, Family.UUID, Family.ENUM, Family.OTHER)


@dataclass(frozen=True)
class _Call:
    """An aggregate: its argument, its DISTINCT, and the condition of its FILTER."""

    node: exp.Expr
    argument: Scalar
    distinct: bool
    condition: exp.Expr | None

    def of(self, kind: type[exp.Expr]) -> exp.Expr:
        """Return an aggregate function of the argument."""
        value = copied(self.argument.sql)
        taken = exp.Distinct(expressions=[value]) if self.distinct else value
        return _filtered(kind(this=taken), self.condition)


def bind_aggregate(node: exp.Expr, rows: Binder, present: Callable[[exp.Column], exp.Expr]) -> Scalar | None:
    """Bind an aggregate call with its FILTER; None for anything else.

    Args:
      rows: binds the argument.
      present: for `t.*`, returns a column of t that is NULL only where an outer join finds no row.
    Raises: UnsupportedSQL, InvalidSyntax.
    """
    where = node.expression.this if isinstance(node, exp.Filter) else None
    function = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(function, AGGREGATES):
        return None
    condition = None if where is None else rows.predicate(where)
    argument = function.this
    if argument is None:
        name = function.sql_name()
        hint = "write COUNT(*)" if isinstance(function, exp.Count) else f"name a column, as in {name}(amount)"
        raise InvalidSyntax(f"{name}() needs an argument", hint=hint, at=node)
    if isinstance(argument, exp.Star):
        if not isinstance(function, exp.Count):
            hint = "name a column, or write COUNT(*)"
            raise InvalidSyntax(f"{function.sql_name()}(*) is not valid: only COUNT takes *", hint=hint, at=node)
        return _count(node, _filtered(exp.Count(this=exp.Star()), condition))
    if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star) and isinstance(function, exp.Count):
        return _count(node, _filtered(exp.Count(this=present(argument)), condition))
    distinct = isinstance(argument, exp.Distinct)
    if distinct and len(argument.expressions) != 1:
        raise UnsupportedSQL("DISTINCT takes one column here", hint="name one column", at=argument)
    value = rows.scalar(argument.expressions[0] if distinct else argument)
    if isinstance(function, (exp.Sum, exp.Avg)):
        check_typed(function, argument.expressions[0] if distinct else argument)
        value = number(value, rows)
    call = _Call(node, settle(value, _TEXT, rows), distinct, condition)
    if isinstance(function, exp.Count):
        return _count(node, call.of(exp.Count))
    if call.argument.is_null:
        return arithmetic.null(node)
    if isinstance(function, exp.Sum):
        return _sum(call)
    return _average(call) if isinstance(function, exp.Avg) else _extreme(call, type(function))


def _filtered(call: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    return call if condition is None else exp.Filter(this=call, expression=exp.Where(this=copied(condition)))


def _count(node: exp.Expr, sql: exp.Expr) -> Scalar:
    return typed(node, _COUNT, cast_sql(sql, "BIGINT"), _COUNTED)


def _sum(call: _Call) -> Scalar:
    """Bind SUM: a bigint for small integers, a numeric for other exact numbers, a double for doubles."""
    kind, digits = call.argument.type, call.argument.digits
    assert kind is not None, "a number"
    if kind.family is Family.FLOAT:  # also reals: their own sum depends on the order of rows
        call = replace(call, argument=double(call.node, as_double(call.argument)))
        return double(call.node, cast_sql(call.of(exp.Sum), "DOUBLE PRECISION"))
    sql = call.of(exp.Sum)
    if kind.family is Family.INTEGER and (kind.precision or 19) <= _SMALL:
        return _count(call.node, sql)
    if digits is None or digits.whole + digits.scale + ROW_DIGITS > _MOST_DIGITS:
        return typed(call.node, SqlType(Family.NUMERIC), sql)
    total = Digits(digits.whole + ROW_DIGITS, digits.scale, digits.integral)
    numeric = f"DECIMAL({total.whole + total.scale}, {total.scale})"
    return typed(call.node, SqlType(Family.NUMERIC, total.whole + total.scale, total.scale),
                 cast_sql(sql, numeric), total)  # fmt: skip


def _average(call: _Call) -> Scalar:
    """Bind AVG as a double, from the exact sum where there is one."""
    assert call.argument.type is not None, "a number"
    if call.argument.type.family is Family.FLOAT:
        return double(call.node, cast_sql(call.of(exp.Avg), "DOUBLE PRECISION"))
    return double(call.node, divided(_sum(call), _count(call.node, call.of(exp.Count))))


def _extreme(call: _Call, kind: type[exp.Expr]) -> Scalar:
    argument = call.argument
    assert argument.type is not None, "typed"
    if argument.type.family in _NO_ORDER:
        raise UnsupportedSQL(f"{kind.__name__.upper()} over {argument.kind} is not supported", at=call.node)
    argument = as_text(argument)
    result = argument.type
    assert result is not None, "typed"
    sql = _Call(call.node, argument, call.distinct, call.condition).of(kind)
    target = {Family.INTEGER: "BIGINT", Family.FLOAT: "DOUBLE PRECISION"}.get(result.family)
    return typed(call.node, result, sql if target is None else cast_sql(sql, target), argument.digits)


_BOOL = SqlType(Family.BOOL)

Subquery = Callable[[exp.Expr, PublicScope], tuple[exp.Query, tuple[SqlType, ...]]]
"""Binds a subquery in an expression; returns its statement and the types of its columns."""


class PublicBinder:
    """Binds expressions over rows. Names mean items of FROM: those of `among`, or all."""

    def __init__(self, scope: PublicScope, subquery: Subquery, among: Sequence[Source] | None = None) -> None:
        self._scope = scope
        self._subquery = subquery
        self._among = among

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return self._scope.zone

    def where(self, condition: exp.Expr, *, holds: bool = True) -> PublicBinder:
        """Return itself: conditions prove no ranges here."""
        return self

    def scalar(self, node: exp.Expr) -> Scalar:
        """Bind an expression of any type. Raises: UnsupportedSQL, InvalidSyntax and name errors, each with a
        position.
        """
        while isinstance(node, exp.Paren):
            node = node.this
        special = self._special(node)
        if special is not None:
            return special
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal) and not node.is_string:
            return as_it_stands(arithmetic.literal(node))
        if isinstance(node, exp.Null):
            return arithmetic.null(node)
        if isinstance(node, (exp.Literal, exp.Parameter)):
            return Scalar(node, None, copied(node))
        if isinstance(node, (exp.Subquery, exp.Exists)) or (isinstance(node, exp.In) and node.args.get("query")):
            return self._nested(node)
        bind = HANDLERS.get(type(node)) or (TABLE[type(node)].bind if type(node) in TABLE else None)
        if bind is None:
            name = construct_name(node)
            raise UnsupportedSQL(f"{name} is not supported here", at=node)
        return as_it_stands(bind(node, self))

    def predicate(self, node: exp.Expr) -> exp.Expr:
        """Bind a condition. Raises: as `scalar`."""
        scalar = settle(self.scalar(node), _BOOL, self)
        if scalar.type != _BOOL:
            raise UnsupportedSQL(
                "this expression is not true or false, so it is not a condition",
                hint="write a comparison, as in x > 0",
                at=node,
            )
        return scalar.sql

    def value(self, node: exp.Expr) -> Scalar:
        """Bind an expression for a column, where a quoted literal is a text."""
        return settle(self.scalar(node), _TEXT, self)

    def _special(self, node: exp.Expr) -> Scalar | None:
        if isinstance(node, (exp.Filter, *AGGREGATES)):
            message = "an aggregate in a condition over rows, or in another aggregate, is not supported"
            raise UnsupportedSQL(message, hint="write it in HAVING", at=node)
        return None

    def _column(self, node: exp.Column) -> Scalar:
        found = self._scope.resolve(node, self._among)
        assert isinstance(found, exp.Column), "every name means a column: subqueries are not flattened"
        kind = self._scope.type_of(found)
        sql = cast_sql(found, "TEXT") if kind.family is Family.ENUM else found
        return as_it_stands(Scalar(node, kind, sql, digits=Digits.of(kind)))

    def _nested(self, node: exp.Expr) -> Scalar:
        """Bind a scalar subquery, EXISTS (...) or x IN (...)."""
        if isinstance(node, exp.Exists):
            statement, _ = self._subquery(node.this, self._scope)
            return truth(node, exp.Exists(this=statement))
        written = node.args["query"] if isinstance(node, exp.In) else node
        statement, kinds = self._subquery(written, self._scope)
        if len(kinds) != 1:
            raise UnsupportedSQL(
                "a subquery used as a value must have one column", hint="select one column", at=written
            )
        column = as_it_stands(Scalar(written, kinds[0], exp.Subquery(this=statement)))
        if not isinstance(node, exp.In):
            return column
        left, _ = align(node, [_no_char(self.scalar(node.this)), column], self)
        return truth(node, exp.In(this=wrap(left.sql), query=exp.Subquery(this=statement)))


class GroupBinder(PublicBinder):
    """Binds expressions over groups: keys, aggregates, and what combines them.

    A column that depends on a primary key among `keys` is appended to them when it is named, since not every database
    knows the dependency.
    """

    def __init__(self, scope: PublicScope, subquery: Subquery, keys: list[Scalar]) -> None:
        super().__init__(scope, subquery)
        self._rows = PublicBinder(scope, subquery)
        self._keys = keys
        self._own = {entry.alias for entry in scope.entries(scope.sources)}

    def _special(self, node: exp.Expr) -> Scalar | None:
        aggregate = bind_aggregate(node, self._rows, self._scope.never_null)
        if aggregate is not None or not self._keys or not holds(node, exp.Column):
            return aggregate
        if holds(node, exp.AggFunc, exp.Query):
            return None
        row = self._rows.scalar(node)
        return next((key for key in self._keys if key.plain == row.plain and key.type == row.type), None)

    def _column(self, node: exp.Column) -> Scalar:
        found = super()._column(node)
        column = found.plain.this if isinstance(found.plain, exp.Cast) else found.plain
        assert isinstance(column, exp.Column), "a column, or the label of one"
        if column.table in self._own:
            if determined(column, self._scope, [key.plain for key in self._keys]):
                self._keys.append(found)
                return found
            hint = "add it to GROUP BY, or aggregate it"
            message = f"column {column.name!r} is neither in GROUP BY nor inside an aggregate"
            raise UnsupportedSQL(message, hint=hint, at=node)
        return found

    def _nested(self, node: exp.Expr) -> Scalar:
        """Bind a subquery, which sees only the keys of this query's columns."""
        found = super()._nested(node)
        keys = [key.plain for key in self._keys]
        assert found.plain is not None, "a subquery has one form"
        for column in columns_of(found.plain):
            if column.table in self._own and column not in keys:
                message = f"a subquery uses column {column.name!r}, which is not in GROUP BY"
                raise UnsupportedSQL(message, hint="add it to GROUP BY", at=node)
        return found


def _no_char(part: Scalar) -> Scalar:
    """Read char(n) as text, as subqueries return it."""
    return as_text(part) if part.type is not None and part.type.family is Family.CHAR else part
