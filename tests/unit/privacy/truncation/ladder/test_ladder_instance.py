"""What bucketing settles, and the core that it leaves, are worth what the whole program is worth."""

import numpy as np
import pytest

from privacy.ladder import Ladder
from privacy.truncation.compact import compact
from privacy.truncation.distinct.group_instance import group_instance
from privacy.truncation.encode import encode
from privacy.truncation.ladder.ladder_instance import ladder_instance
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import Tuple, from_sets, ones, optimum

LADDER = Ladder(-3, 6)


def _tuples(seed: int, m: int, owners: int) -> list[Tuple]:
    random = np.random.default_rng(seed)
    weights = random.choice([0, 1, ONE // 3, ONE, 9 * ONE], m)
    return [(frozenset(random.integers(0, 9, owners).tolist()), int(w)) for w in weights]


@pytest.mark.parametrize("owners", [1, 2, 3, 5])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_settled_and_core_add_up_to_the_program(owners: int, n_groups: int) -> None:
    random = np.random.default_rng(owners)
    for seed, m in enumerate([0, 1, 5, 12, 30]):
        tuples = from_sets(_tuples(seed, m, owners), random.integers(0, n_groups, m).tolist(), n_groups)
        instance, whole = ladder_instance(encode(tuples), 0, LADDER), group_instance(compact(tuples), 0)
        for j in random.permutation(len(LADDER)).tolist():
            for group in range(n_groups):
                tau = int(LADDER.units[j])
                reduced = instance.reduced(group, j)
                rest = 0.0 if reduced.core is None else optimum(reduced.core)
                assert abs(reduced.settled + rest - optimum(whole.program(group, tau))) <= 1e-6 * tau
                if reduced.core is not None:
                    assert np.all(reduced.core.incidence.owners > 1)
                    assert np.all(reduced.core.weights > 0)
                    assert np.all(reduced.core.incidence.degrees > 0)


def test_a_core_does_not_depend_on_what_was_asked_before() -> None:
    tuples = encode(from_sets(_tuples(7, 60, 3)))
    used = ladder_instance(tuples, 0, LADDER)
    for j in (8, 2, 5, 0, 3):
        core, fresh = used.reduced(0, j).core, ladder_instance(tuples, 0, LADDER).reduced(0, j).core
        if core is None or fresh is None:
            assert core is fresh
            continue
        assert core.weights.tolist() == fresh.weights.tolist()
        assert core.caps.tolist() == fresh.caps.tolist()
        assert core.incidence.units.tolist() == fresh.incidence.units.tolist()


def test_only_tuples_with_two_binding_owners_are_left_and_only_while_these_have_room() -> None:
    hub = ones((0, 1), (0, 2), (1, 3), (0, 1), (0, 1))  # loads 4, 4, 1, 1
    reduced = ladder_instance(encode(from_sets(hub)), 0, Ladder(0, 2)).reduced(0, 1)
    assert reduced.core is not None
    assert (reduced.settled, reduced.core.weights.tolist()) == (2 * ONE, [ONE])
    assert reduced.core.caps.tolist() == [ONE, ONE]
    full = ladder_instance(encode(from_sets(hub)), 0, Ladder(0, 2)).reduced(0, 0)
    assert (full.settled, full.core) == (2 * ONE, None)


def test_sums_beyond_an_int64_are_exact_until_they_saturate() -> None:
    star = [(frozenset({0, i}), MAX_UNITS) for i in range(1, 6)] + [(frozenset({7, 8}), 5)]
    instance = ladder_instance(encode(from_sets(star)), 0, Ladder(-20, 32))
    for j, tau in enumerate(Ladder(-20, 32).units.tolist()):
        reduced = instance.reduced(0, j)
        rest = 0.0 if reduced.core is None else optimum(reduced.core)
        assert min(MAX_UNITS, reduced.settled + round(rest)) == min(MAX_UNITS, tau + 5)


def test_nothing_private_is_shown() -> None:
    instance = ladder_instance(encode(from_sets(_tuples(1, 30, 3))), 0, LADDER)
    assert repr(instance) == "LadderInstance(<private>)"
    assert repr(instance.file) == "TupleFile(<private>)"
    assert repr(instance.reduced(0, 0)) == "Reduced(<private>)"
