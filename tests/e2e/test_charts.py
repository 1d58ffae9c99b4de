"""Which picture an answer becomes, in Chromium: the console's own pages before answers that are made by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from server.console.pages import content_security_policy, files
from server.http.answer_body import AnswerBody
from tests.support.chromium import assert_accessible, chromium, picture

pytestmark = pytest.mark.xdist_group("charts")  # one browser

ADDRESS = "http://console.test"
BUDGET = {"epsilon": 10.0, "delta": 0.0, "epsilon_left": 9.0, "delta_left": 0.0}
STUBS: dict[str, Any] = {
    "/v1/me": {"name": "ada", "role": "analyst", "group": None, "policy_hash": "0" * 64, "data_version": 1},
    "/v1/budget": BUDGET,
    "/v1/schema": {
        "dataset": "hospital",
        "tables": [],
        "examples": [],
        "epsilon": 1.0,
        "min_epsilon": 0.01,
        "max_epsilon": 2.0,
    },
    "/v1/history": {"charges": []},
}
REFUSAL = {"code": "42601", "message": "not explained here", "hint": None, "position": None, "request_id": "none"}

Row = Sequence[str | float | None]
Draw = Callable[..., Page]

FIVE = [(name, "float8") for name in ("min", "p25", "median", "p75", "max")]
BY_AGE = {50: 910_000, 0: 95_000, 90: -20_000, 20: 640_000, 10: 290_000, 40: 1_200_000, 30: 1_020_000, 70: 310_000}
BY_WARD: list[tuple[str, Sequence[float | None]]] = [
    ("A", (1, 8, 12.5, 19, 44)),
    ("B", (3, 14, 18, 25, 61)),
    ("nobody's", (None,) * 5),
    ("C, the cardiology of the new building", (0, 5, 9, 12, 30)),
]
BY_MONTH: list[Row] = [
    [f"2021-{month:02}-01", month, 8 + month, 12 + month, 19 + month, 40 - month] for month in range(12, 0, -1)
]


def answer(
    columns: Sequence[tuple[str, str]], rows: Sequence[Row], noise: float = 1.0, low_precision: int | None = None
) -> Any:
    """An answer whose columns of type float8 are noisy; one row of it may be weak."""
    noisy = [kind == "float8" for _, kind in columns]
    around = [
        [
            {"low": cell - noise, "high": cell + noise} if wide and isinstance(cell, (int, float)) else None
            for cell, wide in zip(row, noisy, strict=True)
        ]
        for row in rows
    ]
    return AnswerBody.model_validate(
        {
            "columns": [{"name": name, "type": kind} for name, kind in columns],
            "rows": rows,
            "intervals": around,
            "confidence": 0.95,
            "covers": "clipped value",
            "mechanism": "laplace",
            "low_precision": [place == low_precision for place in range(len(rows))],
            "taus": [[None] * len(columns)] * len(rows),
            "charge": {"epsilon": 1.0, "delta": 0.0},
            "budget": BUDGET,
            "details": [],
            "detail_kinds": [],
            "request_id": "made-by-hand",
        }
    ).model_dump(mode="json")


HISTOGRAM = answer([("age", "int8"), ("patients", "float8")], list(BY_AGE.items()), 60_000, low_precision=0)
BOXES = answer([("ward", "text"), *FIVE], [[ward, *five] for ward, five in BY_WARD], low_precision=1)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def draw(browser: Browser) -> Iterator[Draw]:
    """Asks on pages of their own, and shows the answer."""
    with ExitStack() as pages:
        yield lambda *asked: pages.enter_context(drawn(browser, *asked))


@pytest.fixture(scope="module")
def shared(browser: Browser) -> Iterator[Page]:
    """One page for many, to ask its scripts."""
    with drawn(browser, HISTOGRAM) as page:
        yield page


@contextmanager
def drawn(
    browser: Browser, body: Any, width: int = 1400, scheme: str = "light", sql: str = "SELECT 1"
) -> Iterator[Page]:
    """The page as it is served, after an answer; any error in a script or of the policy fails."""
    wrong: list[str] = []
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        timezone_id="America/New_York",
    )
    context.add_init_script("sessionStorage.setItem('noisegate.key', 'ng_anybody')")
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Content Security" in said.text else None)
    page.route("**/*", lambda route: serve(route, body))
    page.goto(ADDRESS)
    page.get_by_label("SQL", exact=True).fill(sql)
    page.locator("#run").click()
    expect(page.locator(".answer")).to_be_visible()
    yield page
    context.close()
    assert wrong == []


def redraw(page: Page, body: Any) -> None:
    """Another answer on the same page."""
    script = "body => import('/console/charts/chart.js').then(({ chart }) => drawing(chart(body, 800)))"
    page.evaluate(script.replace("drawing", "document.querySelector('.panel-chart').replaceChildren"), body)


def serve(route: Route, body: Any) -> None:
    path = route.request.url.removeprefix(ADDRESS).partition("?")[0]
    if path.startswith("/v1/"):
        said = {"/v1/query": body, **STUBS}.get(path)
        route.fulfill(status=200 if said else 400, json=said or REFUSAL)
        return
    content, kind = files()["index.html" if path == "/" else path.removeprefix("/console/")]
    route.fulfill(body=content, content_type=kind, headers={"Content-Security-Policy": content_security_policy()})


def words(page: Page) -> list[str]:
    """What is written in the pictures."""
    return [text.replace("\u00a0", " ") for text in page.locator(".panel-chart svg text").all_text_contents()]


def parts(page: Page, name: str) -> list[dict[str, float]]:
    """Where the marks of a name stand, in the order of the answer."""
    found = page.locator(f".panel-chart .{name} > :is(rect, line)")
    return list(found.evaluate_all("marks => marks.map((mark) => mark.getBoundingClientRect().toJSON())"))


def pale(page: Page, name: str, of: str) -> list[bool]:
    found = page.locator(f".panel-chart .{name} > :is(rect, line)").evaluate_all(
        f"marks => marks.map((mark) => mark.getAttribute('{of}'))"
    )
    return [float(opacity) < 0.5 for opacity in found]


def hollow(page: Page, name: str) -> list[bool]:
    """Which marks of a name are not filled: what may be nothing but noise."""
    found = page.locator(f".panel-chart .{name} > rect").evaluate_all(
        "marks => marks.map((mark) => mark.getAttribute('fill'))"
    )
    return [fill == "var(--card)" for fill in found]


def assert_proportional(values: Sequence[float], places: Sequence[float]) -> None:
    """Along one axis all values stand where the outermost two say."""
    (low, start), (high, end) = min(zip(values, places, strict=True)), max(zip(values, places, strict=True))
    expected = [start + (value - low) / (high - low) * (end - start) for value in values]
    assert places == pytest.approx(expected, abs=1.5)


def test_a_histogram_stands_in_the_order_of_its_key(draw: Draw) -> None:
    page = draw(HISTOGRAM)
    bars, whiskers = parts(page, "bar"), parts(page, "whisker")
    ages, patients = list(BY_AGE), list(BY_AGE.values())
    assert_proportional(ages, [bar["left"] for bar in bars])  # and so with a gap where 60 and 80 are missing
    assert_proportional([abs(number) for number in patients], [bar["height"] for bar in bars])
    assert {round(bar["bottom"]) for bar, number in zip(bars, patients, strict=True) if number > 0} == {
        round(bars[2]["top"])
    }
    assert [each["height"] for each in whiskers] == pytest.approx(
        [bars[1]["height"] / 95_000 * 120_000] * len(bars), abs=1.5
    )
    for bar, whisker, number in zip(bars, whiskers, patients, strict=True):
        middle = ((whisker["left"] + whisker["right"]) / 2, (whisker["top"] + whisker["bottom"]) / 2)
        assert middle == pytest.approx(
            ((bar["left"] + bar["right"]) / 2, bar["top" if number > 0 else "bottom"]), abs=1
        )
    assert hollow(page, "bar") == [age == 50 for age in ages]
    written = words(page)
    assert [text for text in written if text in map(str, range(10, 100, 10))] == [
        str(age) for age in range(10, 100, 10)
    ]
    assert {"1 M", "1.2 M", "200 k", "age"} <= set(written)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([1994, 1992, 1993, 1995], ["1992", "1993", "1994", "1995"]),
        ([0.75, 0.25, 0.5], ["0.25", "0.5", "0.75"]),
        ([20000, 10000, 15000], ["10 k", "15 k", "20 k"]),
        ([199203, 199201, 199202], ["199201", "199202", "199203"]),
        ([3, None, 1, 2], ["1", "2", "3", "NULL"]),
        ([1000, 1, 10, 100], ["1", "10", "100", "1000"]),
    ],
)
def test_keys_that_are_numbers_are_written_as_people_do(shared: Page, keys: list[float], expected: list[str]) -> None:
    rows = [[key, 7e6 + place] for place, key in enumerate(keys)]
    redraw(shared, answer([("key", "numeric"), ("n", "float8")], rows))
    assert [text for text in words(shared) if text in expected] == expected
    lefts = [bar["left"] for bar in parts(shared, "bar")]
    assert sorted(range(len(keys)), key=lefts.__getitem__) == [
        keys.index(key) for key in sorted(keys, key=lambda key: (key is None, key))
    ]


def test_a_histogram_for_each_value_of_another_key(draw: Draw) -> None:
    rows: list[Row] = [[age, sex, 100.0 + age] for age in range(5) for sex in "fm"]
    page = draw(answer([("age", "int8"), ("sex", "text"), ("n", "float8")], rows))
    expect(page.locator(".panel-chart figcaption")).to_have_text(["sex: f", "sex: m"])
    assert len(parts(page, "bar")) == 10


@pytest.mark.parametrize(
    ("sql", "order"),
    [("SELECT 1", ["FRANCE", "PERU", "KENYA"]), ("SELECT 1 ORDER BY 1", ["PERU", "FRANCE", "KENYA"])],
)
def test_texts_are_lying_bars_the_largest_first_unless_they_were_ordered(
    draw: Draw, sql: str, order: list[str]
) -> None:
    values = {"PERU": 2500, "FRANCE": 9900, "KENYA": 400}
    page = draw(
        answer([("n_name", "text"), ("orders", "float8")], list(values.items()), 90, low_precision=2),
        1400,
        "light",
        sql,
    )
    bars = parts(page, "bar")
    assert [bar["top"] for bar in bars] == sorted(bar["top"] for bar in bars)
    assert_proportional([values[name] for name in order], [bar["width"] for bar in bars])
    assert hollow(page, "bar") == [False, False, True]
    assert [text for text in words(page) if text.isupper()] == order


def test_dates_stay_a_line_whatever_their_order(draw: Draw) -> None:
    rows: list[Row] = [[f"2021-{month:02}-01", 1_100_000.0 + 9_000 * month] for month in (3, 1, 2, 6, 5, 4)]
    page = draw(answer([("month", "date"), ("orders", "float8")], rows, 60_000), 390)
    path = page.locator(".panel-chart .line path").get_attribute("d") or ""
    across = [float(x) for x, _ in re.findall(r"[ML]?(-?[\d.]+),(-?[\d.]+)", path)]
    assert len(across) == 6 and across == sorted(across)
    assert {"Apr 2021", "1 M"} <= set(words(page))


def test_a_box_for_each_row_with_values(draw: Draw) -> None:
    page = draw(BOXES)
    boxes, bands, medians, whiskers = (parts(page, name) for name in ("box", "band", "median", "whisker"))
    shown = [[value for value in five if value is not None] for _, five in BY_WARD]
    low, q1, median, q3, high = zip(*filter(None, shown), strict=True)
    assert_proportional(
        [*q1, *q3, *median, *low, *high, *(value - 1 for value in median), *(value + 1 for value in median)],
        [
            *(box["left"] for box in boxes),
            *(box["right"] for box in boxes),
            *((stroke["left"] + stroke["right"]) / 2 for stroke in medians),
            *(line["left"] for line in whiskers[::2]),
            *(line["right"] for line in whiskers[1::2]),
            *(band["left"] for band in bands),
            *(band["right"] for band in bands),
        ],
    )
    assert [box["top"] for box in boxes] == sorted(box["top"] for box in boxes)
    assert pale(page, "median", "stroke-opacity") == [False, True, False]
    assert [text for text in words(page) if text[0] in "ABCn"] == ["A", "B", "C, the cardiology of the new building"]
    expect(page.locator(".panel-chart")).to_contain_text(
        "Box: p25 to p75. Stroke: median, with its interval as a light band. Whiskers: min to max."
    )


def test_boxes_by_month_stand_in_their_order(draw: Draw) -> None:
    page = draw(answer([("month", "date"), *FIVE], BY_MONTH))
    assert [box["left"] for box in parts(page, "box")] == sorted(
        (box["left"] for box in parts(page, "box")), reverse=True
    )
    assert_proportional([8.0 + month for month in range(12, 0, -1)], [-box["bottom"] for box in parts(page, "box")])
    assert [text for text in words(page) if "2021" in text][:2] == ["Jan 2021", "Mar 2021"]


def test_boxes_of_moments(shared: Page) -> None:
    columns = [("ward", "text"), ("min", "timestamp"), ("median", "timestamp"), ("max", "timestamp")]
    days = [
        ["A", "2021-01-04 10:00:00", "2021-04-03 00:00:00", "2021-12-03 10:00:00"],
        ["B", *["2021-07-01 00:00:00"] * 3],
    ]
    body = answer(columns, days)
    body["intervals"][0][2] = {"low": "2021-03-01 00:00:00", "high": "2021-05-01 00:00:00"}
    redraw(shared, body)
    assert (len(parts(shared, "median")), len(parts(shared, "band"))) == (2, 1)
    assert {"Apr 2021", "Jul 2021"} <= set(words(shared))


@pytest.mark.parametrize(
    ("names", "boxed"),
    [
        ("Lowest q10 Q1 q2 Q3 P90 highest", True),
        ("minimum lower_quartile P50 upper_quartile maximum", True),
        ("p10 p25 max", True),
        ("median n", True),
        ("min max", False),
        ("min minimum median", False),  # of two things
        ("lowest_cost mean_cost", False),
    ],
)
def test_boxes_are_known_by_the_names_of_columns(shared: Page, names: str, boxed: bool) -> None:
    columns = names.split()
    rows = [[ward, *range(10, 10 + len(columns))] for ward in "AB"]
    redraw(shared, answer([("ward", "text"), *((name, "float8") for name in columns)], rows))
    assert shared.locator(".panel-chart svg").first.get_attribute("aria-label") == (
        f"{'Quantiles' if boxed else columns[0]} by ward; the table has every number"
    )


def test_one_row_is_one_box_or_big_numbers(shared: Page) -> None:
    redraw(shared, answer(FIVE, [[1, 8, 12.5, 19, 44]]))
    assert len(parts(shared, "box")) == 1
    redraw(shared, answer([("median", "float8")], [[12.5]]))
    expect(shared.locator(".big-number")).to_have_text("12.5")


def test_nothing_is_drawn_of_nothing(shared: Page) -> None:
    redraw(shared, answer([("ward", "text"), *FIVE], [["A", *[None] * 5]] * 2))
    expect(shared.locator(".panel-chart")).to_have_text("Nothing to draw here: see the table.")


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ("[0, 2500, 1200000, -3.5e9]", ["0", "2.5 k", "1.2 M", "-3.5 B"]),
        ("[1000, 1250, 1500]", ["1 k", "1.25 k", "1.5 k"]),
        ("[150000, 150002]", ["150,000", "150,002"]),
        ("[0, 0.25, 0.00005]", ["0", "0.25", "5e-5"]),
    ],
)
def test_numbers_on_axes(shared: Page, numbers: str, expected: list[str]) -> None:
    found = shared.evaluate(
        f"import('/console/charts/axes.js').then(({{ written }}) => {numbers}.map(written({numbers})))"
    )
    assert [text.replace("\u00a0", " ") for text in found] == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2020-01-01", "2021-01-01"], ["2020", "2021"]),
        (["2021-01-01", "2021-02-01 00:00:00"], ["Jan 2021", "Feb 2021"]),
        (["2021-01-01", "2021-01-08"], ["1 Jan 2021", "8 Jan 2021"]),
        (["2021-01-01 00:00:00+00", "2021-01-01 06:30:00+00"], ["1 Jan, 00:00", "1 Jan, 06:30"]),
    ],
)
def test_moments_on_axes(shared: Page, texts: list[str], expected: list[str]) -> None:
    script = """texts => import('/console/charts/axes.js').then(({ moment, writtenMoments }) => {
      const moments = texts.map(moment);
      return moments.map(writtenMoments(moments));
    })"""
    assert shared.evaluate(script, texts) == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize(("name", "body"), [("histogram", HISTOGRAM), ("boxes", BOXES)])
def test_charts_fit_and_are_accessible(draw: Draw, name: str, body: Any, width: int, scheme: str) -> None:
    page = draw(body, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_apart(page)
    picture(page, f"{name}-{width}-{scheme}")
    assert_accessible(page)


def test_days_have_labels_only_where_there_is_room(draw: Draw) -> None:
    rows: list[Row] = [[f"2021-03-{day:02} 00:00:00", 1000.0 + day] for day in range(1, 29)]
    page = draw(answer([("day", "timestamp"), ("orders", "float8")], rows), 390)
    assert "7 Mar 2021" in words(page)
    assert_apart(page)


def assert_apart(page: Page) -> None:
    """No words of a picture stand on others, or beyond the card."""
    found = page.locator(".panel-chart svg text").evaluate_all(
        "texts => texts.map((text) => text.getBoundingClientRect().toJSON())"
    )
    card = page.locator(".answer").bounding_box()
    assert card is not None
    for place, one in enumerate(found):
        assert card["x"] <= one["left"] and one["right"] <= card["x"] + card["width"]
        for other in found[:place]:
            assert (
                one["left"] >= other["right"]
                or other["left"] >= one["right"]
                or one["top"] >= other["bottom"] - 2
                or other["top"] >= one["bottom"] - 2
            )
