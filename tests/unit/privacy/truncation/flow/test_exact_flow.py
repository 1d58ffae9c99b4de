import numpy as np
import pytest

from privacy.errors import Cancelled, SolverFailed
from privacy.truncation.control import Control
from privacy.truncation.flow.exact_flow import exact_flow
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.flow.graphs import random_graph
from tests.unit.privacy.truncation.instances import Tuple, ones, optimum, program

HUGE = MAX_UNITS - 1


def _half_units(tuples: list[Tuple], caps: list[int]) -> int:
    proof = exact_flow(program(tuples, caps))
    assert proof.value == proof.upper
    assert proof.bits == 1
    return proof.value


def test_nothing_is_worth_nothing() -> None:
    assert _half_units([], []) == 0
    assert _half_units([], [3]) == 0


def test_one_pair_counts_up_to_its_smaller_cap() -> None:
    assert _half_units([(frozenset({0, 1}), 7)], [5, 9]) == 10
    assert _half_units([(frozenset({0, 1}), 7)], [0, 9]) == 0


def test_odd_cycles_have_halves() -> None:
    for length in (3, 5, 7, 99):
        cycle: list[Tuple] = [(frozenset({i, (i + 1) % length}), 1) for i in range(length)]
        assert _half_units(cycle, [1] * length) == length


def test_odd_cycles_on_a_path_share_a_half() -> None:
    """Two triangles joined by a long path: every member can be full, by halves around both cycles."""
    path = [(frozenset({i, i + 1}), 1) for i in range(20)]
    triangles = [(frozenset(pair), 1) for pair in ((0, 21), (0, 22), (21, 22), (20, 23), (20, 24), (23, 24))]
    assert _half_units(path + triangles, [1] * 25) == 25


def test_a_star_is_worth_its_centre() -> None:
    star = ones(*({0, i} for i in range(1, 500)))
    assert _half_units(star, [7 * ONE] + [ONE] * 499) == 2 * 7 * ONE
    assert _half_units(star, [1000 * ONE] * 500) == 2 * 499 * ONE


def test_one_member_beside_pairs_comes_first() -> None:
    assert _half_units([(frozenset({0}), 3), (frozenset({0, 1}), 9)], [5, 9]) == 10


def test_repeated_pairs_add_up() -> None:
    assert _half_units([(frozenset({0, 1}), 1)] * 5, [3, 9]) == 6


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("bipartite", [True, False])
def test_the_flow_of_small_graphs_is_twice_the_optimum(seed: int, bipartite: bool) -> None:
    instance = random_graph(seed, bipartite=bipartite)
    assert exact_flow(instance).value == pytest.approx(2 * optimum(instance), abs=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_multiplying_everything_multiplies_the_optimum(seed: int) -> None:
    """Up to the last bit below 2^62, where floats have long lost the units."""
    small = random_graph(seed, heaviest=9)
    factor = HUGE // 27
    large = PreparedProgram(small.weights * factor, small.incidence, small.caps * factor)
    assert exact_flow(large).value == exact_flow(small).value * factor


def test_loads_and_totals_beyond_an_int64() -> None:
    everybody = [(frozenset({i, j}), MAX_UNITS) for i in range(9) for j in range(i)]
    assert _half_units(everybody, [HUGE] * 9) == 9 * HUGE


def test_weights_that_no_float_tells_apart() -> None:
    cycle: list[Tuple] = [(frozenset({i, (i + 1) % 5}), MAX_UNITS) for i in range(5)]
    caps = [HUGE, HUGE - 1, HUGE, HUGE - 1, HUGE - 1]
    assert _half_units(cycle, caps) == sum(caps)


def test_the_order_of_tuples_and_members_does_not_matter() -> None:
    given = random_graph(3, n=40, m=200)
    random = np.random.default_rng(0)
    table = given.incidence.units.reshape(-1, 2)
    for _ in range(5):
        rows, names = random.permutation(len(table)), random.permutation(40)
        caps = np.empty_like(given.caps)
        caps[names] = given.caps
        units = names[table[rows]].ravel()
        other = PreparedProgram(given.weights[rows], Incidence(given.incidence.indptr, units, 40), caps)
        assert exact_flow(other).value == exact_flow(given).value


def test_three_members_are_refused() -> None:
    with pytest.raises(SolverFailed):
        exact_flow(program(ones({0, 1, 2}), [ONE] * 3))


def test_a_cancelled_solve_stops() -> None:
    control = Control()
    control.cancel()
    with pytest.raises(Cancelled):
        exact_flow(random_graph(0), control)


def test_progress_names_the_steps() -> None:
    heard: list[str] = []
    exact_flow(random_graph(1, n=40, m=200), Control(progress=lambda stage, _: heard.append(stage)))
    assert heard[:2] == ["peeling", "guess"]
    assert "flow" in heard
