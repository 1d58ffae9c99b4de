"""Ranks keep their claim where one unit's rows move across all values, or one of several owners goes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, rel_entr

from privacy.accounting.event import PrivacyEvent, PureDP, leaves
from privacy.accounting.zcdp import concentration
from privacy.entropy import Entropy
from privacy.exact import decimal_fraction
from privacy.join_tuples import OwnerColumn, RankedTuples
from privacy.mechanisms.rank import CHOICE, Rank, Ranks, uniform
from privacy.mechanisms.rank_release import RankBatch, RankRelease
from privacy.mechanisms.rank_rows import SharedRows, Sharing
from privacy.mechanisms.scores import ExceedanceScores, selection_scale
from privacy.thresholds import Thresholds
from privacy.units import Floats, Ints
from tests.audit.auditing import FAILURE_PROBABILITY
from tests.audit.auditor import Outputs, epsilon_lower_bound
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

SINGLE_THRESHOLD = Thresholds(0, 0)
RUNS = 30_000
CROWD = 3
MIDDLE, TOP = 16, 18
N_CODES = TOP + 3


class WithoutTheFactorTwo(RankBatch):
    """Takes a distance's move for the whole loss: the sum of all weights moves, too."""

    def _each(self, n_groups: int) -> float:
        return 2 * super()._each(n_groups)


class WithAChoiceInShares(RankRelease):
    """Charges n equal parts, as if each rank chose a threshold of its own."""

    @property
    def event(self) -> PrivacyEvent:
        return PureDP(self.epsilon)


class WithEveryRow(RankBatch):
    """A unit with many rows weighs as much as all of them."""

    def _moves(self, rank: Rank, tau: int, n_groups: int) -> int:
        return super()._moves(rank, 1, n_groups)

    def _chosen(self, *_: object) -> int:
        return 16


def _runs(unit: dict[int, int], runs: int = RUNS, middle: int = 1) -> RankedTuples:
    """A crowd on either side, somebody in the middle, and the unit with its rows: once per run, which is a group.

    Below the middle lie fifteen values that are nobody's, above it one: where the unit moves, that one gets nearer to
    the median, and all of the others further away, so that the sum of all weights moves, too.
    """
    crowd = [0] * CROWD + [MIDDLE] * middle + [TOP] * CROWD
    people = np.arange(len(crowd) + 1)
    own = np.array(list(unit), np.int64)
    value = np.concatenate([crowd, own])
    owner = np.concatenate([people[:-1], np.full(len(own), people[-1])])
    rows = np.concatenate([np.ones(len(crowd), np.int64), list(unit.values())]).astype(np.int64)
    run = np.repeat(np.arange(runs), len(value))
    keys = run * len(people) + np.tile(owner, runs)
    owners = (OwnerColumn("person", keys, np.zeros(len(keys), np.bool_)),)
    return RankedTuples(owners, run, runs, np.tile(value, runs), np.tile(rows, runs))


def _found(batch: RankBatch, first: RankedTuples, second: RankedTuples, together: int = 1) -> float:
    def of(data: RankedTuples) -> Outputs:
        values = batch.release(data, SimulatedEntropy(20261123))[0].values.reshape(-1, together)
        places = values.astype(np.int64) @ (N_CODES ** np.arange(together))
        return Outputs(np.zeros(len(places)), places)

    return epsilon_lower_bound(of(first), of(second), FAILURE_PROBABILITY)


MEDIAN = (Rank(0.5),)
MANY, BOTH, ONE = {0: 1_000_000}, {0: 1_000_000, TOP: 1}, {TOP: 1}
"""Units: many rows below all others; a row above them, too; that one alone. Each side weighs a threshold at most."""


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [2.0, 3.0])
@pytest.mark.parametrize("unit", [MANY, BOTH, ONE])
def test_a_unit_that_goes_keeps_the_claim(epsilon: float, unit: dict[int, int]) -> None:
    found = _found(RankBatch(epsilon, MEDIAN, N_CODES, SINGLE_THRESHOLD), _runs(unit), _runs({}))
    assert (unit == BOTH or 0.3 * epsilon < found) and found <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [2.0, 3.0])
def test_a_unit_that_moves_an_extreme_keeps_it(epsilon: float) -> None:
    highest = RankBatch(epsilon, (Rank(beyond=CROWD + 1),), N_CODES)
    assert 0.4 * epsilon < _found(highest, _runs({}), _runs({TOP: 5})) <= epsilon


@pytest.mark.slow
def test_rows_on_the_side_that_weighs_less_keep_it_and_so_does_a_unit_in_two_groups() -> None:
    ninetieth = RankBatch(2.0, (Rank(0.9),), N_CODES, SINGLE_THRESHOLD)
    for before in (MANY, BOTH, ONE):
        assert _found(ninetieth, _runs(before), _runs({})) <= 2.0
    spread = RankBatch(2.0, MEDIAN, N_CODES, SINGLE_THRESHOLD, one_group=False)
    assert 0.2 < _found(spread, _two_groups(True), _two_groups(False), together=2) <= 2.0


def test_catches_a_unit_that_weighs_as_much_as_its_rows() -> None:
    with_unit, without = (_runs(rows, examples(2_000, RUNS), middle=8) for rows in (MANY, {}))
    assert _found(RankBatch(1.0, MEDIAN, N_CODES, SINGLE_THRESHOLD), with_unit, without) <= 1.0
    assert _found(WithEveryRow(1.0, MEDIAN, N_CODES), with_unit, without) > 1.0


@pytest.mark.slow
def test_catches_a_missing_factor_of_two() -> None:
    assert _found(WithoutTheFactorTwo(2.0, MEDIAN, N_CODES, SINGLE_THRESHOLD), _runs(MANY), _runs({})) > 2.0


def _two_groups(there: bool) -> RankedTuples:
    """Each run is two groups; the unit of a run has a row in both, below all other values, or is not there."""
    groups = _runs({}, 2 * RUNS)
    run = np.repeat(np.arange(RUNS if there else 0), 2)
    keys = np.concatenate([groups.owners[0].keys, 10**9 + run])
    return RankedTuples(
        (OwnerColumn("person", keys, np.zeros(len(keys), np.bool_)),),
        np.concatenate([groups.group, np.arange(len(run))]),
        2 * RUNS,
        np.concatenate([groups.value, np.zeros(len(run), np.int64)]),
        np.concatenate([groups.rows, np.ones(len(run), np.int64)]),
    )


WIDE = 10_000
"""Values of the grid below the middle that are nobody's: the more, the more of the loss is in the sum of weights."""


def _exact_loss(batch: RankBatch, first: RankedTuples, second: RankedTuples) -> float:
    """The largest logarithm of the odds of any drawn codes, all groups together: their law, without a sample.

    The groups are drawn independently, so the largest log-odds of all is the sum of each group's. Of the claim it
    leaves out what the intervals may spend, so that it is a lower bound on the loss.
    """

    def laws(tuples: RankedTuples) -> list[Floats]:
        tau, groups = batch._weighed(tuples, SimulatedEntropy(1))
        (rank,) = batch.ranks
        gamma = batch._each(tuples.n_groups) / (2 * batch._moves(rank, tau, tuples.n_groups))
        found = []
        for (offsets,) in groups:
            assert isinstance(offsets, Ranks)
            places = np.searchsorted(offsets.codes, np.arange(-1, batch.n_codes), side="right")
            at = offsets.offsets[places].astype(np.float64)
            log = -gamma * np.maximum(0.0, np.maximum(at[:-1], -at[1:]))
            found.append(log - logsumexp(log))
        return found

    odds = [one - other for one, other in zip(laws(first), laws(second), strict=True)]
    return max(sum(float(each.max()) for each in odds), sum(float(-each.min()) for each in odds))


def _spread(there: bool) -> RankedTuples:
    """Two groups, each the other's mirror image, and a unit with a row at an end of each, or no such unit.

    A rule of one group per unit lets such a unit be: only a proof keeps it out. Its two rows lie on the two sides of
    the median, and each counts in full.
    """
    crowd = np.array([0] * CROWD + [WIDE] + [WIDE + 2] * CROWD)
    ends = np.array([0, WIDE + 2] if there else [], np.int64)
    value = np.concatenate([crowd, WIDE + 2 - crowd, ends])
    owner = np.array([*range(2 * len(crowd)), *[-1, -1] * there])
    group = np.array([0] * len(crowd) + [1] * len(crowd) + [0, 1] * there)
    owners = (OwnerColumn("person", owner + 1, np.zeros(len(owner), np.bool_)),)
    return RankedTuples(owners, group, 2, value, np.ones(len(owner), np.int64))


def test_catches_a_rule_of_one_group_that_is_taken_for_a_proof() -> None:
    """Quantiles by group once took it for one; the loss was twice the claim. No sample, so no false alarm."""
    for epsilon in (0.65, 2.0):
        proved = RankBatch(epsilon, MEDIAN, WIDE + 3, SINGLE_THRESHOLD, one_group=False)
        assert 0.3 * epsilon < _exact_loss(proved, _spread(True), _spread(False)) <= epsilon
        assert _exact_loss(replace(proved, one_group=True), _spread(True), _spread(False)) > 1.5 * epsilon


SHARED_RUNS = 15_000
HUB = 0
"""The unit that comes or goes; everybody else is a pair's member of one row."""

Row = tuple[int, int, int]
"""Both owners and the value."""

PAIRS: list[Row] = [(1, 2, 0), (3, 4, 0), (5, 6, 0), (7, 8, MIDDLE), (9, 10, TOP), (11, 12, TOP), (13, 14, TOP)]
BELOW: list[Row] = [(HUB, 20 + other, 0) for other in range(6)]
ABOVE: list[Row] = [(30 + other, HUB, TOP) for other in range(6)]


class ForEachOwner(RankBatch):
    """Divides what a unit moves by the two owners of a row, and by the two sides of a value."""

    def _moves(self, rank: Rank, tau: int, n_groups: int) -> int:
        return super()._moves(rank, tau, n_groups) // 4


class Untruncated(RankBatch):
    """Adds up rows that one unit has many of, with the noise of one row."""

    tau = 8


def tuples(rows: Sequence[Row]) -> RankedTuples:
    columns = np.array(rows, np.int64).reshape(-1, 3)
    there = np.zeros(len(columns), np.bool_)
    owners = tuple(OwnerColumn("person", columns[:, place].copy(), there) for place in (0, 1))
    group = np.zeros(len(columns), np.int64)
    return RankedTuples(owners, group, 1, columns[:, 2].copy(), np.ones(len(columns), np.int64))


def _drawn(batch: RankBatch, rows: Sequence[Row], entropy: Entropy) -> Outputs:
    """What the batch's release draws, many times from one coding of the rows."""
    assert batch.sharing is not None
    tau = batch.tau if isinstance(batch, Untruncated) else 1
    (group,) = SharedRows(tuples(rows), N_CODES, batch.sharing).by_group(tau)
    (rank,) = batch.ranks
    gamma = batch._each(1) / (2 * batch._moves(rank, 1, 1))
    points = itertools.chain.from_iterable(uniform(entropy, 1000) for _ in itertools.count())
    offsets = group.of(rank)
    places = np.array([offsets.draw(gamma, points) for _ in range(SHARED_RUNS)])
    return Outputs(np.zeros(len(places)), places)


def _found_shared(batch: RankBatch, first: Sequence[Row], second: Sequence[Row]) -> float:
    return epsilon_lower_bound(
        _drawn(batch, first, SimulatedEntropy(1)), _drawn(batch, second, SimulatedEntropy(2)), FAILURE_PROBABILITY
    )


def _batch(epsilon: float, rank: Rank = MEDIAN[0], **more: object) -> RankBatch:
    return replace(RankBatch(epsilon, (rank,), N_CODES, SINGLE_THRESHOLD, sharing=Sharing(0.0)), **more)  # type: ignore[arg-type]


def _as(kind: type[RankBatch], epsilon: float) -> RankBatch:
    return kind(epsilon, MEDIAN, N_CODES, SINGLE_THRESHOLD, sharing=Sharing(0.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "least"),
    [
        (BELOW, [], 0.6),
        (ABOVE, [], 0.6),
        (BELOW + ABOVE, [], 0.0),
    ],
)
def test_a_hub_that_goes_keeps_the_claim(before: list[Row], after: list[Row], least: float) -> None:
    assert least <= _found_shared(_batch(3.0), PAIRS + before, PAIRS + after) <= 3.0


@pytest.mark.slow
def test_people_beyond_an_extreme_keep_it() -> None:
    assert 0.6 < _found_shared(_batch(3.0, Rank(beyond=3)), PAIRS + ABOVE, PAIRS) <= 3.0


@pytest.mark.slow
def test_catches_a_quarter_of_the_noise_and_rows_that_are_not_truncated() -> None:
    assert _found_shared(_as(ForEachOwner, 1.0), PAIRS + BELOW, PAIRS) > 1.0
    assert _found_shared(_as(Untruncated, 2.0), PAIRS + BELOW, PAIRS) > 2.0


def _scores_of_tau(batch: RankBatch, people: int) -> Ints:
    """(L,) the scores of all thresholds, if so many people have two rows each."""
    exceeding = np.where(batch.thresholds.taus < 2, people, 0)[None]
    scores = batch._scores(1)
    assert isinstance(scores, ExceedanceScores), "rows have one owner"
    found: Ints = scores(exceeding.astype(np.int64))[0]
    return found


def _law_of_tau(batch: RankBatch, people: int) -> Floats:
    """(L,) exactly how likely each threshold is chosen then."""
    scores = _scores_of_tau(batch, people)
    scale = selection_scale(batch.part(CHOICE))
    noise = np.arange(int(45 * scale))
    found = []
    for own, score in enumerate(scores):
        reach = score - noise
        chance = np.log1p(-np.exp(-1 / scale)) - noise / scale
        for other, rival in enumerate(scores):
            if other != own:  # the first of equals wins
                below = np.maximum(rival - reach + (other > own), 0)
                with np.errstate(divide="ignore"):
                    chance = chance + np.log1p(-np.exp(-below / scale))
        found.append(np.exp(chance).sum())
    return np.array(found)


def _charged(kind: type[RankRelease], batch: RankBatch) -> list[PrivacyEvent]:
    return [part for place in range(len(batch.ranks)) for part in leaves(kind(batch, place).event)]


def _rho(events: Sequence[PrivacyEvent]) -> float:
    return float(sum(map(concentration, events)))


@pytest.mark.parametrize("n_ranks", [2, 60, 250])
def test_many_ranks_pay_for_the_threshold_that_they_share(n_ranks: int) -> None:
    """rho bounds the divergence of all outputs, so also that of tau alone, which is computed here without noise."""
    ranks = tuple(Rank((place + 1) / (n_ranks + 1)) for place in range(n_ranks))
    batch = RankBatch(1.0, ranks, N_CODES, Thresholds(0, 1))
    scores = batch._scores(1)
    assert isinstance(scores, ExceedanceScores), "rows have one owner"
    price = int(scores.price)
    people = min(range(price, price + 400), key=lambda count: abs(np.diff(_scores_of_tau(batch, count))[0]))
    first, second = _law_of_tau(batch, people), _law_of_tau(batch, people + 1)
    diverges = max(float(rel_entr(*laws).sum()) for laws in ((first, second), (second, first)))
    assert abs(first.sum() - 1) < 1e-9
    charged = _charged(RankRelease, batch)
    assert diverges <= _rho(charged)
    if n_ranks == 250:
        assert diverges > _rho(_charged(WithAChoiceInShares, batch))
    whole = sum(decimal_fraction(one.epsilon) for one in charged if isinstance(one, PureDP))
    assert batch.epsilon <= whole <= batch.epsilon * (1 + 2.0**-40)
