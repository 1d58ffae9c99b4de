"""GS beside LPA, FPA, GS-R and GS-S, and our default, in the mean absolute and relative error over all keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.mechanisms.groups.keep_groups import keep_groups
from privacy.mechanisms.groups.sums import Sum
from privacy.published.grouping.fpa import FPA
from privacy.published.grouping.gs import GS
from privacy.published.grouping.gs_r import GSR
from privacy.published.grouping.gs_s import GSS
from privacy.published.grouping.incidence import enforced
from privacy.published.grouping.lpa import LPA
from privacy.registry import group_measurements
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.benchmarks.published.picture import draw
from tests.benchmarks.rows import Row
from tests.support.seeded_draws import SeededDraws
from tests.support.shared_data import shared_data
from tests.support.simulated_entropy import SimulatedEntropy

EPSILONS = {"0.1": 0.1, "ln 2": math.log(2), "ln 3": math.log(3)}
_CASES = {
    "badges": ("stackexchange_travel/badges", "UserId", "Name", 32),
    "votes per post": ("stackexchange_travel/votes", "UserId", "PostId", 64),
    "genres": ("deezer_hu_ro/user_genres", "user_id", "genre_id", 32),
}
"""File, unit, key, and at how many keys a unit counts: a power of two beyond what 99 of 100 units have."""

_FREQUENCIES = (1, 2, 4, 8, 16, 32, 64)
_BAR = 1.05
_SANITY = 0.001
"""A relative error is of this part of the units at least, as in the paper."""

_RUNS, _QUICK_RUNS = 200, 6
_DELTA = 1e-6

Release = Callable[[Entropy], NDArray[np.float64]]


def grouping(quick: bool, folder: Path) -> list[Row]:
    """Rows of every case whose data are there."""
    rows: list[Row] = []
    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for case, (file, unit, key, most) in _CASES.items():
        path = shared_data(file.split("/")[0]) / f"{file.split('/')[1]}.parquet"
        if not path.exists():
            print(f"skipped: {case}, for want of {path}")
            continue
        units, keys = _pairs(path, unit, key)
        lines: dict[str, tuple[list[float], list[float]]] = {}
        for spelled, epsilon in EPSILONS.items():
            found = _errors(units, keys, most, epsilon, _QUICK_RUNS if quick else _RUNS)
            at = f"{case}, epsilon {spelled}"
            for name, (absolute, relative) in found.items():
                rows += [
                    Row(at, f"{name}, MAE", absolute, "units"),
                    Row(at, f"{name}, MRE", 100 * relative, "%"),
                ]
                lines.setdefault(name, ([], []))
                lines[name][0].append(epsilon)
                lines[name][1].append(absolute)
            best = min(found["lpa"][0], found["fpa, best rho (not private)"][0])
            rows.append(Row(at, "gs / the better of lpa and fpa, MAE", found["gs"][0] / best, "1", most=_BAR))
        panels[case] = lines
    if panels:
        title = "Grouping and smoothing: mean absolute error"
        draw("published_grouping", title, panels, "epsilon", "units", folder, "xy")
    return rows


def _pairs(path: Path, unit: str, key: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    found = duckdb.execute(f"SELECT DISTINCT {unit} AS u, {key} AS k FROM '{path}' WHERE u IS NOT NULL").fetchnumpy()
    units, keys = (np.unique(np.asarray(found[name]), return_inverse=True)[1] for name in ("u", "k"))
    return units.astype(np.int64), keys.astype(np.int64)


def _errors(
    units: NDArray[np.int64], keys: NDArray[np.int64], most: int, epsilon: float, runs: int
) -> dict[str, tuple[float, float]]:
    """(MAE, MRE) of each, the mean of so many runs; FPA at the rho that is best for these data."""
    n_keys = int(keys.max()) + 1
    truth = np.bincount(keys, minlength=n_keys).astype(float)
    sanity = np.maximum(truth, _SANITY * len(np.unique(units)))
    draws, entropy = SeededDraws(1), SimulatedEntropy(2)
    mechanisms: dict[str, LPA | FPA | GSR | GSS | GS] = {
        "lpa": LPA(epsilon),
        "gs_r": GSR(epsilon),
        "gs_s, row": GSS(epsilon, "row"),
        "gs_s, column": GSS(epsilon),
        "gs as published": GS.as_published(epsilon),
        "gs": GS(epsilon),
        **{f"fpa {rho}": FPA(epsilon, rho) for rho in _FREQUENCIES},
    }
    released: dict[str, list[tuple[float, float]]] = {}

    def add(name: str, values: NDArray[np.float64]) -> None:
        off = np.abs(values - truth)
        released.setdefault(name, []).append((float(off.mean()), float((off / sanity).mean())))

    for _ in range(runs):
        table = enforced(units, keys, n_keys, most, draws)
        for name, mechanism in mechanisms.items():
            add(name, mechanism.release(table, draws, entropy).values)
    for name, release in _defaults(units, keys, n_keys, most, epsilon).items():
        for _ in range(runs):
            add(name, release(entropy))
    means = {name: tuple(np.mean(errors, axis=0).tolist()) for name, errors in released.items()}
    fourier = [means.pop(f"fpa {rho}") for rho in _FREQUENCIES]
    return {**means, "fpa, best rho (not private)": min(fourier)}


def _defaults(
    units: NDArray[np.int64], keys: NDArray[np.int64], n_keys: int, most: int, epsilon: float
) -> dict[str, Release]:
    """The default of a server for one owner: `group_lp`, and `l2_clip` where there is a delta, which needs no L0."""
    owners = (OwnerColumn("unit", units, np.zeros(len(units), bool)),)
    coded = encode(JoinTuples(owners, keys, n_keys, np.full((1, len(units)), ONE)))
    kept = keep_groups(coded, most)
    (pure,) = group_measurements("group_lp", [Sum(epsilon, 0.0, Ladder(0, 0))], 0.0, min(2 * most, n_keys))
    (clipped,) = group_measurements("l2_clip", [Sum(epsilon, 0.0, Ladder(0, 10))], _DELTA, None)
    return {
        "default (group_lp)": lambda entropy: pure.release(kept, 0, entropy).values,
        "default with delta 1e-6 (l2_clip)": lambda entropy: clipped.release(coded, 0, entropy).values,
    }
