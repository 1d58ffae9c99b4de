"""The console in Debian's Chromium, before a real proxy: what people see, do and read. Screenshots are kept."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from server.backends.embedded import EmbeddedPostgres
from server.demo.workplace import Demonstration, add_analyst, proxy
from tests.support.chromium import assert_accessible, chromium, picture
from tests.support.proxies import tpch_demonstration

BY_NATION = "SELECT n_name, count(*) AS orders FROM orders JOIN customer ON o_custkey = c_custkey\
 JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def office(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Demonstration, str]]:
    """In plain text, as a browser would not trust the certificate of tests."""
    made = tpch_demonstration(tmp_path_factory.mktemp("console"), embedded_postgres, tpch_url)
    add_analyst(made, epsilon=1.0)
    with proxy(made, port=0) as listening:
        yield made, listening


@pytest.fixture(scope="module")
def demonstration(office: tuple[Demonstration, str]) -> Demonstration:
    return office[0]


@pytest.fixture(scope="module")
def address(office: tuple[Demonstration, str]) -> str:
    return office[1]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """Opens pages of their own; any error in a script, and any request elsewhere, fails the test."""
    wrong: list[str] = []
    contexts = []

    def opened(path: str = "/", width: int = 1300, height: int = 900, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(address) else wrong.append(request.url))
        page.on("console", lambda said: wrong.append(said.text) if "Content Security" in said.text else None)
        page.goto(address + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [url for url in wrong if not url.startswith("blob:")] == []


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("Your key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#session:not([hidden]), #sign-in-problem:not([hidden])")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/admin"])
def test_no_key_is_sent_by_a_page_whose_script_has_not_run(path: str, browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        posted: list[str] = []
        page.on("request", lambda request: posted.append(request.method) if request.method != "GET" else None)
        page.goto(address + path)
        page.get_by_label("Your key").fill("ng_nobody")
        page.get_by_label("Your key").press("Enter")
        expect(page.get_by_role("button", name="Sign in")).to_be_disabled()
        assert (page.url, posted) == (address + path, [])
    finally:
        context.close()


def test_a_first_visit_to_a_charted_answer_in_six_actions(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page()
    page.get_by_label("Your key").fill(add_analyst(demonstration, 3.0))  # 1
    page.get_by_role("button", name="Sign in").click()  # 2
    expect(page.locator("#budget .words")).to_contain_text("3 of 3 left")
    page.get_by_role("button", name="customer: by nation").click()  # 3
    expect(page.locator("#budget .words")).to_contain_text("this question takes 1")
    expect(page.locator("#explanation")).to_contain_text("everybody in customer")
    page.get_by_role("button", name="Run", exact=True).click()  # 4
    expect(page.locator(".panel-chart svg[role=img]")).to_be_visible(timeout=60_000)
    expect(page.locator("#budget .words")).to_contain_text("2 of 3 left")
    expect(page.locator("#history li:not(.day)")).to_have_count(1)
    picture(page, "charted")
    assert_accessible(page)


def test_an_answer_is_a_table_and_a_file_too(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page()
    sign_in(page, add_analyst(demonstration, 3.0))
    page.get_by_label("SQL", exact=True).fill(BY_NATION)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".panel-chart svg[role=img]")).to_be_visible(timeout=60_000)
    page.get_by_role("tab", name="Chart").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".panel-table tbody tr")).to_have_count(25)
    with page.expect_download() as downloading:
        page.get_by_text("Download", exact=True).click()
        page.get_by_role("button", name="CSV").click()
    rows = list(csv.reader(io.StringIO(Path(downloading.value.path()).read_text(), newline="")))
    assert rows[0] == ["n_name", "orders", "orders_lo", "orders_hi", "low_precision", "clipped"]
    assert len(rows) == 26
    page.locator("#history button").first.click()
    expect(page.locator(".provenance").first).to_contain_text("Free: you have paid for this answer", timeout=60_000)
    picture(page, "table")


@pytest.mark.parametrize("path", ["/", "/admin"])
def test_signing_out_leaves_nothing_in_the_browser(open_page: Open, demonstration: Demonstration, path: str) -> None:
    page = open_page()
    sign_in(page, add_analyst(demonstration, 3.0))
    page.get_by_label("SQL", exact=True).fill("SELECT count(*) FROM orders WHERE o_clerk <> 'tell nobody'")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".answer")).to_be_visible(timeout=60_000)
    expect(page.locator("#history")).to_contain_text("tell nobody")
    assert "tell nobody" not in page.evaluate("JSON.stringify(localStorage)")  # sealed
    if path == "/admin":  # another page of the same browser
        page.goto(page.url + "admin")
        sign_in(page, add_analyst(demonstration, 1.0, role="admin"))
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your key")).to_be_visible()
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]
    assert "tell nobody" not in page.evaluate("document.documentElement.outerHTML + location.href")
    assert "tell nobody" not in page.evaluate("[...document.querySelectorAll('textarea, input')].map((e) => e.value)")


def test_practice_is_marked_and_leaves_the_budget_alone(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page()
    sign_in(page, add_analyst(demonstration, 3.0))
    page.get_by_label("Practice").check()
    expect(page.locator("#practising")).to_be_visible()
    page.get_by_label("SQL", exact=True).fill(BY_NATION)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".panel-chart svg[role=img]")).to_be_visible(timeout=60_000)
    expect(page.locator(".answer")).to_contain_text("practice: made-up rows")
    expect(page.locator("#budget .words")).to_contain_text("2 of 3 left")  # of the practice database's own ledger
    expect(page.locator("#history li:not(.day)")).to_have_count(1)
    picture(page, "practice")
    assert_accessible(page)
    page.get_by_label("Practice").uncheck()
    expect(page.locator("#practising")).to_be_hidden()
    expect(page.locator("#budget .words")).to_contain_text("3 of 3 left")
    expect(page.locator("#history")).not_to_contain_text("n_name")


def test_a_refused_question_shows_its_place(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page(scheme="dark")
    sign_in(page, add_analyst(demonstration, 3.0))
    page.get_by_label("SQL", exact=True).fill("SELECT o_nam, count(*) FROM orders GROUP BY 1")
    expect(page.locator("#editor .tok-problem")).to_have_text("o_nam")
    expect(page.locator("#problem")).to_contain_text("o_nam")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#problem")).to_be_visible()
    assert page.evaluate("[sql.selectionStart, sql.selectionEnd]") == [7, 12]
    picture(page, "refused")
    assert_accessible(page)


def test_an_exhausted_budget_is_explained(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page()
    sign_in(page, add_analyst(demonstration, 0.25))
    page.get_by_label("SQL", exact=True).fill("SELECT count(*) FROM orders")
    expect(page.locator("#budget .words")).to_contain_text("too little for epsilon 1")
    expect(page.locator("#short")).to_contain_text("asks for epsilon 1.0, but only epsilon 0.25 is left")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#problem")).to_contain_text("0.25")
    picture(page, "exhausted")


def test_the_noise_of_a_sum_is_told_for_what_a_row_adds(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page()
    sign_in(page, add_analyst(demonstration, 1.0))
    page.get_by_label("SQL", exact=True).fill("SELECT sum(l_extendedprice), count(*) FROM lineitem")
    expect(page.locator("#explanation")).to_contain_text("if each person adds at most 105,269")
    expect(page.locator("#explanation")).to_contain_text("if each person adds at most 1,")


def test_a_delta_that_nobody_granted_is_explained(open_page: Open, demonstration: Demonstration) -> None:
    """The demonstration's policy has none, so the explanation is made to ask for one."""
    page = open_page()
    told = {
        "message": "only delta 0.0 is left",
        "hint": "noisegate admin top-up ada --delta 1e-6",
        "without_delta": False,
    }
    changed = {"delta": 1e-6, "charge_delta": 1e-6, "cannot_pay": told}
    page.route("**/v1/explain", lambda route: route.fulfill(json=route.fetch().json() | changed))
    sign_in(page, add_analyst(demonstration, 3.0))
    page.get_by_label("SQL", exact=True).fill("SELECT count(*) FROM orders")
    expect(page.locator("#budget .words")).to_contain_text("delta 0 of 0 left: too little for delta 1e-6")
    expect(page.locator("#short")).to_contain_text("noisegate admin top-up")
    expect(page.locator("#run")).to_be_enabled()  # what is paid for opens again free
    picture(page, "without-delta")
    assert_accessible(page)
    page.get_by_label("SQL", exact=True).fill("")
    expect(page.locator("#short")).to_be_hidden()


def test_words_complete_themselves(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page()
    sign_in(page, add_analyst(demonstration, 1.0))
    editor = page.get_by_label("SQL", exact=True)
    editor.press_sequentially("SELECT count(*) FROM ord")
    expect(page.get_by_role("listbox", name="Completions")).to_be_visible()
    page.keyboard.press("Tab")
    expect(editor).to_have_value("SELECT count(*) FROM orders")
    editor.fill("")
    editor.press_sequentially("SELECT sum(o.o_tot")
    editor.press_sequentially(") FROM orders o")
    page.keyboard.press("Escape")
    expect(editor).to_have_value("SELECT sum(o.o_tot) FROM orders o")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone(open_page: Open, demonstration: Demonstration, scheme: str) -> None:
    page = open_page(width=360, height=740, scheme=scheme)
    sign_in(page, add_analyst(demonstration, 3.0))
    page.get_by_label("SQL", exact=True).fill(BY_NATION)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".panel-chart svg[role=img]")).to_be_visible(timeout=60_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    picture(page, f"telephone-{scheme}")
    assert_accessible(page)


def test_the_administrators_page(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page("/admin")
    sign_in(page, add_analyst(demonstration, 1.0, role="admin"))
    expect(page.locator("#analysts")).to_contain_text("analyst")
    page.locator("#add [name=name]").fill("grace")
    page.locator("#add [name=epsilon]").fill("4")
    page.locator("#add [name=reason]").fill("joined the team")
    page.get_by_role("button", name="Add analyst").click()
    expect(page.locator("#secret code")).to_contain_text("ng_")
    expect(page.locator("#acts")).to_contain_text("joined the team")
    page.locator("#grant [name=account]").fill("analyst:grace")
    page.locator("#grant [name=epsilon]").fill("2")
    page.locator("#grant [name=delta]").fill("1e-6")
    page.locator("#grant [name=reason]").fill("a second study")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#accounts")).to_contain_text("6 of 6 left")
    expect(page.locator("#accounts")).to_contain_text("delta 1e-6 of 1e-6 left")
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#verified")).to_contain_text("entries are valid", timeout=30_000)
    page.locator("#secret").evaluate("secret => secret.hidden = true")
    picture(page, "administration")
    assert_accessible(page)


def test_an_analysts_key_opens_no_administration(open_page: Open, demonstration: Demonstration) -> None:
    page = open_page("/admin")
    sign_in(page, add_analyst(demonstration, 1.0))
    expect(page.locator("#sign-in-problem")).to_contain_text("needs the role")


def test_several_statements_are_asked_together(open_page: Open, demonstration: Demonstration) -> None:
    people = "FROM customer JOIN nation ON c_nationkey = n_nationkey"
    statements = (
        f"SELECT n_name, count(*) AS n {people} GROUP BY 1; -- the nations; alone\n"
        f"SELECT c_acctbal < 0 AS in_debt, count(*) AS n {people} GROUP BY 1;\n"
        f"SELECT n_name, c_acctbal < 0 AS in_debt, count(*) AS n {people} GROUP BY 1, 2;"
    )
    page = open_page()
    sign_in(page, add_analyst(demonstration, 3.0))
    page.get_by_label("SQL", exact=True).fill(statements)
    expect(page.get_by_role("button", name="Ask dashboard")).to_be_visible()
    expect(page.locator("#run")).to_be_hidden()
    expect(page.locator("#together-words")).to_contain_text("estimated together")
    expect(page.locator("#together-answers li")).to_have_count(3)
    expect(page.locator("#together-answers")).not_to_contain_text("the nations; alone")
    expect(page.locator("#budget .words")).to_contain_text("this question takes 1")
    page.get_by_role("button", name="Ask dashboard").click()
    expect(page.locator(".board .panel-chart svg[role=img]")).to_have_count(3, timeout=60_000)
    expect(page.locator(".together-said")).to_contain_text("Charged epsilon 1")
    expect(page.locator("#budget .words")).to_contain_text("2 of 3 left")
    third = page.locator(".board .answer").nth(2)
    third.get_by_role("tab", name="Table").click()
    expect(third.locator(".panel-table tbody tr")).to_have_count(50)
    picture(page, "together")
    assert_accessible(page)
    page.get_by_label("SQL", exact=True).fill("SELECT count(*) FROM orders")
    expect(page.locator("#run")).to_be_visible()
    expect(page.locator("#together")).to_be_hidden()
