"""Privacy units as small integers: one code per (relation, key), in the order of the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import OwnerColumn

NOBODY = -1
"""The code of a position that has no owner."""

_TABLE_SLACK = 1 << 16  # a table of flags may be this much longer than four times the keys


def owner_codes(owners: Sequence[OwnerColumn], n_tuples: int) -> tuple[NDArray[np.int64], int]:
    """Code the privacy units of every owner position.

    Units of one relation are numbered by their sorted keys, relations by their first position, so the
    codes depend on which units occur and never on the order of the rows.

    Args:
      owners: one column per position, all of n_tuples rows.
      n_tuples: m.
    Returns: (m, positions) int64 codes, NOBODY where missing, and the number of codes.
    Raises: InvalidParameter when lengths differ or the keys of a relation cannot be compared.
    Cost: linear for integers in a dense range, strings and objects; a sort otherwise.
    """
    codes = np.full((n_tuples, len(owners)), NOBODY, np.int64)
    n_units = 0
    for relation in dict.fromkeys(owner.relation for owner in owners):
        positions = [i for i, owner in enumerate(owners) if owner.relation == relation]
        present = [_present(owners[i], n_tuples) for i in positions]
        keys = _join([owners[i].keys[rows] for i, rows in zip(positions, present, strict=True)])
        code, size = _codes(keys)
        start = 0
        for i, rows in zip(positions, present, strict=True):
            codes[rows, i] = code[start : start + len(rows)] + n_units
            start += len(rows)
        n_units += size
    return codes, n_units


def _present(owner: OwnerColumn, n_tuples: int) -> NDArray[np.intp]:
    """Rows at which somebody owns this position."""
    if owner.keys.shape != (n_tuples,) or owner.missing.shape != (n_tuples,):
        raise InvalidParameter("an owner column has another length than the tuples")
    return np.flatnonzero(~owner.missing.astype(bool))


def _join(columns: list[NDArray[np.generic]]) -> NDArray[np.generic]:
    """Concatenate the key columns of one relation, refusing types whose union would lose digits."""
    columns = [column for column in columns if len(column)] or columns[:1]
    kinds = {column.dtype.kind for column in columns}
    dtype = np.result_type(*columns) if len(kinds) == 1 or kinds <= set("iu") else None
    if dtype is None or (kinds <= set("iu") and dtype.kind not in "iu"):
        raise InvalidParameter("the key columns of a relation have types that cannot be compared exactly")
    return np.concatenate(columns, dtype=dtype)


def _codes(keys: NDArray[np.generic]) -> tuple[NDArray[np.int64], int]:
    """Rank of each key among the distinct keys, and how many those are."""
    if keys.dtype.kind in "iu":
        return _integer_codes(cast("NDArray[np.integer]", keys))
    if keys.dtype.kind in "USO":
        return _hashed_codes(keys)
    distinct, code = np.unique(keys, return_inverse=True)
    return code.astype(np.int64), len(distinct)


def _integer_codes(keys: NDArray[np.integer]) -> tuple[NDArray[np.int64], int]:
    """Serial keys lie densely: a table of flags ranks them without a sort."""
    if not len(keys):
        return np.empty(0, np.int64), 0
    low, high = int(keys.min()), int(keys.max())
    if high - low > 4 * len(keys) + _TABLE_SLACK:
        distinct, code = np.unique(keys, return_inverse=True)
        return code.astype(np.int64), len(distinct)
    offset = np.array(low, np.uint64 if low >= 0 else np.int64)
    place = (keys.astype(offset.dtype) - offset).astype(np.int64)
    flags = np.zeros(high - low + 1, bool)
    flags[place] = True
    rank = np.cumsum(flags) - 1
    return rank[place], int(flags.sum())


def _hashed_codes(keys: NDArray[np.generic]) -> tuple[NDArray[np.int64], int]:
    """Strings and objects: hashing m keys and sorting the distinct ones beats sorting m keys."""
    values = keys.tolist()
    try:
        distinct = sorted(set(values))
    except (TypeError, ArithmeticError):
        raise InvalidParameter("the keys of a relation cannot be hashed and sorted") from None
    rank = dict(zip(distinct, range(len(distinct)), strict=True))
    return np.fromiter(map(rank.__getitem__, values), np.int64, len(values)), len(distinct)
