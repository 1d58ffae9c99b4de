"""Binds subqueries that list rows of one person each as one table: UNION ALL, joins as one optional item, FULL JOIN.

    a LEFT JOIN (b JOIN c ON ...) ON ...    the join in parentheses becomes one table, of a row per tuple
    a FULL JOIN b ON p                      (a LEFT JOIN b ON p) UNION ALL (b without a partner in a, beside NULLs)
    SELECT ... UNION ALL SELECT ...         one table with the rows of both

`planner.planning.person_tables` proves the owner of every row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import PersonColumn, PersonTable
from planner.binding.flattened import Inside
from planner.binding.group_keys import expression_domain
from planner.binding.person_tables import declared_of, typed_sql, written_as
from planner.binding.scope import Meaning, Scope, Source, Tables
from planner.errors import UnsupportedSQL
from planner.expressions.bind_scalar import bind_scalar
from planner.expressions.coercion import any_double, fits_float
from planner.expressions.scalar import Scalar
from planner.policy.policy import ColumnPolicy
from planner.schema import Column
from planner.sql.sql_types import Family, SqlType, sql_type
from planner.sql.trees import ColumnRef, bound_column, cast_sql, column_ref, copied, holds

Beside = tuple[Meaning | None, ...]
"""What a column means in each SELECT; None for NULL."""


def enter_rows(
    tables: Tables,
    name: str | None,
    selects: Sequence[Inside],
    columns: Sequence[tuple[str, Beside]],
    position: int | None,
) -> list[Meaning]:
    """Enter the rows of one SELECT, or of several under UNION ALL, as one table, and return what its columns mean.

    Args:
      name: the analyst's, or None.
      columns: their labels, and what they mean in each SELECT.
    Raises: UnsupportedSQL for columns of types that do not go together, and as `bind_scalar`; StatementTooComplex.
    """
    rows = _Rows(selects, columns, position)
    entry = tables.add_person(name, position)
    tables.complete_person(entry, rows.person(), [one.flat.tables for one in selects])
    return [(entry.alias, made) for made in rows.names]


def enter_joined(
    scope: Scope,
    tables: Tables,
    selects: Sequence[Inside],
    sources: Sequence[tuple[Source | None, ...]],
    merged: Sequence[str],
    names: Collection[str] | None,
    position: int | None,
) -> list[Source]:
    """Enter the joined rows of several SELECTs as one table. Their items of FROM keep their names.

    Args:
      sources: the items, side by side; None where a SELECT has NULLs.
      merged: the columns of USING, each of which is the first item's column that there is.
      names: the columns that the statement may read; None for all.
    """
    shown = [next(source for source in beside if source is not None) for beside in sources]
    wanted: list[tuple[int, str, Beside]] = []
    for place, (beside, source) in enumerate(zip(sources, shown, strict=True)):
        for name, meaning in source.columns.items():
            if meaning is not None and (names is None or name in names):
                meant = tuple(None if one is None else one.columns[name] for one in beside)
                wanted.append((place, name, meant))
    wanted += [(-1, name, tuple(one.scope.meaning(name) for one in selects)) for name in merged]
    index = len(tables.entries)
    made = enter_rows(tables, None, selects, [(name, meant) for _, name, meant in wanted], position)
    columns: dict[int, dict[str, Meaning | None]] = {}
    for (place, name, _), meaning in zip(wanted, made, strict=True):
        columns.setdefault(place, {})[name] = meaning
    found = [scope.add(Source(None, (), columns[-1], index, index + 1), None)] if merged else []
    items = [
        scope.add(Source(source.name, source.schemas, columns.get(place, {}), index, index + 1), position)
        for place, source in enumerate(shown)
    ]
    scope.hide(items, merged)
    return [*found, *items]


class _Rows:
    """The columns of the rows of several SELECTs, side by side.

    Columns that every SELECT equates are one column, so that conditions on either are conditions on both.
    """

    def __init__(
        self, selects: Sequence[Inside], columns: Sequence[tuple[str, Beside]], position: int | None
    ) -> None:
        self._selects = selects
        self._position = position
        self._columns: list[list[PersonColumn]] = [[] for _ in selects]
        self.names: list[str] = []
        equal = [_equal_columns(one) for one in selects]
        places: dict[tuple[object, ...], str] = {}
        for label, meanings in columns:
            values = [_value(meaning) for meaning in meanings]
            key = tuple(_known(value, known) for value, known in zip(values, equal, strict=True))
            if key not in places:
                places[key] = self._enter(values, label)
            self.names.append(places[key])

    def person(self) -> PersonTable:
        """Return the definition of the table."""
        first, *others = [
            PersonTable(one.query, tuple(columns), self._position, partitions={})
            for one, columns in zip(self._selects, self._columns, strict=True)
        ]
        return replace(first, others=tuple(others))

    def _enter(self, values: Sequence[exp.Expr | None], label: str) -> str:
        name = f"c{len(self._columns[0]) + 1}"
        found = [_column(value, part, name) for value, part in zip(values, self._selects, strict=True)]
        there = [one for one in found if one is not None]
        if len(found) > 2 and found[0] is None and found[1] is None:  # PostgreSQL would take the column for a text
            hint = "begin with a SELECT that has a value there"
            raise UnsupportedSQL("this column of UNION begins with NULLs", hint=hint, position=self._position)
        kind = _common([one.column.type for one in there], self._position) if there else "text"
        column = Column(name, kind, len(there) < len(found) or any(one.column.nullable for one in there))
        declared = _together([one.declared for one in there])
        if len(there) < len(found):
            declared = replace(declared, null_group=True)
        for columns, one in zip(self._columns, found, strict=True):
            if one is None:
                one = PersonColumn(column, exp.Null(), declared)
            value = one.value if one.column.type == kind else _cast(one.value, sql_type(one.column.type), kind)
            columns.append(replace(one, column=column, value=value, declared=declared, label=label))
        return name


def _value(meaning: Meaning | None) -> exp.Expr | None:
    return bound_column(*meaning) if isinstance(meaning, tuple) else meaning


def _known(value: exp.Expr | None, equal: dict[ColumnRef, ColumnRef]) -> object:
    return equal.get(column_ref(value), column_ref(value)) if isinstance(value, exp.Column) else value


def _equal_columns(part: Inside) -> dict[ColumnRef, ColumnRef]:
    """Map each column that conditions equate with another of its type to one of them."""
    found: dict[ColumnRef, ColumnRef] = {}
    for condition in part.query.predicates:
        sides = (condition.this, condition.args.get("expression")) if isinstance(condition, exp.EQ) else ()
        columns = [side for side in sides if isinstance(side, exp.Column)]
        if len(columns) == 2 and part.scope.written_type(columns[0]) == part.scope.written_type(columns[1]):
            first, second = (found.get(column_ref(one), column_ref(one)) for one in columns)
            found.update({one: first for one, known in found.items() if known == second})
            found[second] = found[first] = first
    return found


def _column(value: exp.Expr | None, part: Inside, name: str) -> PersonColumn | None:
    """Bind a column of a SELECT; None for NULL."""
    if isinstance(value, exp.Column):
        known, declared = column_ref(value), part.scope.declared(value)[1]
        made = Column(name, part.scope.written_type(value), part.scope.may_be_null(value))
        outer = any(entry.alias == known[0] and entry.outer is not None for entry in part.query.tables)
        declared = replace(declared, null_group=declared.null_group or outer)
        return PersonColumn(made, copied(value), declared, key=known)
    if value is None:
        return None
    scalar = bind_scalar(value, part.scope, part.query.predicates)
    if scalar.is_null:
        return None
    if scalar.type is None:
        text = value.unnest()
        domain = (text.this,) if isinstance(text, exp.Literal) else None
        return PersonColumn(Column(name, "text", False), scalar.sql, ColumnPolicy(domain=domain))
    kind, written = _typed(scalar)
    if kind is None:
        raise UnsupportedSQL(f"{scalar.kind} as a column of this subquery is not supported", at=value)
    values = expression_domain(value, scalar) if scalar.type.family in (Family.TEXT, Family.INTEGER) else None
    declared = declared_of(scalar)
    if values is not None:
        known_values = tuple(one for one in values if one is not None)
        declared = replace(declared, domain=known_values or None, null_group=None in values)
    return PersonColumn(Column(name, kind, True), written, declared)


def _typed(scalar: Scalar) -> tuple[str | None, exp.Expr]:
    """Return the name of an expression's type, and its SQL of that type; None for a type without one."""
    sql = scalar.sql
    if not scalar.is_number or scalar.type is None:
        return typed_sql(scalar, sql)
    digits = scalar.digits
    if digits is not None and digits.integral:
        if digits.whole > 18 and not holds(sql, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Div):
            return "bigint", sql
        kind = "bigint" if digits.whole <= 18 else "double precision"
        return kind, _cast(sql, scalar.type, kind)
    if digits is not None and digits.whole + digits.scale <= 38:
        return written_as(digits.type), sql
    return "double precision", _cast(sql, scalar.type, "double precision")


def _cast(value: exp.Expr, found: SqlType, kind: str) -> exp.Expr:
    """Cast a value to the common type. A numeric with too many digits has no double, which a row would show."""
    return cast_sql(value, kind) if kind != "double precision" or fits_float(found) else any_double(value)


def _common(kinds: Sequence[str], position: int | None) -> str:
    """Return the type of values of several types, as PostgreSQL's UNION chooses it."""
    if len(set(kinds)) == 1:
        return kinds[0]
    types = [sql_type(kind) for kind in kinds]
    families = {kind.family for kind in types}
    if families == {Family.INTEGER}:
        return "bigint"
    if families <= {Family.INTEGER, Family.NUMERIC}:
        return _numeric(types)
    if families <= {Family.INTEGER, Family.NUMERIC, Family.FLOAT}:
        return "double precision"
    if families <= {Family.TEXT, Family.CHAR}:
        return "text"
    if families <= {Family.DATE, Family.TIMESTAMP}:
        return "timestamp without time zone"
    hint = "cast one of them, for example CAST(x AS text)"
    raise UnsupportedSQL("a column of UNION has values of several types", hint=hint, position=position)


def _numeric(types: Sequence[SqlType]) -> str:
    whole = max(19 if one.precision is None else one.precision - (one.scale or 0) for one in types)
    scale = max(one.scale or 0 for one in types)
    limited = all(one.family is Family.INTEGER or one.precision is not None for one in types)
    return f"numeric({whole + scale},{scale})" if limited and whole + scale <= 38 else "double precision"


def _together(declared: Sequence[ColumnPolicy]) -> ColumnPolicy:
    """Return what holds of values that are declared in one of these ways."""
    first = declared[0] if declared else ColumnPolicy()
    if all(one == first for one in declared):
        return first
    ranges, days = [one.range for one in declared], [one.dates for one in declared]
    domains = [one.domain for one in declared]
    return ColumnPolicy(
        range=None
        if None in ranges
        else (min(one[0] for one in ranges if one), max(one[1] for one in ranges if one)),
        dates=None if None in days else (min(one[0] for one in days if one), max(one[1] for one in days if one)),
        domain=None if None in domains else tuple(dict.fromkeys(value for one in domains for value in one or ())),
        step=first.step if all(one.step == first.step for one in declared) else None,
        null_group=any(one.null_group for one in declared),
        discover=all(one.discover for one in declared),
    )
