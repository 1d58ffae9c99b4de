"""What DuckDB and Spark write alike: a bottom-up writer in which every value has a type.

Both have at most 38 exact digits; a value that may need more is refused before anything runs. Values in one
comparison or choice are cast to a common type, as PostgreSQL treats them. `Differences` lists where the two differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.schema import Schema, Table
from planner.sql.literals import number_sql
from planner.sql.sql_types import READ_AS, REAL, Family, SqlType, sql_type
from planner.sql.trees import (
    DECLARED,
    ROWS,
    InZone,
    cast_sql,
    each_select,
    is_type,
    position_of,
    rebuilt,
    tables_by_alias,
)
from planner.sql.zones import UTC

MOST_DIGITS = 38
_FAST_DIGITS = 18
_INTEGER_DIGITS = 19
EXACT = frozenset({Family.INTEGER, Family.NUMERIC})
_EXACT_DIGITS = 15  # up to here, the division that makes a double of a decimal rounds once
_HINT = "narrow the column's type, or compare it without arithmetic"


@dataclass(frozen=True)
class Typed:
    """SQL and its type. A literal whose type depends on the database has no cast yet."""

    sql: exp.Expr
    type: SqlType

    @property
    def is_literal(self) -> bool:
        """Whether the expression is a literal number, with or without a sign."""
        node = self.sql.this if isinstance(self.sql, exp.Neg) else self.sql
        return isinstance(node, exp.Literal) and not node.is_string

    @property
    def whole(self) -> int:
        """The most digits before the point."""
        kind = self.type
        return _INTEGER_DIGITS if kind.precision is None else max(kind.precision - (kind.scale or 0), 0)

    @property
    def scale(self) -> int:
        """The most digits after the point."""
        return self.type.scale or 0


Write = Callable[[exp.Expr], Typed]
"""Writes a part of an expression."""

Handler = Callable[[exp.Expr, Write], Typed]
"""Writes one construct, given the writer of its parts."""

Handlers = Mapping[type[exp.Expr], Handler]


def literal(node: exp.Expr) -> Typed:
    """A literal number with its digits.

    >>> literal(exp.Literal.number("0.10")).type
    SqlType(family=<Family.NUMERIC: 'numeric'>, precision=2, scale=2, labels=())
    """
    whole, _, fraction = node.name.partition(".")
    return Typed(node.copy(), numeric(len(whole.lstrip("0")), len(fraction)))


def numeric(whole: int, scale: int) -> SqlType:
    """The type of numbers with these digits before and after the point."""
    return SqlType(Family.NUMERIC, max(whole + scale, 1), scale)


def as_decimal(sql: exp.Expr, kind: SqlType) -> exp.Cast:
    """Cast to a decimal with a type's digits."""
    return cast_sql(sql, f"DECIMAL({kind.precision}, {kind.scale})")


def exact_type(whole: int, scale: int) -> SqlType:
    """As `numeric`. Raises: UnsupportedSQL if DuckDB cannot hold all values."""
    if whole + scale > MOST_DIGITS:
        raise UnsupportedSQL(f"DuckDB has no decimals of more than {MOST_DIGITS} digits", hint=_HINT)
    return numeric(whole, scale)


def common_exact_type(operands: Sequence[Typed]) -> SqlType:
    """The type that holds every operand. Raises: UnsupportedSQL."""
    return exact_type(max(operand.whole for operand in operands), max(operand.scale for operand in operands))


def as_exact(operand: Typed, result: SqlType | None = None) -> exp.Expr:
    """A literal or a whole number as a decimal of its own digits, because DuckDB's integers overflow.

    DuckDB's decimals of up to 18 digits overflow, too. If the result has more digits, one operand is widened beyond
    18.

    >>> n = Typed(exp.column("n"), numeric(13, 2))
    >>> [as_exact(n, numeric(17, 2)).sql("duckdb"), as_exact(n).sql("duckdb")]
    ['CAST(n AS DECIMAL(19, 2))', 'n']
    """
    wide = result is not None and (result.precision or 0) > _FAST_DIGITS
    kind = exact_type(operand.whole, operand.scale)
    precision = max(kind.precision or 1, _FAST_DIGITS + 1 if wide else 1)
    if operand.is_literal or operand.type.family is Family.INTEGER or precision != kind.precision:
        return as_decimal(operand.sql, replace(kind, precision=precision))
    return operand.sql


def as_double(operand: Typed) -> exp.Expr:
    """The nearest double, as in PostgreSQL.

    >>> column = Typed(exp.column("x"), SqlType(Family.NUMERIC, 30, 2))
    >>> as_double(column).sql("duckdb")
    'CAST(CAST(x AS TEXT) AS DOUBLE)'
    >>> as_double(Typed(exp.column("x"), SqlType(Family.NUMERIC, 15, 2))).sql("duckdb")
    'CAST(x AS DOUBLE)'
    >>> as_double(literal(exp.Literal.number("0.1"))).sql("duckdb")
    "CAST('0.1' AS DOUBLE)"
    """
    if operand.type.family is Family.FLOAT:
        return operand.sql
    if operand.is_literal:
        return cast_sql(exp.Literal.string(operand.sql.sql()), "DOUBLE")
    if operand.type.family is Family.NUMERIC and (operand.type.precision or MOST_DIGITS) > _EXACT_DIGITS:
        return cast_sql(cast_sql(operand.sql, "TEXT"), "DOUBLE")
    return cast_sql(operand.sql, "DOUBLE")


def _is_out_of_reach(operand: Typed) -> bool:
    if not operand.is_literal:
        return False
    value = Decimal(operand.sql.sql())
    return bool(value) and not Decimal(10) ** -MOST_DIGITS <= abs(value) < Decimal(10) ** MOST_DIGITS


_LONG_LITERAL = 18
"""DuckDB chooses the type of a literal with more digits."""


def is_moment(operand: Typed) -> bool:
    """Whether a type is a timestamp, with or without time zone."""
    return operand.type.family in (Family.TIMESTAMP, Family.TIMESTAMPTZ)


def far_literals_as_doubles(operands: Sequence[Typed]) -> list[Typed]:
    """Replace literals beyond every decimal by doubles, which compare the same."""
    if any(operand.type.family is Family.FLOAT for operand in operands):
        return list(operands)
    return [
        Typed(as_double(operand), SqlType(Family.OTHER)) if _is_out_of_reach(operand) else operand
        for operand in operands
    ]


def aligned(operands: Sequence[Typed]) -> list[exp.Expr]:
    """Numbers of a choice or comparison, cast to one kind of number. Raises: UnsupportedSQL."""
    numbers = [operand for operand in operands if operand.type.is_number]
    if any(operand.type.family is Family.FLOAT for operand in numbers):
        return [as_double(operand) if operand.type.is_number else operand.sql for operand in operands]
    if numbers and (common_exact_type(numbers).precision or 0) > _LONG_LITERAL:
        return [as_exact(operand) if operand.is_literal else operand.sql for operand in operands]
    return [operand.sql for operand in operands]


def common_type(operands: Sequence[Typed]) -> SqlType:
    """The type of a CASE, COALESCE or the like: the one that all of its values fit."""
    numbers = [operand for operand in operands if operand.type.is_number]
    if any(operand.type.family is Family.FLOAT for operand in numbers):
        return SqlType(Family.FLOAT)
    if numbers and any(operand.type.family is Family.NUMERIC for operand in numbers):
        return common_exact_type(numbers)
    if numbers:
        return max((operand.type for operand in numbers), key=lambda kind: kind.precision or _INTEGER_DIGITS)
    known = [operand.type for operand in operands if operand.type.family is not Family.OTHER]
    return known[0] if known else SqlType(Family.OTHER)


def floating(sql: exp.Expr) -> Typed:
    """A double with its type."""
    return Typed(sql, SqlType(Family.FLOAT))


def truth(sql: exp.Expr) -> Typed:
    """A condition with its type."""
    return Typed(sql, SqlType(Family.BOOL))


@dataclass(frozen=True)
class Differences:
    """What two databases write alike, given where they differ.

    Attributes:
      name: the database's name, for refusals.
      compared: casts the sides of a comparison to one type.
      chosen: casts the values of a choice to one type.
      cast: CAST(value AS type) where the two differ; None where they agree.
      has_one_text: does every value of the type have the same text as in PostgreSQL?
      literals: the types of quoted literals, by name.
      remainder: SQL of the remainder of two decimals of one type.
      quotient: SQL of the quotient of two doubles.
      whole: FLOOR, CEIL or TRUNC of a double, given the node of PostgreSQL.
      truncates: is TRUNC of a decimal exact?
    """

    name: str
    compared: Callable[[Sequence[Typed]], list[exp.Expr]]
    chosen: Callable[[Sequence[Typed]], list[exp.Expr]]
    cast: Callable[[Typed, exp.DataType], Typed | None]
    has_one_text: Callable[[SqlType], bool]
    literals: Mapping[str, Family]
    remainder: Callable[[exp.Expr, exp.Expr], exp.Expr]
    quotient: Callable[[exp.Expr, exp.Expr], exp.Expr]
    whole: Callable[[exp.Expr, exp.Expr], exp.Expr]
    truncates: bool

    def handlers(self) -> Handlers:
        """Handlers of conditions, choices, casts, counts, quotients, and of the arithmetic of one value."""
        return {
            **dict.fromkeys((exp.And, exp.Or), _connected),
            **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), self._compared),
            **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), self._compared),
            **dict.fromkeys((exp.Coalesce, exp.Least, exp.Greatest), self.choice),
            exp.Not: lambda node, write: truth(exp.Not(this=write(node.this).sql)),
            exp.Boolean: lambda node, write: truth(node.copy()),
            exp.Between: self._between,
            exp.In: self._listed,
            exp.Is: _tested,
            exp.Exists: lambda node, write: truth(exp.Exists(this=write(node.this).sql)),
            InZone: _in_zone,
            exp.Paren: _paren,
            exp.Null: lambda node, write: Typed(node.copy(), SqlType(Family.OTHER)),
            exp.Nullif: self._nullified,
            exp.Case: self._case,
            exp.Cast: self.cast_of,
            exp.Neg: self._negated,
            exp.Abs: self._absolute,
            exp.Div: self._quotient,
            exp.Mod: self._remainder,
            **dict.fromkeys((exp.Floor, exp.Ceil, exp.Trunc, exp.Round), self._rounded),
            exp.Count: self._count,
            exp.Max: _greatest,
        }

    def _compared(self, node: exp.Expr, write: Write) -> Typed:
        other = node.args["expression"]
        if isinstance(other, exp.Literal) and other.is_string and (value := write(node.this)).type.is_number:
            return self._no_nan(node, value)
        left, right = self.compared(self._undivided(node.this, [other], write))
        return truth(type(node)(this=left, expression=right))

    def _undivided(self, node: exp.Expr, others: Sequence[exp.Expr], write: Write) -> list[Typed]:
        """The sides of a comparison. For x / c beside numbers n, all written: x and each c * n, which is exact.

        PostgreSQL compares the quotient, rounded to 16 digits or more. So only an x that agrees with c * n in its
        first 15 digits, and differs in a later one, could be equal to it there.
        """
        quotient, rest = node.unnest(), [write(one) for one in others]
        if isinstance(quotient, exp.Div) and all(one.is_literal and one.type.family in EXACT for one in rest):
            left, right = write(quotient.this), write(quotient.args["expression"])
            if left.type.family in EXACT and _is_written(right) and _decimal(right) > 0:
                return [left, *(_written(_decimal(right) * _decimal(one)) for one in rest)]
        return [write(node), *rest]

    def _no_nan(self, node: exp.Expr, value: Typed) -> Typed:
        """`x <> 'NaN'`, the only quoted number that rules write; for decimals it means IS NOT NULL."""
        if not isinstance(node, exp.NEQ) or node.expression.name != "NaN":
            raise UnsupportedSQL(f"a number beside a text is not supported on {self.name}")
        if value.type.family is Family.FLOAT:
            return truth(exp.NEQ(this=value.sql, expression=cast_sql(node.expression.copy(), "DOUBLE")))
        return truth(exp.Is(this=value.sql, expression=exp.Null(), negate=True))

    def _between(self, node: exp.Expr, write: Write) -> Typed:
        value, low, high = self.compared(self._undivided(node.this, [node.args["low"], node.args["high"]], write))
        return truth(exp.Between(this=value, low=low, high=high))

    def _listed(self, node: exp.Expr, write: Write) -> Typed:
        if node.args.get("query") is not None:
            raise UnsupportedSQL(f"IN with a query is not supported on {self.name}", hint="write EXISTS, or a join")
        value, *items = self.compared([write(node.this), *map(write, node.args["expressions"])])
        return truth(exp.In(this=value, expressions=items))

    def choice(self, node: exp.Expr, write: Write) -> Typed:
        """COALESCE, LEAST and GREATEST. In both databases the latter two skip NULL, and NaN is the greatest."""
        values = [write(node.this), *map(write, node.args["expressions"])]
        first, *others = self.chosen(values)
        options = {name: value for name, value in node.args.items() if name not in ("this", "expressions")}
        return Typed(type(node)(this=first, expressions=others, **options), common_type(values))

    def _nullified(self, node: exp.Expr, write: Write) -> Typed:
        first, second = write(node.this), node.args["expression"]
        if isinstance(second, exp.Literal) and second.is_string and first.type.is_number:
            assert second.name == "NaN", "the only quoted number that rules write"
            if first.type.family is not Family.FLOAT:
                return first  # decimals are never NaN
            return Typed(exp.Nullif(this=first.sql, expression=cast_sql(second.copy(), "DOUBLE")), first.type)
        values = [first, write(second)]
        value, other = self.chosen(values)
        return Typed(exp.Nullif(this=value, expression=other), common_type(values))

    def _case(self, node: exp.Expr, write: Write) -> Typed:
        if node.this is not None:
            raise UnsupportedSQL(f"CASE with a value is not supported on {self.name}", hint="write CASE WHEN x = ...")
        default = node.args.get("default")
        values = [write(branch.args["true"]) for branch in node.args["ifs"]]
        values += [] if default is None else [write(default)]
        results = self.chosen(values)
        case = exp.Case()
        for branch, result in zip(node.args["ifs"], results, strict=False):
            case.append("ifs", exp.If(this=write(branch.this).sql, true=result))
        if default is not None:
            case.set("default", results[-1])
        return Typed(case, common_type(values))

    def cast_of(self, node: exp.Expr, write: Write) -> Typed:
        """Write a cast. A CASE as double casts its branches, so that each literal becomes its nearest double."""
        target, inner = node.args["to"], node.this
        if not (is_type(target, "double") and isinstance(inner, exp.Case)):
            return self._cast(write(inner), target)
        pushed = inner.copy()
        for branch in pushed.args["ifs"]:
            branch.set("true", cast_sql(branch.args["true"], "DOUBLE PRECISION"))
        if pushed.args.get("default") is not None:
            pushed.set("default", cast_sql(pushed.args["default"], "DOUBLE PRECISION"))
        return self._case(pushed, write)

    def _cast(self, value: Typed, target: exp.DataType) -> Typed:
        """Raises: UnsupportedSQL for a cast that has not been compared on both databases."""
        differing = self.cast(value, target)
        if differing is not None:
            return differing
        family = value.type.family
        if is_type(target, "double") and value.type.is_number:
            return floating(as_double(value))
        if is_type(target, "float") and value.type.is_number:  # a real, as a double of the same value
            number = value.sql if family is Family.INTEGER else as_double(value)
            return Typed(cast_sql(exp.Cast(this=number, to=target.copy()), "DOUBLE"), REAL)
        if is_type(target, "decimal") and family in EXACT and not target.expressions:
            kind = exact_type(value.whole, value.scale)  # a choice between integer and numeric may be an integer
            return Typed(as_decimal(value.sql, kind), kind)
        column = (
            value.sql.this if isinstance(value.sql, exp.TryCast) else value.sql
        )  # the cast of a type of the database's own
        fixed = family is Family.NUMERIC and isinstance(column, exp.Column)  # shows all digits, as in PostgreSQL
        if is_type(target, "text", "varchar") and not target.expressions and (fixed or self.has_one_text(value.type)):
            return Typed(cast_sql(value.sql, "TEXT"), SqlType(Family.TEXT))
        for name, literal_family in self.literals.items():
            if is_type(target, name) and isinstance(value.sql, exp.Literal):
                return Typed(exp.Cast(this=value.sql, to=target.copy()), SqlType(literal_family))
        raise UnsupportedSQL(f"this cast to {target.sql('postgres').lower()} is not supported on {self.name}")

    def _negated(self, node: exp.Expr, write: Write) -> Typed:
        inner = write(node.this)
        return Typed(exp.Neg(this=inner.sql if inner.is_literal else self.computable(inner)), inner.type)

    def computable(self, value: Typed) -> exp.Expr:
        """A number in a type whose negatives exist; the least bigint has none. Raises: UnsupportedSQL."""
        if not value.type.is_number:
            raise UnsupportedSQL(f"arithmetic with a value that is not a number is not supported on {self.name}")
        return value.sql if value.type.family is Family.FLOAT else as_exact(value)

    def _absolute(self, node: exp.Expr, write: Write) -> Typed:
        inner = write(node.this)
        kind = numeric(inner.whole, inner.scale) if inner.type.family is Family.INTEGER else inner.type
        return Typed(exp.Abs(this=self.computable(inner)), kind)

    def _quotient(self, node: exp.Expr, write: Write) -> Typed:
        left, right = write(node.this), write(node.args["expression"])
        if Family.FLOAT not in (left.type.family, right.type.family):
            hint = (
                "divide by a double precision, as in x / y::float8; in a comparison, multiply the other side instead"
            )
            raise UnsupportedSQL(
                f"{self.name} does not divide decimals exactly, so this division is not supported", hint=hint
            )
        sides = as_double(left), as_double(right)
        return floating(divided(*sides) if _is_written(right) else self.quotient(*sides))

    def _remainder(self, node: exp.Expr, write: Write) -> Typed:
        """Operands get one decimal type; without it, DuckDB would compute the remainder of doubles."""
        left, right = write(node.this), write(node.args["expression"])
        if not {left.type.family, right.type.family} <= EXACT:
            raise UnsupportedSQL(f"a remainder of this type is not supported on {self.name}")
        kind = common_exact_type([left, right])
        return Typed(self.remainder(as_decimal(left.sql, kind), as_decimal(right.sql, kind)), kind)

    def _rounded(self, node: exp.Expr, write: Write) -> Typed:
        """FLOOR, CEIL, TRUNC and ROUND. Both databases round halves of a decimal away from zero."""
        buckets = _bucket_sides(node, write)
        if buckets is not None:
            left, right, kind = buckets
            return Typed(as_decimal(self.whole(node, self.quotient(left, right)), kind), kind)
        inner = write(node.this)
        if inner.type.family is Family.FLOAT:
            if node.args.get("decimals") is not None or isinstance(node, exp.Round):
                raise UnsupportedSQL(f"this rounding of a double is not supported on {self.name}")
            return floating(self.whole(node, inner.sql))
        if inner.type.family not in EXACT:
            raise UnsupportedSQL(f"rounding of this type is not supported on {self.name}")
        decimals = node.args.get("decimals")
        places = 0 if decimals is None else int(decimals.sql())
        if isinstance(node, exp.Trunc) and (places or not self.truncates):
            return self._cut(inner, places)
        kind = exact_type(max(inner.whole, -places) + 1, min(max(places, 0), inner.scale))
        arguments = {"decimals": decimals.copy()} if isinstance(node, exp.Round) and decimals is not None else {}
        return Typed(as_decimal(type(node)(this=as_exact(inner), **arguments), kind), kind)

    def _count(self, node: exp.Expr, write: Write) -> Typed:
        """COUNT(*), or the count of rows that meet a condition: COUNT(CASE WHEN condition THEN 1 END)."""
        if isinstance(node.this, exp.Distinct):
            raise UnsupportedSQL(f"COUNT(DISTINCT) here is not supported on {self.name}")
        taken = exp.Star() if isinstance(node.this, exp.Star) else write(node.this).sql
        return Typed(exp.Count(this=taken), SqlType(Family.INTEGER))

    def _cut(self, value: Typed, count: int) -> Typed:
        """trunc(x, n), as x minus its remainder by 10^-n."""
        unit = literal(exp.Literal.number(format(Decimal(10) ** -count, "f")))
        kind = common_exact_type([value, unit])
        remainder = self.remainder(as_decimal(value.sql.copy(), kind), as_decimal(unit.sql, kind))
        remainder = exp.Paren(this=remainder) if isinstance(remainder, exp.Mod) else remainder
        return Typed(exp.Paren(this=exp.Sub(this=as_exact(value, kind), expression=remainder)), kind)

    def aggregate(self, written: Callable[[exp.Expr, Typed, bool], Typed]) -> Handler:
        """An aggregate with its FILTER; `written` writes the call over a value, or over distinct values."""

        def handler(node: exp.Expr, write: Write) -> Typed:
            call = node.this if isinstance(node, exp.Filter) else node
            argument = call.this
            distinct = isinstance(argument, exp.Distinct)
            if isinstance(argument, exp.Star):
                value = Typed(exp.Star(), SqlType(Family.OTHER))
            elif distinct and len(argument.expressions) != 1:
                raise UnsupportedSQL(f"DISTINCT of several values is not supported on {self.name}")
            else:
                value = write(argument.expressions[0] if distinct else argument)
            result = written(call, value, distinct)
            if not isinstance(node, exp.Filter):
                return result
            where, cast = exp.Where(this=write(node.expression.this).sql), isinstance(result.sql, exp.Cast)
            made = exp.Filter(this=result.sql.this if cast else result.sql, expression=where)
            return Typed(exp.Cast(this=made, to=result.sql.args["to"]) if cast else made, result.type)

        return handler


_RANKS = (exp.RowNumber, exp.Ntile, exp.Rank, exp.DenseRank)


def window(node: exp.Expr, write: Write) -> Typed:
    """A window function. An aggregate may be cast, and its window stands within the cast."""
    call = node.this
    if isinstance(call, _RANKS):
        value = Typed(call.copy(), SqlType(Family.INTEGER))
    elif isinstance(call, (exp.PercentRank, exp.CumeDist)):
        value = floating(call.copy())
    elif isinstance(call, (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)):
        argument = write(call.this)
        made = call.copy()
        made.set("this", argument.sql)
        value = Typed(made, argument.type)
    else:
        value = write(call)
    parts = [write(part).sql for part in node.args.get("partition_by") or []]
    over = exp.Window(this=None, partition_by=parts, over="OVER")
    for part in ("order", "spec"):
        if node.args.get(part) is not None:
            over.set(part, node.args[part].copy() if part == "spec" else write(node.args[part]).sql)
    cast = isinstance(value.sql, exp.Cast)
    over.set("this", value.sql.this if cast else value.sql)
    return Typed(exp.Cast(this=over, to=value.sql.args["to"]) if cast else over, value.type)


def _connected(node: exp.Expr, write: Write) -> Typed:
    return truth(type(node)(this=write(node.this).sql, expression=write(node.args["expression"]).sql))


def _tested(node: exp.Expr, write: Write) -> Typed:
    test = node.args["expression"].copy()
    return truth(exp.Is(this=write(node.this).sql, expression=test, negate=node.args.get("negate")))


def _apart(made: Typed, node: exp.Expr) -> Typed:
    """In parentheses if the node became another operator, as the cast of a difference of doubles to a double does."""
    kind = type(made.sql)
    if kind is type(node) or kind is exp.Paren or not issubclass(kind, (exp.Binary, exp.Unary, exp.Between, exp.In)):
        return made
    return Typed(exp.Paren(this=made.sql), made.type)


def _paren(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(exp.Paren(this=inner.sql), inner.type)


def _in_zone(node: exp.Expr, write: Write) -> Typed:
    """Refuse a column's time zone: each database has its own rules, and only PostgreSQL's are meant."""
    hint = "SET TimeZone = 'UTC', or write AT TIME ZONE 'UTC'; constants may be in any zone"
    zones = [one.args["zone"].name for one in node.find_all(InZone)]
    zone = next((one for one in zones if one != UTC), UTC)  # a day in a zone is a moment of UTC again
    raise UnsupportedSQL(f"a column in the time zone {zone} is not supported on this database", hint=hint)


def exact_sum(left: Typed, right: Typed, operator: exp.Expr) -> SqlType:
    """The type that holds every sum, difference or product of two exact values. Raises: UnsupportedSQL."""
    if isinstance(operator, exp.Mul):
        return exact_type(left.whole + right.whole, left.scale + right.scale)
    return exact_type(max(left.whole, right.whole) + 1, max(left.scale, right.scale))


def _bucket_sides(node: exp.Expr, write: Write) -> tuple[exp.Cast, exp.Cast, SqlType] | None:
    """For FLOOR(x / n) and the like of exact numbers: x and n as doubles, and the type. None for anything else.

    Both are multiplied by the power of ten that makes them whole. A quotient of whole doubles below 2^53 is at least
    1 / n away from the next whole number, so rounding does not reach it; nor does the rounding of PostgreSQL's
    numerics.
    """
    quotient = node.this.unnest()
    if isinstance(node, exp.Round) or node.args.get("decimals") is not None or not isinstance(quotient, exp.Div):
        return None
    left, right = write(quotient.this), write(quotient.args["expression"])
    scale = max(left.scale, right.scale)
    exact = {left.type.family, right.type.family} <= EXACT
    if not exact or max(left.whole, right.whole) + scale > _EXACT_DIGITS:
        return None

    def as_whole(side: Typed) -> exp.Cast:
        if not scale:
            return cast_sql(side.sql, "DOUBLE")
        number = as_decimal(side.sql, exact_type(side.whole, side.scale))
        return cast_sql(exp.Mul(this=number, expression=exp.Literal.number(10**scale)), "DOUBLE")

    return as_whole(left), as_whole(right), exact_type(left.whole + right.scale + 1, 0)


def divided(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """The quotient of two doubles, the second not zero."""
    return exp.Div(this=left, expression=right, typed=True)


def _is_written(number: Typed) -> bool:
    """Is it a literal other than zero?"""
    return number.is_literal and bool(_decimal(number))


def _written(number: Decimal) -> Typed:
    sql = number_sql(number)
    return replace(literal(sql.this if isinstance(sql, exp.Neg) else sql), sql=sql)


def _decimal(number: Typed) -> Decimal:
    """The value of a literal."""
    return Decimal(number.sql.sql())


def moments_of_difference(operand: exp.Expr, write: Write) -> list[Typed] | None:
    """Both sides of a difference of timestamps; None for anything else."""
    difference = operand.unnest()
    if not isinstance(difference, exp.Sub) or isinstance(difference.right, exp.Interval):
        return None
    sides = [write(side) for side in (difference.left, difference.right)]
    return sides if all(side.type.family is Family.TIMESTAMP for side in sides) else None


def _greatest(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(exp.Max(this=inner.sql), inner.type)


CLAUSES = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Order, exp.Ordered, exp.Distinct, exp.Alias,
    exp.TableAlias, exp.Table, exp.TableSample, exp.Identifier, exp.Var, exp.Limit,
)  # fmt: skip

PUBLIC_CLAUSES = (*CLAUSES, exp.Having, exp.Union, exp.Intersect, exp.Except)
"""Clauses of statements over public tables."""


def public_handlers(handlers: Handlers, aggregates: Handlers) -> Handlers:
    """Handlers for a statement over public tables, given those of questions and of aggregates."""

    def member(node: exp.Expr, write: Write) -> Typed:
        query = node.args.get("query")
        if query is None:
            return handlers[exp.In](node, write)
        return truth(exp.In(this=write(node.this).sql, query=write(query).sql))

    def cast(node: exp.Expr, write: Write) -> Typed:
        """A sum keeps its own digits, and NULL has any type; other casts are as in questions."""
        if isinstance(node.this, exp.Null):
            return Typed(node.copy(), sql_type(node.args["to"].sql("postgres").lower()))
        inner = node.this.this if isinstance(node.this, exp.Filter) else node.this
        if isinstance(inner, exp.Sum) and is_type(node.args["to"], "decimal"):
            return write(node.this)
        return handlers[exp.Cast](node, write)

    others: Handlers = {exp.In: member, exp.Cast: cast, exp.Subquery: _subquery}
    return {**handlers, **aggregates, **others, **dict.fromkeys((exp.Limit, exp.Offset), _as_it_is)}


def _subquery(node: exp.Expr, write: Write) -> Typed:
    """A clause in FROM; elsewhere a value of its one column's type."""
    arguments = {name: write(value).sql for name, value in node.args.items() if isinstance(value, exp.Expr)}
    joins = [write(join).sql for join in node.args.get("joins") or []]
    sql = exp.Subquery(**arguments, joins=joins) if joins else exp.Subquery(**arguments)
    inner = node.this
    value = isinstance(inner, exp.Select) and node.args.get("alias") is None
    return Typed(sql, write(inner.expressions[0].this).type if value else SqlType(Family.OTHER))


def _as_it_is(node: exp.Expr, write: Write) -> Typed:
    return Typed(node.copy(), SqlType(Family.OTHER))


@dataclass(frozen=True)
class Writer:
    """Writes a tree bottom-up, with a type for every value.

    Attributes:
      tables: by alias, for the columns' types.
      handlers: the writer of each construct.
      clauses: constructs that stay the same over rewritten parts.
      schema: the catalog, for subqueries that act as tables.
      name: the database's name, for refusals.
      aggregates: more handlers, for such subqueries.
      declared: writes the public values that a policy declares.
    """

    tables: Mapping[str, Table]
    handlers: Handlers
    clauses: tuple[type[exp.Expr], ...] = CLAUSES
    schema: Schema = field(default_factory=lambda: Schema({}))
    name: str = "DuckDB"
    aggregates: Handlers = field(default_factory=dict)
    declared: Callable[[exp.Subquery], exp.Expr] = exp.Subquery.copy

    def write(self, node: exp.Expr) -> Typed:
        """Write a node. Raises: UnsupportedSQL for a construct that has not been compared on both databases."""
        try:
            return self._written(node)
        except UnsupportedSQL as refusal:
            if refusal.position is None:
                refusal.position = position_of(node)
            raise

    def _written(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal):
            return Typed(node.copy(), SqlType(Family.TEXT)) if node.is_string else literal(node)
        if isinstance(node, exp.Subquery) and DECLARED in node.meta:
            return Typed(self.declared(node), SqlType(Family.OTHER))
        if isinstance(node, exp.Subquery) and ROWS in node.meta:
            return Typed(
                exp.Subquery(this=each_select(node.this, self._rows), alias=node.args["alias"]), SqlType(Family.OTHER)
            )
        handler = self.handlers.get(type(node))
        if handler is not None:
            return _apart(handler(node, self.write), node)
        if isinstance(node, self.clauses):
            return Typed(rebuilt(node, lambda part: self.write(part).sql), SqlType(Family.OTHER))
        name = (
            f"the function {node.sql_name().lower()}" if isinstance(node, exp.Func) else "this part of the statement"
        )
        raise UnsupportedSQL(f"{name} is not supported on {self.name}")

    def _rows(self, select: exp.Expr) -> exp.Expr:
        """Write a SELECT of a subquery that acts as a table, with tables of its own."""
        known = dict(tables_by_alias(select, self.schema))
        return replace(self, tables=known, handlers={**self.handlers, **self.aggregates}).write(select).sql

    def _column(self, node: exp.Column) -> Typed:
        alias, *others = [node.table] if node.table else self.tables
        assert not others, "a column without its table stands in a query over one table"
        column = self.tables[alias].column(node.name)
        if column is None:
            raise UnsupportedSQL(f"the table {node.name} is not in the mirror")
        kind = sql_type(column.type)
        if kind.family is Family.FLOAT:
            return Typed(cast_sql(node.copy(), "DOUBLE"), kind)
        if column.type in READ_AS:
            return Typed(exp.TryCast(this=node.copy(), to=exp.DataType.build(READ_AS[column.type])), kind)
        return Typed(node.copy(), kind)
