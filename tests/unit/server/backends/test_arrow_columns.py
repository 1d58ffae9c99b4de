"""Texts from Spark that are no UTF-8: as many keys to the proxy as to the database."""

from __future__ import annotations

import pyarrow as pa

from planner.plan import BackendQuery
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import ContributionsOfSum
from server.backends.columns import Domain, contribution_histogram
from server.backends.query_tuples import selected_domain
from server.backends.spark import arrow_columns, shown_text

ONE = 1 << 30
SPELLED = "\\xff" * 3
SPELLINGS = [b"".join(rb"\xff" if place >> byte & 1 else b"\xff" for byte in range(3)) for place in range(8)]
"""A text of backslashes, and seven in which some of those four letters are the byte itself."""


def _contributions() -> pa.Table:
    """One person with a row of each spelling, counted by a database that takes them for eight keys."""
    keys = pa.array(SPELLINGS, pa.binary()).view(pa.string())
    one = {"i": [0] * 8, "b": [0] * 8, "n": [1] * 8, "s": [ONE] * 8}
    return pa.table({"k0": keys, **{name: pa.array(column, pa.int64()) for name, column in one.items()}})


def _query(values: tuple[str, ...] | None) -> BackendQuery:
    return BackendQuery(
        "join", (None,), ("person",), (None,), (values,), 1, "f", contributions="loads", thresholds=(ONE,)
    )


def test_one_person_with_many_spellings_of_a_key_is_one_in_its_group() -> None:
    """Otherwise it would be eight people there: eight times tau, and enough of them to show a group that is found."""
    columns = arrow_columns([_contributions()], 5)
    assert len(set(columns[0])) == 8
    for query, domain in (
        (_query((SPELLED,)), Domain(((SPELLED,),))),
        (_query(None), selected_domain(columns, _query(None), Domain(((),)))),
    ):
        assert domain.groups == [(SPELLED,)]
        counted = ContributionsOfSum(contribution_histogram(columns, query, domain, n_sums=1), 0)
        assert counted.units().tolist() == [1]
        assert counted.at(Thresholds(0, 0)).solve(0, 0) == ONE


def test_public_texts_are_shown_with_their_bytes_written_out() -> None:
    (texts,) = arrow_columns([_contributions().select(["k0"])], 1)
    assert set(map(shown_text, texts)) == {SPELLED}
    assert (shown_text("ä"), shown_text(None)) == ("ä", None)
