"""Every attack, by its class: what the tests and the benchmark play."""

from __future__ import annotations

from tests.security.attacks.browser import BROWSER
from tests.security.attacks.budget_races import BUDGET_RACES
from tests.security.attacks.connections import CONNECTIONS
from tests.security.attacks.differencing import DIFFERENCING
from tests.security.attacks.error_oracles import ERROR_ORACLES
from tests.security.attacks.identity import IDENTITY
from tests.security.attacks.inner_clauses import INNER_CLAUSES
from tests.security.attacks.lone_groups import LONE_GROUPS
from tests.security.attacks.low_bits import LOW_BITS
from tests.security.attacks.reach import REACH
from tests.security.attacks.sampling_seeds import SAMPLING_SEEDS
from tests.security.attacks.shared_state import SHARED_STATE
from tests.security.attacks.statement_text import STATEMENT_TEXT
from tests.security.attacks.timing import TIMING
from tests.security.attacks.traces import TRACES
from tests.security.game import Attack, AttackClass

CATALOGUE: tuple[AttackClass, ...] = (
    DIFFERENCING,
    LONE_GROUPS,
    ERROR_ORACLES,
    INNER_CLAUSES,
    REACH,
    STATEMENT_TEXT,
    SAMPLING_SEEDS,
    SHARED_STATE,
    TIMING,
    LOW_BITS,
    BUDGET_RACES,
    IDENTITY,
    CONNECTIONS,
    TRACES,
    BROWSER,
)

ATTACKS: tuple[tuple[AttackClass, Attack], ...] = tuple((one, attack) for one in CATALOGUE for attack in one.attacks)
