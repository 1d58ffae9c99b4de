"""Kept answers come back as they were."""

from __future__ import annotations

import math
import zlib
from dataclasses import fields, replace
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.reuse.outline import KeyOutline, Outline, Period, ReleaseOutline
from privacy.noisy_answer import Exceeding, NoisyAnswer
from server.answers.encoding import decoded, encoded, outline_in
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


@given(st.lists(st.tuples(*[DOUBLES] * 6), min_size=1, max_size=8))
def test_every_bit_returns_whatever_the_arrays_have_to_do_with_each_other(rows: list[tuple[float, ...]]) -> None:
    values, tau, scale, low, high, signal = (np.array(column) for column in zip(*rows, strict=True))
    noisy = replace(noisy_answer([0.0]), values=values, tau=tau, noise_scale=scale, low=low, high=high, signal=signal)
    back = decoded(encoded(Released(Domain((tuple(range(len(rows))),)), (noisy,))))
    assert same(back.noisy[0], noisy)


def test_decimals_and_moments_keep_their_types() -> None:
    keys = (Decimal("1.50"), date(2024, 1, 31), datetime(2024, 1, 31, 12, 30), "2024-01-31", True, 1)
    back = decoded(encoded(Released(Domain((keys,)), (noisy_answer([math.nan] * 6),))))
    assert repr(back.domain.keys[0]) == repr(keys)


def test_the_same_releases_give_the_same_bytes() -> None:
    def content() -> bytes:
        return encoded(Released(Domain((("a", "b"),)), (noisy_answer([1.5, -2.0]),)))

    assert content() == content()


SMALL = Released(Domain((("a", "b"),)), (noisy_answer([1.0, 2.0]),))
NEW = encoded(SMALL)


def repacked(before: bytes, after: bytes) -> bytes:
    whole = zlib.decompress(NEW[3:])
    assert before in whole
    return NEW[:3] + zlib.compress(whole.replace(before, after))


def test_what_was_damaged_is_refused() -> None:
    for damaged in [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        NEW[:-1],
        NEW + b"0",
        NEW[:2] + b"\5" + NEW[3:],
        NEW[:3],
        NEW[:3] + zlib.compress(b""),
        NEW[:3] + zlib.compress(b"\xff" * 8),
        repacked(b'"blocks":[]', b'"blocks":1 '),
        repacked(b'"a","b"', b'"a","c","b"'),
        repacked(b'"a","b"', b'"a","b","c"'),
        repacked(b'"a"', b'["pickle","a"]'),
        repacked(b'"a"', b'["date","a"]'),
        repacked(b'"a"', b'"a'),
        repacked(b'"mechanism"', b'"mechanics"'),
        repacked(b"0x", b"zx"),
        repacked(b'"truncated_full"', b'"truncated_fool"'),
        NEW[:3] + zlib.compress(zlib.decompress(NEW[3:])[:-8]),
    ]:
        assert damaged != NEW, damaged
        with pytest.raises(LedgerInvalid):
            decoded(damaged)


def test_a_large_answer_takes_some_ten_bytes_a_value() -> None:
    """As the mechanisms release it: thresholds that are powers of two, noise of their scale, ends about the value."""
    draws = np.random.default_rng(5)
    tau = np.exp2(draws.integers(0, 12, 50_000).astype(np.float64))
    values = draws.exponential(1e4, 50_000).round(2) + draws.laplace(0, 3 * tau)
    scale = tau * 3.0
    made = NoisyAnswer(
        values=values,
        tau=tau,
        noise_scale=scale,
        low=values - 2.9957322735539 * scale,
        high=values + 2.9957322735539 * scale,
        signal=values / (17.25 * tau),
        confidence=0.95,
        covers="truncated_full",
        mechanism="gem",
        epsilon=0.1,
    )
    content = encoded(Released(Domain((tuple(range(50_000)),)), (made,)))
    assert len(content) / 50_000 < 12
    assert same(decoded(content).noisy[0], made)


def test_a_key_of_another_type_is_kept_as_its_text() -> None:
    back = decoded(encoded(Released(Domain(((complex(1, 2),),)), (noisy_answer([1.0]),))))
    assert back.domain.keys == (("(1+2j)",),)


def test_an_outline_returns_and_is_read_without_the_values() -> None:
    period = Period("month", ("a", "b"), ("c",), "2022-01-01 00:00:00", "2024-12-31 00:00:00", whole_days=True)
    key = KeyOutline("k", "i", "timestamp", period=period, lacks_null=True)
    releases = ReleaseOutline("w", True, "cut"), ReleaseOutline(None, False, "")
    outline = Outline("rows", 3, ("c1", "c1"), (key,), releases)
    released = Released(Domain((("x", "y"),)), (noisy_answer([1.0, 2.0]),) * 2, outline)
    content = encoded(released)
    assert decoded(content).outline == outline == outline_in(content)
    plain = encoded(replace(released, outline=None))
    assert decoded(plain).outline is None and outline_in(plain) is None


def test_how_many_people_exceed_a_threshold_returns() -> None:
    noisy = replace(noisy_answer([1.0]), exceeding=Exceeding(-3, 20, 0.0, 0.1 + 0.2))
    assert decoded(encoded(Released(Domain(()), (noisy,)))).noisy[0].exceeding == noisy.exceeding


def test_a_damaged_outline_is_no_outline() -> None:
    for place in [3, 10, 40]:
        content = encoded(Released(Domain(()), (noisy_answer([1.0]),), Outline("rows", 1, (), (), ())))
        with pytest.raises(LedgerInvalid):
            outline_in(content[:place])
