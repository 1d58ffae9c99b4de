"""Expression trees: walked and copied faster than by the parser library's own ways, and placed in the statement."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from sqlglot import exp

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


def preorder(tree: exp.Expr) -> list[exp.Expr]:
    """The node and all below it, each before what it holds: as a statement is read. Cost: linear."""
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        found.append(node)
        stack += reversed(children(node))
    return found


def holds(tree: exp.Expr, *kinds: type[exp.Expr]) -> bool:
    """Is some node of one of the kinds? Cost: linear."""
    return any(isinstance(node, kinds) for node in nodes(tree))


def tables_of(tree: exp.Expr) -> list[exp.Table]:
    """The tables that FROM names anywhere in it, in the order of `nodes`."""
    return [node for node in nodes(tree) if isinstance(node, exp.Table)]


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
