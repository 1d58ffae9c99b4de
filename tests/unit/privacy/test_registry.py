"""What the registry says of mechanisms, and what it builds."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from privacy import mechanisms, papers
from privacy.accounting.event import PureDP
from privacy.entropy import OpendpEntropy
from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import ServedGroupMeasurement, ServedMeasurement
from privacy.mechanisms.shared_threshold import fixed_threshold
from privacy.mechanisms.sums import Sum
from privacy.papers.r2t import R2T
from privacy.registry import (
    COMPARISON,
    MECHANISMS,
    OFFERED,
    AllGroups,
    EachGroup,
    JointMechanism,
    KeyMechanism,
    ScalarMechanism,
    group_measurements,
    key_counts,
    measurement,
    measures_together,
    release_together,
    why_not_served,
)
from privacy.sampling.design import SampleDesign
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from tests.support import papers as compared
from tests.unit.privacy.refusals import refuses_each


def test_makes_mechanisms_by_name() -> None:
    assert measurement("fixed", EachGroup(0.5, 2, 0.01)) == fixed_threshold(0.5, 2, 0.01)
    assert measurement("gem", EachGroup(0.5, 2, 0.01)) == Gem(PureBudget(0.5), 2, 0.01, monotone=True)
    assert measurement("r2t", EachGroup(0.5, None, 0.01, 64.0)) == R2T(0.5, 64.0, None, 0.01)


def test_a_threshold_above_a_unit_s_tuples_is_left_out() -> None:
    assert measurement("gem", EachGroup(1.0, tuples_per_unit=1000)).thresholds == Thresholds(-20, 10)
    assert measurement("gem", EachGroup(1.0, whole=True, tuples_per_unit=1024)).thresholds == Thresholds(0, 10)
    assert measurement("gem", EachGroup(1.0, whole=True, tuples_per_unit=1)).thresholds == Thresholds(0, 0)
    assert measurement("gem", EachGroup(1.0, tuples_per_unit=1 << 40)).thresholds == Thresholds()


def test_a_sum_without_a_bound_is_none_for_bound_first() -> None:
    (made,) = group_measurements("bound_first", AllGroups([Sum(1.0, 0.0, Thresholds(0, 8), bound=200)], 0.0, 1))
    assert (made.name, made.expected_noise(1)[-1][0]) == ("bound_first", 200.0)
    with pytest.raises(InvalidParameter, match="needs a bound"):
        group_measurements("bound_first", AllGroups([Sum(1.0, 0.0, Thresholds(0, 8))], 0.0, 1))


def test_averages_are_tested_against_the_bound_and_spend_no_more() -> None:
    sums = [Sum(0.4, 0.0, Thresholds(0, 8), bound=200), Sum(0.6, 0.0, Thresholds(), bound=200)]
    for made, one in zip(group_measurements("joint_scale", AllGroups(sums, 0.0, 1)), sums, strict=True):
        assert (made.epsilon, made.event) == (one.epsilon, PureDP(one.epsilon))
        assert made.expected_noise(1)[-1][0] == 200.0


def test_a_sample_buys_less_noise_and_says_what_it_rests_on() -> None:
    sample = SampleDesign(1 / 64, 1024, 2.0)
    plain = measurement("gem", EachGroup(1.0, whole=True, tuples_per_unit=1024))
    sampled = measurement("gem", EachGroup(1.0, whole=True, tuples_per_unit=1024, sample=sample))
    assert sampled.expected_noise()[-1][1] < plain.expected_noise()[-1][1] / 10
    assert plain.epsilon_if_bound_fails() == plain.epsilon == sampled.epsilon < sampled.epsilon_if_bound_fails()
    alone = sampled.epsilon_if_bound_fails()
    assert sampled.epsilon_if_bound_fails(7) == pytest.approx(alone, rel=1e-5), (
        "every group's share is the seventh part"
    )


def test_refuses_what_it_cannot_make() -> None:
    refuses_each(lambda name: measurement(name, EachGroup(1.0)), ["r2t", "GEM", ""])


def test_names_alone_load_neither_kernels_nor_noise() -> None:
    """The command line needs the names, and starts in a moment."""
    code = "import sys, privacy.registry as _; print(*{'numba', 'opendp', 'scipy', 'cvxpy'} & sys.modules.keys())"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.split() == []


def test_a_mechanism_is_served_or_compared_and_its_entry_has_its_name() -> None:
    assert not MECHANISMS.keys() & COMPARISON.keys()
    assert {*OFFERED, "fixed", "bound_first", "joint_scale", "rank"} == set(MECHANISMS)
    each = EachGroup(1.0, 1, 0.0, 8.0, True, 8)
    made: list[ServedMeasurement | ServedGroupMeasurement] = []
    together = AllGroups([Sum(1.0, 0.0, Thresholds(0, 3), bound=8)], 1e-6, 1)
    for name, entry in MECHANISMS.items():
        if isinstance(entry, ScalarMechanism):
            alone = entry.build(each)
            assert (alone.name, alone.epsilon) == (name, 1.0)
            made.append(alone)
        elif isinstance(entry, KeyMechanism):
            counted = key_counts(name, 1.0, 4, 2)
            assert (counted.name, counted.epsilon) == (name, 1.0)
            assert (counted.event, entry.approximate) == (PureDP(1.0), False)
            assert pickle.loads(pickle.dumps(counted)) == counted
        elif isinstance(entry, JointMechanism):
            (joint,) = entry.build(together)
            assert joint.name == name
            made.append(joint)
            assert (joint.delta > 0) >= entry.approximate
            assert pickle.loads(pickle.dumps(joint)).name == name  # a worker process is given it
        else:
            assert name == "rank"
    assert {one.name for one in made if measures_together(one)} == {
        "group_lp",
        "l1_clip",
        "l2_clip",
        "joint_scale",
        "bound_first",
        "pmsja",
        "s4s_vector",
    }


def _names(kind: ast.ClassDef) -> Iterator[str]:
    """What a class is called: its attribute `name`, or what the property of that name may return."""
    for node in kind.body:
        found = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "name"
        named = isinstance(node, ast.FunctionDef) and node.name == "name"
        returned = [one for one in ast.walk(node) if named and isinstance(one, ast.Return)]
        for value in [node] if found else returned:
            texts = (one.value for one in ast.walk(value) if isinstance(one, ast.Constant))
            yield from (text for text in texts if isinstance(text, str))


def test_every_mechanism_in_the_code_stands_in_the_registry() -> None:
    named = {
        name
        for folder in (mechanisms, papers, compared)
        for path in Path(folder.__path__[0]).rglob("*.py")
        for kind in ast.walk(ast.parse(path.read_text()))
        if isinstance(kind, ast.ClassDef)
        for name in _names(kind)
    }
    selection_of_groups = {"group_threshold", "vote_threshold"}  # which groups are shown; no release
    of_one_class_with_gem = {"fixed"}
    assert named | of_one_class_with_gem == {*MECHANISMS, *COMPARISON} | selection_of_groups


def test_a_comparison_mechanism_is_not_made_by_a_server() -> None:
    for name in COMPARISON:
        assert why_not_served(name) == COMPARISON[name]
        with pytest.raises(InvalidParameter):
            measurement(name, EachGroup(1.0))
        with pytest.raises(InvalidParameter):
            group_measurements(name, AllGroups([Sum(1.0, 0.0, Thresholds(0, 3))], 1e-6))


def test_mechanisms_for_all_groups_and_for_each_are_not_confused() -> None:
    with pytest.raises(InvalidParameter):
        measurement("l2_clip", EachGroup(1.0))
    with pytest.raises(InvalidParameter):
        group_measurements("gem", AllGroups([Sum(1.0, 0.0, Thresholds(0, 3))], 1e-6))


def test_only_counts_by_key_are_made_as_such() -> None:
    refuses_each(lambda name: key_counts(name, 1.0), ["gem", "group_lp", "laplace_global", ""])


def test_sums_of_several_mechanisms_are_not_released_together() -> None:
    join = JoinTuples((OwnerColumn("a", np.arange(3), np.zeros(3, bool)),), np.zeros(3, int), 1, np.ones((2, 3), int))
    tuples, one = encode(join), Sum(1.0, 0.0, Thresholds(0, 3))
    (group_lp,), (l2_clip,) = (
        group_measurements(name, AllGroups([one], 1e-6, 1)) for name in ("group_lp", "l2_clip")
    )
    assert len(release_together([group_lp, group_lp], tuples, OpendpEntropy())) == 2
    refuses_each(
        lambda made: release_together(made, tuples, OpendpEntropy()),
        ([], [group_lp, l2_clip], [measurement("gem", EachGroup(1.0))]),
    )
