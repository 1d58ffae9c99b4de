"""Splits an aggregate over UNION ALL of private rows into one question per SELECT, whose answers are added up.

    SELECT w, count(*) FROM (SELECT w FROM visit UNION ALL SELECT w FROM call) AS u GROUP BY w
      parts  SELECT u.w AS k1, count(*) AS a1 FROM (SELECT w FROM visit) AS u GROUP BY 1
             SELECT u.w AS k1, count(*) AS a1 FROM (SELECT w FROM call) AS u GROUP BY 1
      outer  SELECT k1, sum(a1) FROM (both answers) GROUP BY k1

The parts share the statement's epsilon (docs/mathematics.md, section 2.4). With n SELECTs over the same people the
noise is sqrt(n) times that of one question, since each answer hides a person alone.

What does not add up is refused: COUNT(DISTINCT), UNION without ALL, and joins that keep unmatched rows. So are
expressions that depend on the union's common type: beside a numeric, an integer's 7 / 2 is 3.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.output_names import output_name
from planner.postprocessing.composed import NotComposed
from planner.sql.trees import copied, fold, from_items, holds, named_as, named_sql, nodes

_SAME_FOR_EVERY_TYPE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Alias, exp.Star, exp.Paren, exp.And, exp.Or,
    exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Between, exp.Like, exp.Case,
    exp.If, exp.Coalesce, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Extract, exp.Var, exp.TimestampTrunc, exp.Lower,
    exp.Upper, exp.Tuple, exp.Count, exp.Sum, exp.Avg, exp.Filter, exp.Where,
)  # fmt: skip
"""Operations with the same result for a column of a SELECT and for the union's column."""

_SELECT_PARTS = frozenset({"expressions", "from_", "joins", "where"})
_Body = Callable[[exp.Table], exp.Expr | None]


@dataclass(frozen=True)
class Branch:
    """One SELECT of a union as a question.

    Attributes:
      question: with the SELECT in the union's place.
      constants: the literals of the keys that the SELECT sets to a literal, by key; the question lacks these keys.
    """

    question: exp.Select
    constants: dict[str, exp.Expr]


def has_union(select: exp.Select, body: _Body) -> bool:
    """Whether a SELECT reads a union of rows, directly or through SELECTs that only choose rows.

    `body`: returns the query behind a table that WITH names, None for any other table.
    """
    return bool(_paths(select, body))


def spread(question: exp.Select, body: _Body) -> list[Branch]:
    """Return the question over each SELECT of the union that it reads.

    Its columns are named k1, k2, ... (keys) and a1, a2, ... (aggregates). It is not changed. `body`: as in
    `has_union`.

    Raises: NotComposed if the answers do not add up.
    """
    paths = _paths(question, body)
    if len(paths) != 1:
        raise NotComposed
    (path,) = paths
    question = copied(question)
    around, item = question, question.args["from_"].this
    for depth, place in enumerate(path):
        item = _written_out(around, place, body)
        if not _adds_up(around, place) or (depth and not _is_plain(around)):
            raise NotComposed
        if depth < len(path) - 1:
            around = item.this
    union = item.this
    assert isinstance(union, exp.Union), "that is where the path ends"
    selects = _selects(union)
    names = _names(item, selects[0]) if selects else None
    if names is None or not all(_is_plain(select, len(names)) for select in selects):
        raise NotComposed
    return [_branch(question, path, select, names) for select in selects]


_Path = tuple[int, ...]
"""The path to a union: the index of a subquery in FROM, then the index in its own FROM, and so on."""


def _paths(select: exp.Select, body: _Body) -> list[_Path]:
    found: list[_Path] = []
    for place, item in enumerate(from_items(select)):
        inner = _inner(item, body)
        if isinstance(inner, exp.Union):
            found.append((place,))
        elif isinstance(inner, exp.Select):
            found += [(place, *path) for path in _paths(inner, body)]
    return found


def _inner(item: exp.Expr, body: _Body) -> exp.Expr | None:
    if item.args.get("joins"):
        return None
    return body(item) if isinstance(item, exp.Table) else item.this if isinstance(item, exp.Subquery) else None


def _written_out(select: exp.Select, place: int, body: _Body) -> exp.Subquery:
    """Write an item of FROM as a subquery, in place: a table that WITH names becomes its query."""
    item = from_items(select)[place]
    if isinstance(item, exp.Subquery):
        return item
    entry = body(item) if isinstance(item, exp.Table) else None
    assert entry is not None and isinstance(entry.parent, exp.CTE), "a table that WITH names"
    alias = item.args.get("alias")
    columns = alias.args.get("columns") if alias is not None else None
    named = exp.TableAlias(
        this=copied(item.this if alias is None or alias.this is None else alias.this),
        columns=[copied(one) for one in columns or entry.parent.args["alias"].args.get("columns") or []],
    )
    written = exp.Subquery(this=copied(entry), alias=named)
    _put(select, place, written)
    return written


def _put(select: exp.Select, place: int, item: exp.Expr) -> None:
    if place == 0:
        select.args["from_"].set("this", item)
    else:
        select.args["joins"][place - 1].set("this", item)


def _selects(union: exp.Union) -> list[exp.Select]:
    """List the SELECTs of nested UNION ALLs; empty for any other union."""
    if union.args.get("distinct") is not False or any(
        value for part, value in union.args.items() if part not in ("this", "expression", "distinct")
    ):
        return []
    found: list[exp.Select] = []
    for side in (union.this, union.expression):
        side = side.unnest() if isinstance(side, exp.Subquery) and side.args.get("alias") is None else side
        inner = _selects(side) if isinstance(side, exp.Union) else [side] if isinstance(side, exp.Select) else []
        if not inner:
            return []
        found += inner
    return found


def _is_plain(select: exp.Select, columns: int | None = None) -> bool:
    """Does it only choose, filter and join rows, with this number of columns?"""
    if any(value for part, value in select.args.items() if part not in _SELECT_PARTS):
        return False
    listed = select.expressions
    if columns is not None and len(listed) != columns:
        return False
    return not any(one.is_star or holds(one, exp.AggFunc, exp.Window) for one in listed)


def _names(item: exp.Subquery, first: exp.Select) -> list[str] | None:
    """Return the names of the union's columns: its alias's, or those of its first SELECT."""
    names = [output_name(one) for one in first.expressions]
    _, given = named_as(item)
    names[: len(given)] = given
    return names if len(set(names)) == len(names) == len(first.expressions) else None


def _adds_up(select: exp.Select, place: int) -> bool:
    joins = select.args.get("joins") or []
    for number, join in enumerate(joins, 1):
        keeps_union = join.side == "LEFT" and place < number
        if join.method or not (join.side == "" or keeps_union) or join.kind not in ("", "INNER", "CROSS", "OUTER"):
            return False
    conditions = [select.args.get("where"), *(join.args.get("on") for join in joins)]
    read = [*select.expressions, *(one for one in conditions if one is not None)]
    return all(_is_same(node) for tree in read for node in nodes(tree))


def _is_same(node: exp.Expr) -> bool:
    cast = node.parent if isinstance(node, exp.DataType) else node
    return isinstance(node, _SAME_FOR_EVERY_TYPE) or (
        isinstance(cast, exp.Cast) and isinstance(cast.this, exp.Literal)
    )


def _branch(question: exp.Select, path: _Path, select: exp.Select, names: list[str]) -> Branch:
    """Put one SELECT in the union's place; keys that it sets to a literal are dropped."""
    question, select = copied(question), copied(select)
    around = question
    for place in path[:-1]:
        around = from_items(around)[place].this
    item = from_items(around)[path[-1]]
    select.set(
        "expressions", [named_sql(one.unalias(), name) for name, one in zip(names, select.expressions, strict=True)]
    )
    alias = item.args.get("alias")
    inner = exp.Subquery(this=select, alias=None if alias is None else exp.TableAlias(this=copied(alias.this)))
    _put(around, path[-1], inner)
    constants = {}
    for output in question.expressions:
        if output.args["alias"].name.startswith("k"):
            literal = _literal(output.unalias(), question)
            if literal is not None:
                constants[output.args["alias"].name] = literal
    left = [output for output in question.expressions if output.args["alias"].name not in constants]
    question.set("expressions", left)
    keys = sum(output.args["alias"].name.startswith("k") for output in left)
    numbers = [exp.Literal.number(number) for number in range(1, keys + 1)]
    question.set("group", exp.Group(expressions=numbers) if keys else None)
    return Branch(question, constants)


def _literal(tree: exp.Expr, select: exp.Select) -> exp.Expr | None:
    """Return the literal that a column stands for, through subqueries of FROM; None for any other column."""
    tree = tree.unnest()
    if isinstance(tree, exp.Literal):
        return tree
    if not isinstance(tree, exp.Column):
        return None
    items, table = from_items(select), tree.args.get("table")
    named = [item for item in items if table is None or named_as(item)[0] == fold(table)]
    if len(named) != 1 or not isinstance(named[0], exp.Subquery) or not isinstance(named[0].this, exp.Select):
        return None
    listed = named[0].this.expressions
    _, given = named_as(named[0])
    names = [given[place] if place < len(given) else output_name(one) for place, one in enumerate(listed)]
    found = [one for name, one in zip(names, listed, strict=True) if name == fold(tree.this)]
    return _literal(found[0].unalias(), named[0].this) if len(found) == 1 else None


def union_of_answers(answers: list[tuple[Branch, str]], columns: list[str]) -> exp.Query:
    """Return the union of the answers' rows, with columns k1, ... and a1, ..."""
    selects: list[exp.Query] = []
    for branch, relation in answers:
        listed: list[exp.Expr] = [
            named_sql(copied(branch.constants.get(name) or exp.column(name, quoted=True)), name) for name in columns
        ]
        table = exp.Table(this=exp.to_identifier(relation, quoted=True))
        selects.append(exp.Select(expressions=listed, from_=exp.From(this=table)))
    union = selects[0]
    for select in selects[1:]:
        union = exp.Union(this=union, expression=select, distinct=False)
    return union
