from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.join_tuples import OwnerColumn, RankedTuples
from privacy.ladder import Ladder
from privacy.mechanisms.ranks.default_beyond import default_beyond
from privacy.mechanisms.ranks.rank import Rank
from privacy.mechanisms.ranks.rank_release import RankBatch, RankRelease
from tests.support.simulated_entropy import SimulatedEntropy

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


@pytest.mark.parametrize("quantile", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_a_quantile_has_about_its_rank_and_its_interval_holds_the_true_one(quantile: float) -> None:
    people = tuples(4000, 3)
    batch = RankBatch(1.0, (Rank(quantile),), N_CODES)
    true = np.quantile(people.value, quantile)
    found = [batch.release(people, SimulatedEntropy(seed))[0] for seed in range(31)]
    ranks = [abs(share_below(people, float(one.values[0])) - quantile) for one in found]
    assert np.median(ranks) < 0.02
    assert np.mean([one.low[0] <= true <= one.high[0] for one in found]) > 0.9
    assert {one.mechanism for one in found} == {"rank"}
    assert all(one.low[0] <= one.values[0] <= one.high[0] for one in found)


def test_several_quantiles_rise_and_share_the_budget() -> None:
    batch = RankBatch(1.0, (Rank(0.75), Rank(0.25), Rank(0.5)), N_CODES)
    upper, lower, middle = batch.release(tuples(200, 2), SimulatedEntropy(5))
    assert lower.values[0] <= middle.values[0] <= upper.values[0]
    assert sum(one.epsilon for one in (upper, lower, middle)) == pytest.approx(1.0)


@pytest.mark.parametrize("highest", [True, False])
def test_about_k_people_lie_beyond_an_extreme(highest: bool) -> None:
    people = tuples(5000, 4)
    k = default_beyond(1.0, N_CODES)
    batch = RankBatch(1.0, (Rank(beyond=k, highest=highest),), N_CODES)
    beyond = []
    for seed in range(31):
        value = batch.release(people, SimulatedEntropy(seed))[0].values[0]
        outside = people.value > value if highest else people.value < value
        beyond.append(len(np.unique(people.owners[0].keys[outside])))
    assert abs(float(np.median(beyond)) - k) < 25  # a step of the grid is five people


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
    assert all(answer.may_be_cut.all() for answer in answers)


def test_a_value_beyond_the_grid_counts_at_its_end() -> None:
    """An error would tell that there is such a row."""
    short = RankBatch(50.0, (Rank(1.0),), 5)
    assert short.release(tuples(900, 1), SimulatedEntropy(1))[0].values[0] == 4


def test_says_by_how_many_rows_a_rank_is_off() -> None:
    alone = RankBatch(1.0, (Rank(0.5),), N_CODES, Ladder(0, 0))
    assert alone.rows_off(4.0, 1) == pytest.approx(4 * alone.rows_off(1.0, 1))
    assert RankBatch(0.1, (Rank(0.5),), N_CODES, Ladder(0, 0)).rows_off(1.0, 1) > 9 * alone.rows_off(1.0, 1)


def test_a_release_is_one_of_its_batch() -> None:
    batch = RankBatch(1.0, (Rank(0.5), Rank(0.9)), N_CODES, Ladder(0, 3))
    one = RankRelease(batch, 1)
    assert (one.name, one.epsilon, one.epsilon_if_bound_fails()) == ("rank", 0.5, 0.5)
    assert [tau for tau, _ in one.expected_noise()] == [1.0, 2.0, 4.0, 8.0]
    one.check_noise(1000)
    with pytest.raises(InvalidParameter):
        RankRelease(RankBatch(1e-9, (Rank(0.5),), N_CODES), 0).check_noise(1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Rank(1.5),
        lambda: Rank(beyond=-1),
        lambda: Rank(beyond=1 << 40),
        lambda: RankBatch(1.0, (), N_CODES),
        lambda: RankBatch(1.0, (Rank(0.5), Rank(beyond=3)), N_CODES),
        lambda: RankBatch(1.0, (Rank(beyond=3), Rank(beyond=3, highest=False)), N_CODES),
        lambda: RankBatch(1.0, (Rank(0.5),), 0),
        lambda: RankBatch(0.0, (Rank(0.5),), N_CODES),
        lambda: RankBatch(1.0, (Rank(0.5),), N_CODES, Ladder(-1, 3)),
    ],
)
def test_what_is_no_batch_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameter):
        wrong()  # type: ignore[operator]
