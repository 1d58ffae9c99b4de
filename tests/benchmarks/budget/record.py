"""Records ten dashboards: `python -m tests.benchmarks.budget.record` writes them anew from the seed.

Each has four numbers, three series, a breakdown by one key, one by two, the ten largest, a share of the whole, and a
total that stands there a second time; the filters are segments, regions or kinds, and the days that are looked at.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from tests.benchmarks.budget.catalogue import CATALOGUES, Catalogue, Fact
from tests.benchmarks.budget.dashboards import DAYS, LOADS, RECORDED, Chart, Dashboard, Selected, Tool, Window

SEED = 22
CHARTS, FILTERS = 12, 4
_OF_SHOP, _OF_TRAVEL = 6, 4
_TOOLS: tuple[Tool, ...] = ("metabase", "superset", "grafana")
_DAYS: tuple[Window, ...] = ("90 days", "12 months", "this year")
_STAYS = 0.7
"""The chance that a filter is set to the value that it had when it was last used."""


def record(seed: int = SEED) -> tuple[Dashboard, ...]:
    """The dashboards of a seed."""
    rng = random.Random(seed)
    names = ["shop"] * _OF_SHOP + ["travel"] * _OF_TRAVEL
    return tuple(_dashboard(rng, number, data) for number, data in enumerate(names, 1))


def _dashboard(rng: random.Random, number: int, data: str) -> Dashboard:
    catalogue = CATALOGUES[data]
    charts = tuple(_charts(rng, catalogue))
    filters = _filters(catalogue)
    assert len(charts) == CHARTS
    assert len(filters) == FILTERS
    tool = _TOOLS[(number - 1) % len(_TOOLS)]
    looked_at = tuple(_looked_at(rng, catalogue, filters))
    return Dashboard(f"{data} {number}, {tool}", data, tool, charts, filters, looked_at)


def _filters(catalogue: Catalogue) -> tuple[str, ...]:
    return (*catalogue.filters, DAYS)


def _looked_at(rng: random.Random, catalogue: Catalogue, filters: Sequence[str]) -> list[Selected]:
    """The filters take turns, each mostly at the value that it had."""
    last: dict[str, str] = {}
    found = []
    for load in range(LOADS):
        name = filters[load % len(filters)]
        values = _DAYS if name == DAYS else catalogue.values(name)
        if name not in last or rng.random() > _STAYS:
            last[name] = rng.choice(values)
        found.append(Selected(name, last[name]))
    return found


def _charts(rng: random.Random, catalogue: Catalogue) -> list[Chart]:
    """In the order in which a dashboard shows them: numbers first."""
    names = list(catalogue.facts)
    main = rng.choice(names)
    fact = catalogue.facts[main]
    count, *others = fact.metrics
    other = rng.choice(others)
    second = rng.choice(names)
    of_second = catalogue.facts[second]
    lately = rng.choice(list(of_second.metrics))
    few = [key for key in fact.keys if key not in fact.many]
    one, two = rng.sample(few, 2)
    long: Window = rng.choice(("", "12 months"))
    return [
        Chart(f"{count} in all", "number", main, (count,)),
        Chart(f"{other} in all", "number", main, (other,)),
        Chart(f"{lately} of 30 days", "number", second, (lately,), (), "", "30 days"),
        Chart(f"{count} this year", "number", main, (count,), (), "", "this year"),
        Chart(f"{count} by month", "series", main, (count,), (), "month", long),
        Chart(f"{other} by week", "series", main, (other,), (), "week", "26 weeks"),
        Chart("by day", "series", second, (next(iter(of_second.metrics)),), (), "day", "90 days"),
        Chart(f"{count} and {other} by {one}", "breakdown", main, (count, other), (one,)),
        Chart(f"{count} by {one} and {two}", "two keys", main, (count,), (one, two)),
        _top(rng, fact, main),
        Chart(f"share by {two}", "share", main, (count,), (two,)),
        Chart(f"{count} by year", "series", main, (count,), (), "year"),
    ]


def _top(rng: random.Random, fact: Fact, name: str) -> Chart:
    metric, key = rng.choice([one for one in fact.metrics if "average" not in one]), rng.choice(fact.many)
    return Chart(f"the largest by {key}", "top", name, (metric,), (key,), "", rng.choice(("", "12 months")))


def main() -> None:
    """Write them."""
    found = [dashboard.as_json() for dashboard in record()]
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
