"""Stories before a clinic's console: a group and its delta, what is free together, years, charges found by number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from server.demo.workplace import Demonstration, proxy
from server.ledger.account import Grant
from server.ledger.analyst import Role, credentials_of, new_key
from tests.e2e.test_console_stories import PATIENCE_MS, ask, assert_fits, charged, explained, sign_in, write
from tests.support.chromium import assert_accessible, chromium, picture
from tests.support.console_clinic import ACT, clinic_demonstration, ledger_of

pytestmark = pytest.mark.xdist_group("clinic")

TOWNS = "SELECT town, count(*) AS patients FROM patient GROUP BY town"
BY_YEAR = "SELECT year, count(*) AS visits FROM visit GROUP BY year"
BY_KIND = "SELECT kind, count(*) AS visits FROM visit GROUP BY kind"


class Clinic:
    """A proxy, its ledger, and a browser before it."""

    def __init__(self, place: Demonstration, address: str, browser: Browser) -> None:
        self.place, self.address, self._browser = place, address, browser
        self._contexts: list[BrowserContext] = []
        self.wrong: list[str] = []

    def grant(self, account: str, epsilon: float, delta: float = 0.0) -> None:
        """Make an account, or set it anew."""
        with closing(ledger_of(self.place)) as ledger:
            ledger.grant(account, Grant(epsilon, delta), ACT)

    def key(
        self, name: str, epsilon: float, delta: float = 0.0, role: Role = "analyst", group: str | None = None
    ) -> str:
        """Somebody new."""
        key = new_key()
        with closing(ledger_of(self.place)) as ledger:
            ledger.add_analyst(name, credentials_of(key), epsilon, delta, role=role, group=group, act=ACT)
        return key

    def open(self, key: str, path: str = "/", width: int = 1400) -> Page:
        """A page of a browser of its own, signed in."""
        context = self._browser.new_context(viewport={"width": width, "height": 900 if width > 500 else 844})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.goto(self.address + path)
        sign_in(page, key)
        return page

    def close(self) -> None:
        """Its pages."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    place = clinic_demonstration(tmp_path_factory.mktemp("clinic"))
    ledger_of(place).close()
    with proxy(place, port=0) as address, chromium() as browser:
        yield Clinic(place, address, browser)


@pytest.fixture
def clinic(running: Clinic) -> Iterator[Clinic]:
    yield running
    running.close()
    wrong, running.wrong = running.wrong, []
    assert wrong == []


def toasted(page: Page, words: str | re.Pattern[str]) -> None:
    expect(page.locator("#toast")).to_contain_text(words, timeout=PATIENCE_MS)
    expect(page.locator("#toast")).to_have_attribute("role", "status")


def test_a_group_made_with_a_blank_delta_discovers_groups_and_its_charge_is_found_by_number(clinic: Clinic) -> None:
    office = clinic.open(clinic.key("cora", 1e-9, role="admin"), "/admin")
    expect(office.locator("#grant-help")).to_contain_text("left empty, is the policy’s for an analyst")
    office.locator("#grant [name=account]").fill("group:cardiology")
    office.locator("#grant [name=epsilon]").fill("20")
    office.locator("#grant [name=reason]").fill("one budget for a team")
    office.get_by_role("button", name="Set anew").click()
    toasted(office, "Done: the guarantee of group:cardiology is epsilon 20, delta 1e-06")
    office.locator("#add [name=name]").fill("hedy")
    office.locator("#add [name=group]").fill("cardiology")
    office.locator("#add [name=reason]").fill("joins the team")
    office.get_by_role("button", name="Add analyst").click()
    toasted(office, "Done: hedy is added")
    hedy = clinic.open(office.locator("#secret code").inner_text())
    answer = ask(hedy, TOWNS)
    said = answer.locator(".provenance li", has_text=re.compile(r"^charge \d+"))
    expect(said).to_be_visible(timeout=PATIENCE_MS)
    number = re.findall(r"\d+", said.inner_text())[0]
    expect(hedy.locator("#history li:not(.day)").first).to_contain_text(
        re.compile(rf"Charge {number}: .*\d+:\d\d [AP]M")
    )
    answer.get_by_role("button", name=re.compile("^request ")).click()
    toasted(hedy, "request’s id copied")
    assert re.fullmatch("[0-9a-f]{32}", hedy.evaluate("navigator.clipboard.readText()"))

    office.reload()
    office.get_by_label("Find a charge").fill(number)
    rows = office.locator("#charges tbody tr")
    expect(rows).to_have_count(1, timeout=PATIENCE_MS)
    expect(rows.first).to_contain_text("hedy")
    expect(office.locator("#running-out")).to_contain_text("group:cardiology (delta)")
    expect(office.locator(".forecast").first).to_contain_text("Too early to tell")
    office.locator("#grant [name=account]").fill("cardiology")
    office.locator("#grant [name=delta]").fill("0.00001")
    office.locator("#grant [name=reason]").fill("more towns")
    office.get_by_role("button", name="Add", exact=True).click()
    toasted(office, "Done: the guarantee of group:cardiology is epsilon 20, delta 1.1e-05")
    office.get_by_label("Find a charge").fill("999999")
    expect(office.locator("#charges tbody")).to_contain_text("None yet.", timeout=PATIENCE_MS)
    picture(office, "clinic-admin")
    assert_accessible(office)

    row = office.locator("#analysts tr", has_text="hedy")
    for act, words in (("Disable", "hedy is disabled"), ("Enable", "hedy may ask again"), ("New key", "another key")):
        row.get_by_role("button", name=act).click()
        office.get_by_label("Reason").last.fill("as was agreed")
        office.keyboard.press("Enter")
        toasted(office, f"Done: {words}" if act != "New key" else words)
    row.get_by_role("button", name="Group").click()
    office.locator("#why-field").fill("")
    office.get_by_label("Reason").last.fill("left the team")
    office.keyboard.press("Enter")
    toasted(office, "no group pays beside hedy any more")


@pytest.mark.parametrize("width", [1400, 390])
def test_that_a_groups_account_cannot_pay_is_said_before_the_question_is_run(clinic: Clinic, width: int) -> None:
    clinic.grant(f"group:pure{width}", 3.0)
    page = clinic.open(clinic.key(f"grace{width}", 9.0, 1e-5, group=f"pure{width}"), width=width)
    expect(page.locator("#budget .words")).to_contain_text("of your group’s epsilon 3 and delta 0")
    write(page, TOWNS)
    expect(page.locator("#problem")).to_contain_text(
        f"Your group, pure{width}, pays, too, and was granted none", timeout=PATIENCE_MS
    )
    expect(page.locator("#problem")).to_contain_text("name the groups, as in WHERE")
    page.locator("#budget summary").click()
    expect(page.locator("#budget dl")).to_contain_text("partition selection is not possible")
    page.keyboard.press("Escape")
    write(page, "SELECT count(*) FROM patient")
    page.get_by_role("spinbutton", name="Epsilon").fill("4")
    told = explained(page)
    expect(page.locator("#short")).to_contain_text(
        "only epsilon 3.0 is left for the analyst's group", timeout=PATIENCE_MS
    )
    expect(told.locator("summary").first).to_contain_text("cannot be paid: costs epsilon 4")
    picture(page, f"clinic-group-short-{width}")
    assert_fits(page, width)
    assert_accessible(page)
    write(page, "SELECT town, count(*) FROM patient WHERE town IN ('Town 8', 'Town 9') GROUP BY town")
    page.get_by_role("spinbutton", name="Epsilon").fill("1")
    explained(page)
    expect(page.locator("#short")).to_be_hidden(timeout=PATIENCE_MS)
    assert charged(page) == 0.0


def test_what_lacks_a_delta_is_asked_without_one_at_a_click(clinic: Clinic) -> None:
    page = clinic.open(clinic.key("lise", 9.0, 1e-6))
    ask(page, TOWNS)  # takes all of the delta
    write(page, "SELECT admitted, count(*) AS visits FROM visit GROUP BY admitted")
    expect(page.locator("#short")).to_contain_text("Without a delta it fits", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Ask without delta").click()
    expect(page.locator("#short")).to_be_hidden(timeout=PATIENCE_MS)
    expect(page.locator("#without-delta")).to_be_visible()
    expect(explained(page).locator("summary").first).not_to_contain_text("delta")
    picture(page, "clinic-without-delta")
    page.locator("#without-delta").click()
    expect(page.locator("#short")).to_be_visible(timeout=PATIENCE_MS)
    write(page, "SELECT town, sex, count(*) FROM patient GROUP BY town, sex")
    expect(page.locator("#short")).to_contain_text("This question needs a delta", timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Ask without delta")).to_have_count(0)
    assert charged(page) == pytest.approx(1.0)


def test_a_dashboard_is_made_of_answers_and_what_is_paid_for_is_free_in_it(clinic: Clinic) -> None:
    page = clinic.open(clinic.key("marie", 9.0, 1e-5))
    expect(page.locator("#no-answers")).to_contain_text("dashboard")
    ask(page, TOWNS)
    expect(page.locator("#no-answers")).to_be_hidden()
    ask(page, BY_YEAR)
    page.locator("#answers > .answer").first.get_by_role("tab", name="Table").click()
    assert page.locator(".answer tbody tr td").first.inner_text() == "2021"
    paid = charged(page)
    page.locator("#answers > .answer").first.get_by_role("button", name="Add to a dashboard").click()
    page.locator("#answers > .answer").last.locator(".fold").click()
    page.locator("#answers > .answer").last.get_by_role("button", name="Add to a dashboard").click()
    toasted(page, "A dashboard of 2 questions stands in the editor")
    write(page, page.get_by_label("SQL", exact=True).input_value() + f"{BY_KIND};")
    expect(page.locator("#together-answers li")).to_have_count(3, timeout=PATIENCE_MS)
    for place in (0, 1):
        expect(page.locator("#together-answers li").nth(place)).to_contain_text("free: you have paid for it")
    expect(page.locator("#together-words")).to_contain_text("Epsilon 0.3333 for all of them")
    picture(page, "clinic-dashboard-before")
    page.get_by_role("button", name="Ask dashboard").click()
    expect(page.locator(".dashboard h2").first).to_have_text("Dashboard of 3 questions", timeout=PATIENCE_MS)
    expect(page.locator("#history li:not(.day)").first).to_contain_text("Dashboard of 3. Charge", timeout=PATIENCE_MS)
    assert charged(page) == pytest.approx(paid + 1 / 3, abs=1e-6)
    picture(page, "clinic-dashboard")
    assert_accessible(page)


def test_what_follows_is_free_in_the_budget_too(clinic: Clinic) -> None:
    page = clinic.open(clinic.key("emmy", 9.0, 1e-5))
    ask(page, "SELECT sex, count(*) AS patients FROM patient GROUP BY sex", epsilon=4.0)
    write(page, "SELECT count(*) AS women FROM patient WHERE sex = 'female'")
    page.get_by_role("spinbutton", name="Epsilon").fill("1")
    expect(explained(page).locator("summary").first).to_contain_text("free: it is derived", timeout=PATIENCE_MS)
    expect(page.locator("#budget .words")).not_to_contain_text("this question takes")
    page.locator("#run").click()
    expect(page.locator("#answers > .answer")).to_have_count(2, timeout=PATIENCE_MS)
    expect(page.locator(".provenance").first).to_contain_text("Free: it is derived")
    assert charged(page) == pytest.approx(4.0)


def test_that_rows_are_likely_clipped_is_said_before_and_what_became_of_an_accuracy_after(clinic: Clinic) -> None:
    page = clinic.open(clinic.key("ada", 9.0, 1e-5))
    few = "SELECT ward, kind, count(*) AS visits FROM visit WHERE cost > 4950 GROUP BY ward, kind"
    answer = ask(page, few, epsilon=0.05)
    answer.get_by_role("tab", name="Table").click()
    expect(answer.locator("tr.low_precision.clipped").first).to_contain_text("○")
    expect(answer.locator("tr.low_precision.clipped").first).to_contain_text("↑")
    page.get_by_role("spinbutton", name="Epsilon").fill("0.06")
    expect(explained(page)).to_contain_text("Likely clipped", timeout=PATIENCE_MS)
    picture(page, "clinic-likely-clipped")
    write(page, BY_KIND)
    page.get_by_role("spinbutton", name="Epsilon").fill("2")
    page.get_by_label("Right within", exact=True).fill("20")
    expect(explained(page)).to_contain_text("Rows that are marked clipped may miss it", timeout=PATIENCE_MS)
    page.locator("#run").click()
    expect(page.locator(".provenance").first).to_contain_text(
        "asked to be right within 20%: reached", timeout=PATIENCE_MS
    )


def test_administration_does_all_that_was_filled_in_or_nothing(clinic: Clinic) -> None:
    office = clinic.open(clinic.key("lucia", 1e-9, role="admin"), "/admin")
    clinic.key("rosa", 5.0)
    office.reload()
    rosa = office.locator(".panel", has_text="analyst:rosa")
    for name, value in {"account": "rosa", "epsilon": "5", "most": "60", "reason": "monthly"}.items():
        office.locator(f"#grant [name={name}]").fill(value)
    office.locator("#grant [name=renew]").select_option("month")
    office.get_by_role("button", name="Add", exact=True).click()
    expect(office.locator("#problem")).to_contain_text("it changes no period, and nothing was changed")
    expect(rosa).to_contain_text("5 of 5 left")
    office.locator("#grant").get_by_role("button", name="Set anew").click()
    toasted(office, "Done: the guarantee of analyst:rosa is")
    office.locator("#grant [name=account]").fill("rosa")
    office.locator("#grant [name=reason]").fill("nothing is said")
    office.locator("#grant").get_by_role("button", name="Set anew").click()
    expect(office.locator("#problem")).to_contain_text("Set anew needs an epsilon")

    for name, value in {"name": "vera", "epsilon": "3", "most": "30", "reason": "joins, month by month"}.items():
        office.locator(f"#add [name={name}]").fill(value)
    office.get_by_role("button", name="Add analyst").click()
    expect(office.locator("#problem")).to_contain_text("an epsilon for all periods needs a period")
    office.locator("#add [name=renew]").select_option("month")
    office.get_by_role("button", name="Add analyst").click()
    toasted(office, "Done: vera is added")
    vera = clinic.open(office.locator("#secret code").inner_text())
    vera.locator("#budget summary").click()
    expect(vera.locator("#budget dl")).to_contain_text("month")

    row = office.locator("#analysts tr", has_text="rosa")
    row.get_by_role("button", name="Role").click()
    picture(office, "clinic-role")
    assert_accessible(office)
    office.locator("#why-choice").select_option("auditor")
    office.get_by_label("Reason").last.fill("looks after the others")
    office.keyboard.press("Enter")
    toasted(office, "Done: rosa is an auditor from now on")
    expect(row).to_contain_text("auditor")


def test_after_a_new_load_what_was_free_is_not_and_says_why(clinic: Clinic) -> None:
    office = clinic.open(clinic.key("ines", 1e-9, role="admin"), "/admin")
    page = clinic.open(clinic.key("dora", 9.0, 1e-5))
    female = "SELECT sex, count(*) AS patients FROM patient WHERE sex = 'female' GROUP BY sex"
    answer = ask(page, female, epsilon=4.0)
    expect(answer.locator(".panel-chart")).to_contain_text("female: patients")
    answer.get_by_text("Download", exact=True).click()
    expect(answer.get_by_role("button", name="CSV")).to_be_visible()
    expect(answer.get_by_role("button", name="PNG")).to_have_count(0)
    page.keyboard.press("Escape")

    office.locator("#dataset-acts [name=reason]").fill("the load of the night")
    office.get_by_role("button", name="The data is new").click()
    expect(office.locator("#why")).to_contain_text("measured again, and charged")
    office.locator("#why-cancel").click()
    expect(office.locator("#dataset-acts [name=reason]")).to_have_value("the load of the night")
    office.get_by_role("button", name="The data is new").click()
    office.get_by_role("button", name="Do it").click()
    toasted(office, "Done: the data is version")

    paid = charged(page)
    page.get_by_role("button", name="Again, free").click()
    expect(page.locator("#linked")).to_contain_text("Not free any more", timeout=PATIENCE_MS)
    expect(explained(page).locator("summary").first).to_contain_text("costs epsilon 4", timeout=PATIENCE_MS)
    expect(page.locator("#linked")).to_be_visible()
    picture(page, "clinic-not-free")
    assert charged(page) == paid

    office.locator("#analysts tr", has_text="dora").get_by_role("button", name="New key").click()
    office.get_by_label("Reason").last.fill("lost")
    office.keyboard.press("Enter")
    toasted(office, "another key")
    page.locator("#run").click()
    expect(page.locator("#problem")).to_contain_text("sign out, and in again", timeout=PATIENCE_MS)
