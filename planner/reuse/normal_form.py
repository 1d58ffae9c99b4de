"""Bring equivalent conditions, FILTER clauses and orders of tables to one form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlglot import exp

from planner.plan import Plan, Release

_BYTES = 16


def tree_hash(tree: exp.Expr) -> str:
    """Hash a planned expression: tables by generated aliases, literals as databases read them.

    Returns: 128 bits of SHA-256 in hex. A reader can test a guess, and learns no more.
    """
    return text_hash(tree.sql("postgres"))


def text_hash(text: str) -> str:
    """Hash a text, as `tree_hash` does."""
    return hashlib.sha256(text.encode()).hexdigest()[: 2 * _BYTES]


class TreeHashes:
    """Hashes of the nodes of some trees, each computed once. The trees must not change."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[exp.Expr, str]] = {}

    def of(self, node: exp.Expr) -> str:
        """Return the hash of a node."""
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = node, tree_hash(node)  # with the node, whose id is then no other's
        return found[1]


_Tree = TypeVar("_Tree", bound=exp.Expr)

_FLIPPED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE,
}  # fmt: skip
_NEGATED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.GT: exp.LTE, exp.LTE: exp.GT, exp.GTE: exp.LT,
}  # fmt: skip


def conjuncts(conditions: Iterable[exp.Expr]) -> list[exp.Expr]:
    """Split conditions into conjuncts, in one form for several spellings.

    NULL passes neither a comparison nor its opposite. Comparisons order all values of a column, NaN included, so the
    opposite of a comparison is a comparison.
    """
    return [one for condition in conditions for one in _parts(condition)]


def counted(release: Release) -> tuple[exp.Expr, list[exp.Expr]]:
    """Split a release into its weight and the conditions under which a row counts: FILTER, and not NULL."""
    weight = release.weight
    case = weight.this if isinstance(weight, exp.Cast) else None
    if isinstance(weight, exp.Cast) and isinstance(case, exp.Case) and case.args.get("this") is None:
        branches, default = case.args["ifs"], case.args.get("default")
        whole = branches[0].args["true"]
        nothing = isinstance(default, exp.Literal) and default.name == "0"
        if len(branches) == 1 and nothing and isinstance(whole, exp.Literal):
            return exp.Cast(this=whole.copy(), to=weight.to.copy()), conjuncts([branches[0].this])
    return weight, []


@dataclass(frozen=True)
class Ordered:
    """A plan with its tables sorted by name and joined by conditions of WHERE.

    Attributes:
      plan: the same rows, keys and weights. It is only compared, and never sent to a database.
      aliases: new alias by old alias.
    """

    plan: Plan
    aliases: Mapping[str, str]

    @classmethod
    def of(cls, plan: Plan) -> Ordered:
        """Sort a plan's tables. Plans with other joins than INNER JOIN, or with one table twice, stay as they are."""
        source = plan.source
        first, joins = source.args.get("from_"), source.args.get("joins") or []
        tables = [*([] if first is None else [first.this]), *(one.this for one in joins)]
        if not joins or not all(map(_is_inner, joins)) or not all(isinstance(one, exp.Table) for one in tables):
            return cls(plan, {})
        named = sorted(tables, key=_named)
        if len({_named(one) for one in named}) < len(named):
            return cls(plan, {})
        aliases = {table.alias: f"#{place}" for place, table in enumerate(named)}  # no alias of a plan begins so
        on = [one.args["on"] for one in joins if one.args.get("on") is not None]
        where = source.args.get("where")
        conditions = [_renamed(one, aliases) for one in [*([] if where is None else [where.this]), *on]]
        ordered = source.copy()
        ordered.set("from_", exp.From(this=_standing(named[0], aliases)))
        ordered.set("joins", [exp.Join(this=_standing(one, aliases)) for one in named[1:]])
        ordered.set("where", exp.Where(this=exp.and_(*conditions, copy=False)) if conditions else None)
        same = _same(conjuncts(conditions))
        owners = [replace(owner, key=_represented(_renamed(owner.key, aliases), same)) for owner in plan.owners]
        found = replace(
            plan,
            source=ordered,
            owners=tuple(sorted(owners, key=lambda owner: (owner.relation, owner.key.sql("postgres")))),
            group_keys=tuple(replace(key, key=_renamed(key.key, aliases)) for key in plan.group_keys),
            releases=tuple(_release(one, aliases) for one in plan.releases),
        )
        return cls(found, aliases)


def _parts(condition: exp.Expr) -> list[exp.Expr]:
    node = condition.unnest()
    if isinstance(node, exp.And):
        return conjuncts(node.flatten())
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        value, low, high = (node.args[name] for name in ("this", "low", "high"))
        return [
            _oriented(exp.GTE(this=value.copy(), expression=low.copy())),
            _oriented(exp.LTE(this=value.copy(), expression=high.copy())),
        ]
    if isinstance(node, exp.Not):
        return _opposite(node, node.this.unnest())
    if isinstance(node, exp.Or):
        listed = [_listed(part.unnest()) for part in node.flatten()]
        known = [one for one in listed if one is not None]
        if len(known) == len(listed) and len({value.sql("postgres") for value, _ in known}) == 1:
            return [_in(known[0][0], [entry for _, entries in known for entry in entries])]
    if (single := _listed(node)) is not None:
        return [_in(*single)]
    return [_oriented(node.copy()) if type(node) in _FLIPPED else node]


def _opposite(written: exp.Not, node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Not):
        return _parts(node.this)
    if isinstance(node, exp.Or):
        return conjuncts(exp.Not(this=part.copy()) for part in node.flatten())
    if isinstance(node, exp.Binary) and type(node) in _NEGATED and not _quantified(node):
        return _parts(_NEGATED[type(node)](this=node.left.copy(), expression=node.right.copy()))
    return [written]


def _listed(node: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]] | None:
    """Return the value and the literals of `x = 1` and `x IN (1, 2)`."""
    if isinstance(node, exp.In) and node.expressions and node.args.get("query") is None:
        return (node.this, node.expressions) if all(map(_is_literal, node.expressions)) else None
    if not isinstance(node, exp.EQ):
        return None
    left, right = node.left.unnest(), node.right.unnest()
    if _is_literal(left) == _is_literal(right):
        return None
    return (right, [left]) if _is_literal(left) else (left, [right])


def _in(value: exp.Expr, literals: Iterable[exp.Expr]) -> exp.Expr:
    entries = [one for _, one in sorted({one.sql("postgres"): one.copy() for one in literals}.items())]
    if len(entries) == 1:
        return exp.EQ(this=value.unnest().copy(), expression=entries[0])
    return exp.In(this=value.unnest().copy(), expressions=entries)


def _oriented(node: exp.Expr) -> exp.Expr:
    """Turn a comparison: the literal stands on the right; of two expressions the first by text stands left."""
    assert isinstance(node, exp.Binary), "a comparison"
    left, right = node.left, node.right
    both = not (_is_literal(left.unnest()) or _is_literal(right.unnest()))
    turned = left.sql("postgres") > right.sql("postgres") if both else _is_literal(left.unnest())
    if not turned or _quantified(node):
        return node
    return _FLIPPED[type(node)](this=right.copy(), expression=left.copy())


def _quantified(node: exp.Binary) -> bool:
    """Is it a comparison with ANY or ALL?"""
    return any(isinstance(side.unnest(), (exp.Any, exp.All, exp.Subquery)) for side in (node.left, node.right))


def _is_literal(node: exp.Expr) -> bool:
    inner = node.this.unnest() if isinstance(node, (exp.Cast, exp.Neg)) else node
    return isinstance(inner, exp.Literal)


def _is_inner(join: exp.Join) -> bool:
    plain = not any(join.args.get(name) for name in ("side", "method", "using", "global_", "hint"))
    return plain and (join.args.get("kind") or "INNER").upper() in ("INNER", "CROSS")


def _named(table: exp.Table) -> tuple[str, str]:
    return table.db, table.name


def _standing(table: exp.Table, aliases: Mapping[str, str]) -> exp.Table:
    found = table.copy()
    found.set("alias", exp.TableAlias(this=exp.to_identifier(aliases[table.alias], quoted=True)))
    return found


def _renamed(tree: _Tree, aliases: Mapping[str, str]) -> _Tree:
    found = tree.copy()
    for column in found.find_all(exp.Column):
        if column.table in aliases:
            column.set("table", exp.to_identifier(aliases[column.table], quoted=True))
    return found


def _release(release: Release, aliases: Mapping[str, str]) -> Release:
    ranked = release.ranked
    return replace(
        release,
        weight=_renamed(release.weight, aliases),
        less=None if release.less is None else _renamed(release.less, aliases),
        distinct=None if release.distinct is None else _renamed(release.distinct, aliases),
        ranked=None if ranked is None else replace(ranked, place=_renamed(ranked.place, aliases)),
    )


def _same(conditions: Iterable[exp.Expr]) -> dict[str, exp.Expr]:
    """Map each column to the first of the columns that conditions set equal to it."""
    pairs = [
        (one.left, one.right)
        for one in conditions
        if isinstance(one, exp.EQ) and isinstance(one.left, exp.Column) and isinstance(one.right, exp.Column)
    ]
    found: dict[str, exp.Expr] = {}
    for _ in pairs:  # as often as a chain may be long
        for pair in pairs:
            known = [found.get(side.sql("postgres"), side) for side in pair]
            first = min(known, key=lambda side: side.sql("postgres"))
            found |= {side.sql("postgres"): first for side in (*pair, *known)}
    return found


def _represented(key: exp.Expr, same: Mapping[str, exp.Expr]) -> exp.Expr:
    """Write an owner's key by the first column that is equal to its own."""
    return key.transform(
        lambda node: same.get(node.sql("postgres"), node).copy() if isinstance(node, exp.Column) else node
    )
