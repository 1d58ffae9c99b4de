"""What a solver is asked for one group at one threshold: a core, beside a part that is settled already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from privacy.ladder import Ladder
from privacy.truncation.programs.program import PreparedProgram


@dataclass(frozen=True, eq=False, repr=False)
class Reduced:
    """min(MAX_UNITS, the optimum) is min(MAX_UNITS, `settled` plus the optimum of `core`).

    Attributes:
      settled: units, exact up to MAX_UNITS; a larger optimum has at least MAX_UNITS here or in the core.
      core: what only a solver can decide; None when nothing is left.
    """

    settled: int
    core: PreparedProgram | None

    def __repr__(self) -> str:
        return "Reduced(<private>)"


class Instance(Protocol):
    """A block of independent programs, one per group, on a ladder of thresholds."""

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        ...

    def reduced(self, group: int, index: int) -> Reduced:
        """The program of one group at threshold ladder.units[index], before presolve."""
        ...


class Programs(Protocol):
    """A block of independent programs, one per group, for any threshold."""

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        ...

    def program(self, group: int, tau: int) -> PreparedProgram:
        """The truncation program of one group at threshold tau, before presolve."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class WholePrograms:
    """Programs of which nothing is settled: all of the tuples of a group are the core.

    Attributes:
      programs: one per group.
      ladder: the thresholds.
    """

    programs: Programs
    ladder: Ladder

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self.programs.n_groups

    def reduced(self, group: int, index: int) -> Reduced:
        """The program of a cell with nothing settled beforehand: threshold ladder.units[index], one group."""
        program = self.programs.program(group, int(self.ladder.units[index]))
        return Reduced(0, program if len(program.weights) else None)

    def __repr__(self) -> str:
        return "WholePrograms(<private>)"
