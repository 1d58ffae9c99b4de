"""Copies and walks of trees agree with the parser library's own, and chains of any length are no recursion."""

from __future__ import annotations

import sys

from sqlglot import exp, parse_one

from planner.expressions.coercion import SLOT, Slot
from planner.parsing.parse import parse
from planner.schema import Table
from planner.sql.trees import LEAVES, bound_column, children, columns_of, copied, holds, nodes, table_sql
from tests.golden.tpch.queries import NUMBERS, published


def test_a_copy_is_the_librarys_copy() -> None:
    for number in NUMBERS:
        tree = parse_one(published(number), dialect="postgres")
        copy = copied(tree)
        assert copy == tree.copy()
        assert copy.sql("postgres") == tree.sql("postgres")
        inner = [node for node in nodes(copy) if type(node) not in LEAVES]
        assert not {id(node) for node in inner} & {id(node) for node in nodes(tree)}
        assert all(child.parent is not None for node in inner for child in children(node))
        assert all(_held(node) is node for node in inner if node is not copy)


def _held(node: exp.Expr) -> object:
    """What stands where a node says that it stands."""
    assert node.parent is not None and node.arg_key is not None
    held = node.parent.args[node.arg_key]
    return held if node.index is None else held[node.index]


def test_a_walk_is_the_librarys_walk() -> None:
    for number in NUMBERS:
        tree = parse_one(published(number), dialect="postgres")
        assert [id(node) for node in nodes(tree)] == [id(node) for node in tree.walk()]
        assert [id(node) for node in columns_of(tree)] == [id(node) for node in tree.find_all(exp.Column)]
        assert [id(node) for node in children(tree)] == [id(node) for node in tree.iter_expressions()]
        assert holds(tree, exp.AggFunc) is (tree.find(exp.AggFunc) is not None)


def test_copies_share_leaves_that_stay_where_they_were() -> None:
    tree = parse("SELECT count(*) FROM orders WHERE o_orderkey = 1")
    column = next(iter(columns_of(tree)))
    holder = column.parent
    assert next(iter(columns_of(copied(tree)))) is column
    assert column.parent is holder


def test_names_that_trees_share_keep_no_tree_alive() -> None:
    column, table = bound_column("t", "x"), table_sql(Table("x", "t", (), (), ()), "x")
    copied(exp.From(this=table))
    assert table.this is column.this
    assert column.this.parent is None
    assert column.args["table"].parent is None


def test_notes_are_copied_and_not_shared() -> None:
    tree = parse("SELECT count(*) FROM orders WHERE o_orderkey = $1")
    (placeholder,) = tree.find_all(exp.Parameter)
    slot = Slot()
    placeholder.meta[SLOT] = slot
    (copy,) = copied(tree).find_all(exp.Parameter)
    assert copy.this.meta == placeholder.this.meta != {}
    assert copy.meta[SLOT] is slot
    copy.meta["bound"] = True
    assert "bound" not in placeholder.meta


def test_a_long_chain_is_copied_without_recursion() -> None:
    tree = parse_one("x")
    for number in range(sys.getrecursionlimit() + 100):
        tree = exp.Or(this=tree, expression=exp.Literal.number(number))
    assert len(nodes(copied(tree))) == len(nodes(tree))
