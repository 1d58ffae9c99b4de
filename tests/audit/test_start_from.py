"""Releases at remembered thresholds keep their claim whatever was remembered; mutants that see the data do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from privacy.audit.outputs import Outputs
from privacy.ladder import Ladder
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.start_from import Earlier, at_rung, start_from
from privacy.noisy_answer import NoisyAnswer
from tests.audit.auditing import RUNS, audit, loss_bound, slow, thresholds
from tests.audit.mutants import WeakerNoise
from tests.audit.pairs import Table, crowd_and_one_more, empty_and_full_unit, repeated
from tests.support.simulated_entropy import SimulatedEntropy

SHORT = Ladder(-3, 4)
GEM = Gem(1.0, groups_per_unit=1, ladder=SHORT, monotone=True, nested=True)
PEOPLE = 40


def _at(rung: int) -> Measurement:
    made: Measurement = at_rung(GEM, rung)
    return made


def _along(pair: tuple[Table, Table], rung: int) -> tuple[Table, Table]:
    """The values at the one threshold."""
    place = rung - SHORT.low
    return pair[0][place : place + 1], pair[1][place : place + 1]


@pytest.mark.parametrize("rung", [slow(SHORT.low), 0, slow(SHORT.high)])
def test_whatever_is_remembered_the_release_spends_what_it_may_and_no_more(rung: int) -> None:
    """The remembered threshold is a public parameter: right, far too large or far too small for the data."""
    for pair in (empty_and_full_unit(SHORT), crowd_and_one_more(SHORT, PEOPLE, load=1.5)):
        assert 0.9 < audit(_at(rung), _along(pair, rung)) <= 1.0


def test_two_releases_spend_two_shares_where_the_second_starts_from_the_first() -> None:
    """The rule sees the first answer, which is as it is drawn: adaptive composition, audited as one mechanism."""
    pair = crowd_and_one_more(SHORT, PEOPLE, load=1.5)
    found = _two_releases(pair, lambda first, _: _remembered(first))
    assert 0.0 < found <= 2.0


def test_catches_a_threshold_that_the_data_say() -> None:
    """The mutant takes the least threshold that cuts nobody: the one unit more moves it."""
    pair = crowd_and_one_more(SHORT, PEOPLE, load=1.5)

    def of_the_data(first: NoisyAnswer, table: Table) -> np.ndarray:
        uncut = SHORT.low + int(np.argmax(table == table[-1]))
        return np.full(len(first.values), uncut)

    assert _two_releases(pair, of_the_data) > 2.0


def test_catches_the_noise_of_a_smaller_threshold() -> None:
    """The mutant truncates at the remembered threshold with the noise of the one below."""
    pair = _along(empty_and_full_unit(SHORT), 1)
    assert audit(_at(1), pair, WeakerNoise(SimulatedEntropy(4), laplace=0.5)) > 1.0


def test_a_unit_in_two_groups() -> None:
    shared = SharedThreshold(PureBudget(1.0), 2, ladder=SHORT, nested=True)
    scalar = at_rung(GroupLp(shared), 0).scalar
    pair = _along(empty_and_full_unit(SHORT), 0)
    assert isinstance(scalar, SharedThreshold)
    assert 0.85 < audit(scalar, pair, together=2) <= 1.0
    assert audit(replace(scalar, groups_per_unit=1), pair, together=2) > 1.0


Rule = Callable[[NoisyAnswer, Table], "np.ndarray"]


def _remembered(first: NoisyAnswer) -> np.ndarray:
    """What each run's own first answer says."""
    told = zip(first.tau.tolist(), np.rint(first.values).tolist(), strict=True)
    return np.array([_rung_after(tau, value) for tau, value in told])


@cache
def _rung_after(tau: float, value: float) -> int:
    """What one answer says, of a whole value, so that few are worked out."""
    rung = start_from(GEM, [Earlier("gem", tau, value, 2 * tau, True, 1.0, 4 * tau, True)], 1)
    assert rung is not None
    return rung


def _two_releases(pair: tuple[Table, Table], rule: Rule, runs: int = RUNS // 5) -> float:
    source = SimulatedEntropy(20261126)

    def run(table: Table, size: int) -> Outputs:
        first = GEM.release(repeated(table, SHORT, size), source)
        rungs = rule(first, table)
        total, label = first.values / first.tau, thresholds(first) * 100
        for rung in np.unique(rungs):
            which = np.flatnonzero(rungs == rung)
            values = table[rung - SHORT.low : rung - SHORT.low + 1]
            second = _at(int(rung)).release(repeated(values, Ladder(int(rung), int(rung)), len(which)), source)
            total[which] += second.values / second.tau
            label[which] += int(rung)
        return Outputs(total, label)

    return loss_bound(run, pair, runs)
