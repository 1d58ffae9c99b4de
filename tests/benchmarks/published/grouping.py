"""GS beside LPA, FPA, GS-R and GS-S, and our default, in the mean absolute and relative error over all keys."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.mechanisms.partition_selection import keep_groups
from privacy.mechanisms.sums import Sum
from privacy.papers.grouping_smoothing import FPA, GSR, GSS, LPA, enforced
from privacy.papers.smoothing_choice import GS
from privacy.registry import AllGroups, group_measurements
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.benchmarks.published.picture import draw
from tests.benchmarks.published.side_by_side import side_by_side
from tests.benchmarks.rows import Row
from tests.support.papers.grouping_variants import CutGS, GSSOfRows, PublishedGS
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

_MANY, _FEW = 20_000, 256
_MADE_UP = ("zipf", "dense", "sparse", "waves")
_MADE_UP_MOST = 16

_FREQUENCIES = (1, 2, 4, 8, 16, 32, 64)
_BAR = 1.05
_SANITY = 0.001
"""A relative error is of this part of the units at least, as in the paper."""

_TABLES = 4
"""How often keys are left out anew."""

_RELEASES, _OF_MANY_KEYS = 25, 4
"""How many releases of each; of many keys fewer are as exact."""

_DEFAULTS = 3
_DELTA = 1e-6
_BEST = "fpa, best rho (not private)"

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
Release = Callable[[Entropy], NDArray[np.float64]]
Errors = dict[str, tuple[float, float]]
"""(MAE, MRE) of each mechanism."""


def grouping(quick: bool, folder: Path) -> list[Row]:
    """Rows of every case whose data are there, and of inputs that are made up."""
    rows: list[Row] = []
    absolute: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    relative: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    inputs = [(case, 0, quick) for case in _CASES if _is_there(case)]
    real = len(inputs)
    inputs += [(kind, n_keys, quick) for kind, n_keys in itertools.product(_MADE_UP, (_MANY, _FEW))]
    all_found = side_by_side(_found, inputs)
    for (case, _, _), found in zip(inputs[:real], all_found, strict=False):
        rows += _rows(case, found, _BAR, _BAR)
        for which, panels in enumerate((absolute, relative)):
            panels[f"{case}, {('MAE', 'MRE')[which]}"] = {
                name: (list(EPSILONS.values()), [found[spelled][name][which] for spelled in EPSILONS])
                for name in found["0.1"]
                if not name.startswith(("gs_s, row", "gs as", "lpa, cut"))
            }
    for (kind, n_keys, _), found in zip(inputs[real:], all_found[real:], strict=True):
        # For few keys no choice can promise the bar (`GS` says why), and it is the absolute error that GS compares.
        rows += _rows(f"{kind}, {n_keys:,} keys", found, _BAR if n_keys == _MANY else None, None)
    if absolute:
        title = "Grouping and smoothing: mean absolute (units) and relative error"
        draw("published_grouping", title, {**absolute, **relative}, "epsilon", "error", folder, "xy", rows=2)
    return rows


def _path(case: str) -> Path:
    folder, file = _CASES[case][0].split("/")
    return shared_data(folder) / f"{file}.parquet"


def _is_there(case: str) -> bool:
    found = _path(case).exists()
    if not found:
        print(f"skipped: {case}, for want of {_path(case)}")
    return found


def _found(case: str, n_keys: int, quick: bool) -> dict[str, Errors]:
    """Of a case with data, or of an input of so many keys that is made up."""
    if not n_keys:
        _, unit, key, most = _CASES[case]
        pairs = _pairs(_path(case), unit, key)
        return _errors(pairs, int(pairs[1].max()) + 1, most, quick, defaults=True)
    return _errors(_made_up(case, n_keys), n_keys, _MADE_UP_MOST, quick, defaults=False)


def _rows(case: str, found: dict[str, Errors], *bars: float | None) -> list[Row]:
    """Bars of the absolute and of the relative error."""
    rows = []
    for spelled, errors in found.items():
        at = f"{case}, epsilon {spelled}"
        for name, (absolute, relative) in errors.items():
            rows += [Row(at, f"{name}, MAE", absolute, "units"), Row(at, f"{name}, MRE", 100 * relative, "%")]
        for which, measure in enumerate(("MAE", "MRE")):
            best = min(errors["lpa"][which], errors[_BEST][which])
            rows.append(
                Row(
                    at,
                    f"gs / the better of lpa and fpa, {measure}",
                    errors["gs"][which] / best,
                    "1",
                    most=bars[which],
                )
            )
        sampled = errors["gs"][0] / errors["gs_s, column"][0]
        rows.append(Row(at, "gs / gs_s, MAE", sampled, "1"))
    return rows


def _made_up(kind: str, n_keys: int) -> Pairs:
    """Units at up to eight keys each, from a seed. In `waves` neighbouring keys are alike, in all else none are."""
    rng = np.random.default_rng(20260130)
    rank = np.arange(1, n_keys + 1)
    weights = {
        "zipf": rng.permutation(1.0 / rank),
        "dense": np.ones(n_keys),
        "sparse": np.ones(n_keys),
        "waves": np.exp(2 * np.sin(rank * (2 * math.pi / n_keys))),
    }[kind]
    units = max(50, n_keys // 20) if kind == "sparse" else 40_000
    keys = rng.choice(n_keys, 8 * units, p=weights / weights.sum())
    return np.repeat(np.arange(units), 8), keys


def _pairs(path: Path, unit: str, key: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    found = duckdb.execute(f"SELECT DISTINCT {unit} AS u, {key} AS k FROM '{path}' WHERE u IS NOT NULL").fetchnumpy()
    units, keys = (np.unique(np.asarray(found[name]), return_inverse=True)[1] for name in ("u", "k"))
    return units.astype(np.int64), keys.astype(np.int64)


def _errors(pairs: Pairs, n_keys: int, most: int, quick: bool, defaults: bool) -> dict[str, Errors]:
    """By epsilon, the mean over all releases; FPA at the rho that is best for these data."""
    units, keys = pairs
    truth = np.bincount(np.unique(units * n_keys + keys) % n_keys, minlength=n_keys).astype(float)
    sanity = np.maximum(truth, _SANITY * len(np.unique(units)))
    draws, entropy = SeededDraws(1), SimulatedEntropy(2)
    released: dict[tuple[str, str], list[tuple[float, float]]] = {}

    def add(spelled: str, name: str, values: NDArray[np.float64]) -> None:
        off = np.abs(values - truth)
        released.setdefault((spelled, name), []).append((float(off.mean()), float((off / sanity).mean())))

    releases = 1 if quick else _RELEASES if n_keys < 1000 else _OF_MANY_KEYS
    for _ in range(1 if quick else _TABLES):
        table = enforced(units, keys, n_keys, most, draws)
        for (spelled, epsilon), _ in itertools.product(EPSILONS.items(), range(releases)):
            for name, mechanism in _mechanisms(epsilon).items():
                values = mechanism.release(table, draws, entropy).values
                add(spelled, name, values)
                if name == "lpa":
                    add(spelled, "lpa, cut at 0", np.maximum(values, 0))
    for spelled, epsilon in EPSILONS.items() if defaults else ():
        for name, release in _defaults(units, keys, n_keys, most, epsilon).items():
            for _ in range(1 if quick else _DEFAULTS):
                add(spelled, name, release(entropy))
    means: dict[str, Errors] = {spelled: {} for spelled in EPSILONS}
    for (spelled, name), errors in released.items():
        absolute, relative = np.mean(errors, axis=0).tolist()
        means[spelled][name] = (absolute, relative)
    for errors_of in means.values():
        fourier = [errors_of.pop(f"fpa {rho}") for rho in _FREQUENCIES]
        errors_of[_BEST] = (min(one for one, _ in fourier), min(one for _, one in fourier))
    return means


def _mechanisms(epsilon: float) -> dict[str, LPA | FPA | GSR | GSS | GS | PublishedGS]:
    return {
        "lpa": LPA(epsilon),
        "gs_r": GSR(epsilon),
        "gs_s, row": GSSOfRows(epsilon),
        "gs_s, column": GSS(epsilon),
        "gs as published": PublishedGS(epsilon),
        "gs": CutGS(epsilon),
        **{f"fpa {rho}": FPA(epsilon, rho) for rho in _FREQUENCIES},
    }


def _defaults(
    units: NDArray[np.int64], keys: NDArray[np.int64], n_keys: int, most: int, epsilon: float
) -> dict[str, Release]:
    """The default of a server for one owner: `group_lp`, and `l2_clip` where there is a delta, which needs no L0."""
    owners = (OwnerColumn("unit", units, np.zeros(len(units), bool)),)
    coded = encode(JoinTuples(owners, keys, n_keys, np.full((1, len(units)), ONE)))
    kept = keep_groups(coded, most)
    (pure,) = group_measurements(
        "group_lp", AllGroups([Sum(epsilon, 0.0, Thresholds(0, 0))], 0.0, min(2 * most, n_keys))
    )
    (clipped,) = group_measurements("l2_clip", AllGroups([Sum(epsilon, 0.0, Thresholds(0, 10))], _DELTA, None))
    return {
        "default (group_lp)": lambda entropy: pure.release(kept, 0, entropy).values,
        "default with delta 1e-6 (l2_clip)": lambda entropy: clipped.release(coded, 0, entropy).values,
    }
