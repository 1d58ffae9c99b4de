"""Quantiles and extremes: the draw of a value, the width of its interval, and what is released."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import EntropyFailed, InvalidParameter
from privacy.join_tuples import OwnerColumn, RankedTuples
from privacy.mechanisms.rank import (
    MOST_CODES,
    STEP,
    Rank,
    Ranks,
    WidthSearch,
    check_codes,
    default_beyond,
    draw_code,
    uniform,
)
from privacy.mechanisms.rank_release import RankBatch, RankRelease
from privacy.thresholds import Thresholds
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls, refuses_each

TAU = 1 << 24


def ranks(weights: dict[int, int], n_codes: int, target: int) -> Ranks:
    codes = np.array(sorted(weights), np.int64)
    levels = np.concatenate([[0], np.cumsum([weights[code] * TAU for code in codes.tolist()])]).astype(np.int64)
    return Ranks(codes, levels - target, n_codes)


def law(of: Ranks, gamma: float) -> NDArray[np.float64]:
    """By its definition, value by value."""
    before = np.array([of.offset(code - 1) for code in range(of.n_codes)])
    own = np.array([of.offset(code) for code in range(of.n_codes)])
    distance = np.maximum(0, np.maximum(before, -own)).astype(np.float64)
    weight = np.exp(-gamma * (distance - distance.min()))
    return np.asarray(weight / weight.sum())


def test_each_value_is_drawn_as_often_as_its_distance_says() -> None:
    """By points evenly spread over all that `uniform` returns: their share of a value is its probability."""
    number = examples(1_000, 20_000)
    points = [(2 * place + 1) * (1 << 160) // (2 * number) for place in range(number)]
    for weights, n_codes, rank in [
        ({3: 2, 4: 1, 11: 5}, 20, 4.0),
        ({0: 1, 19: 1}, 20, 1.0),
        ({}, 7, 0.0),
        ({5: 4}, 6, 2.0),
        ({0: 3}, 1, 1.0),
        ({1: 1, 2: 1, 3: 1}, 12, -2.0),
        ({8: 1, 9: 1}, 12, 5.0),
    ]:
        for gamma in [0.05, 0.7, 40.0]:
            one = ranks(weights, n_codes, int(rank * TAU))
            drawn = [draw_code(one, gamma / TAU, point) for point in points]
            shares = np.bincount(drawn, minlength=n_codes) / len(drawn)
            assert shares == pytest.approx(law(one, gamma / TAU), abs=1.5 / len(drawn) * (n_codes + 1))


def test_what_is_far_is_drawn_as_one_wherever_it_lies() -> None:
    one = ranks({500: 200}, 1000, 100 * TAU)
    assert draw_code(one, 1.0 / TAU, 1 << 159) == 500
    assert draw_code(one, 1.0 / TAU, (1 << 160) - 1) == 999
    far = ranks({500: 1}, 1000, TAU // 2)
    ends = {draw_code(far, 1e-9 / TAU, point) for point in (0, (1 << 160) - 1)}
    assert ends == {0, 999}
    # uniform numbers fill their range and a grid is not too fine
    drawn = np.array(uniform(SimulatedEntropy(3), 4000), object) / (1 << 160)
    assert drawn.min() >= 0 and drawn.max() < 1
    assert abs(float(np.mean(drawn)) - 0.5) < 0.05
    check_codes(MOST_CODES)
    refuses_each(check_codes, (0, MOST_CODES + 1))


SEARCH = WidthSearch(Fraction(1), STEP + 1, 1000, 0.05)


def rising(centre: int, steps: int) -> Callable[[int], int]:
    """An offset that is 0 at the centre and moves by so many units' worth per value."""
    return lambda code: (code - centre) * steps * STEP


def test_without_noise_it_is_the_first_width_beyond_the_margin() -> None:
    exactly = np.zeros(SEARCH.comparisons, np.int64)
    width = SEARCH.width(rising(500, 1), 500, exactly)
    assert width * STEP >= SEARCH.margin
    assert width // 3 * STEP < SEARCH.margin


def test_it_grows_until_it_holds_a_rank_that_is_far_away() -> None:
    exactly = np.zeros(SEARCH.comparisons, np.int64)
    assert 230 <= SEARCH.width(rising(500, 1), 270, exactly) < 3 * (230 + SEARCH.margin / STEP)
    # where nothing changes it is the whole grid
    width = SEARCH.width(lambda _: 0, 500, np.zeros(SEARCH.comparisons, np.int64))
    assert 500 - width <= 0 and 500 + width >= 999
    # wants a draw for each comparison
    with pytest.raises(EntropyFailed):
        SEARCH.width(rising(1, 1), 1, np.zeros(1, np.int64))


def test_one_side_is_searched_alone() -> None:
    upwards = WidthSearch(Fraction(1), STEP + 1, 1000, 0.05, below=False)
    noise = np.zeros(upwards.comparisons, np.int64)

    def a_step_above(code: int) -> int:
        return 0 if code < 500 else 10**6 * STEP

    assert upwards.width(a_step_above, 499, noise) < 30
    assert SEARCH.width(a_step_above, 499, noise) > 400


def test_noise_says_enough_too_early_as_rarely_as_is_told() -> None:
    """The offset of the rank itself is 0: one comparison of three that succeeds by noise is a miss."""
    generator = np.random.default_rng(7)
    short = WidthSearch(Fraction(1), STEP + 1, 40, 0.05)
    noise = np.round(generator.laplace(0, short.scale, (4_000, short.comparisons))).astype(np.int64)

    def never(code: int) -> int:
        return 0

    found = np.array([short.width(never, 20, row) for row in noise])
    missed = np.mean(found < 27)
    assert 0.01 < missed < 0.06


N_CODES = 1001


def tuples(people: int, rows: int, seed: int = 1, groups: int = 1) -> RankedTuples:
    """Every person has as many rows, of values that nobody else decides."""
    generator = np.random.default_rng(seed)
    unit = np.repeat(np.arange(people), rows)
    owners = (OwnerColumn("person", unit, np.zeros(len(unit), np.bool_)),)
    value = generator.integers(0, N_CODES, len(unit))
    group = np.zeros(len(unit), np.int64) if groups == 1 else generator.integers(0, groups, len(unit))
    return RankedTuples(owners, group, groups, value, np.ones(len(unit), np.int64))


def share_below(of: RankedTuples, value: float) -> float:
    return float(np.mean(of.value <= value))


def test_a_quantile_has_about_its_rank_and_its_interval_holds_the_true_one() -> None:
    for quantile in [0.0, 0.1, 0.5, 0.9, 1.0]:
        people = tuples(4000, 3)
        batch = RankBatch(1.0, (Rank(quantile),), N_CODES)
        true = np.quantile(people.value, quantile)
        found = [batch.release(people, SimulatedEntropy(seed))[0] for seed in range(31)]
        ranks = [abs(share_below(people, float(one.values[0])) - quantile) for one in found]
        assert np.median(ranks) < 0.02, quantile
        assert np.mean([one.low[0] <= true <= one.high[0] for one in found]) > 0.9, quantile
        assert {one.mechanism for one in found} == {"rank"}, quantile
        assert all(one.low[0] <= one.values[0] <= one.high[0] for one in found), quantile


def test_several_quantiles_rise_and_share_the_budget() -> None:
    batch = RankBatch(1.0, (Rank(0.75), Rank(0.25), Rank(0.5)), N_CODES)
    upper, lower, middle = batch.release(tuples(200, 2), SimulatedEntropy(5))
    assert lower.values[0] <= middle.values[0] <= upper.values[0]
    assert sum(one.epsilon for one in (upper, lower, middle)) == pytest.approx(1.0)


def test_about_k_people_lie_beyond_an_extreme() -> None:
    for highest in [True, False]:
        people = tuples(5000, 4)
        k = default_beyond(1.0, N_CODES)
        batch = RankBatch(1.0, (Rank(beyond=k, highest=highest),), N_CODES)
        beyond = []
        for seed in range(31):
            value = batch.release(people, SimulatedEntropy(seed))[0].values[0]
            outside = people.value > value if highest else people.value < value
            beyond.append(len(np.unique(people.owners[0].keys[outside])))
        assert abs(float(np.median(beyond)) - k) < 25, highest  # a step of the grid is five people


def test_each_group_has_its_own() -> None:
    people = tuples(6000, 2, groups=3)
    shifted = RankedTuples(
        people.owners, people.group, 3, np.minimum(people.value // 2 + people.group * 200, N_CODES - 1), people.rows
    )
    batch = RankBatch(4.0, (Rank(0.5),), N_CODES, one_group=False)
    values = np.median([batch.release(shifted, SimulatedEntropy(seed))[0].values for seed in range(9)], axis=0)
    assert values == pytest.approx([250, 450, 650], abs=40)


def test_nobodys_rows_and_rows_without_a_value_count_nowhere() -> None:
    people = tuples(50, 1)
    none = np.full(50, True)
    nobody = RankedTuples(
        (OwnerColumn("person", people.owners[0].keys, none),), people.group, 1, people.value, people.rows
    )
    unknown = RankedTuples(people.owners, people.group, 1, np.full(50, -1), people.rows)
    outside = RankedTuples(people.owners, np.full(50, -1), 1, people.value, people.rows)
    empty = RankBatch(1.0, (Rank(0.5),), N_CODES)
    answers = [empty.release(one, SimulatedEntropy(7))[0] for one in (nobody, unknown, outside)]
    assert len({answer.values[0] for answer in answers}) == 1
    assert all(answer.may_be_clipped.all() for answer in answers)


def test_a_value_beyond_the_grid_counts_at_its_end_and_says_by_how_many_rows_a_rank_is_off() -> None:
    """An error would tell that there is such a row."""
    short = RankBatch(50.0, (Rank(1.0),), 5)
    assert short.release(tuples(900, 1), SimulatedEntropy(1))[0].values[0] == 4
    alone = RankBatch(1.0, (Rank(0.5),), N_CODES, Thresholds(0, 0))
    assert alone.rows_off(4.0, 1) == pytest.approx(4 * alone.rows_off(1.0, 1))
    assert RankBatch(0.1, (Rank(0.5),), N_CODES, Thresholds(0, 0)).rows_off(1.0, 1) > 9 * alone.rows_off(1.0, 1)
    # a release is one of its batch
    batch = RankBatch(1.0, (Rank(0.5), Rank(0.9)), N_CODES, Thresholds(0, 3))
    one = RankRelease(batch, 1)
    assert (one.name, one.epsilon, one.epsilon_if_bound_fails()) == ("rank", 0.5, 0.5)
    assert [tau for tau, _ in one.expected_noise()] == [1.0, 2.0, 4.0, 8.0]
    one.check_noise(1000)
    with pytest.raises(InvalidParameter):
        RankRelease(RankBatch(1e-9, (Rank(0.5),), N_CODES), 0).check_noise(1)


def test_what_is_no_batch_is_refused() -> None:
    refuses_calls(Rank, (1.5,))
    refuses(Rank, beyond=[-1, 1 << 40])
    median, third = Rank(0.5), Rank(beyond=3)
    mixed = [(), (median, third), (third, Rank(beyond=3, highest=False))]
    usual = {"epsilon": 1.0, "ranks": (median,), "n_codes": N_CODES}
    refuses(RankBatch, usual, epsilon=[0.0], ranks=mixed, n_codes=[0], thresholds=[Thresholds(-1, 3)])
