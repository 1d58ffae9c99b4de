from collections.abc import Sequence

import numpy as np
import pytest

from privacy.errors import InvalidParameter, SolverFailed
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.truncation.programs.certificate import Certificate
from privacy.truncation.programs.large_core import LargeCore
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.solver_routes import certified_optimum
from privacy.truncation.programs_by_threshold import programs_by_threshold
from privacy.truncation.small_groups import cheap_bounds
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import Tuple, from_sets, ones, optimum_of

GAP = 0.01
PETERSEN = ones(
    *[(i, (i + 1) % 5) for i in range(5)],
    *[(i, i + 5) for i in range(5)],
    *[(i + 5, (i + 2) % 5 + 5) for i in range(5)],
)


class Counting:
    """The real optimiser, counted."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, program: PreparedProgram | LargeCore, slack: int) -> Certificate:
        self.calls += 1
        return certified_optimum(program, slack)


def _answer(
    tuples: Sequence[Tuple], thresholds: Thresholds, group: Sequence[int] | None = None, n_groups: int = 1
) -> tuple[LazyAnswer, Counting]:
    counting = Counting()
    instance = programs_by_threshold(encode(from_sets(tuples, group, n_groups)), 0, thresholds)
    return LazyAnswer(instance, cheap_bounds(instance), thresholds, GAP, counting), counting


def _hypergraph(seed: int, m: int = 80, n: int = 20) -> list[Tuple]:
    random = np.random.default_rng(seed)
    return [(frozenset(random.integers(0, n, 3).tolist()), int(random.integers(1, 8)) * ONE) for _ in range(m)]


def test_every_cell_lies_within_the_gap_below_the_optimum() -> None:
    tuples, thresholds = _hypergraph(0), Thresholds(-3, 8)
    answer, _ = _answer(tuples, thresholds)
    for j, tau in enumerate(thresholds.units.tolist()):
        exact = optimum_of(tuples, tau)
        assert exact - GAP * tau - 1e-6 * exact <= answer.solve(0, j) <= exact * (1 + 1e-6)


def test_bounds_hold_before_and_after_and_close_where_solved() -> None:
    thresholds = Thresholds(-3, 8)
    values = [_answer(_hypergraph(1), thresholds)[0].solve(0, j) for j in range(len(thresholds))]
    answer, _ = _answer(_hypergraph(1), thresholds)
    for j in (5, 0, 4, 6, 11, 1):
        low, high = answer.bounds()
        assert np.all((low[0] <= values) & (values <= high[0]))
        assert answer.solve(0, j) == values[j]
        assert low[0, j] == high[0, j] == values[j]


def _sloppy(program: PreparedProgram | LargeCore, slack: int) -> Certificate:
    """The worst proof that is still allowed: the value as far below the upper bound as the slack permits."""
    proof = certified_optimum(program, slack)
    return Certificate(proof.upper - (slack << proof.bits), proof.upper, proof.bits)


def test_bounds_allow_for_neighbours_solved_better_than_the_cell_itself() -> None:
    class Uneven:
        """Exact at the first question, as bad as allowed at every other."""

        def __init__(self, exact: int) -> None:
            self.exact = exact

        def __call__(self, program: PreparedProgram | LargeCore, slack: int) -> Certificate:
            best = int(program.caps[0]) == self.exact
            return certified_optimum(program, slack) if best else _sloppy(program, slack)

    # Nearly proportional to tau up to 8, so that an exact cell there bounds its neighbours as tightly as can be.
    tuples = [(owners, 8 * weight) for owners, weight in _hypergraph(6)] + [(frozenset({98, 99}), ONE // 8)]
    thresholds = Thresholds(-2, 6)
    instance = programs_by_threshold(encode(from_sets(tuples)), 0, thresholds)
    for first in range(len(thresholds)):
        uneven = Uneven(int(thresholds.units[first]))
        answer = LazyAnswer(instance, cheap_bounds(instance), thresholds, GAP, uneven)
        values = [
            LazyAnswer(instance, cheap_bounds(instance), thresholds, GAP, uneven).solve(0, j)
            for j in range(len(thresholds))
        ]
        for j in [first, *range(len(thresholds))]:
            answer.solve(0, j)
            low, high = answer.bounds()
            assert np.all((low[0] <= values) & (values <= high[0]))


def test_the_order_of_questions_does_not_change_an_answer() -> None:
    thresholds = Thresholds(-3, 8)
    up, _ = _answer(_hypergraph(2), thresholds)
    down, _ = _answer(_hypergraph(2), thresholds)
    rising = [up.solve(0, j) for j in range(len(thresholds))]
    falling = [down.solve(0, j) for j in reversed(range(len(thresholds)))]
    assert rising == falling[::-1]


def test_a_cell_is_solved_once_and_flat_thresholds_never() -> None:
    answer, counting = _answer(_hypergraph(3), Thresholds(0, 20))
    assert answer.solve(0, 2) == answer.solve(0, 2)
    assert counting.calls == 1
    for j in range(10, 21):
        assert answer.solve(0, j) == sum(w for _, w in _hypergraph(3) if w)
    assert counting.calls == 1


def test_below_the_smallest_weight_one_program_serves_all_thresholds() -> None:
    thresholds = Thresholds(-20, 3)
    star = [*PETERSEN, *ones((0, 1, 2), (3, 4, 5))]
    answer, counting = _answer(star, thresholds)
    values = [answer.solve(0, j) for j in range(21)]
    assert counting.calls <= 1
    assert values == [values[20] >> (20 - j) for j in range(21)]


def test_groups_are_separate_programs() -> None:
    first, second, thresholds = _hypergraph(4), _hypergraph(5), Thresholds(0, 6)
    both, _ = _answer(first + second, thresholds, [0] * 80 + [2] * 80, 3)
    for j in range(len(thresholds)):
        assert both.solve(0, j) == _answer(first, thresholds)[0].solve(0, j)
        assert both.solve(1, j) == 0
        assert both.solve(2, j) == _answer(second, thresholds)[0].solve(0, j)


def test_an_empty_table_is_worth_nothing_and_asks_nobody() -> None:
    answer, counting = _answer([], Thresholds(-20, 32))
    assert not np.any(answer.bounds())
    assert [answer.solve(0, j) for j in (0, 52)] == [0, 0]
    assert counting.calls == 0


def test_one_unit_that_owns_everything_gives_the_threshold() -> None:
    answer, counting = _answer([(frozenset({0, i}), ONE) for i in range(1, 100)], Thresholds(-20, 32))
    expected = np.minimum(Thresholds(-20, 32).units, 99 * ONE)
    assert [answer.solve(0, j) for j in range(53)] == expected.tolist()
    assert counting.calls == 0


def test_truncated_values_stop_at_the_largest_weight() -> None:
    clique = [(frozenset({i, j}), MAX_UNITS) for i in range(5) for j in range(i)]
    answer, _ = _answer(clique, Thresholds(-20, 32))
    units = Thresholds(-20, 32).units.tolist()
    for j in (0, 30, 50, 51, 52):
        assert answer.solve(0, j) <= min(MAX_UNITS, 5 * units[j] // 2)
        assert answer.solve(0, j) >= min(MAX_UNITS, 5 * units[j] // 2) - GAP * units[j]
    assert answer.solve(0, 52) == MAX_UNITS


def test_a_solver_that_fails_leaves_the_cell_open() -> None:
    def refuse(program: PreparedProgram | LargeCore, slack: int) -> Certificate:
        raise SolverFailed("scripted")

    thresholds = Thresholds(0, 3)
    instance = programs_by_threshold(encode(from_sets(_hypergraph(0))), 0, thresholds)
    answer = LazyAnswer(instance, cheap_bounds(instance), thresholds, GAP, refuse)
    answer.sharpen(0, 0)
    low, high = answer.bounds()
    open_cells = np.flatnonzero(low[0] < high[0])
    assert len(open_cells) > 1
    for j in open_cells.tolist():
        for ask in (answer.solve, answer.sharpen):
            with pytest.raises(SolverFailed):
                ask(0, j)
        assert low[0, j] < high[0, j]


def test_a_first_look_bounds_a_cell_without_a_program_and_a_second_solves_it() -> None:
    answer, counting = _answer(_hypergraph(0), Thresholds(0, 3))
    value = _answer(_hypergraph(0), Thresholds(0, 3))[0].solve(0, 1)
    low, high = (bound[0, 1] for bound in answer.bounds())
    answer.sharpen(0, 1)
    closer_low, closer_high = (bound[0, 1] for bound in answer.bounds())
    assert counting.calls == 0
    assert low <= closer_low <= value <= closer_high <= high
    assert closer_high - closer_low < high - low
    answer.sharpen(0, 1)
    assert counting.calls == 1
    assert [bound[0, 1] for bound in answer.bounds()] == [value, value]


def test_a_gap_out_of_range_is_refused_and_bounds_cannot_be_written_and_nothing_private_is_shown() -> None:
    for gap in [-0.1, 1e-10, 1e-4, 1.0, float("nan"), float("inf")]:
        thresholds = Thresholds(-20, 3)
        instance = programs_by_threshold(encode(from_sets(PETERSEN)), 0, thresholds)
        with pytest.raises(InvalidParameter):
            LazyAnswer(instance, cheap_bounds(instance), thresholds, gap)
    answer, _ = _answer(PETERSEN, Thresholds(0, 3))
    with pytest.raises(ValueError, match="read-only"):
        answer.bounds()[0][0, 0] = 1
    assert repr(answer) == "LazyAnswer(<private>)"


def test_sharpening_goes_by_way_of_a_rough_value_that_changes_nothing() -> None:
    owners = np.random.default_rng(5).permuted(np.tile(np.arange(30), (400, 1)), axis=1)[:, :3]
    table, thresholds = ones(*owners.tolist()), Thresholds(0, 8)
    slacks: list[int] = []

    def noted(program: PreparedProgram | LargeCore, slack: int) -> Certificate:
        slacks.append(slack)
        return certified_optimum(program, slack)

    instance = programs_by_threshold(encode(from_sets(table)), 0, thresholds)
    answer = LazyAnswer(instance, cheap_bounds(instance), thresholds, GAP, noted)
    asked: list[list[int]] = []
    for index, tau in enumerate(thresholds.units.tolist()):
        slacks.clear()
        for _ in range(3):  # a look, a rough value, the value
            answer.sharpen(0, index)
        low, high = answer.bounds()
        assert low[0, index] == high[0, index] == _answer(table, thresholds)[0].solve(0, index)
        assert slacks in ([], [4 * tau], [4 * tau, int(GAP * tau) // 2])
        asked.append(slacks.copy())
    assert max(map(len, asked)) > 0
