"""The search for shares: its norms, its cuts, its pilots, and how it is watched and stopped."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from privacy.papers.vector_program import certificate, cutting_planes, search
from privacy.papers.vector_program.certificate import WHOLE, on_grid
from privacy.papers.vector_program.cutting_planes import cuts_at
from privacy.papers.vector_program.norms import Removal, squared_norms
from privacy.papers.vector_program.patterns import build_core, contributions_at
from privacy.papers.vector_program.search import DEFAULT_GAP, VectorInstance
from privacy.thresholds import Thresholds
from privacy.units import MAX_UNITS, ONE
from tests.support.seeds import ALL, examples
from tests.unit.privacy.papers.vector_program.vectors import Grouped, compacted, feasible


def test_the_limbs_are_the_exact_square() -> None:
    for size in [3, ONE, 1 << 45, MAX_UNITS // 8]:
        rng = np.random.default_rng(size)
        rows = [(frozenset({0}), int(rng.integers(size)), g) for g in (0, 1, 2) for _ in range(2)]
        norms = squared_norms(compacted(rows), 0)
        exact = sum(sum(w for _, w, g in rows if g == group) ** 2 for group in range(3))
        assert (int(norms.high[0]) << 62) + int(norms.low[0]) == exact, size


def test_a_pythagorean_length_does_not_exceed_itself() -> None:
    big = 3 << 55
    norms = squared_norms(compacted([(frozenset({0}), big, 0), (frozenset({0}), big // 3 * 4, 1)]), 0)
    assert not norms.exceed(big // 3 * 5)[0]
    assert norms.exceed(big // 3 * 5 - 1)[0]


def test_saturated_loads_exceed_every_threshold_and_are_removed_entirely() -> None:
    rows = [(frozenset({0, other}), MAX_UNITS, 0) for other in range(1, 6)]
    norms = squared_norms(compacted(rows), 0)
    assert norms.exceed(MAX_UNITS).tolist() == [True, *[False] * 5]
    assert norms.shares(MAX_UNITS)[0] == 1.0


def crowd(seed: int) -> list[Grouped]:
    """Some hubs among many."""
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, 61)
    chances /= chances.sum()
    return [
        (frozenset(rng.choice(60, 4, p=chances).tolist()), int(rng.integers(1, ONE)), int(rng.integers(3)))
        for _ in range(1500)
    ]


@cache
def without_a_pilot(seed: int, taus: tuple[int, ...]) -> list[Removal]:
    """What is removed at each threshold where no pilot pays: the same for every sample that is compared with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_WORTHWHILE", 1 << 62)
        plain = VectorInstance(compacted(crowd(seed)))
        return [plain.removal(tau) for tau in taus]


@pytest.mark.slow
def test_a_bad_sample_costs_rounds_and_no_certificate_and_selection_equals_a_scan() -> None:
    thresholds = Thresholds(0, 10)
    for seed, sample in itertools.product(range(examples(1, 4)), (10, 60, 300) if ALL else (10,)):
        tuples, whole = compacted(crowd(seed)), without_a_pilot(seed, tuple(thresholds.units.tolist()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "_SAMPLE", sample)
            patch.setattr(search, "_WORTHWHILE", 4)
            for tau, plain in zip(thresholds.units.tolist(), whole, strict=True):
                removal = VectorInstance(tuples).removal(tau)
                assert feasible(tuples, removal, tau), (seed, sample, tau)
                assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP, (seed, sample, tau)
                assert removal.lower <= plain.removed and plain.lower <= removal.removed, (seed, sample, tau)
            sampled = VectorInstance(tuples)
            scanned = [sampled.removal(tau).removed for tau in thresholds.units.tolist()]
            assert all(abs(a.removed - b) <= DEFAULT_GAP for a, b in zip(whole, scanned, strict=True))
            rng = np.random.default_rng(seed)
            for limit in (1, 3, 8, 20):
                stop = np.floor((limit + rng.laplace(0, 2, len(thresholds))) * WHOLE).astype(np.int64)
                passing = (np.array(scanned) <= stop).tolist()
                expected = passing.index(True) if any(passing) else None
                assert VectorInstance(tuples).select(thresholds, stop) == expected, (seed, sample, limit)


def triples(seed: int, people: int = 30, rows: int = 300) -> list[Grouped]:
    rng = np.random.default_rng(seed)
    return [
        (frozenset(rng.integers(people, size=3).tolist()), int(rng.integers(ONE)), int(rng.integers(3)))
        for _ in range(rows)
    ]


def test_rows_are_the_same_however_they_are_summed() -> None:
    for seed, block in itertools.product(range(examples(2, 8)), (1, 100)):
        tuples = compacted(triples(seed))
        over = squared_norms(tuples, 0).exceed(2 * ONE)
        core = build_core(tuples, 0, over, np.arange(tuples.n_units), np.zeros(tuples.n_units), 2 * ONE)
        point = on_grid(np.random.default_rng(seed).random(tuples.n_units) / 2)
        contributions = contributions_at(core, point)
        broken = np.flatnonzero(core.norms_of(contributions) > 1.0)
        assert len(broken) > 3, seed
        whole = cuts_at(core, point, contributions, broken)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cutting_planes, "_BLOCK", block)
            patch.setattr(cutting_planes, "_PASSES", 1000 if block > 1 else 0)
            other = cuts_at(core, point, contributions, broken)
        for name in ("indptr", "columns", "values", "bound", "direction"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(other, name))


def test_many_who_share_nothing_close_their_gap() -> None:
    n = examples(5_000, 100_000)
    removal = VectorInstance(compacted([(frozenset({u}), 3 * ONE, 0) for u in range(n)])).removal(ONE)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP


def test_passes_in_pieces_are_the_same_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples = compacted(crowd(1))
    whole = VectorInstance(tuples).removal(10 * ONE)
    for entries in (1, 4000) if not ALL else (1, 7, 4000):
        monkeypatch.setattr(certificate, "_ENTRIES", entries)
        pieces = VectorInstance(tuples).removal(10 * ONE)
        assert (pieces.removed, pieces.lower) == (whole.removed, whole.lower), entries
        assert np.array_equal(pieces.shares, whole.shares), entries
