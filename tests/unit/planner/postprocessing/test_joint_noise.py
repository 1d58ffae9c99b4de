"""Intervals of windows, sums over rows and quotients: how often they hold what they are of, over simulated noises."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sqlglot import exp, parse_one

from planner.postprocessing.interval_ends import ShownIntervals, add_interval_ends
from planner.postprocessing.lineage import NoisyColumns

ANSWER = "noisegate answer 1"
NOISY = NoisyColumns(
    {ANSWER: frozenset({"a1", "a2", "a3"})}, {ANSWER: frozenset({"a1", "a2"})}, {ANSWER: frozenset({"a1"})}
)
TRUTH = np.array([[400.0, 90.0], [150.0, 70.0], [90.0, 80.0], [700.0, 60.0], [10.0, 50.0]])
SCALE = 6.0
RUNS, FAR = 5_000, 4.8
"""Runs, and by how many deviations a share of them may fall short of 95%. The noise follows from a seed."""


def ends(sql: str) -> tuple[exp.Select, ShownIntervals]:
    tree = parse_one(sql, dialect="postgres")
    assert isinstance(tree, exp.Select)
    return tree, add_interval_ends(tree, NOISY)


def spoken(items: str, rest: str = "") -> str:
    return f'SELECT {items} FROM "{ANSWER}" AS a {rest}'


SHOWN = (
    "a1 / NULLIF(SUM(a1) OVER (), 0)",
    "ROUND(100.0 * a1 / NULLIF(SUM(a1) OVER (), 0), 4)",
    "SUM(a1) OVER (ORDER BY k1)",
    "AVG(a1) OVER (ORDER BY k1 ROWS 2 PRECEDING)",
    "a1 - LAG(a1) OVER (ORDER BY k1)",
    "a1 / NULLIF(LAG(a1) OVER (ORDER BY k1), 0)",
    "a1 - AVG(a1) OVER ()",
    "SUM(a1) OVER () / NULLIF(SUM(a2) OVER (), 0)",
    "SUM(a1) OVER () / NULLIF(GREATEST(SUM(a2) OVER (), 0), 0)",
    "2 * a1 - SUM(a2) OVER (ORDER BY k1)",
)


def computed(
    tree: exp.Select, values: NDArray[np.float64], half: float, missing: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """(R, rows, columns) of the statement over each of R answers, each a partition of one.

    Args:
      missing: (rows, 2) how much farther the upper ends are than the lower ones; None of nothing.
    """
    whole = tree.copy()
    for window in whole.find_all(exp.Window):
        window.set("partition_by", [exp.column("run")])
    runs, rows, _ = values.shape
    flat = values.reshape(-1, 2)
    more = np.zeros_like(flat) if missing is None else np.tile(missing, (runs, 1))
    table = pa.table(
        {"run": np.repeat(np.arange(runs), rows), "k1": np.tile(np.arange(rows), runs)}
        | {f"a{column + 1}{end}": flat[:, column] + sign * half + (sign > 0) * more[:, column]
           for column in (0, 1) for end, sign in (("", 0), (" low", -1), (" high", 1))}
    )  # fmt: skip
    with duckdb.connect() as connection:
        connection.register(ANSWER, table)
        found = connection.execute(whole.order_by("run", "k1").sql(dialect="duckdb")).fetchnumpy()
    return np.stack([np.ma.filled(one.astype(float), np.nan) for one in found.values()], -1).reshape(runs, rows, -1)


def test_what_has_intervals() -> None:
    _, shown = ends(spoken("k1, a1, a1 / NULLIF(SUM(a1) OVER (), 0), SUM(a3) OVER (), a1 * a2, MAX(a1) OVER ()"))
    assert (shown.places, shown.joint, shown.values) == ((1, 2, 4), (2,), 2)
    assert shown.floored == (1, 2) and shown.keys == ((0, ANSWER, "k1"),)
    assert ends(spoken("SUM(a1), MAX(a1)"))[1].places == (0,)
    assert ends(spoken("k1, SUM(a1)", "GROUP BY k1"))[1].joint == (1,)
    assert ends(spoken("a1, SUM(a2)", "GROUP BY a1"))[1].places == (1,), "a noisy key is no row's value"
    assert not ends(spoken("SUM(DISTINCT a1)"))[1].places
    twice = f'SELECT SUM(a.a1) OVER () FROM "{ANSWER}" AS a CROSS JOIN "{ANSWER}" AS b'
    assert not ends(twice)[1].places, "a noise may be there several times"


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_intervals_hold_as_often_as_they_say(noise: str) -> None:
    """A value is compared with what the same statement makes of the true answer."""
    rng = np.random.default_rng(46)
    half = SCALE * (np.log(20) if noise == "laplace" else 1.96)
    tree, shown = ends(spoken(", ".join(f"{one} AS s{place}" for place, one in enumerate(SHOWN))))
    assert shown.places == tuple(range(len(SHOWN)))
    shape, width = (RUNS, *TRUTH.shape), len(SHOWN)
    drawn = rng.laplace(0, SCALE, shape) if noise == "laplace" else rng.normal(0, SCALE, shape)
    exact = computed(tree, TRUTH[None], half)[0, :, :width]
    found = computed(tree, TRUTH + drawn, half)
    low, high = found[..., width::2], found[..., width + 1 :: 2]
    held = (~((exact < low) | (exact > high))).mean(axis=0)[~np.isnan(exact)]  # an end that is not bounded holds
    assert held.min() >= 0.95 - FAR * np.sqrt(0.95 * 0.05 / RUNS)
    assert held.mean() <= 0.985, "they are about as wide as they need be"


def test_what_may_be_missing_is_added_up_and_moves_one_end() -> None:
    """Of a fifth of each value nothing is missing, or all, or all in every other row, or in one column alone."""
    rng, half = np.random.default_rng(47), SCALE * np.log(20)
    shown_too = (*SHOWN, "a1 / NULLIF(SUM(a2) OVER () - 2000, 0)", "-AVG(a1) OVER ()", "a2 / NULLIF(a1 - 2000, 0)")
    tree, shown = ends(spoken(", ".join(f"{one} AS s{place}" for place, one in enumerate(shown_too))))
    missing, width = TRUTH / 5, len(shown_too)
    assert shown.places == tuple(range(width))
    runs = RUNS // 5
    found = computed(tree, TRUTH + rng.laplace(0, SCALE, (runs, *TRUTH.shape)), half, missing)
    low, high = found[..., width::2], found[..., width + 1 :: 2]
    parts = 0.0, 1.0, np.arange(5)[:, None] % 2, np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for exact in computed(tree, np.stack([TRUTH + part * missing for part in parts]), half)[..., :width]:
        held = (~((exact < low) | (exact > high))).mean(axis=0)[~np.isnan(exact)]
        assert held.min() >= 0.95 - FAR * np.sqrt(0.95 * 0.05 / runs)
    ended = ~np.isnan(low + high)
    assert ended[:, 1:].mean() > 0.9, "nearly all of them have ends"


def test_a_total_lacks_what_its_parts_lack() -> None:
    """And an average as much as one of them: no half of it, and not by the root of their number."""
    tree, _ = ends(spoken("SUM(a1) OVER () AS s0, AVG(a1) OVER () AS s1"))
    alike = np.tile(TRUTH[:1], (4, 1))
    plain, more = (computed(tree, alike[None], 10.0, one)[0, 0] for one in (None, np.full((4, 2), 50.0)))
    assert plain.tolist() == pytest.approx([1600, 400, 1580, 1620, 395, 405])
    assert (more - plain).tolist() == pytest.approx([0, 0, 0, 200, 0, 50])
