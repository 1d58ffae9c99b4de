from __future__ import annotations

from server.http.metrics import MAX_ACCOUNTS, Metrics, ledger_metrics
from server.ledger.account import AccountBalance, Grant
from server.ledger.analyst import Role
from server.ledger.writes.journal import Vitals
from tests.unit.server.http.fakes import assert_problem, send


def test_requests_are_counted_by_route_and_outcome() -> None:
    metrics = Metrics()
    for code in ("00000", "00000", "PD001"):
        metrics.begun()
        metrics.ended("/v1/query", code)
    metrics.begun()
    metrics.ended(None, "08P01")
    metrics.begun()
    text = metrics.text().decode()
    assert 'noisegate_requests_total{code="00000",route="/v1/query"} 2.0' in text
    assert 'noisegate_requests_total{code="PD001",route="/v1/query"} 1.0' in text
    assert 'noisegate_requests_total{code="08P01",route="none"} 1.0' in text
    assert "noisegate_requests_open 1.0" in text


def test_two_applications_do_not_share_counters() -> None:
    one, other = Metrics(), Metrics()
    one.begun()
    assert "noisegate_requests_open 0.0" in other.text().decode()


def test_no_duration_is_exported() -> None:
    text = Metrics().text().decode().lower()
    assert "second" not in text and "bucket" not in text


def test_administrators_read_them() -> None:
    cases: list[Role] = ["auditor", "admin"]
    for role in cases:
        response = send("GET", "/metrics", role=role)
        assert response.status_code == 200, role
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4"), role
        assert "noisegate_requests_open 1.0" in response.text, role
        assert 'noisegate_account_epsilon_left{account="analyst:ada"} 9.0' in response.text, role
        for line in ("charges_crashed 1.0", "charges_failed 2.0", "ledger_entries 12.0", "ledger_head_age_hours 3.0"):
            assert f"noisegate_{line}" in response.text, role
        assert "noisegate_workers 2.0" in response.text and "noisegate_accounts_low 0.0" in response.text, role
        assert "second" not in response.text.lower(), role


def test_no_more_accounts_than_so_many_have_a_line_and_those_are_the_shortest() -> None:
    accounts = [AccountBalance(f"analyst:{n}", Grant(10.0), n / 100, 0.0, None) for n in range(MAX_ACCOUNTS + 50)]
    text = ledger_metrics(accounts, Vitals(1, 0, 0, 0), 1).decode()
    assert text.count("noisegate_account_epsilon_left{") == MAX_ACCOUNTS
    assert 'epsilon_left{account="analyst:0"}' in text and f'"analyst:{MAX_ACCOUNTS}"' not in text
    assert f"noisegate_accounts {MAX_ACCOUNTS + 50}.0" in text and "noisegate_accounts_low 101.0" in text


def test_analysts_do_not() -> None:
    assert_problem(send("GET", "/metrics"), 403, "42501")
    assert_problem(send("GET", "/metrics", authorized=False), 401, "28P01")
