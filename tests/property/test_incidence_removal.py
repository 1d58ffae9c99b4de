"""A unit with all its keys moves counts, samples, sums and Fourier coefficients by at most their sensitivity."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.papers.grouping_smoothing import (
    Incidence,
    NoisyCounts,
    coefficients,
    enforced,
    equal_groups,
    reals,
    sensitivity,
)
from privacy.papers.key_counts import _by_frequencies, _by_groups, _sensitivity
from privacy.papers.smoothing_choice import _candidates
from tests.support.seeded_draws import SeededDraws
from tests.support.seeds import examples

KEYS = 9


class OrderOfPairs(SeededDraws):
    """Each pair has the place that was written down for it, whatever other pairs there are."""

    def __init__(self, pairs: list[tuple[int, int]], places: list[list[int]]) -> None:
        super().__init__(0)
        self._places = np.array([places[unit][key] for unit, key in sorted(set(pairs))], np.int64)

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        assert size == len(self._places)
        return self._places


def table(pairs: list[tuple[int, int]], places: list[list[int]], most: int) -> Incidence:
    units, keys = np.array(pairs, np.int64).reshape(-1, 2).T
    return enforced(units, keys, KEYS, most, OrderOfPairs(pairs, places))


sets = st.sets(st.integers(0, KEYS - 1))


@given(
    sets,
    st.lists(sets, max_size=3),
    st.integers(1, KEYS + 1),
    st.integers(1, KEYS),
    st.integers(1, 7),
    st.data(),
)
@settings(max_examples=examples(40, 300))
def test_a_unit_moves_what_is_measured_by_at_most_its_sensitivity(
    gone: set[int], crowd: list[set[int]], most: int, size: int, frequencies: int, data: st.DataObject
) -> None:
    places = [data.draw(st.permutations(range(KEYS))) for _ in range(len(crowd) + 1)]
    others = [(unit + 1, key) for unit, own in enumerate(crowd) for key in own]
    before = table([*((0, key) for key in gone), *others], places, most)
    after = table(others, places, most)
    assert (before.moved, before.most) == (after.moved, after.most)
    move = before.counts - after.counts
    assert np.abs(move).sum() <= before.moved
    samples = [np.bincount(one.first, minlength=KEYS) for one in (before, after)]
    assert np.abs(samples[0] - samples[1]).sum() <= 1
    group = equal_groups(np.array(places[0]), size)
    assert np.abs(np.bincount(group, move)).sum() <= before.moved
    assert abs(move.sum()) <= before.most
    m = reals(KEYS, frequencies)
    changed = np.abs(coefficients(before.counts, m) - coefficients(after.counts, m)).sum()
    assert changed <= sensitivity(KEYS, frequencies, before.moved, before.most)
    smooth = NoisyCounts(np.zeros(KEYS), np.ones(KEYS), group, size, "gs_s", 1.0)
    assert abs(_by_groups(before, smooth) - _by_groups(after, smooth)) <= _sensitivity(KEYS, before.moved, 0)
    biases = [_by_frequencies(one, frequencies) for one in (before, after)]
    assert abs(biases[0] - biases[1]) <= _sensitivity(KEYS, before.moved, frequencies)
    candidates = zip(*(_candidates(one, np.array(places[0]), Fraction(1)) for one in (before, after)), strict=True)
    for one, other in candidates:
        assert (one.released, one.sensitivity, one.coarse) == (other.released, other.sensitivity, other.coarse)
        assert abs(one.excess - other.excess) <= one.sensitivity * (1 + 1e-9)


def test_every_change_of_few_counts_stays_within_the_sensitivity_of_the_coefficients_and_the_papers_is_exceeded() -> (
    None
):
    """All changes of up to s of d counts by 1. The paper's sqrt(rho d s), of complex coefficients, is too little.

    Smoothing moves counts that a whole unit changes, all in one direction, by at most the sensitivity of the bias.
    Of some d and s it moves them by more than nine tenths of it.
    """
    exceeded, reached = False, 0.0
    for d, frequencies, s in itertools.product((3, 4, 5, 8), (1, 2, 3), (1, 2, 3)):
        m, s = reals(d, frequencies), min(s, d)
        basis = np.stack([coefficients(np.eye(d, dtype=np.int64)[key], m) for key in range(d)])
        changes = np.array([one for one in itertools.product((-1, 0, 1), repeat=d) if np.abs(one).sum() <= s])
        worst = np.abs(changes @ basis).sum(axis=1).max()
        assert worst <= sensitivity(d, frequencies, s, s)
        if m < d:
            whole = changes[(changes >= 0).all(axis=1)]
            moved = np.abs(whole - (whole @ basis) @ basis.T / (d * 4.0**20)).max() * 1024
            assert moved <= _sensitivity(d, s, frequencies) - 1
            reached = max(reached, moved / _sensitivity(d, s, frequencies))
        exceeded |= worst > (frequencies * d * s) ** 0.5 * 2.0**20
    assert exceeded
    assert reached > 0.9


def test_every_whole_unit_moves_the_bias_of_groups_by_less_than_one_count_and_nearly_by_one() -> None:
    """All units of up to w keys of one group of w, whatever the others' counts are at."""
    for w in (2, 3, 8):
        smooth = NoisyCounts(np.zeros(w), np.ones(w), np.zeros(w, np.int64), w, "gs_s", 1.0)
        crowds = [[(1 + unit, 0) for unit in range(9)], [(1 + key, key) for key in range(w)], []]
        moves = []
        for crowd, own in itertools.product(crowds, itertools.product((False, True), repeat=w)):
            unit = [(0, key) for key in range(w) if own[key]]
            biases = []
            for pairs in ([*unit, *crowd], crowd):
                units, keys = np.array(pairs, np.int64).reshape(-1, 2).T
                biases.append(_by_groups(Incidence(units, keys, w, w), smooth))
            moves.append(abs(biases[0] - biases[1]))
        assert max(moves) <= _sensitivity(w, w, 0)
        assert max(moves) >= (1 - 1 / w) * 1024 - 1
