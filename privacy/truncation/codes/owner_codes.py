"""Privacy units as small integers: one code per (relation, key), in the order of the keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import OwnerColumn
from privacy.truncation.codes.integer_codes import write_integer_codes

NOBODY = -1
"""The code of a position that has no owner."""

_SIGN = np.uint64(1 << 63)


def owner_codes(owners: Sequence[OwnerColumn], n_tuples: int) -> tuple[NDArray[np.int32], int]:
    """Code the privacy units of every owner position.

    Units of one relation are numbered in the order of their keys, relations by their first position, so the
    codes depend on which units occur and never on the order of the rows. Not all of them need occur.

    Args:
      owners: one column per position, all of n_tuples rows.
      n_tuples: m.
    Returns: (positions, m) int32 codes, NOBODY where missing, and how many codes there are: at most one for each
      position of each tuple.
    Raises, cost: as `codes_by_relation`.
    """
    codes, relations = codes_by_relation(owners, n_tuples)
    return codes, relations[-1][1] if relations else 0


def codes_by_relation(
    owners: Sequence[OwnerColumn], n_tuples: int
) -> tuple[NDArray[np.int32], tuple[tuple[str, int], ...]]:
    """`owner_codes`, and which of them are of which relation.

    Returns: the codes, and the relations in the order of their codes, each with the code after its last.
    Raises: InvalidParameter when lengths differ, the keys of a relation cannot be compared, or there are more
      units than an int32 can number.
    Cost: three passes for integers in a dense range, a linear sort for other integers; a hash for strings and
      objects; a sort for the rest.
    """
    codes = np.empty((len(owners), n_tuples), np.int32)
    n_units, ends = 0, []
    for relation in dict.fromkeys(owner.relation for owner in owners):
        positions = [i for i, owner in enumerate(owners) if owner.relation == relation]
        n_units += _write_codes(
            [_checked(owners[i], n_tuples) for i in positions], [codes[i] for i in positions], n_units
        )
        ends.append((relation, n_units))
    return codes, tuple(ends)


def _checked(owner: OwnerColumn, n_tuples: int) -> OwnerColumn:
    """The column, if it is as long as the others."""
    if owner.keys.shape != (n_tuples,) or owner.missing.shape != (n_tuples,):
        raise InvalidParameter("an owner column has another length than the tuples")
    return OwnerColumn(owner.relation, owner.keys, np.ascontiguousarray(owner.missing, bool))


def _write_codes(columns: list[OwnerColumn], codes: list[NDArray[np.int32]], first: int) -> int:
    """Fill in the codes of one relation, from `first` on; returns how many units it has."""
    dtype = _common_type([column.keys for column in columns if not column.missing.all()] or [columns[0].keys])
    if dtype.kind in "iu":
        keys = [_as_int64(column.keys, dtype) for column in columns]
        return write_integer_codes(keys, [column.missing for column in columns], codes, first)
    present = [np.flatnonzero(~column.missing) for column in columns]
    joined = np.concatenate([column.keys[rows] for column, rows in zip(columns, present, strict=True)], dtype=dtype)
    code, size = _codes(joined)
    start = 0
    for rows, column in zip(present, codes, strict=True):
        column.fill(NOBODY)
        column[rows] = code[start : start + len(rows)] + first
        start += len(rows)
    return size


def _common_type(columns: list[NDArray[np.generic]]) -> np.dtype[np.generic]:
    """The type that holds every key of one relation, refusing types whose union would lose digits."""
    kinds = {column.dtype.kind for column in columns}
    dtype = np.result_type(*columns) if len(kinds) == 1 or kinds <= set("iu") else None
    if dtype is None or (kinds <= set("iu") and dtype.kind not in "iu"):
        raise InvalidParameter("the key columns of a relation have types that cannot be compared exactly")
    return dtype


def _as_int64(keys: NDArray[np.generic], dtype: np.dtype[np.generic]) -> NDArray[np.int64]:
    """Integers in the same order; unsigned ones of 64 bits are moved down by 2^63."""
    if dtype == np.uint64:
        return (keys.astype(np.uint64) ^ _SIGN).view(np.int64)
    return np.ascontiguousarray(keys, np.int64)


def _codes(keys: NDArray[np.generic]) -> tuple[NDArray[np.int64], int]:
    """Rank of each key among the distinct keys, and how many those are."""
    if keys.dtype.kind in "USO":
        return _hashed_codes(keys)
    distinct, code = np.unique(keys, return_inverse=True)
    return code.astype(np.int64), len(distinct)


def _hashed_codes(keys: NDArray[np.generic]) -> tuple[NDArray[np.int64], int]:
    """Strings and objects: hashing m keys and sorting the distinct ones beats sorting m keys."""
    values = keys.tolist()
    try:
        distinct = sorted(set(values))
    except (TypeError, ArithmeticError):
        raise InvalidParameter("the keys of a relation cannot be hashed and sorted") from None
    rank = dict(zip(distinct, range(len(distinct)), strict=True))
    return np.fromiter(map(rank.__getitem__, values), np.int64, len(values)), len(distinct)
