import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from privacy.errors import Cancelled, InvalidParameter
from privacy.truncation.control import Control
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.highs_solver import HighsSolver
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.solver import LinearProgramSolver
from privacy.truncation.solver_routes import certified_optimum
from privacy.units import ONE


def _big(m: int, n: int) -> PreparedProgram:
    """A random hypergraph with a threshold that nearly everybody exceeds."""
    random = np.random.default_rng(1)
    units = np.sort(random.integers(0, n - 2, (m, 3)), axis=1) + np.arange(3)
    return PreparedProgram(
        np.full(m, ONE, np.int64), Incidence(np.arange(0, 3 * m + 1, 3), units.ravel(), n), np.full(n, 3 * ONE)
    )


def _seconds_to_stop(solve: Callable[[Control], object], after_s: float) -> float:
    """Processor time between the request and the end: what others do on this machine is not the solver's fault."""
    asked: list[float] = []

    def stop() -> None:
        asked.append(time.process_time())
        control.cancel()

    control = Control()
    timer = threading.Timer(after_s, stop)
    timer.start()
    with pytest.raises(Cancelled):
        solve(control)
    return time.process_time() - asked[0]


@pytest.mark.timed
def test_a_cancelled_solve_of_a_big_program_ends_within_a_second() -> None:
    program = _big(1_000_000, 60_000)
    certified_optimum(_big(8_000, 2_000), ONE // 100)  # compile first
    for after_s in (0.05, 0.5, 2.0):
        assert _seconds_to_stop(lambda control: certified_optimum(program, 1, control=control), after_s) < 1.0


@pytest.mark.parametrize(
    "solver",
    [HighsSolver("simplex"), HighsSolver("ipm"), FirstOrderSolver(), CoordinateSolver(1 << 40)],
    ids=["simplex", "ipm", "first_order", "coordinate"],
)
@pytest.mark.timed
def test_every_solver_can_be_cancelled(solver: LinearProgramSolver) -> None:
    program = _big(200_000, 20_000)
    next(solver.points(_big(100, 20)))
    assert _seconds_to_stop(lambda control: list(solver.points(program, control)), 0.5) < 1.0


def test_a_control_that_was_cancelled_before_stops_at_once() -> None:
    control = Control()
    control.cancel()
    with pytest.raises(Cancelled, match=r"^the solve was cancelled$"):
        certified_optimum(_big(100, 20), ONE, control=control)


def test_progress_names_stages_and_counts_steps_without_changing_the_value() -> None:
    heard: list[tuple[str, int]] = []
    program = _big(20_000, 3000)
    listened = certified_optimum(program, ONE // 100, control=Control(progress=lambda *step: heard.append(step)))
    silent = certified_optimum(program, ONE // 100)
    assert (listened.value, listened.upper) == (silent.value, silent.upper)
    assert {stage for stage, _ in heard} <= {"presolve", "coordinate sweeps", "first-order iterations"}
    assert heard[0] == ("presolve", 0)


def test_parameters_are_checked() -> None:
    with pytest.raises(InvalidParameter):
        Control(threads=0)
    with pytest.raises(InvalidParameter):
        Control(memory_limit=-1)
