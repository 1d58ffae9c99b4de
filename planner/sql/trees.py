"""Walk, copy and build expression trees, faster than the parser library does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, reduce
from typing import ClassVar, TypeVar

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.schema import Schema, Table

Tree = TypeVar("Tree", bound=exp.Expr)

LEAVES: frozenset[type[exp.Expr]] = frozenset(
    {exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Star, exp.Var, exp.DataType}
)
"""Nodes that never change and need no parent, so that trees can share them."""


_UPPER_TO_LOWER = {ord(upper): ord(upper) + 32 for upper in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def nodes(tree: exp.Expr) -> list[exp.Expr]:
    """The node and all nodes below it, level by level, as `tree.walk()`. Cost: linear.

    >>> from sqlglot import parse_one
    >>> [type(node).__name__ for node in nodes(parse_one("a + f(1)"))]
    ['Add', 'Column', 'Anonymous', 'Identifier', 'Literal']
    """
    found = [tree]
    for node in found:  # the list grows while it is read
        if node.is_primitive:  # names and literals have no children
            continue
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif type(value) is list:
                found += [part for part in value if isinstance(part, exp.Expr)]
    return found


def children(node: exp.Expr) -> list[exp.Expr]:
    """The nodes right below, in order."""
    found: list[exp.Expr] = []
    if node.is_primitive:
        return found
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            found.append(value)
        elif type(value) is list:
            found += [part for part in value if isinstance(part, exp.Expr)]
    return found


def around(node: exp.Expr, *kinds: type[exp.Expr]) -> exp.Expr | None:
    """The nearest node above that is of none of these kinds."""
    above = node.parent
    while isinstance(above, kinds):
        above = above.parent
    return above


def holds(tree: exp.Expr, *kinds: type[exp.Expr]) -> bool:
    """Whether a tree contains a node of one of these kinds. Cost: linear."""
    return any(isinstance(node, kinds) for node in nodes(tree))


def tables_of(tree: exp.Expr) -> list[exp.Table]:
    """All tables in FROM clauses of the tree, in the order of `nodes`."""
    return [node for node in nodes(tree) if isinstance(node, exp.Table)]


def from_items(select: exp.Select) -> list[exp.Expr]:
    """The items of FROM and of its joins. A join within parentheses stays one item."""
    clause = select.args.get("from_")
    return [] if clause is None else [clause.this, *(join.this for join in select.args.get("joins") or [])]


def select_within(body: exp.Expr, *, named: bool = True) -> exp.Select | None:
    """The SELECT in parentheses, under a name of its own or (unless `named`) without; None for anything else."""
    while isinstance(body, (exp.Subquery, exp.Paren)) and not body.args.get("joins"):
        if not named and body.args.get("alias"):
            break
        body = body.this
    return body if isinstance(body, exp.Select) else None


def columns_of(tree: exp.Expr) -> list[exp.Column]:
    """The columns, in the order of `nodes`."""
    return [node for node in nodes(tree) if isinstance(node, exp.Column)]


def aggregates(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The aggregate calls over the rows of a SELECT, with their FILTER: none inside another, none of a subquery.

    The function of a window is none itself, and what it is computed from may be: `sum(count(*)) OVER ()`.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query):
            continue
        if isinstance(node, exp.Window):
            called = node.this
            while isinstance(called, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
                waiting += [called.args["expression"]] if isinstance(called, exp.Filter) else []
                called = called.this
            waiting += [*children(called), *(child for child in children(node) if child is not node.this)]
        elif isinstance(node, (exp.AggFunc, exp.WithinGroup)) or (
            isinstance(node, exp.Filter) and isinstance(node.this, (exp.AggFunc, exp.WithinGroup))
        ):
            yield node
        else:
            waiting += children(node)


def copied(tree: Tree) -> Tree:
    """Copy a tree with the planner's notes: positions, labels, slots. Comments are dropped.

    Notes never change, so copies share them, and also the LEAVES. The function recurses, except along AND and OR:
    only those chains may be deeper than `planner.limits` allows. Cost: linear.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("a = 1 AND b = 2 OR c")
    >>> copied(tree) == tree, copied(tree) is tree
    (True, False)
    """
    if type(tree) in LEAVES:
        return tree
    if isinstance(tree, exp.Connector):
        return _copied_chain(tree)  # type: ignore[return-value]
    copy = type(tree)()
    arguments = copy.args
    for name, value in tree.args.items():
        if isinstance(value, exp.Expr):
            part = arguments[name] = copied(value)
            if part is not value:
                part.parent, part.arg_key, part.index = copy, name, None
        elif type(value) is list:
            parts = arguments[name] = [copied(part) if isinstance(part, exp.Expr) else part for part in value]
            for index, part in enumerate(parts):
                if isinstance(part, exp.Expr) and part is not value[index]:
                    part.parent, part.arg_key, part.index = copy, name, index
        else:
            arguments[name] = value
    return _with_notes(copy, tree)


def computes(tree: exp.Expr) -> bool:
    """Does it hold an aggregate or a window over the rows of a SELECT, not of a subquery?"""
    return next(aggregates(tree), None) is not None or holds(tree, exp.Window)


MIRRORED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
"""Each comparison with its sides exchanged."""


def joined_texts(pieces: Sequence[exp.Expr]) -> exp.Expr:
    """Join texts by `||`."""
    return reduce(lambda left, right: exp.DPipe(this=left, expression=right, safe=True), pieces)


def behind_length(text: exp.Expr) -> list[exp.Expr]:
    """The pieces of `5:Paris`, a text after its length, so that two lists of texts never join to the same text."""
    length = cast_sql(exp.Length(this=copied(text)), "TEXT")
    return [length, exp.Literal.string(":"), text]


def rebuilt(node: exp.Expr, part: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The same node with its notes, with `part` applied to each child."""
    arguments: dict[str, object] = {}
    for name, value in node.args.items():
        if isinstance(value, list):
            arguments[name] = [part(one) if isinstance(one, exp.Expr) else one for one in value]
        else:
            arguments[name] = part(value) if isinstance(value, exp.Expr) else value
    return _with_notes(type(node)(**arguments), node)


def replaced(tree: exp.Expr, part: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """A copy with what `part` returns in place of each node for which it is not None, from the root down."""

    def made(value: object) -> object:
        found = part(value) if isinstance(value, exp.Expr) else None
        return value if found is None else found

    copy = made(copied(tree))
    assert isinstance(copy, exp.Expr), "it was a tree"
    for node in nodes(copy):
        for name, value in node.args.items():
            new = list(map(made, value)) if isinstance(value, list) else made(value)
            if new is not value:
                node.set(name, new)
    return copy


def _copied_chain(tree: exp.Expr) -> exp.Expr:
    links: list[exp.Expr] = []
    node: exp.Expr = tree
    while isinstance(node, exp.Connector):
        links.append(node)
        node = node.this
    copy = copied(node)
    for link in reversed(links):
        copy = _with_notes(type(link)(this=copy, expression=copied(link.expression)), link)
    return copy


def _with_notes(copy: Tree, tree: exp.Expr) -> Tree:
    """This reads `_meta`, because `tree.meta` would create a dictionary for every node."""
    if tree._meta:
        copy._meta = tree._meta.copy()
    if tree._type is not None:
        copy._type = tree._type
    return copy


def over_leaves(kind: type[Tree], **leaves: object) -> Tree:
    """A node over shared leaves. They get no parent, which would keep this tree alive."""
    node = kind()
    node.args = leaves
    return node


@lru_cache(maxsize=4096)
def quoted(name: str) -> exp.Identifier:
    """The identifier `"name"`, for `over_leaves`."""
    return exp.Identifier(this=name, quoted=True)


def own_name(name: str) -> exp.Identifier:
    """A new identifier `"name"`, which a tree may make its own."""
    return exp.Identifier(this=name, quoted=True)


def fold(identifier: exp.Expr) -> str:
    """The name that an identifier means: lower case (ASCII letters only) unless it is quoted."""
    name = identifier.name
    if identifier.args.get("quoted"):
        return name
    return name.lower() if name.isascii() else name.translate(_UPPER_TO_LOWER)


def named_as(item: exp.Expr) -> tuple[str | None, tuple[str, ...]]:
    """The alias of an item of FROM, or of a query in WITH, and those of its columns."""
    alias = item.args.get("alias")
    if alias is None:
        return None, ()
    return None if alias.this is None else fold(alias.this), tuple(map(fold, alias.args.get("columns") or ()))


def alias_or(item: exp.Expr, name: exp.Expr) -> exp.TableAlias:
    """The alias of an item of FROM; where it has none, the name as one, with the columns' aliases."""
    alias = item.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.this is not None:
        return alias
    return exp.TableAlias(this=name, columns=None if alias is None else alias.args.get("columns"))


def position_of(node: exp.Expr) -> int | None:
    """The 1-based offset of the node's first token that sqlglot remembers, or None. Cost: linear in the node."""
    starts = [part._meta["start"] for part in nodes(node) if part._meta and "start" in part._meta]
    return min(starts) + 1 if starts else None


class Age(exp.Expression, exp.Func):
    """`age(later, earlier)`, PostgreSQL's interval of years, months and days."""

    arg_types: ClassVar = {"this": True, "expression": True}
    _sql_names: ClassVar = ["AGE"]


class TextDate(exp.Expression, exp.Func):
    """The date or timestamp that a text states in one of the forms `expressions`; NULL for any other text.

    `declared`: is the text a column that the policy declares to be dates? Then each use of the column is such a node.
    """

    arg_types: ClassVar = {"this": True, "expressions": True, "declared": False}
    _sql_names: ClassVar = ["TEXT_DATE"]

    @property
    def declared_column(self) -> exp.Column | None:
        """The column that the policy declares to be dates; None for other texts."""
        return columns_of(self)[0] if self.args.get("declared") else None


class InZone(exp.Expression, exp.Func):
    """`timezone(zone, x)`: AT TIME ZONE with a zone other than UTC. Proofs about days at UTC stop here."""

    arg_types: ClassVar = {"zone": True, "this": True}
    _sql_names: ClassVar = ["TIMEZONE"]


def local_sql(moment: exp.Expr, zone: str) -> exp.Expr:
    """Convert a timestamp at UTC to the local time of a zone."""
    return _in_zone(_in_zone(moment, "UTC"), zone)


def instant_sql(local: exp.Expr, zone: str) -> exp.Expr:
    """Convert the local time of a zone to the timestamp at UTC."""
    return _in_zone(_in_zone(local, zone), "UTC")


def _in_zone(value: exp.Expr, zone: str) -> InZone:
    return InZone(zone=exp.Literal.string(zone), this=value)


def bound_column(alias: str, name: str) -> exp.Column:
    """The tree of a bound column, `"alias"."name"`."""
    return over_leaves(exp.Column, this=quoted(name), table=quoted(alias))


def column_ref(column: exp.Column) -> tuple[str, str]:
    """The (alias, name) of a bound column."""
    return column.args["table"].args["this"], column.args["this"].args["this"]


ColumnRef = tuple[str, str]
"""(alias, column)"""


def aliases_of(tree: exp.Expr) -> set[str]:
    """The aliases of the bound columns in a tree."""
    return {column_ref(column)[0] for column in columns_of(tree)}


def summed_column(value: exp.Expr) -> ColumnRef | None:
    """The one column that a value equals, up to its sign, wherever it is not 0 or NULL; None if there is none.

    A sum of the value's sizes is at most the sum of the column's sizes.

    >>> from sqlglot import parse_one
    >>> [summed_column(parse_one(sql)) and "t.a" for sql in ("t.a", "-t.a", "CASE WHEN t.b > 1 THEN (t.a) END")]
    ['t.a', 't.a', 't.a']
    >>> [summed_column(parse_one(sql)) for sql in ("t.a * 2", "CASE WHEN t.b > 1 THEN t.a ELSE t.b END", "0", "1")]
    [None, None, None, None]
    """
    found = _summed(value)
    return next(iter(found)) if found is not None and len(found) == 1 else None


def _summed(value: exp.Expr) -> set[ColumnRef] | None:
    """The columns that the value may equal; None if it may be anything but such a column, 0 or NULL."""
    if isinstance(value, exp.Column):
        return {column_ref(value)} if value.args.get("table") is not None else None
    if isinstance(value, exp.Paren | exp.Neg):
        return _summed(value.this)
    if isinstance(value, exp.Null) or (isinstance(value, exp.Literal) and value.this == "0"):
        return set()
    parts: list[exp.Expr] = []
    if isinstance(value, exp.Case):
        parts = [branch.args["true"] for branch in value.args["ifs"]]
        parts += [] if value.args.get("default") is None else [value.args["default"]]
    elif isinstance(value, exp.Coalesce):
        parts = [value.this, *value.expressions]
    found = [_summed(part) for part in parts]
    known = [one for one in found if one is not None]
    return set().union(*known) if parts and len(known) == len(found) else None


def computed_from(node: exp.Expr) -> list[exp.Column]:
    """The columns that a value is computed from, without columns that only its conditions compare.

    >>> from sqlglot import parse_one
    >>> [column.name for column in computed_from(parse_one("CASE WHEN a > 1 THEN floor(b) ELSE c END + d"))]
    ['d', 'c', 'b']
    """
    found = []
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.Column):
            found.append(part)
        elif isinstance(part, exp.Case):
            stack += [branch.args["true"] for branch in part.args["ifs"]]
            stack += [] if part.args.get("default") is None else [part.args["default"]]
        elif not isinstance(part, (exp.Predicate, exp.Connector, exp.Not)):
            stack += children(part)
    return found


ROWS = "rows"
"""Metadata key of a subquery that acts as a table: that table, with the types of its columns."""

DECLARED = "declared"
"""Metadata key of a subquery of declared public values: the table whose columns it has."""


def table_sql(table: Table, alias: str) -> exp.Table:
    """A base table in FROM with its schema: `"namespace"."table" AS "alias"`. Released values have no schema."""
    names = over_leaves(exp.TableAlias, this=quoted(alias))
    db = {"db": quoted(table.namespace)} if table.namespace else {}
    return over_leaves(exp.Table, this=quoted(table.relation), **db, alias=names)


def each_select(query: exp.Expr, write: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A query with each SELECT of its UNION ALLs written again; their aliases may repeat."""
    if not isinstance(query, exp.Union):
        return write(query)
    sides = (each_select(side, write) for side in (query.this, query.expression))
    return exp.Union(this=next(sides), expression=next(sides), distinct=False)


def tables_by_alias(tree: exp.Expr, schema: Schema) -> Iterator[tuple[str, Table]]:
    """The tables of a statement by alias; for a derived table, the table whose columns it has.

    Raises: UnsupportedSQL for a table that the schema lacks; only a mirror's lacks any.
    """
    found = [tree]
    for node in found:  # it grows while it is read
        if type(node) in LEAVES:
            continue
        acts_as_table = isinstance(node, exp.Subquery) and ROWS in node.meta
        found += [] if acts_as_table else children(node)
        if isinstance(node, exp.Subquery):
            for known in (DECLARED, ROWS):
                if known in node.meta:
                    yield node.alias, node.meta[known]
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            table = schema.at(node.text("db"), node.name)
            if table is None:
                raise UnsupportedSQL(f"the table {node.name} is not in the mirror")
            yield node.alias_or_name, table


def cast_sql(expression: exp.Expr, kind: str) -> exp.Cast:
    """Write `CAST(expression AS kind)`, unless the expression is that cast already.

    Unlike `exp.cast`, this neither copies the expression nor parses `kind` each time.

    >>> cast_sql(cast_sql(exp.column("x"), "BIGINT"), "BIGINT").sql("postgres")
    'CAST(x AS BIGINT)'
    """
    data_type = _data_type(kind)
    if isinstance(expression, exp.Cast) and expression.to.this is data_type.this and expression.to == data_type:
        return expression
    return exp.Cast(this=expression, to=over_leaves(exp.DataType, **data_type.args))


def field_of(expression: exp.Expr | None) -> exp.Extract | None:
    """The EXTRACT below casts to numbers, if it is a whole number and never NaN; None for anything else.

    >>> field_of(cast_sql(exp.Extract(this=exp.var("DAY"), expression=exp.column("d")), "DECIMAL")).sql("postgres")
    'EXTRACT(DAY FROM d)'
    """
    while isinstance(expression, exp.Cast) and expression.to.this in _NUMBERS:
        expression = expression.this
    return expression if isinstance(expression, exp.Extract) and not has_fraction(expression) else None


def has_fraction(field: exp.Extract) -> bool:
    """Whether an EXTRACT may have a fraction: seconds may, unless the moment is truncated to whole seconds."""
    return field.this.name.upper() in ("EPOCH", "SECOND") and not isinstance(field.expression, exp.TimestampTrunc)


_NUMBERS = (exp.DataType.Type.DECIMAL, exp.DataType.Type.DOUBLE, exp.DataType.Type.BIGINT)


def named_sql(expression: exp.Expr, name: str) -> exp.Alias:
    """Write `expression AS "name"`, without copying the expression."""
    named = exp.Alias(this=expression)
    named.args["alias"] = quoted(name)
    return named


def is_type(data_type: exp.DataType, *kinds: str) -> bool:
    """Whether a type is one of these. Unlike `DataType.is_type`, this does not parse the names each time.

    >>> is_type(exp.DataType.build("DECIMAL(9, 2)"), "bigint", "decimal")
    True
    """
    return data_type.is_type(*map(_data_type, kinds))


@cache
def _data_type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind)


def conjunction(conditions: Iterable[exp.Expr]) -> exp.Expr | None:
    """Join conditions by AND, with parentheses around an OR; None for no condition.

    >>> from sqlglot import parse_one
    >>> conjunction(map(parse_one, ["a", "b OR c", "d"])).sql()
    'a AND (b OR c) AND d'
    """
    joined: exp.Expr | None = None
    for condition in conditions:
        part = exp.Paren(this=condition) if isinstance(condition, exp.Or) else condition
        joined = part if joined is None else exp.And(this=joined, expression=part)
    return joined


def add_conditions(select: exp.Select, conditions: Iterable[exp.Expr]) -> None:
    """Append conditions to WHERE, in place."""
    where = select.args.get("where")
    present = list(where.this.flatten(unnest=False)) if where and isinstance(where.this, exp.And) else []
    if where and not present:
        present = [where.this]
    joined = conjunction([*present, *conditions])
    if joined is not None:
        select.set("where", exp.Where(this=joined))
