"""Makes the SELECT around answers total: an argument that a function has no value for is NULL.

Noise decides the values of answers, so no statement may depend on them for having a value at all: PostgreSQL would
end it after the charge. `_ARGUMENTS` says by function what its arguments must be. Casts, sums of dates and whole
numbers, and LIMIT depend on types, too. What only a database can judge, such as the pattern of to_char, is a constant
(`check_constants`), and the statement is tried on one row of each answer before the charge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cache

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.simplify import simplify

from planner.binding.output_names import output_name
from planner.errors import StatementTooComplex, UnsupportedSQL
from planner.parsing.lists import MAX_SERIES
from planner.schema import Dialect
from planner.sql.trees import aggregates, copied, fold, from_items, holds, named_sql, nodes

_DAYS = (
    "CASE WHEN ROUND(month) IN (4, 6, 9, 11) THEN 30 WHEN ROUND(month) <> 2 THEN 31 "
    "WHEN year % 4 = 0 AND (year % 100 <> 0 OR year % 400 = 0) THEN 29 ELSE 28 END"
)
_POWER = (
    "CASE WHEN this > 0 THEN ABS(expression * LN(this)) < 690 WHEN this = 0 THEN expression >= 0 "
    "ELSE expression = TRUNC(expression) AND ABS(expression * LN(-this)) < 690 END"
)
_DOUBLE = {"this": "ABS(this) < 1e307"}
_LONGER = {"this": "1.0 * LENGTH(this) * LENGTH(replacement) <= 1000000"}
_PATTERN = {"expression": "RIGHT(expression, 1) <> '\\'"}
_COSINE = {"this": "this BETWEEN -1 AND 1"}
_FRACTION = {"this": "this BETWEEN 0 AND 1"}

_ARGUMENTS: Mapping[type[exp.Expr], Mapping[str, str]] = {
    exp.Ln: {"this": "this > 0"},
    exp.Log: {"this": "this > 0", "expression": "expression > 0 AND this <> 1"},
    exp.Sqrt: {"this": "this >= 0"},
    exp.Exp: {"this": "CASE WHEN this <= 690 THEN GREATEST(this, -690) END"},
    exp.Pow: {"this": _POWER},
    **dict.fromkeys((exp.Acos, exp.Asin), _COSINE),
    **dict.fromkeys((exp.Sin, exp.Cos, exp.Tan, exp.Cot, exp.Atan, exp.Degrees, exp.Radians), _DOUBLE),
    exp.Chr: {"x0": "x0 BETWEEN 1 AND 55295 OR x0 BETWEEN 57344 AND 1114111"},
    exp.Pad: {"expression": "expression <= 10000"},
    exp.Repeat: {"times": "1.0 * times * LENGTH(this) <= 100000"},
    **dict.fromkeys((exp.Replace, exp.RegexpReplace), _LONGER),
    exp.Substring: {"length": "length >= 0"},
    exp.Overlay: {"from_": "from_ BETWEEN 1 AND 1000000000", "for_": "for_ BETWEEN -1000000000 AND 1000000000"},
    exp.SplitPart: {"part_index": "part_index <> 0"},
    **dict.fromkeys((exp.Like, exp.ILike), _PATTERN),
    exp.DateFromParts: {
        "year": "year BETWEEN 1 AND 9999", "month": "month BETWEEN 1 AND 12", "day": f"day BETWEEN 1 AND {_DAYS}",
    },
    exp.UnixToTime: {"this": "this BETWEEN -62135596800 AND 253402300799"},
    exp.Ntile: {"this": "this > 0"},
    exp.NthValue: {"offset": "offset > 0"},
    exp.WidthBucket: {"num_buckets": "num_buckets BETWEEN 1 AND 1000000 AND min_value <> max_value"},
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc), _FRACTION),
}  # fmt: skip
"""By function and argument: the condition for the argument to stand, else it is NULL; or what stands instead of it.

Conditions name arguments as the parser library does, and x0, x1, ... those in its list.
"""

_CASTS = {
    "SMALLINT": ("int2", "x BETWEEN -32768 AND 32767"),
    "INT": ("int4", "x BETWEEN -2147483647 AND 2147483647"),
    "BIGINT": ("int8", "x BETWEEN -9223372036854774000 AND 9223372036854774000"),
    "FLOAT": ("float4", "ABS(x) BETWEEN 1e-37 AND 3e38 OR x = 0"),
    "DOUBLE": ("float8", "ABS(x) BETWEEN 1e-300 AND 1e300 OR x = 0"),
    "DECIMAL": ("numeric", "TRUE"), "BOOLEAN": ("bool", "TRUE"), "DATE": ("date", "TRUE"),
    "TIMESTAMP": ("timestamp", "TRUE"), "TIMESTAMPTZ": ("timestamptz", "TRUE"), "TIME": ("time", "TRUE"),
    "INTERVAL": ("interval", "TRUE"), "UUID": ("uuid", "TRUE"),
}  # fmt: skip
"""By type: PostgreSQL's name for pg_input_is_valid, which judges texts, and the numbers that a cast takes."""

INPUT_IS_VALID = "pg_input_is_valid"
INPUT_TYPES = frozenset(name for name, _ in _CASTS.values())

_LENGTHENING = (exp.Pad, exp.Repeat, exp.Replace, exp.RegexpReplace)
"""Functions whose text may be too long for a database's memory, also of constants."""

_OF_CONSTANTS: Mapping[type[exp.Func], str] = {
    exp.ToChar: "format", exp.TimeToStr: "format", exp.RegexpReplace: "expression", exp.ToNumber: "this",
    exp.StrToDate: "this",
}  # fmt: skip
"""Functions with an argument that only a database can judge."""

_TRIED = (
    *_OF_CONSTANTS, exp.AtTimeZone, exp.DateBin, exp.Extract, exp.TimestampTrunc, exp.WindowSpec, exp.Escape,
    exp.SetOperation,
)  # fmt: skip
"""Also sides of a UNION, whose types DuckDB compares when there are rows."""

_WHOLE = frozenset({"SMALLINT", "INT", "BIGINT"})
_NUMBERS = _WHOLE | {"DECIMAL", "FLOAT", "DOUBLE"}
_NEVER_FAILING = frozenset({"BOOLEAN", "INTERVAL", "DATE", "TIMESTAMP", "TIMESTAMPTZ"})
"""Types whose values have any other type that they may be cast to."""

_YEARS_S = 3_000_000_000_000
"""Nearly 100 000 years: moments of answers plus twice as much are moments."""
_UNIT_S = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800, "MONTH": 2_678_400,
           "QUARTER": 8_035_200, "YEAR": 31_622_400}  # fmt: skip
_OF_ROWS = (
    exp.From, exp.Join, exp.Lateral, exp.CTE, exp.In, exp.Exists, exp.Any, exp.All, exp.SetOperation, exp.Subquery,
)  # fmt: skip
"""Around a subquery that is no value."""
_MOST_NODES = 40_000
_LEVELS = 3
"""Of subqueries, through which the type of a column is followed."""
_SMALL = frozenset(map(str, range(17)))
WHOLE = "whole"
"""The note of a cast to bigint whose argument is one."""


def make_total(
    outer: exp.Query, columns: Iterable[tuple[str, str]], dialect: Dialect, single: Collection[str] = ()
) -> exp.Query:
    """Return the statement with a guard at every argument that its function may have no value for.

    >>> tree = parse_one("SELECT ln(n - 40), CAST(t AS DATE), CAST(n AS INT) AS i FROM a", dialect="postgres")
    >>> make_total(tree, [("n", "DECIMAL"), ("t", "TEXT")], "duckdb").sql("duckdb")
    'SELECT LN(CASE WHEN (n - 40) > 0 THEN n - 40 END), TRY_CAST(t AS DATE) AS "t", TRY_CAST(n AS INT) AS i FROM a'

    Args:
      columns: names of columns of tables, with their types as the parser library names them.
      single: the names of answers that have one row.
    Raises: StatementTooComplex where guards in guards become too long.
    """
    made = outer.copy()  # whose leaves are its own, because they are given types
    _add_types(made, columns)
    _Guards(dialect, single).write(made)
    return made


def _add_types(tree: exp.Query, columns: Iterable[tuple[str, str]]) -> None:
    """Note the types of expressions, by the names of columns; a name with several types has none."""
    known: dict[str, set[str]] = {}
    for name, kind in columns:
        known.setdefault(name, set()).add(kind)
    for _ in range(_LEVELS):
        before = {name: len(kinds) for name, kinds in known.items()}
        for node in nodes(tree):
            kinds = known.get(fold(node.this), ()) if _is_named(node) else ()
            node.type = _built(next(iter(kinds))) if len(kinds) == 1 else None
        inside = [node.this for node in reversed(nodes(tree)) if isinstance(node, exp.Cast)]
        for part in (*inside, tree):  # a cast has its type, so the annotation does not look into it
            with suppress(SqlglotError):
                annotate_types(part, dialect="postgres", overwrite_types=False)
        for select in (node for node in nodes(tree) if isinstance(node, exp.Select) and node is not tree):
            alias = select.parent.args.get("alias") if isinstance(select.parent, (exp.Subquery, exp.CTE)) else None
            listed = [fold(name) for name in (alias.args.get("columns") or [] if alias is not None else [])]
            for place, item in enumerate(select.expressions):
                if not item.is_star and (kind := _kind(item.unalias())):
                    known.setdefault(listed[place] if place < len(listed) else output_name(item), set()).add(kind)
        if before == {name: len(kinds) for name, kinds in known.items()}:
            break  # the next level would find the same


@cache
def _built(kind: str) -> exp.DataType:
    """The parser library's type of a name; trees share it."""
    return exp.DataType.build(kind)


def _is_named(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier)


def _kind(node: exp.Expr) -> str:
    """The type of an expression by its name; empty if it is not known."""
    kind = node.type.this.name if node.type is not None else ""
    return {"VARCHAR": "TEXT", "UNKNOWN": "", "NULL": ""}.get(kind, kind)


def check_constants(outer: exp.Query) -> None:
    """Refuse a pattern, or a text that a pattern reads, that is no constant. Raises: UnsupportedSQL."""
    for node in nodes(outer):
        for kind, name in _OF_CONSTANTS.items():
            if isinstance(node, kind) and name in node.args and not _is_constant(node.args[name]):
                what = "a text that depends on answers" if name == "this" else "a computed pattern"
                hint = "cast the text, which is NULL if it has no such value; write patterns as constants"
                message = f"{kind.sql_name().lower()} of {what} is not supported around answers"
                raise UnsupportedSQL(message, hint=hint, at=node)


def needs_trial(outer: exp.Query) -> bool:
    """Has it a part that only the database can judge?"""
    return holds(outer, *_TRIED)


def _is_constant(node: exp.Expr) -> bool:
    return not holds(node, exp.Column, exp.Query, exp.AggFunc, exp.Window)


def _named(item: exp.Expr) -> exp.Expr:
    """A cast has the name of the column in it; with a guard it would have another."""
    inside = item.unnest()
    return item if type(inside) is not exp.Cast or _is_constant(inside) else named_sql(item, output_name(item))


class _Guards:
    def __init__(self, dialect: Dialect, single: Collection[str]) -> None:
        self._dialect, self._single, self._size = dialect, single, 0

    def write(self, outer: exp.Query) -> None:
        """Guard the innermost first, since a guard repeats what it guards."""
        for node in reversed(nodes(outer)):
            if isinstance(node, exp.Select):
                node.set("expressions", [_named(item) for item in node.expressions])
        for node in reversed(nodes(outer)):
            if self._dialect == "duckdb":
                self._texts(node)
            if isinstance(node, exp.Subquery):
                self._value(node)
            elif isinstance(node, (exp.Limit, exp.Offset)):
                self._count(node)
            elif isinstance(node, (exp.GenerateSeries, exp.ExplodingGenerateSeries)):
                self._series(node)
            elif type(node) is exp.Cast:
                self._cast(node)
            elif isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
                self._arithmetic(node)
            elif not _is_constant(node) or isinstance(node, _LENGTHENING):
                for name, condition in _ARGUMENTS.get(type(node), {}).items():
                    self._guard(node, name, condition)

    def _guard(self, node: exp.Expr, name: str, condition: str) -> None:
        """Write an argument with its condition, unless literals fulfil it."""
        given = {key: value for key, value in node.args.items() if isinstance(value, exp.Expr)}
        given |= {f"x{place}": one for place, one in enumerate(node.expressions)}
        power = given.get("expression") if isinstance(node, exp.Pow) else None
        if name not in given or (isinstance(power, exp.Literal) and power.name in _SMALL):
            return
        for part, value in given.items():  # a guard of constants is decided now
            if isinstance(value, exp.Literal) and value.is_string:
                condition = condition.replace(f"LENGTH({part})", str(len(value.name)))
        tree = _filled(condition, given)
        known = None if holds(tree, exp.Column, exp.Query) else simplify(copied(tree))
        if known == exp.true():
            return
        if known == exp.false() and isinstance(node, _LENGTHENING):
            hint = "make a text of at most 10,000 characters"
            raise UnsupportedSQL("so long a text is not supported around answers", hint=hint, at=node)
        made = tree if condition.startswith("CASE WHEN this <=") else _when(tree, given[name])
        if name == "x0":
            self._put(node, "expressions", [made, *node.expressions[1:]])
        else:
            self._put(node, name, made)

    def _put(self, node: exp.Expr, name: str, made: exp.Expr | list[exp.Expr]) -> None:
        self._size += sum(len(nodes(one)) for one in ([made] if isinstance(made, exp.Expr) else made))
        if self._size > _MOST_NODES:
            hint = "compute in steps: name the inner values in a subquery of FROM"
            raise StatementTooComplex("functions around answers are nested too deeply", hint=hint)
        node.set(name, made)

    def _count(self, node: exp.Expr) -> None:
        rows = node.args.get("expression")
        if rows is not None and not _is_constant(rows):
            bounded = _filled("LEAST(GREATEST(this, 0), 1000000000)", {"this": rows})
            self._put(node, "expression", exp.Subquery(this=exp.Select(expressions=[bounded])))

    def _value(self, node: exp.Subquery) -> None:
        """A subquery that is a value is NULL where it has several rows."""
        if node.args.get("alias") is not None or isinstance(node.parent, _OF_ROWS) or self._has_one_row(node.this):
            return
        one = exp.to_identifier("one", quoted=True)
        rows = exp.Subquery(this=node.this, alias=exp.TableAlias(this=one, columns=[one]))
        text = 'SELECT CASE WHEN COUNT(*) OVER () = 1 THEN "one" END FROM x LIMIT 1'
        made = parse_one(text, dialect="postgres")
        made.set("from_", exp.From(this=rows))
        self._put(node, "this", made)

    def _has_one_row(self, body: exp.Expr) -> bool:
        if not isinstance(body, exp.Select):
            return False
        limit, items = body.args.get("limit"), from_items(body)
        if isinstance(limit, exp.Limit) and limit.expression == exp.Literal.number(1):
            return True
        if body.args.get("group") is None and any(True for item in body.expressions for _ in aggregates(item)):
            return True
        return all(isinstance(item, exp.Table) and item.name in self._single for item in items)

    def _series(self, node: exp.Expr) -> None:
        """A series of released length has at most MAX_SERIES rows."""
        start, end = node.args["start"], node.args["end"]
        if not _is_constant(node) and _kind(start) in _NUMBERS:
            self._put(node, "end", _filled(f"LEAST(b, a + {MAX_SERIES})", {"a": start, "b": end}))
            if (step := node.args.get("step")) is not None and not _is_constant(step):
                self._put(node, "step", _filled("NULLIF(x, 0)", {"x": step}))

    def _texts(self, node: exp.Expr) -> None:
        """Write a double as text as PostgreSQL does, since DuckDB writes 40.0 for 40."""
        if type(node) is exp.Cast and node.to.this.name in ("TEXT", "VARCHAR") and _kind(node.this) == "DOUBLE":
            node.replace(_without_zero(node))
        elif isinstance(node, exp.DPipe):
            for name in ("this", "expression"):
                if _kind(node.args[name]) == "DOUBLE":
                    self._put(node, name, _without_zero(exp.cast(copied(node.args[name]), "TEXT")))
        elif isinstance(node, exp.Concat):
            parts = [
                _without_zero(exp.cast(copied(one), "TEXT")) if _kind(one) == "DOUBLE" else one
                for one in node.expressions
            ]
            self._put(node, "expressions", parts)

    def _cast(self, node: exp.Cast) -> None:
        """On DuckDB TRY_CAST is total. On PostgreSQL numbers need a range, and texts a valid form."""
        target, kind = node.to.this.name, _kind(node.this)
        if WHOLE in node.meta or _is_constant(node) or target not in _CASTS:
            return
        name, fits = _CASTS[target]
        sizes = [int(one.name) for one in node.to.expressions]
        if self._dialect == "duckdb":
            to = node.to if target != "DECIMAL" or sizes else exp.DataType.build("DOUBLE")  # as answers have it
            node.replace(exp.TryCast(this=node.this, to=to))
        elif kind not in _NUMBERS | _NEVER_FAILING:
            self._where(node, "this", f"{INPUT_IS_VALID}(CAST(x AS TEXT), '{name}')")
        elif kind in _NUMBERS and fits != "TRUE":
            self._where(node, "this", fits)
        if sizes and target == "DECIMAL" and self._dialect != "duckdb":
            scale = sizes[1] if len(sizes) > 1 else 0
            self._where(node, "this", f"ABS(CAST(x AS NUMERIC)) < 1e{sizes[0] - scale} - 5e-{scale + 1}")

    def _arithmetic(self, node: exp.Expr) -> None:
        """Guard moments that would leave the calendar, and whole numbers that would leave their type."""
        sides = (("this", node.this, node.args["expression"]), ("expression", node.args["expression"], node.this))
        for name, side, other in sides:
            span = other.unnest() if isinstance(node, exp.Mul) else None
            if isinstance(span, exp.Interval) and not _is_constant(side):
                self._where(node, name, f"ABS(x) <= {_YEARS_S // max(1, _seconds(span))}")
                return
            if _kind(other) == "DATE" and _kind(side) in _WHOLE and not _is_constant(side):
                self._where(node, name, "ABS(x) <= 1000000")
                return
        kinds = {_kind(node.this), _kind(node.args["expression"])}
        if kinds <= _WHOLE and not _is_constant(node):
            most = 2**63 - 2**11 if "BIGINT" in kinds else 2**31 - 1
            wide = exp.cast(copied(node.this), "DOUBLE" if self._dialect == "duckdb" else "NUMERIC")
            both = type(node)(this=wide, expression=exp.Paren(this=copied(node.args["expression"])))
            self._put(node, "this", _when(_filled(f"ABS(x) <= {most}", {"x": both}), node.this))

    def _where(self, node: exp.Expr, name: str, condition: str) -> None:
        """Write an argument x with a condition for it."""
        self._put(node, name, _when(_filled(condition, {"x": node.args[name]}), node.args[name]))


def _seconds(interval: exp.Expr) -> int:
    """About its length; of what is not a number of one unit, a century."""
    unit, count = interval.text("unit").upper().removesuffix("S"), interval.this.name if interval.this else ""
    return int(float(count)) * _UNIT_S[unit] if unit in _UNIT_S and count.isdigit() else 100 * _UNIT_S["YEAR"]


def _without_zero(text: exp.Expr) -> exp.Expr:
    pattern = exp.Literal.string(r"\.0$")
    return exp.RegexpReplace(this=copied(text), expression=pattern, replacement=exp.Literal.string(""))


def _when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=copied(value))])


def _filled(text: str, given: Mapping[str, exp.Expr]) -> exp.Expr:
    """Parse a condition, and put copies of arguments in the place of their names; NULL for one that is not given."""
    tree = parse_one(text, dialect="postgres")
    for column in [*tree.find_all(exp.Column)]:
        value = given.get(column.name)
        made = exp.null() if value is None else copied(value)
        column.replace(exp.Paren(this=made) if isinstance(made, (exp.Binary, exp.Neg, exp.Case)) else made)
    return tree
