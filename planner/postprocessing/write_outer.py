"""Writes the SELECT around answers as SQL: every table is public and has its schema, every answer is a relation.

A quotient is NULL where its divisor is zero. A noisy count may be zero where no true one is, and PostgreSQL would end
the whole statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import ErrorLevel, exp

from planner.errors import UnsupportedSQL
from planner.policy.policy import Policy
from planner.postprocessing.allowed_sql import check_written, functions_of_from
from planner.postprocessing.composed import HIGH, LOW, is_relation, relation_type
from planner.postprocessing.total_functions import check_constants, make_total, needs_trial
from planner.public.relation import PublicTables
from planner.public.route import means_cte
from planner.released_expression import Output, is_noisy
from planner.rewriting.dialects.dialect_table import DIALECTS
from planner.schema import Dialect, Schema, Table
from planner.sql.sql_types import NUMBERS, REAL, Family, ResultType, SqlType, sql_type
from planner.sql.trees import (
    alias_or,
    copied,
    fold,
    named_as,
    named_sql,
    nodes,
    own_name,
    table_sql,
    tables_of,
)


def guard_divisions(outer: exp.Query) -> None:
    """Write `a / b` as `a / NULLIF(b, 0)`, in place, unless b is a literal other than 0.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT a / b, a / 100, a % (b + 1)", dialect="postgres")
    >>> guard_divisions(tree)
    >>> tree.sql("postgres")
    'SELECT a / NULLIF(b, 0), a / 100, a % NULLIF((b + 1), 0)'
    >>> tree = parse_one("SELECT a / -2, a / 0", dialect="postgres")
    >>> guard_divisions(tree)
    >>> tree.sql("postgres")
    'SELECT a / -2, a / NULLIF(0, 0)'
    """
    for node in nodes(outer):
        if isinstance(node, (exp.Div, exp.Mod)):
            divisor = node.expression
            if not _constant(divisor.unnest()):
                node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))


def _constant(divisor: exp.Expr) -> bool:
    """Is it a literal other than 0, or guarded already?"""
    if isinstance(divisor, (exp.Nullif, exp.Interval)):
        return True
    number = divisor.this.unnest() if isinstance(divisor, exp.Neg) else divisor
    return isinstance(number, exp.Literal) and (number.is_string or float(number.name) != 0)


Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Relation:
    """The rows of an answer, for a database to compute with. Everything in it is released.

    Attributes:
      name, columns: see `planner.postprocessing.composed.relation_name`; names and types.
      rows: the cells; empty if only the types of the result are asked for.
      enums: the types of columns of labels, by name. Labels compare and sort in their declared order.
      keys: columns that identify a row, whatever the rows are; empty for an answer. A key that is no cell is 1.
      one_row: is it the answer of a question without groups?
    """

    name: str
    columns: tuple[tuple[str, ResultType], ...]
    rows: tuple[tuple[Cell, ...], ...] = ()
    enums: Mapping[str, SqlType] = field(default_factory=dict, hash=False)
    keys: tuple[str, ...] = ()
    one_row: bool = False

    def sql(self, dialect: Dialect) -> str:
        """Write the rows as a query in WITH. Cost: linear."""
        written = DIALECTS[dialect]
        names = [_quoted(name) for name, _ in self.columns]
        places = [f"c{place}" for place in range(len(self.columns))]
        kinds = [
            written.types[kind] if name not in self.enums else written.enum(self.enums[name]) or written.types[kind]
            for name, kind in self.columns
        ]
        read = [f"CASE WHEN {place} <> '{_NULL}' THEN SUBSTR({place}, 2) END" for place in places]
        cast = [f"CAST({one} AS {kind})" for one, kind in zip(read, kinds, strict=True)]
        unique = [place for place, (name, _) in enumerate(self.columns, 1) if name in self.keys]
        if unique:
            cast = [one if place in unique else f"MAX({one})" for place, one in enumerate(cast, 1)]
        rows = self.rows or [(None,) * len(places)]
        columns = zip(zip(*rows, strict=True), places, strict=True)
        listed = ", ".join(f"{_cells(cells, dialect)} AS {place}" for cells, place in columns)
        kept = "" if self.rows else " WHERE FALSE"
        kept += f" GROUP BY {', '.join(map(str, unique))}" if unique else ""
        values = f"(SELECT {listed}) AS v"
        return f"{_quoted(self.name)}({', '.join(names)}) AS (SELECT {', '.join(cast)} FROM {values}{kept})"


_SAMPLES: Mapping[ResultType, Cell] = {
    **dict.fromkeys(NUMBERS, 1), "text": "a", "bool": True, "date": "2024-02-29", "timestamp": "2024-02-29",
    "timestamptz": "2024-02-29 00:00:00+00", "interval": "1 day",
}  # fmt: skip


@dataclass(frozen=True)
class OuterStatement:
    """The SELECT around answers.

    Attributes:
      sql: its text in the dialect.
      dialect: of the database.
      fingerprint: of its schema.
      reads: schema and name of its public tables.
      relations: the answers; without rows only their columns count.
      trial: has it parts that only the database can judge, over a row?
    """

    sql: str
    dialect: Dialect
    fingerprint: str
    reads: tuple[tuple[str, str], ...]
    relations: tuple[Relation, ...]
    trial: bool = False

    def with_rows(self, rows: Mapping[str, Sequence[tuple[Cell, ...]]]) -> OuterStatement:
        """Fill in the rows of the released answers, by relation name."""
        filled = tuple(replace(one, rows=tuple(rows[one.name])) for one in self.relations)
        return replace(self, relations=filled)

    def without_rows(self) -> OuterStatement:
        """Remove the rows of the answers; their columns stay."""
        return replace(self, relations=tuple(replace(one, rows=()) for one in self.relations))

    def with_samples(self) -> OuterStatement:
        """Fill in one row of each answer, of values that no function of them fails for."""
        samples = {
            one.name: [tuple(None if name in one.enums else _SAMPLES[kind] for name, kind in one.columns)]
            for one in self.relations
        }
        return self.with_rows(samples)

    def columns_sql(self) -> str:
        """Write a statement with the result's columns and no rows."""
        return f"{self._answers()}SELECT * FROM ({self.sql}) AS shown LIMIT 0"

    def rows_sql(self, shown: Sequence[str], at_most: int) -> str:
        """Write a statement with at most so many rows; `shown` is SQL of each column for clients, over c0, c1, ..."""
        names = ", ".join(f"c{place}" for place in range(len(shown)))
        return f"{self._answers()}SELECT {', '.join(shown)} FROM ({self.sql}) AS shown({names}) LIMIT {at_most}"

    def _answers(self) -> str:
        listed = ", ".join(relation.sql(self.dialect) for relation in self.relations)
        return f"WITH {listed} " if listed else ""


def write_outer(
    outer: exp.Query,
    relations: Sequence[Relation],
    schema: Schema,
    policy: Policy,
    dialect: Dialect,
    search_path: Sequence[str] | None = None,
) -> OuterStatement:
    """Look every table up, and write the statement.

    Args:
      outer: within `allowed_sql.check_allowed`; it is changed.
      relations: the answers, without rows.
    Raises: UnknownTable; UnsupportedSQL for a private table; StatementTooComplex for too many tables.
    """
    tables = PublicTables(schema, policy, search_path)
    names = {"*" if isinstance(node, exp.Star) else node.name: node for node in outer.find_all(exp.Column, exp.Star)}
    reads: dict[str, Table] = {}
    for node in tables_of(outer):
        if is_relation(node) or not isinstance(node.this, exp.Identifier) or means_cte(node):
            continue
        table = tables.lookup(node)
        tables.add(table.name, table, None)
        reads[table.name] = table
        node.replace(_shown_columns(node, table))
    if DIALECTS[dialect].compares_otherwise:
        _check_labels(outer, relations, reads.values())
        _check_reals(names, reads.values())
    check_constants(outer)
    trial = needs_trial(outer)
    single = frozenset(one.name for one in relations if one.one_row)
    outer = make_total(outer, _kinds(relations, reads.values(), dialect), dialect, single)
    for function in functions_of_from(outer):
        _as_rows(function)
    if DIALECTS[dialect].by_name:  # the library's own name for it is not PostgreSQL's, and its parts are no bigint
        for made in [*outer.find_all(exp.DateFromParts)]:
            parts = [exp.cast(made.args[part], exp.DType.INT) for part in ("year", "month", "day")]
            made.replace(exp.Anonymous(this="make_date", expressions=parts))
    # Comments hold the analyst's words, which nothing checks.
    sql = outer.sql(dialect, comments=False, unsupported_level=ErrorLevel.IGNORE)
    places = tuple((table.namespace, table.relation) for table in reads.values())
    check_written(sql, places, dialect)
    return OuterStatement(sql, dialect, schema.fingerprint, places, tuple(relations), trial)


_KINDS: Mapping[Family, str] = {
    Family.NUMERIC: "DECIMAL", Family.FLOAT: "DOUBLE", Family.TEXT: "TEXT", Family.CHAR: "TEXT",
    Family.BOOL: "BOOLEAN", Family.DATE: "DATE", Family.TIMESTAMP: "TIMESTAMP", Family.TIMESTAMPTZ: "TIMESTAMPTZ",
}  # fmt: skip


def _kinds(relations: Sequence[Relation], tables: Iterable[Table], dialect: Dialect) -> Iterator[tuple[str, str]]:
    """The columns that the statement reads, with their types for `make_total`. DuckDB has answers as doubles."""
    number: ResultType = "float8" if dialect == "duckdb" else "numeric"
    columns = [
        (name, number if kind == "numeric" else kind)
        for one in relations
        for name, kind in one.columns
        if name not in one.enums
    ]
    for name, kind in [*columns, *((column.name, column.type) for table in tables for column in table.columns)]:
        family = sql_type(kind).family
        whole = "INT" if kind in ("integer", "smallint") else "BIGINT"
        yield name, whole if family is Family.INTEGER else _KINDS.get(family, "UNKNOWN")


def relation_of(name: str, outputs: Sequence[Output], *, one_row: bool = False) -> Relation:
    """Return an answer's relation: its columns, followed by the interval ends of the noisy ones."""
    columns = [(one.name, relation_type(one.type) if is_noisy(one) else one.type) for one in outputs]
    columns += [
        (f"{one.name}{end}", relation_type(one.type)) for one in outputs if is_noisy(one) for end in (LOW, HIGH)
    ]
    return Relation(
        name, tuple(columns), enums={one.name: one.enum for one in outputs if one.enum is not None}, one_row=one_row
    )


def _as_rows(function: exp.Table | exp.Lateral) -> None:
    """Write a function of FROM as a subquery of its rows, in place.

    In PostgreSQL `g.f` means f(g) if g has no column f, and a function's row is a plain number. So
    `g.pg_stat_get_live_tuples` would count the rows of a private table. A subquery's row is a record, which no such
    function takes.
    """
    if named_as(function)[0] is None and not isinstance(function.this, exp.ExplodingGenerateSeries):
        hint = "write AS and a name after the function"
        raise UnsupportedSQL("a function in FROM needs a name", hint=hint, at=function)
    alias = alias_or(function, own_name("generate_series"))
    rows = exp.Table(this=function.this, alias=copied(alias))
    select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))
    outside = exp.TableAlias(this=copied(alias.this))
    joins = function.args.get("joins")
    if next(function.this.find_all(exp.Column), None) is None:
        function.replace(exp.Subquery(this=select, alias=outside, joins=joins))
    else:
        function.replace(exp.Lateral(this=exp.Subquery(this=select), alias=outside, joins=joins))


def _shown_columns(node: exp.Table, table: Table) -> exp.Subquery:
    """Write a public table as a subquery of its catalog columns, without system columns."""
    select = exp.Select(
        expressions=[_value(table, column.name) for column in table.columns],
        from_=exp.From(this=table_sql(table, "t")),
    )
    alias = alias_or(node, exp.to_identifier(fold(node.this), quoted=True))
    return exp.Subquery(this=select, alias=alias, joins=node.args.get("joins"))


_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Least, exp.Greatest)


def _check_labels(outer: exp.Query, relations: Sequence[Relation], tables: Iterable[Table]) -> None:
    """Refuse to compare a text with a possible label, since DuckDB would use the order of texts."""
    families = (sql_type(column.type).family for table in tables for column in table.columns)
    if not any(relation.enums for relation in relations) and Family.ENUM not in families:
        return
    for node in outer.find_all(*_ORDERED):
        if any(
            isinstance(part.unnest(), exp.Literal) and part.unnest().is_string for part in node.iter_expressions()
        ):
            hint = "write IN with the labels, or compare inside the question, in WHERE or HAVING"
            message = "comparing a text with labels of an enum by order is not supported here"
            raise UnsupportedSQL(message, hint=hint, at=node)


def _check_reals(names: Mapping[str, exp.Expr], tables: Iterable[Table]) -> None:
    """Refuse to read reals of public tables by name or `*`, since DuckDB compares them differently with numbers."""
    for table in tables:
        reals = [column.name for column in table.columns if sql_type(column.type) == REAL]
        read = next((names[name] for name in (*reals, "*") if reals and name in names), None)
        if read is not None:
            message = f"DuckDB cannot read {table.name}.{reals[0]}, a real, around answers"
            hint = "select other columns, or query the public table alone"
            raise UnsupportedSQL(message, hint=hint, at=read)


def _value(table: Table, name: str) -> exp.Expr:
    column = exp.Column(this=exp.to_identifier(name, quoted=True))
    known = table.column(name)
    if known is None or not known.nan:
        return column
    return named_sql(exp.Nullif(this=column, expression=exp.Literal.string("NaN")), name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cells(cells: Sequence[Cell], dialect: Dialect) -> str:
    """Write a column as one text that the database splits, because DuckDB parses 100,000 literals in 15 seconds.

    Before each cell stands a letter, which tells NULL. The separator is in none.
    """
    texts = [_NULL if cell is None else f"={_text(cell)}" for cell in cells]
    joined = "".join(texts)
    separator = next(mark for mark in map(chr, range(0xE000, 0x10FFFE)) if mark not in joined)
    split = "STRING_SPLIT" if DIALECTS[dialect].compares_otherwise else "STRING_TO_ARRAY"
    literal = separator.join(texts).replace("'", "''")
    return f"UNNEST({split}('{literal}', '{separator}'))"


_NULL = "-"


def _text(cell: str | int | float | bool) -> str:
    """Write a cell as text that PostgreSQL casts to its type."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(cell) if isinstance(cell, float) else str(cell)
