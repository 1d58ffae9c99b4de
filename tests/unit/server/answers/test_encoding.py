"""Kept answers come back as they were."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.noisy_answer import NoisyAnswer
from server.answers.encoding import decoded, encoded
from server.answers.released import Released
from server.backends.columns import Domain
from server.errors import LedgerInvalid
from tests.support.released_plan import noisy_answer

KEYS = (
    st.none() | st.booleans() | st.integers() | st.text() | st.dates() | st.datetimes() | st.floats(allow_nan=False)
)
DOUBLES = st.floats(width=64)


def same(one: NoisyAnswer, other: NoisyAnswer) -> bool:
    """Bit by bit: NaN is itself, and 0.0 is not -0.0."""
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(NoisyAnswer)]
    return all(
        left.tobytes() == right.tobytes() and left.dtype == right.dtype
        if isinstance(left, np.ndarray)
        else left == right
        for left, right in pairs
    )


@given(keys=st.lists(st.tuples(KEYS, KEYS), max_size=6), value=DOUBLES, low=DOUBLES, high=DOUBLES)
def test_every_bit_returns(keys: list[tuple[object, object]], value: float, low: float, high: float) -> None:
    columns = tuple(tuple(column) for column in zip(*keys, strict=True)) or ((), ())
    domain = Domain(columns, ((0, 1),))
    noisy = noisy_answer([value] * len(domain), low=[low] * len(domain), high=[high] * len(domain))
    back = decoded(encoded(Released(domain, (noisy, noisy))))
    assert back.domain == domain
    assert [type(key) for column in back.domain.keys for key in column] == [
        type(key) for column in columns for key in column
    ]
    assert all(same(noisy, one) for one in back.noisy) and len(back.noisy) == 2


def test_decimals_and_moments_keep_their_types() -> None:
    keys = (Decimal("1.50"), date(2024, 1, 31), datetime(2024, 1, 31, 12, 30), "2024-01-31", True, 1)
    back = decoded(encoded(Released(Domain((keys,)), (noisy_answer([math.nan] * 6),))))
    assert repr(back.domain.keys[0]) == repr(keys)


def test_the_same_releases_give_the_same_bytes() -> None:
    def content() -> bytes:
        return encoded(Released(Domain((("a", "b"),)), (noisy_answer([1.5, -2.0]),)))

    assert content() == content()


CONTENT = encoded(Released(Domain((("a", "b"),)), (noisy_answer([1.0, 2.0]),)))


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"[]",
        b"\xff",
        CONTENT[:-1],
        CONTENT.replace(b'"format":1', b'"format":2'),
        CONTENT.replace(b'"blocks":[]', b'"blocks":1'),
        CONTENT.replace(b'"values":"', b'"values":"A'),
        CONTENT.replace(b'"tau"', b'"tow"'),
        CONTENT.replace(b'"a","b"', b'"a","b","c"'),
        CONTENT.replace(b'"a"', b'["pickle","a"]'),
        CONTENT.replace(b'"a"', b'["date","a"]'),
    ],
    ids=range(11),
)
def test_what_was_damaged_is_refused(damaged: bytes) -> None:
    assert damaged != CONTENT
    with pytest.raises(LedgerInvalid):
        decoded(damaged)


def test_a_key_of_another_type_is_kept_as_its_text() -> None:
    document = json.loads(encoded(Released(Domain(((complex(1, 2),),)), (noisy_answer([1.0]),))))
    assert document["keys"] == [["(1+2j)"]]
