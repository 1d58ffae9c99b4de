"""Dashboards as they were recorded: charts, filters, what is looked at each day; and the SQL that tools write.

Three tools' habits, in short: Metabase cuts time at whole buckets and writes DATE literals, Superset lets it slide
with the day, writes TO_DATE and sorts by the first metric, Grafana writes BETWEEN two texts and sorts by time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal, cast

from tests.benchmarks.budget.catalogue import CATALOGUES, Catalogue, Choice, Fact, Key

LOADS = 30
RECORDED = Path(__file__).parent / "recorded.json"

Tool = Literal["metabase", "superset", "grafana"]
Kind = Literal["number", "series", "breakdown", "two keys", "top", "share"]
Window = Literal["", "30 days", "90 days", "26 weeks", "12 months", "this year"]

DAYS = "days"
"""The filter of the time that is looked at: it takes the place of each chart's own window."""

_LENGTHS = {"30 days": 30, "90 days": 90, "26 weeks": 182, "12 months": 365}
_TOP = 10


@dataclass(frozen=True)
class Chart:
    """One chart.

    Attributes:
      title: unique in its dashboard.
      kind: what it looks like.
      fact: what it is of, by its name in the catalogue.
      metrics, keys: by their names there.
      bucket: of time, `day`, `week`, `month` or `year`; or empty.
      window: how far back it looks; empty: all there is.
    """

    title: str
    kind: Kind
    fact: str
    metrics: tuple[str, ...]
    keys: tuple[str, ...] = ()
    bucket: str = ""
    window: Window = ""


@dataclass(frozen=True)
class Selected:
    """One filter, set to one value."""

    filter: str
    value: str


@dataclass(frozen=True)
class Dashboard:
    """One dashboard.

    Attributes:
      name: unique.
      data: the catalogue's name.
      tool: who writes its SQL.
      charts: in the order in which they are asked.
      filters: the four, by name.
      looked_at: per load, what is selected after the whole was looked at.
    """

    name: str
    data: str
    tool: Tool
    charts: tuple[Chart, ...]
    filters: tuple[str, ...]
    looked_at: tuple[Selected, ...]

    @property
    def catalogue(self) -> Catalogue:
        """What it is made over."""
        return CATALOGUES[self.data]

    def views(self, load: int) -> tuple[Selected | None, ...]:
        """What is looked at after a load, from 0: the whole, and through one filter."""
        return (None, self.looked_at[load % len(self.looked_at)])

    def as_json(self) -> dict[str, object]:
        """As it is recorded."""
        return asdict(self)


@dataclass(frozen=True)
class Asked:
    """A chart's question on one day.

    Attributes:
      template: names the question without its day: what is known of one is known of the next.
      sql: as the tool writes it.
      share: of the fact's rows, by public numbers, as if they came evenly.
    """

    chart: Chart
    template: str
    sql: str
    share: float


def recorded() -> tuple[Dashboard, ...]:
    """The ten dashboards of recorded.json, which `python -m tests.benchmarks.budget.record` has written."""
    return tuple(_dashboard(one) for one in json.loads(RECORDED.read_text()))


def _dashboard(found: Any) -> Dashboard:
    """As it was before it was recorded; JSON has lists for tuples."""
    charts = tuple(
        Chart(**{**one, "metrics": tuple(one["metrics"]), "keys": tuple(one["keys"])}) for one in found["charts"]
    )
    looked_at = tuple(Selected(**one) for one in found["looked_at"])
    return Dashboard(**{**found, "charts": charts, "filters": tuple(found["filters"]), "looked_at": looked_at})


def asked(dashboard: Dashboard, chart: Chart, selected: Selected | None, today: date) -> Asked:
    """The question of a chart on a day, through a filter or through none.

    A filter that the chart's fact does not have leaves the chart as it is, as it does in these tools.
    """
    catalogue = dashboard.catalogue
    fact = catalogue.facts[chart.fact]
    window, choice = chart.window, Choice("")
    if selected is not None and selected.filter == DAYS:
        window = _window(selected.value)
    elif selected is not None:
        choice = fact.filters.get(selected.filter, {}).get(selected.value, choice)
    first = _first_day(window, chart.bucket, today, dashboard.tool)
    keys = [fact.keys[name] for name in chart.keys]
    sql = _sql(dashboard.tool, fact, chart, keys, choice, first, today)
    changed = selected is not None and (bool(choice.sql) or window != chart.window)
    through = (selected.filter, selected.value) if selected is not None and changed else ()
    template = "; ".join((dashboard.name, chart.title, *through))
    days = (today - max(first or catalogue.first, catalogue.first)).days + 1
    return Asked(chart, template, sql, choice.share * days / ((today - catalogue.first).days + 1))


def _window(value: str) -> Window:
    assert value in ("30 days", "90 days", "26 weeks", "12 months", "this year")
    return cast("Window", value)


def _first_day(window: Window, bucket: str, today: date, tool: Tool) -> date | None:
    """The first day of a window; None without one."""
    if not window:
        return None
    if window == "this year":
        return today.replace(month=1, day=1)
    first = today - timedelta(days=_LENGTHS[window] - 1)
    if tool != "metabase":
        return first
    if bucket == "week":
        return first - timedelta(days=first.weekday())
    return first.replace(day=1) if bucket in ("month", "year") else first


def _sql(
    tool: Tool, fact: Fact, chart: Chart, keys: Sequence[Key], choice: Choice, first: date | None, today: date
) -> str:
    source = fact.source({choice.join, *(key.join for key in keys)})
    conditions = [*(() if first is None else (_between(tool, fact, first, today),)), choice.sql]
    where = " AND ".join(one for one in conditions if one)
    metrics = [f'{fact.metrics[name]} AS "{name}"' for name in chart.metrics]
    groups = [key.sql for key in keys]
    named = [f'{key.sql} AS "{name}"' for key, name in zip(keys, chart.keys, strict=True)]
    if chart.bucket:
        bucket = f"date_trunc('{chart.bucket}', {fact.day})"
        groups.insert(0, bucket)
        named.insert(0, f'{bucket} AS "time"')
    if chart.kind == "share":
        first_metric = fact.metrics[chart.metrics[0]]
        metrics.append(f'100.0 * {first_metric} / sum({first_metric}) OVER () AS "per cent"')
    parts = [f"SELECT {', '.join([*named, *metrics])}", f"FROM {source}"]
    if where:
        parts.append(f"WHERE {where}")
    if groups:
        parts += [f"GROUP BY {', '.join(groups)}", _order(tool, chart, groups)]
    if chart.kind == "top":
        parts.append(f"LIMIT {_TOP}")
    return " ".join(parts)


def _order(tool: Tool, chart: Chart, groups: Sequence[str]) -> str:
    by_metric = f'ORDER BY "{chart.metrics[0]}" DESC'
    if chart.kind == "top" or (tool == "superset" and chart.kind != "series"):
        return by_metric
    if tool == "grafana":
        return "ORDER BY 1"
    return f"ORDER BY {', '.join(f'{group} ASC' for group in groups)}"


def _between(tool: Tool, fact: Fact, first: date, today: date) -> str:
    """From a day to today, both included."""
    after = today + timedelta(days=1)
    if tool == "metabase":
        return f"{fact.day} >= DATE '{first}' AND {fact.day} < DATE '{after}'"
    if tool == "superset":
        low, high = (f"TO_DATE('{day}', 'YYYY-MM-DD')" for day in (first, after))
        return f"{fact.day} >= {low} AND {fact.day} < {high}"
    last = f"{today} 23:59:59.999999" if fact.moment else f"{today}"
    return f"{fact.day} BETWEEN '{first}' AND '{last}'"
