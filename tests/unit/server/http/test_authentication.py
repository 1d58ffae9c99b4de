from __future__ import annotations

from tests.unit.server.http.fakes import KEY, FakePipeline, assert_problem, send


def test_without_a_valid_key_nothing_is_asked() -> None:
    cases: list[str | None] = [
        None,
        "",
        "Bearer",
        "Bearer ",
        KEY,
        f"Basic {KEY}",
        "Bearer ng_eve",
        "Bearer ada",
        f"Bearer {KEY} {KEY}",
        f"Bearer {KEY}x",
        f"Bearer {KEY.upper()}",
        "Bearer ng_" + "x" * 10_000,
    ]
    for header in cases:
        pipeline = FakePipeline()
        headers = {} if header is None else {"Authorization": header}
        response = send(
            "POST", "/v1/query", pipeline=pipeline, authorized=False, json={"sql": "SELECT 1"}, headers=headers
        )
        body = assert_problem(response, 401, "28P01")
        assert response.headers["www-authenticate"] == 'Bearer realm="noisegate"', header
        assert "Authorization: Bearer" in body["hint"], header
        assert pipeline.asked == [], header


def test_a_missing_and_a_wrong_key_are_not_told_apart() -> None:
    missing = send("GET", "/v1/budget", authorized=False, headers={"X-Request-ID": "same-id-same-id"})
    wrong = send("GET", "/v1/budget", headers={"X-Request-ID": "same-id-same-id", "Authorization": "Bearer ng_eve"})
    assert missing.text == wrong.text


def test_the_scheme_is_not_case_sensitive() -> None:
    assert send("GET", "/v1/budget", headers={"Authorization": f"bearer {KEY}"}).status_code == 200
