"""The dashboards with no lever, with each alone, and with all: what they cost, and what could not be asked."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from tests.benchmarks.budget.dashboards import DAYS, LOADS, Dashboard, recorded
from tests.benchmarks.budget.growing_data import GrowingData, data_of
from tests.benchmarks.budget.levers import Levers, missing
from tests.benchmarks.budget.passes import Bench, Pass
from tests.benchmarks.budget.replay import Cost, by
from tests.benchmarks.budget.typical_error import TARGET
from tests.benchmarks.rows import Row

_SCALE, _QUICK_SCALE = 0.1, 0.01
_QUICK_LOADS = 3
_ALONE_LOADS, _ALONE_DASHBOARDS = 10, 1
"""Loads with one lever alone, and dashboards of each data set, beside as many with none: all of them would take three
times as long as everything else together."""
_DASHBOARDS = 2
"""Of each data set: all ten take hours, and each is its analyst's own. DASHBOARDS=6 replays all."""

_LESS = 5.0
_WITHIN = 0.99
_NONE = "no lever"


def dashboards(quick: bool) -> list[Row]:
    """All figures of the dashboards."""
    chosen, found = _chosen(quick)
    loads = int(os.environ.get("LOADS", _QUICK_LOADS if quick else LOADS))
    bench = Bench(chosen, found, os.environ.get("RESUME", ""))
    plain = bench.passed(Levers(), loads)
    rows = [*_costs(_NONE, plain), *_left_out(plain), *_new_every_time(plain, chosen)]
    absent = {name: missing(data) for name, data in found.items()}
    without = tuple(name for name in Levers.names() if any(name in names for names in absent.values()))
    there = [name for name in Levers.names() if name not in without]
    rows += [Row(f"lever {name}", "the product has no switch for it", 1, "missing") for name in without]
    skipped = plain.skipped
    if there:
        passed = bench.passed(Levers.but(without), loads, skipped)
        all_of_them = f"all levers but {', '.join(without)}" if without else "all levers"
        rows += [*_costs(all_of_them, passed), *_saved(f"{all_of_them}, {loads} loads", plain, passed, _LESS)]
    few = replace(bench, dashboards=_first(chosen, _ALONE_DASHBOARDS))
    for name in there:
        alone = min(loads, _ALONE_LOADS)
        passed = few.passed(Levers.alone(name), alone, skipped)
        case = f"lever {name}, {len(few.dashboards)} dashboards, {alone} loads"
        rows += _saved(case, plain.part(few.dashboards, alone), passed, None)
    return rows


def _chosen(quick: bool) -> tuple[tuple[Dashboard, ...], dict[str, GrowingData]]:
    """The dashboards whose data is there; of a quick run the first of each data set."""
    every = recorded()
    chosen = _first(every, int(os.environ.get("DASHBOARDS", 1 if quick else _DASHBOARDS)))
    found = data_of(chosen, _QUICK_SCALE if quick else _SCALE)
    return tuple(one for one in chosen if one.data in found), found


def _first(dashboards: Sequence[Dashboard], count: int) -> tuple[Dashboard, ...]:
    """The first of each data set."""
    places: Counter[str] = Counter()
    chosen = []
    for one in dashboards:
        places[one.data] += 1
        if places[one.data] <= count:
            chosen.append(one)
    return tuple(chosen)


def _costs(case: str, passed: Pass) -> list[Row]:
    """What one pass came to."""
    costs = passed.costs
    true_errors = [error for one in passed.replays for error in one.true_errors]
    paid = sum(cost.epsilon > 0 for cost in costs)
    spent = sum(one.spent for one in passed.replays)
    near = _share([error.typical <= TARGET for error in true_errors])
    held = sum(error.held for error in true_errors) / max(1, sum(error.unmarked for error in true_errors))
    typical = median([error.typical for error in true_errors] or [math.nan])
    each = passed.epsilon / passed.loads / len(passed.replays)
    rows = [
        Row(case, "epsilon of all charts, all loads", passed.epsilon, "epsilon"),
        Row(case, "epsilon of a dashboard and a load", each, "epsilon"),
        Row(case, "charged in all, pilots of what was given up included", spent, "epsilon"),
        Row(case, "epsilon of answers that were too wide", sum(cost.wide for cost in costs), "epsilon"),
        Row(case, "delta of all charts, all loads", sum(cost.delta for cost in costs), "1"),
        Row(case, "questions answered", len(costs), "1"),
        Row(case, "questions that were charged", paid, "1"),
        Row(case, "answers within 5%, by what was released", _share([cost.within for cost in costs]), "1", _WITHIN),
        Row(case, "answers asked for, per question", sum(cost.attempts for cost in costs) / len(costs), "1"),
        Row(case, "answers whose typical cell is within 5% of the truth", near, "1"),
        Row(case, "true error of a typical cell, median", 100 * typical, "%"),
        Row(case, "intervals that hold the truth, of cells that are not marked as cut", held, "1"),
        Row(case, "time of the pass", passed.seconds, "s"),
    ]
    for key in ("kind", "dashboard"):
        rows += [
            Row(f"{case}, {name}", "epsilon of all loads", sum(cost.epsilon for cost in found), "epsilon")
            for name, found in sorted(by(costs, key).items())
        ]
    for name, found in sorted(by(costs, "kind").items()):
        rows.append(Row(f"{case}, {name}", "epsilon of a question, mean", _mean(found), "epsilon"))
    return rows


def _mean(costs: Sequence[Cost]) -> float:
    return sum(cost.epsilon for cost in costs) / len(costs)


def _share(held: Sequence[bool]) -> float:
    return sum(held) / len(held) if held else 1.0


def _left_out(passed: Pass) -> list[Row]:
    """The questions that no figure speaks of, and the messages of those that were refused."""
    known = {cost.template for cost in passed.costs}
    excluded = sum(len(one.excluded) for one in passed.replays)
    beyond = {template: why for one in passed.replays for template, why in one.beyond.items()}
    refused = Counter(why for one in passed.replays for why in one.refused.values())
    rows = [
        Row("questions", "asked, each on several days", len(known), "1"),
        Row("questions", "left out beforehand: no permitted epsilon, by public numbers", excluded, "1"),
        Row("questions", "left out by their first answers: no permitted epsilon", len(beyond), "1"),
        Row("questions", "refused", sum(refused.values()), "1"),
    ]
    rows += [Row("refused", why, count, "questions") for why, count in refused.most_common()]
    case = "left out by its first answers"
    return rows + [Row(case, f"{name}: {why}", 1, "questions") for name, why in sorted(beyond.items())]


def _new_every_time(plain: Pass, dashboards: Sequence[Dashboard]) -> list[Row]:
    """What of a pass with no lever nothing can be kept of: windows that slide by a day, and what is asked first.

    A window of the last 30 days is another question every day, and measuring its days one by one, to add up thirty of
    them, takes more: each with a thirtieth of the noise's variance.
    """
    windows = {(one.name, chart.title): chart.window for one in dashboards for chart in one.charts}
    seen: set[str] = set()
    sliding = first = 0.0
    for cost in sorted(plain.costs, key=lambda cost: cost.load):
        _, title, *chosen = cost.template.split("; ")
        window = chosen[1] if chosen[:1] == [DAYS] else windows[cost.dashboard, title]
        if window not in ("", "this year"):
            sliding += cost.epsilon
        elif cost.template not in seen:
            first += cost.epsilon
        seen.add(cost.template)
    case = "what nothing is kept of, with no lever"
    return [
        Row(case, "epsilon of windows that slide with the day", sliding, "epsilon"),
        Row(case, "epsilon of the first answers to all other questions", first, "epsilon"),
        Row(case, "times less, if all else were free", plain.epsilon / (sliding + first), "1"),
    ]


def _saved(case: str, plain: Pass, passed: Pass, least: float | None) -> list[Row]:
    """How many times less a pass took, over the questions that both speak of."""
    skipped = plain.skipped | passed.skipped
    spent = passed.of(skipped)
    within = _share([cost.within for cost in passed.costs])
    return [
        Row(case, "epsilon with no lever", plain.of(skipped), "epsilon"),
        Row(case, "epsilon", spent, "epsilon"),
        Row(case, "times less than with no lever", plain.of(skipped) / spent if spent else float("inf"), "1", least),
        Row(case, "answers within 5%, by what was released", within, "1", _WITHIN),
    ]
