"""Expression trees: walked, copied, built and placed in the statement, quicker than by the parser library's ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, reduce
from typing import ClassVar, TypeVar

from sqlglot import exp

from planner.schema import Schema, Table

Tree = TypeVar("Tree", bound=exp.Expr)

LEAVES: frozenset[type[exp.Expr]] = frozenset(
    {exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Star, exp.Var, exp.DataType}
)
"""What nothing changes once it is made, nor asks for its parent: trees share it."""


_UPPER_TO_LOWER = {ord(upper): ord(upper) + 32 for upper in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def nodes(tree: exp.Expr) -> list[exp.Expr]:
    """The node and all below it, level by level, in the order of `tree.walk()`. Cost: linear.

    >>> from sqlglot import parse_one
    >>> [type(node).__name__ for node in nodes(parse_one("a + f(1)"))]
    ['Add', 'Column', 'Anonymous', 'Identifier', 'Literal']
    """
    found = [tree]
    for node in found:  # it grows while it is read
        if node.is_primitive:  # names and literals, which hold no tree
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
    """The nearest node above that is of none of the kinds."""
    above = node.parent
    while isinstance(above, kinds):
        above = above.parent
    return above


def holds(tree: exp.Expr, *kinds: type[exp.Expr]) -> bool:
    """Is some node of one of the kinds? Cost: linear."""
    return any(isinstance(node, kinds) for node in nodes(tree))


def tables_of(tree: exp.Expr) -> list[exp.Table]:
    """The tables that FROM names anywhere in it, in the order of `nodes`."""
    return [node for node in nodes(tree) if isinstance(node, exp.Table)]


def from_items(select: exp.Select) -> list[exp.Expr]:
    """What FROM names, and what it is joined with; what is joined within parentheses stays inside."""
    clause = select.args.get("from_")
    return [] if clause is None else [clause.this, *(join.this for join in select.args.get("joins") or [])]


def columns_of(tree: exp.Expr) -> list[exp.Column]:
    """The columns, in the order of `nodes`."""
    return [node for node in nodes(tree) if isinstance(node, exp.Column)]


def copied(tree: Tree) -> Tree:
    """A tree of its own, with everything that the planner notes in its nodes: places, labels, slots.

    Notes are never changed once made, so copies share them; comments are not copied, since nothing writes them.
    Copies share the LEAVES, too.
    It recurses, but not along `a AND b AND ...`: only those chains grow longer than `planner.limits` lets a
    statement nest. Cost: linear.

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


MIRRORED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
"""Comparisons with their sides exchanged."""


def joined_texts(pieces: Sequence[exp.Expr]) -> exp.Expr:
    """Texts joined by `||`."""
    return reduce(lambda left, right: exp.DPipe(this=left, expression=right, safe=True), pieces)


def behind_length(text: exp.Expr) -> list[exp.Expr]:
    """The pieces of `5:Paris`: a text behind its length, so that no two rows of texts run together to the same."""
    length = cast_sql(exp.Length(this=copied(text)), "TEXT")
    return [length, exp.Literal.string(":"), text]


def rebuilt(node: exp.Expr, part: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The same node, with its notes, over other parts: what `part` makes of each."""
    arguments: dict[str, object] = {}
    for name, value in node.args.items():
        if isinstance(value, list):
            arguments[name] = [part(one) if isinstance(one, exp.Expr) else one for one in value]
        else:
            arguments[name] = part(value) if isinstance(value, exp.Expr) else value
    return _with_notes(type(node)(**arguments), node)


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
    """`tree.meta` would make an empty dictionary for every node, so the attribute behind it is read."""
    if tree._meta:
        copy._meta = tree._meta.copy()
    if tree._type is not None:
        copy._type = tree._type
    return copy


def over_leaves(kind: type[Tree], **leaves: object) -> Tree:
    """A node over leaves that others hold, too, so that they are given no parent: it would keep its tree alive."""
    node = kind()
    node.args = leaves
    return node


@lru_cache(maxsize=4096)
def quoted(name: str) -> exp.Identifier:
    """`"name"`: one of the catalog, or an alias, for `over_leaves`."""
    return exp.Identifier(this=name, quoted=True)


def fold(identifier: exp.Expr) -> str:
    """The name that an identifier means: ASCII letters in lower case unless it is quoted."""
    name = identifier.name
    if identifier.args.get("quoted"):
        return name
    return name.lower() if name.isascii() else name.translate(_UPPER_TO_LOWER)


def position_of(node: exp.Expr) -> int | None:
    """The 1-based offset of the first token of `node` that sqlglot remembers, or None. Cost: linear in the node."""
    starts = [part._meta["start"] for part in nodes(node) if part._meta and "start" in part._meta]
    return min(starts) + 1 if starts else None


class Age(exp.Expression, exp.Func):
    """`age(later, earlier)`: the years, months and days from one moment to another; PostgreSQL's interval."""

    arg_types: ClassVar = {"this": True, "expression": True}
    _sql_names: ClassVar = ["AGE"]


class InZone(exp.Expression, exp.Func):
    """`timezone(zone, x)`: AT TIME ZONE of another zone than UTC, which no proof about days at UTC looks into."""

    arg_types: ClassVar = {"zone": True, "this": True}
    _sql_names: ClassVar = ["TIMEZONE"]


def local_sql(moment: exp.Expr, zone: str) -> exp.Expr:
    """From a timestamp at UTC to what a clock of the zone shows then."""
    return _in_zone(_in_zone(moment, "UTC"), zone)


def instant_sql(local: exp.Expr, zone: str) -> exp.Expr:
    """From what a clock of the zone shows to the timestamp at UTC."""
    return _in_zone(_in_zone(local, zone), "UTC")


def _in_zone(value: exp.Expr, zone: str) -> InZone:
    return InZone(zone=exp.Literal.string(zone), this=value)


def bound_column(alias: str, name: str) -> exp.Column:
    """A bound column as a tree: `"alias"."name"`."""
    return over_leaves(exp.Column, this=quoted(name), table=quoted(alias))


def column_ref(column: exp.Column) -> tuple[str, str]:
    """(alias, name) of a bound column."""
    return column.args["table"].args["this"], column.args["this"].args["this"]


ColumnRef = tuple[str, str]
"""(alias, column)"""


def summed_column(value: exp.Expr) -> ColumnRef | None:
    """The column whose values, or those of some rows, a value is, with either sign; None where it is anything else.

    So what rows have of the value is at most what they have of the column, in size.

    >>> from sqlglot import parse_one
    >>> [summed_column(parse_one(sql)) and "t.a" for sql in ("t.a", "-t.a", "CASE WHEN t.b > 1 THEN (t.a) END")]
    ['t.a', 't.a', 't.a']
    >>> [summed_column(parse_one(sql)) for sql in ("t.a * 2", "CASE WHEN t.b > 1 THEN t.a ELSE t.b END", "0", "1")]
    [None, None, None, None]
    """
    found = _summed(value)
    return next(iter(found)) if found is not None and len(found) == 1 else None


def _summed(value: exp.Expr) -> set[ColumnRef] | None:
    """The columns among those that a value may be; None where it may be neither one of them, 0 nor NULL."""
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
    """The columns that a value is computed from, not those that it only compares: a condition sees what is there.

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
"""Key of the meta of a subquery that is a table of its own: that table, for the types of its columns."""

DECLARED = "declared"
"""Key of the meta of a subquery of the public values that a policy declares: the table whose columns it has."""


def table_sql(table: Table, alias: str) -> exp.Table:
    """A base table in FROM as a tree, always with its schema: `"namespace"."table" AS "alias"`."""
    names = over_leaves(exp.TableAlias, this=quoted(alias))
    return over_leaves(exp.Table, this=quoted(table.relation), db=quoted(table.namespace), alias=names)


def tables_by_alias(tree: exp.Expr, schema: Schema) -> Iterator[tuple[str, Table]]:
    """By alias; of derived tables, those whose columns they have."""
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Subquery) and ROWS in node.meta):
        if isinstance(node, exp.Subquery):
            for known in (DECLARED, ROWS):
                if known in node.meta:
                    yield node.alias, node.meta[known]
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            table = schema.at(node.text("db"), node.name)
            assert table is not None, "rules write tables of the catalog only"
            yield node.alias_or_name, table


def cast_sql(expression: exp.Expr, kind: str) -> exp.Cast:
    """`CAST(expression AS kind)`; the expression itself when it is that already.

    It takes the tree as it is: `exp.cast` copies it, and parses `kind` every time.

    >>> cast_sql(cast_sql(exp.column("x"), "BIGINT"), "BIGINT").sql("postgres")
    'CAST(x AS BIGINT)'
    """
    data_type = _data_type(kind)
    if isinstance(expression, exp.Cast) and expression.to.this is data_type.this and expression.to == data_type:
        return expression
    return exp.Cast(this=expression, to=over_leaves(exp.DataType, **data_type.args))


def field_of(expression: exp.Expr | None) -> exp.Extract | None:
    """The EXTRACT under nothing but casts to numbers: a whole number, never NaN; None for anything else.

    >>> field_of(cast_sql(exp.Extract(this=exp.var("DAY"), expression=exp.column("d")), "DECIMAL")).sql("postgres")
    'EXTRACT(DAY FROM d)'
    """
    while isinstance(expression, exp.Cast) and expression.to.this in _NUMBERS:
        expression = expression.this
    return expression if isinstance(expression, exp.Extract) and not has_fraction(expression) else None


def has_fraction(field: exp.Extract) -> bool:
    """May the field be no whole number? Seconds are, unless of a moment that is cut to whole ones."""
    return field.this.name.upper() in ("EPOCH", "SECOND") and not isinstance(field.expression, exp.TimestampTrunc)


_NUMBERS = (exp.DataType.Type.DECIMAL, exp.DataType.Type.DOUBLE, exp.DataType.Type.BIGINT)


def named_sql(expression: exp.Expr, name: str) -> exp.Alias:
    """`expression AS "name"`; it takes the tree as it is."""
    named = exp.Alias(this=expression)
    named.args["alias"] = quoted(name)
    return named


def is_type(data_type: exp.DataType, *kinds: str) -> bool:
    """Is the type one of these? `DataType.is_type` parses each name every time, which was half of writing a question.

    >>> is_type(exp.DataType.build("DECIMAL(9, 2)"), "bigint", "decimal")
    True
    """
    return data_type.is_type(*map(_data_type, kinds))


@cache
def _data_type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind)


def conjunction(conditions: Iterable[exp.Expr]) -> exp.Expr | None:
    """The conditions joined by AND, each as it is but for an OR, which gets parentheses; None for no condition.

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
    """Append to WHERE, in place."""
    where = select.args.get("where")
    present = list(where.this.flatten(unnest=False)) if where and isinstance(where.this, exp.And) else []
    if where and not present:
        present = [where.this]
    joined = conjunction([*present, *conditions])
    if joined is not None:
        select.set("where", exp.Where(this=joined))
