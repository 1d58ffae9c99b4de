from __future__ import annotations

from planner.schema import Column, Table
from planner.sensitivity.column_equalities import Equalities

ROW = Table("row", "s", (Column("id", "bigint", False), Column("code", "bigint", True)), (("id",), ("code",)), ())


def _entries(*aliases: str) -> Equalities:
    equalities = Equalities()
    for alias in aliases:
        equalities.add(alias, ROW)
    return equalities


def test_equality_is_transitive_and_has_one_representative() -> None:
    equalities = _entries("c", "b", "a")
    equalities.equate(("c", "code"), ("b", "code"), known=True)
    equalities.equate(("b", "code"), ("a", "code"), known=True)
    assert equalities.same(("a", "code"), ("c", "code"))
    assert equalities.find(("c", "code")) == ("a", "code")
    assert equalities.members(("b", "code")) == [("a", "code"), ("b", "code"), ("c", "code")]
    assert not equalities.same(("a", "id"), ("a", "code"))


def test_two_entries_that_agree_on_a_unique_key_are_one_row() -> None:
    equalities = _entries("a", "b")
    equalities.equate(("a", "id"), ("b", "id"), known=True)
    equalities.close()
    assert equalities.same(("a", "code"), ("b", "code"))


def test_a_unique_key_that_may_be_null_in_both_does_not_make_them_one_row() -> None:
    equalities = _entries("a", "b")
    equalities.equate(("a", "code"), ("b", "code"), known=False)
    equalities.close()
    assert not equalities.same(("a", "id"), ("b", "id"))
    equalities.equate(("a", "code"), ("b", "code"), known=True)
    equalities.close()
    assert equalities.same(("a", "id"), ("b", "id"))


def test_a_row_that_may_be_absent_has_no_known_column() -> None:
    equalities = Equalities()
    equalities.add("p", ROW, always_present=False)
    assert not equalities.known(("p", "id"))
