"""What a policy says of the outputs that no epsilon covers: whether a question ends, and when."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import PolicyInvalid
from planner.limits import MIN_EPSILON
from planner.policy.toml_section import TomlSection

DEFAULT_MIN_EPSILON = 1e-3
ANSWER_QUANTUM_S = 1.0
_LONGEST_QUANTUM_S = 60.0


@dataclass(frozen=True)
class SideChannels:
    """The custodian's settings in `[privacy]`; the defaults are safe.

    Attributes:
      min_epsilon: the least that one query may ask for, in [1e-4, epsilon]. Every answer also says that it did not
        fail: at 1e-3 an account of epsilon 10 is told so ten thousand times at most, and a noise of a thousand people
        still says something about a million.
      unbounded_joins: may private tables meet by other conditions than keys (`planner.sensitivity.join_size`)?
      max_join_tuples: a query whose public bound on join tuples is larger, or unknown, is refused; None: there is no
        such limit.
      answer_quantum_s: answers of joins that may explode leave at 8 times it, or at 1, 2, 4, ... times it, as epsilon
        pays for; 0: when they are there.
      hold_all_answers: do the answers of linear joins wait as well?
    """

    min_epsilon: float = DEFAULT_MIN_EPSILON
    unbounded_joins: bool = False
    max_join_tuples: int | None = None
    answer_quantum_s: float = ANSWER_QUANTUM_S
    hold_all_answers: bool = False


def read_side_channels(privacy: TomlSection, epsilon: float) -> SideChannels:
    """The settings of a policy's `[privacy]`.

    Args:
      epsilon: the default charge, which may always be asked for.
    Raises: PolicyInvalid.
    """
    settings = SideChannels(
        min_epsilon=privacy.number("min_epsilon", max(MIN_EPSILON, min(DEFAULT_MIN_EPSILON, epsilon))),
        unbounded_joins=privacy.flag("unbounded_joins", False),
        max_join_tuples=privacy.count("max_join_tuples"),
        answer_quantum_s=privacy.number("answer_quantum", ANSWER_QUANTUM_S),
        hold_all_answers=privacy.flag("hold_all_answers", False),
    )
    if not settings.min_epsilon >= MIN_EPSILON:
        raise PolicyInvalid(f"privacy.min_epsilon: must be at least {MIN_EPSILON:g}")
    if not 0 <= settings.answer_quantum_s <= _LONGEST_QUANTUM_S:
        raise PolicyInvalid(f"privacy.answer_quantum: must be between 0 and {_LONGEST_QUANTUM_S:g} seconds")
    return settings
