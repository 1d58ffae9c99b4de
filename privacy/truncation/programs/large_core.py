"""The core of a threshold as a program; of a large core first some tuples, priced against all of them.

A linear program with far more tuples than units has an optimum that uses few of them. Column generation solves some
tuples and prices all with their duals: a tuple that costs less than it is worth joins. Both bounds hold in every
round. A point of some tuples is a point of all, with zeros elsewhere. The dual bound (`certificate.py`) adds up over
all tuples in exact integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import Private
from privacy.kernel import kernel
from privacy.truncation.codes import KeyFormat, sort_keys
from privacy.truncation.programs.certificate import Certificate, add_product, add_products, certify
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.program import Incidence, PreparedProgram
from privacy.units import MAX_UNITS, Bools, Floats, Int32s, Ints, from_halves

_ROUNDS = 16
_SWEEPS = 2048
_FINEST = 14
_UNIT = 1 << 16
"""The program of some tuples is solved to 2^-14 of the largest cap at most, or of so many units."""

_FEWEST = 1 << 16
"""How many tuples the first round takes at least."""

_PLENTY = 2.0
"""The first round takes so many times what fills a unit's cap from its tuples, where it has as many."""

_DUAL_BITS = 44
_DUAL_ONE = 1 << _DUAL_BITS

_WORTH_BITS = 28
"""2^24 tuples of 2^20 units and 2^16 beyond their price are worth less than 2^63 together."""

_TOLERANCES = np.array([_DUAL_ONE >> 20, _DUAL_ONE >> 13, _DUAL_ONE >> 9, _DUAL_ONE >> 6])
"""Classes of what a tuple is worth beyond its price: those of the higher ones join first."""

_CLOSE = 200
"""All tuples are solved to this part of a cap at once: to come back for that would cost more than to go on."""


@dataclass(frozen=True, eq=False, repr=False)
class LargeCore(Private):
    """The tuples of a core that are not sorted or merged yet.

    Attributes:
      owners: (m, width) places of the owners, ascending; those below len(caps) bind.
      weights: (m,).
      caps: (binding,) what is left of each cap.
    """

    owners: Int32s
    weights: Ints
    caps: Ints

    def certificates(self) -> Iterator[Certificate]:
        """Better and better bounds of the optimum: of some tuples against all, then of all, until they are close.

        Which tuples join depends on the set of tuples alone, by exact sums and a hash of the binding owners. So do
        the bounds.
        Cost: each round a pass over the owners, and the program of the tuples that joined. Cores whose caps have room
        for a fifth of the tuples are solved whole.
        """
        chosen, everyone = np.zeros(len(self.weights), np.bool_), np.ones(len(self.weights), np.bool_)
        wanted = _contributions(self.owners, self.weights, self.caps)
        rates = np.maximum(_PLENTY * self.caps / np.maximum(wanted, 1), _FEWEST / len(chosen))
        _join(self.owners, self.caps, rates, 0, everyone, chosen)
        best = Certificate(0, MAX_UNITS, 0)
        most = max(int(self.caps.max()), _UNIT)
        target = most // 2
        for salt in range(1, _ROUNDS + 1):
            size = int(chosen.sum())
            if 5 * size > 2 * len(chosen):
                break
            for proof, y in self._points(np.flatnonzero(chosen), MAX_UNITS):
                best = best.joined(Certificate(proof.floor(), MAX_UNITS, 0))
                if proof.ceiling() - best.value > target:
                    continue
                upper, classes, missing = self._priced(y, chosen)
                missed, worth = classes[:, 1:]
                best = best.joined(Certificate(0, upper, 0))
                yield best
                target = min(target // 2, (best.upper - best.value) // 4) if missed.any() else target // 4
                if missed.any() or target < most >> _FINEST:
                    break
            target = max(target, most >> _FINEST)
            least = len(missed) - 1
            while least and (16 * worth[:least].sum() > worth.sum() or not missed[least:].any()):
                least -= 1
            rate = max(size, _FEWEST) / max(1, missed[least:].sum())
            _join(self.owners, self.caps, np.full(len(self.caps), rate), salt, missing > least, chosen)
        whole = None
        for proof, _ in self._points(slice(None), 0, 1):
            whole = proof if whole is None else whole.joined(proof)
            if whole.within(most // _CLOSE):
                yield whole

    def _points(self, rows: Ints | slice, least_limit: int, first: int = 0) -> Iterator[tuple[Certificate, Floats]]:
        """Bounds of the optimum over some tuples, and duals of all units, from point to point but the first ones."""
        y = np.where(self.caps > 0, 0.0, 1.0)  # a unit without room has a price that costs nothing
        found = _core_of_units(self.owners[rows], self.weights[rows], self.caps.copy(), least_limit)
        if found is None:
            yield Certificate(0, 0, 0), y
            return
        program, places = found
        for solver in (CoordinateSolver(_SWEEPS), FirstOrderSolver()):
            for x, prices in islice(solver.points(program), first, None):
                y[places] = np.clip(np.nan_to_num(prices, nan=0.0), 0.0, 1.0)
                yield certify(program, x, prices), y

    def _priced(self, y: Floats, chosen: Bools) -> tuple[int, Ints, NDArray[np.int8]]:
        """The dual bound over all tuples, rounded up, and the classes of the tuples that it misses (`_price`)."""
        dual = np.rint(y * _DUAL_ONE).astype(np.int64)
        total, missing = np.zeros(2, np.uint64), np.empty(len(chosen), np.int8)
        add_products(self.caps, dual, total)
        classes = _price(self.owners, self.weights, self.caps, dual, chosen, _TOLERANCES, total, missing)
        return -(-from_halves(total) >> _DUAL_BITS), classes, missing


@kernel
def _contributions(owners: Int32s, weights: Ints, caps: Ints) -> Ints:
    """(binding,) the total of each unit's tuples, each at most its smallest cap, saturating."""
    wanted = np.zeros(len(caps), np.int64)
    for t in range(len(weights)):
        weight = weights[t]
        for j in range(owners.shape[1]):
            if owners[t, j] < len(caps):
                weight = min(weight, caps[owners[t, j]])
        for j in range(owners.shape[1]):
            u = owners[t, j]
            if u < len(caps):
                wanted[u] = min(wanted[u], MAX_UNITS - weight) + weight
    return wanted


@kernel
def _join(owners: Int32s, caps: Ints, rates: Floats, salt: int, among: Bools, chosen: Bools) -> None:
    """Choose each of some tuples that can count, with about the mean rate of its binding owners, by their hash."""
    for t in range(len(chosen)):
        if chosen[t] or not among[t]:
            continue
        code = np.uint64(salt)
        rate, count, counts = 0.0, 0, True
        for j in range(owners.shape[1]):
            u = owners[t, j]
            if u < len(caps):
                code = (code ^ np.uint64(u)) * np.uint64(0x9E3779B97F4A7C15)
                code ^= code >> np.uint64(29)
                rate += min(1.0, rates[u])
                count += 1
                counts &= caps[u] > 0
        code *= np.uint64(0xBF58476D1CE4E5B9)
        chosen[t] = counts and (code >> np.uint64(40)) * count < rate * (1 << 24)


@kernel
def _price(
    owners: Int32s,
    weights: Ints,
    caps: Ints,
    dual: Ints,
    chosen: Bools,
    tolerances: Ints,
    total: NDArray[np.uint64],
    missing: NDArray[np.int8],
) -> Ints:
    """Add sum_t w_t max(0, 1 - the duals of t's owners) over all tuples to a 128-bit total; w_t is at most a cap.

    Args:
      missing: (m,) filled with the class by `tolerances` of each tuple that is not chosen; 0 for the others.
    Returns: (2, classes) how many tuples each class has, and about what they are worth beyond their prices, in any
      unit.
    """
    classes = np.zeros((2, len(tolerances) + 1), np.int64)
    unit = (max(caps) >> 20) + 1
    for t in range(len(weights)):
        unpaid, weight = np.int64(_DUAL_ONE), weights[t]
        for j in range(owners.shape[1]):
            u = owners[t, j]
            if u < len(caps):
                unpaid -= dual[u]
                weight = min(weight, caps[u])
        at = 0
        if unpaid > 0 and weight > 0:
            add_product(weight, np.uint64(unpaid), total)
            if not chosen[t]:
                for tolerance in tolerances:
                    at += unpaid > tolerance
        missing[t] = at
        classes[0, at] += 1
        if at > 0:
            classes[1, at] += (weight // unit) * (unpaid >> _WORTH_BITS)
    return classes


def canonical_core(owners: Int32s, weights: Ints, caps: Ints) -> PreparedProgram | None:
    """The tuples that can still count, with their binding owners only, merged by owners.

    Args:
      owners: (m, width) places of the owners, ascending; those below len(caps) bind.
      weights: (m,).
      caps: (binding,) what is left of each cap; overwritten.
    Returns: tuples sorted by their owners, so that the program depends on the set of tuples only; None if no tuple
      can count.
    Cost: one pass per byte of the binding owners of a tuple.
    """
    found = _core_of_units(owners, weights, caps, 0)
    return found and found[0]


def _core_of_units(
    owners: Int32s, weights: Ints, caps: Ints, least_limit: int
) -> tuple[PreparedProgram, Ints] | None:
    """`canonical_core`, and the places that its units have among the caps.

    Args:
      least_limit: tuples of the same owners together count at most their smallest cap, or this if it is larger.
    """
    form = KeyFormat(1, len(caps), owners.shape[1])
    keys, worth = np.empty((len(form.ends) - 1, len(weights)), np.int64), np.empty(len(weights), np.int64)
    size = _pack(owners, weights, caps, form.ends, form.code_bits, keys, worth)
    if not size:
        return None
    keys, rows = sort_keys(keys[:, :size], np.arange(size, dtype=np.int32), form)
    merged, indptr = np.empty(size, np.int64), np.zeros(size + 1, np.int64)
    units = np.empty(size * owners.shape[1], np.int64)
    runs, end = _merge(keys, rows, worth, caps, form.ends, form.code_bits, least_limit, merged, indptr, units)
    places = _renumber(units[:end], len(caps))
    return PreparedProgram(
        merged[:runs], Incidence(indptr[: runs + 1], units[:end], len(places)), caps[places]
    ), places


@kernel
def _pack(owners: Int32s, weights: Ints, caps: Ints, ends: Ints, bits: int, keys: Ints, worth: Ints) -> int:
    """Write the keys of the tuples that can still count, of their binding owners only, and the smallest cap of these.

    Returns: how many such tuples there are.
    """
    size = 0
    for t in range(len(weights)):
        weight = weights[t]
        for word in range(len(ends) - 1):
            key = np.int64(0)
            for position in range(ends[word], ends[word + 1]):
                own, field = np.int64(owners[t, position]), np.int64(0)
                if own < len(caps):
                    weight, field = min(weight, caps[own]), own + 1
                key = (key << bits) | field
            keys[word, size] = key
        worth[size] = weight
        size += weight > 0
    return size


@kernel
def _merge(
    keys: Ints,
    rows: NDArray[np.integer],
    worth: Ints,
    caps: Ints,
    ends: Ints,
    bits: int,
    least_limit: int,
    weights: Ints,
    indptr: Ints,
    units: Ints,
) -> tuple[int, int]:
    """Write owners and weights of every run of equal keys. Returns the numbers of runs and of owners.

    A run counts at most the smallest cap of its owners, as each of its tuples does, or `least_limit`.
    """
    run, end, limit = -1, 0, np.int64(0)
    words, mask = len(keys), (1 << bits) - 1
    for i in range(keys.shape[1]):
        fresh = i == 0
        for word in range(words):
            fresh |= keys[word, i] != keys[word, i - 1]
        if not fresh:
            weights[run] = min(weights[run], limit - worth[rows[i]]) + worth[rows[i]]
            continue
        run += 1
        limit = np.int64(MAX_UNITS)
        for word in range(words):
            shift = bits * (ends[word + 1] - ends[word])
            for _ in range(ends[word], ends[word + 1]):
                shift -= bits
                field = (keys[word, i] >> shift) & mask
                if field:
                    units[end] = field - 1
                    limit = min(limit, caps[field - 1])
                    end += 1
        limit = max(limit, np.int64(least_limit))
        indptr[run + 1] = end
        weights[run] = worth[rows[i]]
    return run + 1, end


@kernel
def _renumber(units: Ints, size: int) -> Ints:
    """Renumber the units that occur, in order and in place. Returns the numbers that they had."""
    code = np.full(size, -1, np.int64)
    for u in units:
        code[u] = 0
    places = np.flatnonzero(code == 0)
    for number in range(len(places)):
        code[places[number]] = number
    for i in range(len(units)):
        units[i] = code[units[i]]
    return places
