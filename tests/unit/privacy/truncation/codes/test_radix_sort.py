import numpy as np
import pytest

from privacy.truncation.codes.provenance_keys import KeyFormat
from privacy.truncation.codes.radix_sort import radix_sort, row_type


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 33, 63, 64])
def test_keys_and_rows_are_sorted_stably_as_unsigned_numbers(bits: int) -> None:
    random = np.random.default_rng(bits)
    values = random.integers(0, 1 << min(bits, 63), 3000, np.uint64)
    values[::7] = np.uint64((1 << bits) - 1)
    keys, rows = radix_sort(values.view(np.int64).copy(), np.arange(3000, dtype=np.int32), bits)
    order = np.argsort(values, kind="stable")
    assert keys.view(np.uint64).tolist() == values[order].tolist()
    assert rows.tolist() == order.tolist()


def test_sorted_keys_stay_where_they_are_and_nothing_is_sorted() -> None:
    keys = np.array([1, 5, 5, 9])
    assert radix_sort(keys, np.arange(4, dtype=np.int32), 4)[0] is keys
    assert len(radix_sort(np.empty(0, np.int64), np.empty(0, np.int32), 64)[0]) == 0


def test_rows_take_four_bytes_while_these_suffice() -> None:
    assert (row_type(2**31 - 1), row_type(2**31)) == (np.int32, np.int64)


def test_a_field_never_crosses_a_word() -> None:
    form = KeyFormat(n_groups=5, n_codes=1 << 20, positions=7)
    assert (form.group_bits, form.code_bits) == (3, 21)
    assert form.ends.tolist() == [0, 2, 5, 7]
    assert [form.bits(word) for word in range(3)] == [45, 63, 42]
    assert repr(form) == "KeyFormat(<private>)"
