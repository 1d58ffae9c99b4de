"""The benchmark of budgets: dashboards are what was recorded, accuracy is what it says, and the viewer is frugal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import pytest

from planner.errors import InvalidSetting, UnsupportedSQL
from planner.parsing.parse import read
from planner.policy.policy import parse_policy
from planner.public.route import names_private_table
from planner.schema import Schema
from server.query import Budget, CachedPeriods, Interval, QueryResponse, ResultColumn
from tests.benchmarks.budget.dashboards import DAYS, LOADS, Asked, Chart, Dashboard, Selected, asked, recorded
from tests.benchmarks.budget.growing_data import GrowingData, shop_tables, travel_tables
from tests.benchmarks.budget.levers import Levers, missing
from tests.benchmarks.budget.record import CHARTS, FILTERS, record
from tests.benchmarks.budget.typical_error import WANTED, typical_error
from tests.benchmarks.budget.viewer import Refusal, Viewer
from tests.golden.stackexchange.tables import schema as travel_schema
from tests.support.tpch_schema import tpch_schema

_TODAY = {"shop": date(1998, 5, 18), "travel": date(2017, 7, 20)}
_BUDGET = Budget(1.0, 0.0, 1.0, 0.0)
_CHART = Chart("orders", "number", "orders", ("orders",))


def answer(
    cells: Sequence[tuple[float | None, ...]],
    halves: Sequence[float | None],
    cut: Sequence[bool] = (),
    epsilon: float = 0.0,
    keys: Sequence[str] = (),
    key: str = "key",
) -> QueryResponse:
    """Rows with a key and columns of numbers, each column with one half-width."""
    columns = (ResultColumn(key, "text"), *(ResultColumn(f"n{place}", "float8") for place in range(len(halves))))
    intervals = [
        (
            None,
            *(
                None if half is None or cell is None else Interval(cell - half, cell + half)
                for cell, half in zip(row, halves, strict=True)
            ),
        )
        for row in cells
    ]
    return QueryResponse(
        columns,
        [(keys[place] if keys else f"key {place}", *row) for place, row in enumerate(cells)],
        intervals,
        0.95,
        "truncated_full",
        "gem",
        epsilon,
        0.0,
        _BUDGET,
        "",
        clipped=tuple(cut or [False] * len(cells)),
    )


def test_what_is_recorded_is_what_the_script_records() -> None:
    assert recorded() == record()


def test_there_are_ten_dashboards_of_twelve_charts_and_four_filters() -> None:
    found = recorded()
    assert len(found) == 10
    for dashboard in found:
        assert len(dashboard.charts) == CHARTS == len({chart.title for chart in dashboard.charts})
        assert len(dashboard.filters) == FILTERS
        assert len(dashboard.looked_at) == LOADS
        assert {one.filter for one in dashboard.looked_at} == set(dashboard.filters)


@pytest.mark.parametrize("dashboard", recorded(), ids=lambda one: one.name)
def test_every_question_reads_and_names_private_tables(dashboard: Dashboard) -> None:
    schema: Schema = tpch_schema() if dashboard.data == "shop" else travel_schema()
    policy = parse_policy(_data(dashboard.data).policy_text(closed_periods=False))
    for view in (None, *dashboard.looked_at):
        for chart in dashboard.charts:
            one = asked(dashboard, chart, view, _TODAY[dashboard.data])
            assert names_private_table(read(one.sql).tree, schema, policy, None), one.sql
            assert 0 < one.share <= 1


def _data(name: str) -> GrowingData:
    return shop_tables(0.01) if name == "shop" else travel_tables()


def test_a_filter_that_a_fact_lacks_leaves_its_chart_as_it_is() -> None:
    dashboard = next(one for one in recorded() if one.name.startswith("travel 10"))
    chart = dashboard.charts[0]
    plain = asked(dashboard, chart, None, _TODAY["travel"])
    assert chart.fact == "comments"
    assert asked(dashboard, chart, Selected("kind", "questions"), _TODAY["travel"]) == plain
    through = asked(dashboard, chart, Selected("standing", "regulars"), _TODAY["travel"])
    assert through.template != plain.template
    assert "u.reputation >= 101" in through.sql
    days = asked(dashboard, chart, Selected(DAYS, "90 days"), _TODAY["travel"])
    assert "2017-04-22" in days.sql
    assert days.share < plain.share == 1


def test_tools_cut_time_as_they_do() -> None:
    metabase, superset, grafana = recorded()[:3]
    by_month = Chart("by month", "series", "orders", ("orders",), (), "month", "12 months")
    today = date(1998, 5, 18)
    assert "o_orderdate >= DATE '1997-05-01'" in asked(metabase, by_month, None, today).sql
    assert "TO_DATE('1997-05-19', 'YYYY-MM-DD')" in asked(superset, by_month, None, today).sql
    assert "BETWEEN '1997-05-19' AND '1998-05-18'" in asked(grafana, by_month, None, today).sql


@pytest.mark.parametrize(
    ("cells", "halves", "cut", "expected"),
    [
        ([(100.0,)], [5.0], (), 0.05),
        ([(-100.0,)], [5.0], (), 0.05),
        ([(100.0,), (200.0,), (1.0,)], [5.0], (), 0.05),
        ([(100.0, 10.0)], [5.0, 1.0], (), 0.1),
        ([(100.0, 7.0)], [5.0, None], (), 0.05),
        ([(100.0,), (10.0,)], [5.0], (False, True), 0.05),
        ([(100.0,), (10.0,), (10.0,)], [5.0], (False, True, True), math.inf),
        ([(0.0,)], [5.0], (), math.inf),
        ([(100.0,), (None,)], [5.0], (), 0.05),
        ([(None,)], [5.0], (), math.inf),
        ([], [5.0], (), math.inf),
        ([(100.0,)], [math.inf], (), math.inf),
    ],
)
def test_the_typical_error_is_that_of_the_median_cell_of_the_worst_column(
    cells: Sequence[tuple[float, ...]], halves: Sequence[float | None], cut: Sequence[bool], expected: float
) -> None:
    told = answer(cells, halves, cut)
    assert typical_error(told) == pytest.approx(expected)
    assert WANTED.reached(told) == pytest.approx(expected)


def test_levers_are_switches() -> None:
    assert Levers.names() == ("reuse", "combination", "closed_periods", "workloads")
    assert Levers.alone("reuse") == Levers(reuse=True)
    assert Levers.but(("workloads",)) == Levers(True, True, True, False)
    off, on = _data("shop").policy_text(closed_periods=False), _data("shop").policy_text(closed_periods=True)
    assert "\nappend_only" not in off
    assert on.count("\nappend_only") == 2


def test_levers_of_the_policy_are_in_it() -> None:
    data = _data("shop")
    assert not missing(data)
    closed = parse_policy(Levers.alone("closed_periods").policy_text(data))
    assert closed.tables["orders"].append_only is not None


def test_requests_say_whether_answers_may_follow_from_others() -> None:
    assert Levers().asked("ada", "q").reuse == "never"
    assert Levers.alone("reuse").asked("ada", "q").reuse == "auto"
    assert Levers.alone("closed_periods").asked("ada", "q").reuse == "auto"  # its mechanism is named (`replay.py`)


@dataclass
class _Noisy:
    """A proxy whose intervals are `noise / epsilon` wide to either side of its one value."""

    noise: dict[str, float]
    value: float = 1000.0
    most: float = 2.0
    least: float = 0.001
    kept: dict[str, float] = field(default_factory=dict)
    asked: list[tuple[str, float]] = field(default_factory=list)
    squares: dict[str, float] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    day: int = 0
    combines: bool = False
    keeps: bool = False
    cuts_below: float = 0.0

    @property
    def max_epsilon(self) -> float:
        return self.most

    def free(self, sql: str) -> QueryResponse | None:
        return answer([(self.value,)], [self.kept[sql]]) if sql in self.kept else None

    def answers(self, wishes: Sequence[tuple[str, float]]) -> Sequence[QueryResponse | Refusal]:
        return [self._answer(*wish) for wish in wishes]

    def combined(self, sql: str) -> QueryResponse | None:
        if not self.combines:
            return None
        return answer([(self.value,)], [self.noise[sql] / math.sqrt(self.squares[sql])])

    def _answer(self, sql: str, epsilon: float) -> QueryResponse | Refusal:
        self.asked.append((sql, epsilon))
        if sql not in self.noise:
            return UnsupportedSQL("no such thing")
        if epsilon < self.least:
            return InvalidSetting("too small")
        self.squares[sql] = epsilon**2 + self.squares.get(sql, 0.0)
        cut = [epsilon < self.cuts_below]
        told = answer([(self.value,)], [self.noise[sql] / epsilon], cut, epsilon)
        kept = self.measured.setdefault(sql, self.day) < self.day
        return replace(told, cached_periods=(CachedPeriods(1, None, None, 1),)) if self.keeps and kept else told


def _asked(sql: str) -> Asked:
    return Asked(_CHART, f"template of {sql}", sql, 1.0)


def test_a_new_question_costs_a_pilot_and_what_five_per_cent_takes() -> None:
    proxy = _Noisy({"q": 15.0})  # 5% of 1000 takes 0.3
    viewer = Viewer(proxy)
    viewer.look([_asked("q")], 0)
    (answered,) = viewer.answered
    pilots = [epsilon for _, epsilon in proxy.asked[:-1]]
    assert pilots == [0.02, 0.1]
    assert proxy.asked[-1][1] == pytest.approx(0.3, rel=0.03)
    assert answered.epsilon == pytest.approx(sum(epsilon for _, epsilon in proxy.asked))
    assert answered.within
    assert answered.attempts == len(proxy.asked)


def test_the_next_day_costs_a_little_more_than_was_needed_and_the_same_day_nothing() -> None:
    proxy = _Noisy({"q": 15.0})
    viewer = Viewer(proxy)
    viewer.look([_asked("q")], 0)
    before = len(proxy.asked)
    viewer.look([_asked("q")], 0)
    assert len(proxy.asked) == before
    viewer.new_load()
    viewer.look([_asked("q")], 1)
    assert [epsilon for _, epsilon in proxy.asked[before:]] == [pytest.approx(0.306, rel=0.01)]
    proxy.noise["q"] = 10.0
    for load in range(2, 8):
        viewer.new_load()
        viewer.look([_asked("q")], load)
    assert proxy.asked[-1][1] == pytest.approx(0.204, rel=0.01)


def test_what_is_kept_in_part_is_asked_again_with_the_epsilon_that_did() -> None:
    proxy = _Noisy({"q": 15.0}, keeps=True)
    viewer = Viewer(proxy, keeps=True)
    for load in range(4):
        proxy.day = load
        viewer.new_load()
        viewer.look([_asked("q")], load)
    first, *others = [epsilon for _, epsilon in proxy.asked[2:]]
    assert first == pytest.approx(0.375, rel=0.01), "with a margin, as it will be measured in parts"
    assert others == pytest.approx([0.306, 0.306, 0.306], rel=0.02), "days are kept from the second on"


def test_where_nothing_was_kept_the_epsilon_is_that_of_the_last_days() -> None:
    proxy = _Noisy({"q": 15.0})
    viewer = Viewer(proxy, keeps=True)
    for load in range(3):
        viewer.new_load()
        viewer.look([_asked("q")], load)
        proxy.noise["q"] = 12.0
    assert [epsilon for _, epsilon in proxy.asked[2:]] == pytest.approx([0.375, 0.306, 0.306], rel=0.01)
    for load in range(3, 9):
        viewer.new_load()
        viewer.look([_asked("q")], load)
    assert proxy.asked[-1][1] == pytest.approx(0.245, rel=0.01)


def test_a_miss_is_asked_again_and_both_are_charged() -> None:
    proxy = _Noisy({"q": 15.0})
    viewer = Viewer(proxy)
    viewer.look([_asked("q")], 0)
    proxy.noise["q"] = 30.0
    viewer.new_load()
    viewer.look([_asked("q")], 1)
    last = viewer.answered[-1]
    assert last.within
    assert last.attempts == 2
    assert last.epsilon == pytest.approx(0.306 + 0.612, rel=0.02)


def test_where_answers_are_combined_only_the_rest_is_bought() -> None:
    proxy = _Noisy({"q": 15.0}, combines=True)
    viewer = Viewer(proxy)
    viewer.look([_asked("q")], 0)
    assert viewer.answered[-1].within
    assert sum(epsilon**2 for _, epsilon in proxy.asked) == pytest.approx(0.3**2, rel=0.05)


def test_a_cut_answer_is_none_however_narrow() -> None:
    proxy = _Noisy({"q": 1.0}, cuts_below=0.1)  # by its noise alone 0.02 would do
    viewer = Viewer(proxy)
    viewer.look([_asked("q")], 0)
    viewer.new_load()
    viewer.look([_asked("q")], 1)
    assert [one.within for one in viewer.answered] == [True, True]
    asked = [epsilon for _, epsilon in proxy.asked]
    assert asked[0] == 0.02
    assert 0.1 <= asked[-1] < 0.25


def test_what_no_permitted_epsilon_does_is_noted_once() -> None:
    proxy = _Noisy({"q": 200.0, "hopeless": 1e6})
    viewer = Viewer(proxy)
    viewer.look([_asked("q"), _asked("hopeless")], 0)
    assert set(viewer.beyond) == {"template of q", "template of hopeless"}
    assert not viewer.answered
    before = len(proxy.asked)
    viewer.new_load()
    viewer.look([_asked("q"), _asked("hopeless")], 1)
    assert len(proxy.asked) == before


def test_who_does_not_judge_counts_a_miss() -> None:
    proxy = _Noisy({"q": 200.0})
    viewer = Viewer(proxy, judges=False)
    viewer.look([_asked("q")], 0)
    (answered,) = viewer.answered
    assert not answered.within
    assert not viewer.beyond


def test_a_refusal_is_kept_with_its_message_and_too_small_an_epsilon_grows() -> None:
    proxy = _Noisy({"q": 1.0}, least=0.05)
    viewer = Viewer(proxy)
    viewer.look([_asked("q"), _asked("unknown")], 0)
    assert viewer.refused == {"template of unknown": "UnsupportedSQL: no such thing"}
    assert [epsilon for sql, epsilon in proxy.asked if sql == "q"] == [0.02, 0.04, 0.08]


def test_what_follows_from_kept_answers_is_free_if_it_is_good_enough() -> None:
    proxy = _Noisy({"q": 1.0, "r": 1.0}, kept={"q": 40.0, "r": 60.0})
    viewer = Viewer(proxy)
    viewer.look([_asked("q"), _asked("r")], 0)
    assert [one.epsilon for one in viewer.answered if one.asked.sql == "q"] == [0.0]
    assert {sql for sql, _ in proxy.asked} == {"r"}
