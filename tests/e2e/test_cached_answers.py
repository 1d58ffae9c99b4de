"""Answers that are kept, through a real proxy: who pays, and when something is measured."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from server.demo.workplace import Demonstration, new_data

NewClient = Callable[..., httpx.Client]

COUNT = "SELECT count(*) FROM orders WHERE o_totalprice > 1000"
BY_NATION = "SELECT n_name, count(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"


def asked(http: httpx.Client, sql: str = COUNT, key: str | None = None, **settings: Any) -> dict[str, Any]:
    headers = {} if key is None else {"Idempotency-Key": key}
    reply = http.post("/v1/query", json={"sql": sql, "epsilon": 0.5, **settings}, headers=headers)
    assert reply.is_success, reply.text
    body: dict[str, Any] = reply.json()
    return body


def left(http: httpx.Client) -> float:
    return float(http.get("/v1/budget").json()["epsilon_left"])


def test_asked_again_it_is_free_however_it_is_written(new_client: NewClient, demonstration: Demonstration) -> None:
    new_data(demonstration)
    http = new_client(2.0)
    first = asked(http)
    again = asked(http, "select COUNT(*) as n from ORDERS o where 1000 < o.o_totalprice")
    assert (first["cached"], again["cached"]) == (False, True)
    assert again["charge"] == {"epsilon": 0.0, "delta": 0.0}
    assert (again["rows"], again["intervals"], again["taus"]) == (first["rows"], first["intervals"], first["taus"])
    assert [column["name"] for column in again["columns"]] == ["n"]
    assert left(http) == again["budget"]["epsilon_left"] == 1.5


def test_sorted_and_cut_otherwise_it_is_the_same_answer(new_client: NewClient, demonstration: Demonstration) -> None:
    new_data(demonstration)
    http = new_client(1.0)
    whole = asked(http, BY_NATION)
    most = asked(http, f"{BY_NATION} HAVING count(*) > 0 ORDER BY n DESC LIMIT 3")
    assert most["cached"] and left(http) == 0.5
    assert most["rows"] == sorted(whole["rows"], key=lambda row: -row[1])[:3]


def test_another_analyst_pays_for_the_same_numbers(new_client: NewClient, demonstration: Demonstration) -> None:
    new_data(demonstration)
    ada, grace, poor = new_client(1.0), new_client(1.0), new_client(0.25)
    first, other = asked(ada), asked(grace)
    assert (other["cached"], other["charge"]["epsilon"], other["rows"]) == (True, 0.5, first["rows"])
    assert left(grace) == 0.5
    assert asked(grace)["charge"]["epsilon"] == 0.0
    refused = poor.post("/v1/query", json={"sql": COUNT, "epsilon": 0.5})
    assert refused.status_code == 403 and refused.json()["code"] == "PD001"
    told = {name: words for name, words in refused.json().items() if name != "request_id"}  # whose digits are random
    assert str(first["rows"][0][0]) not in str(told)


def test_eight_panels_that_refresh_at_once_are_charged_once(
    new_client: NewClient, demonstration: Demonstration
) -> None:
    new_data(demonstration)
    http = new_client(1.0)
    with ThreadPoolExecutor(8) as panels:
        answers = list(panels.map(lambda _: asked(http), range(8)))
    assert [answer["cached"] for answer in answers].count(False) == 1
    assert len({str(answer["rows"]) for answer in answers}) == 1
    assert left(http) == 0.5


def test_new_data_is_measured_anew(new_client: NewClient, demonstration: Demonstration) -> None:
    http = new_client(2.0)
    asked(http, epsilon=0.75)
    new_data(demonstration)
    again = asked(http, epsilon=0.75)
    assert not again["cached"]
    assert left(http) == 0.5


def test_a_request_that_is_sent_again_gets_the_answer_that_it_got(
    new_client: NewClient, demonstration: Demonstration
) -> None:
    http = new_client(2.0)
    first = asked(http, key="order-7")
    new_data(demonstration)
    again = asked(http, key="order-7")
    assert (again["rows"], again["charge"]["epsilon"], left(http)) == (first["rows"], 0.0, 1.5)
    for change in (
        {"sql": BY_NATION},
        {"epsilon": 0.25},
        {"sampling_rate": 0.5},
        {"sql": f"{COUNT} HAVING count(*) > 1"},
    ):
        body = {"sql": COUNT, "epsilon": 0.5} | change
        other = http.post("/v1/query", json=body, headers={"Idempotency-Key": "order-7"})
        assert (other.status_code, other.json()["code"]) == (422, "23505"), change
        assert "another request" in other.json()["message"]
    assert left(http) == 1.5


@pytest.mark.statistical(1e-12)
def test_an_accuracy_gets_a_price_and_the_price_buys_it(new_client: NewClient, demonstration: Demonstration) -> None:
    new_data(demonstration)
    http = new_client(8.0)
    wanted = {"sql": COUNT, "max_relative_error": 0.1}
    unknown = http.post("/v1/propose", json=wanted)
    assert (unknown.status_code, unknown.json()["code"]) == (422, "PD003")
    asked(http, epsilon=0.2)
    proposal = http.post("/v1/propose", json=wanted).json()
    assert proposal.get("basis") == "released", proposal
    assert left(http) == pytest.approx(7.8)
    body = asked(http, epsilon=proposal["epsilon"])
    (value,), (interval,) = body["rows"][0], body["intervals"][0]
    assert (interval["high"] - value) / value < 0.3  # as wide as proposed, or with a threshold or two more
