"""Copies and walks of trees agree with the parser library's own, and chains of any length are no recursion."""

from __future__ import annotations

import sys

import pytest
from sqlglot import exp, parse_one

from planner.parse import parse
from planner.placeholder_slot import SLOT, Slot
from planner.trees import children, columns_of, copied, holds, nodes, preorder
from tests.golden.tpch.queries import NUMBERS, published


@pytest.mark.parametrize("number", NUMBERS)
def test_a_copy_is_the_librarys_copy(number: int) -> None:
    tree = parse_one(published(number), dialect="postgres")
    copy = copied(tree)
    assert copy == tree.copy()
    assert copy.sql("postgres") == tree.sql("postgres")
    assert not {id(node) for node in nodes(copy)} & {id(node) for node in nodes(tree)}
    assert all(child.parent is node for node in nodes(copy) for child in children(node))


@pytest.mark.parametrize("number", NUMBERS)
def test_a_walk_is_the_librarys_walk(number: int) -> None:
    tree = parse_one(published(number), dialect="postgres")
    assert [id(node) for node in nodes(tree)] == [id(node) for node in tree.walk()]
    assert [id(node) for node in preorder(tree)] == [id(node) for node in tree.walk(bfs=False)]
    assert [id(node) for node in columns_of(tree)] == [id(node) for node in tree.find_all(exp.Column)]
    assert [id(node) for node in children(tree)] == [id(node) for node in tree.iter_expressions()]
    assert holds(tree, exp.AggFunc) is (tree.find(exp.AggFunc) is not None)


def test_notes_are_copied_and_not_shared() -> None:
    tree = parse("SELECT count(*) FROM orders WHERE o_orderkey = 1")
    column = next(iter(columns_of(tree)))
    slot = Slot()
    column.meta[SLOT] = slot
    copy = next(iter(columns_of(copied(tree))))
    assert copy.this.meta == column.this.meta != {}
    assert copy.meta[SLOT] is slot
    copy.meta["bound"] = True
    assert "bound" not in column.meta


def test_a_long_chain_is_copied_without_recursion() -> None:
    tree = parse_one("x")
    for number in range(3 * sys.getrecursionlimit()):
        tree = exp.Or(this=tree, expression=exp.Literal.number(number))
    assert len(nodes(copied(tree))) == len(nodes(tree))
