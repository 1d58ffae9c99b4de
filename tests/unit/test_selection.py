"""What `make test` hands to pytest: suites, layers and seeds."""

from __future__ import annotations

import pytest

from tests.support import seeds, selection

pytest_plugins = ["pytester"]


def test_a_layer_is_every_test_that_imports_it() -> None:
    """By whatever way: a test of the pipeline imports all three packages, one of the units of weight only its own."""
    assert selection._packages_below("privacy/units.py") == {"privacy"}
    assert selection._packages_below("planner/binding/bind.py") >= {"planner"}
    assert "server" not in selection._packages_below("planner/binding/bind.py")
    assert selection._packages_below("server/pipeline.py") == {"privacy", "planner", "server"}


def test_a_sample_is_of_the_seed_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "ALL", False)
    cases = range(1000)
    first = list(seeds.sampled(cases, 20))
    assert first == sorted(first) == list(seeds.sampled(cases, 20))
    assert len(set(first)) == 20
    monkeypatch.setattr(seeds, "SEED", seeds.SEED + 1)
    assert list(seeds.sampled(cases, 20)) != first
    monkeypatch.setattr(seeds, "ALL", True)
    assert list(seeds.sampled(cases, 20)) == list(cases)


@pytest.mark.parametrize(
    ("options", "everything", "passed"),
    [((), False, 1), pytest.param((), True, 2, marks=pytest.mark.slow), (("--suite", "all"), False, 3)],
)
def test_a_command_chooses_tests_by_their_marks(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    everything: bool,
    passed: int,
) -> None:
    monkeypatch.setattr(selection, "ALL", everything)
    pytester.makeini("[pytest]\nmarkers =\n  slow: x\n  browser: x\n")
    pytester.makepyfile(
        test_marks="""
        import pytest
        def test_usual(): pass
        @pytest.mark.slow
        def test_slow(): pass
        @pytest.mark.browser
        @pytest.mark.slow
        def test_page(): pass
        """
    )
    result = pytester.runpytest_inprocess("-p", "tests.support.selection", "-p", "no:randomly", *options)
    result.assert_outcomes(passed=passed, deselected=3 - passed)
