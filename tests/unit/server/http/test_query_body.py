from __future__ import annotations

from server.http.query_body import QueryBody
from tests.unit.server.http.fakes import FakePipeline, assert_problem, send


def test_what_is_not_documented_is_refused_by_field() -> None:
    for content, field in [
        (b"", "body"),
        (b"null", "body"),
        (b"[]", "body"),
        (b"{}", "body.sql"),
        (b'{"sql": ""}', "body.sql"),
        (b'{"sql": 1}', "body.sql"),
        (b'{"sql": "\\ud800"}', "body.sql"),
        (b'{"sql": "a", "epsilon": 0}', "body.epsilon"),
        (b'{"sql": "a", "epsilon": -1}', "body.epsilon"),
        (b'{"sql": "a", "epsilon": NaN}', "body.epsilon"),
        (b'{"sql": "a", "epsilon": Infinity}', "body.epsilon"),
        (b'{"sql": "a", "epsilon": 1e999}', "body.epsilon"),
        (b'{"sql": "a", "epsilon": ' + b"9" * 400 + b"}", "body.epsilon"),
        (b'{"sql": "a", "epsilon": "1"}', "body.epsilon"),
        (b'{"sql": "a", "epsilon": true}', "body.epsilon"),
        (b'{"sql": "a", "delta": -1e-9}', "body.delta"),
        (b'{"sql": "a", "delta": 1}', "body.delta"),
        (b'{"sql": "a", "delta": NaN}', "body.delta"),
        (b'{"sql": "a", "mechanism": "none"}', "body.mechanism"),
        (b'{"sql": "a", "analyst": "eve"}', "body.analyst"),
        (b'{"sql": "a", "nobody_adds_more_than": 0}', "body.at_most"),
        (b'{"sql": "a", "nobody_adds_more_than": 1, "at_most": 2}', "body.nobody_adds_more_than"),
        (b'{"sql": "a", "seed": 1}', "body.seed"),
        (b'{"sql": "a", "parameters": 1}', "body.parameters"),
        (b'{"sql": "a", "parameters": null}', "body.parameters"),
        (b'{"sql": "a", "parameters": [NaN]}', "body.parameters.0"),
        (b'{"sql": "a", "parameters": [1, [1]]}', "body.parameters.1"),
        (b'{"sql": "a", "parameters": [{"a": 1}]}', "body.parameters.0"),
        (b'{"sql": "a", "parameters": [' + b"1," * 256 + b"1]}", "body.parameters"),
        (b"\xff\xfe", "body"),
        (b"{" * 1000, "body"),
    ]:
        pipeline = FakePipeline()
        headers = {"Content-Type": "application/json"}
        response = send("POST", "/v1/query", pipeline=pipeline, content=content, headers=headers)
        body = assert_problem(response, 422, "08P01")
        assert f" {field}" in body["message"], content
        assert pipeline.asked == [], content


def test_json_that_no_parser_takes_is_a_bad_request() -> None:
    for content in [b"[" * 60_000, b'{"sql": "a", "epsilon": ' + b"9" * 5000 + b"}"]:
        response = send("POST", "/v1/query", content=content, headers={"Content-Type": "application/json"})
        assert_problem(response, 400, "08P01")


def test_a_value_that_was_sent_is_not_repeated() -> None:
    response = send("POST", "/v1/query", json={"sql": "a", "mechanism": "secret-zebra", "epsilon": "secret-zebra"})
    assert_problem(response, 422, "08P01")
    assert "zebra" not in response.text


def test_a_form_is_not_json() -> None:
    response = send("POST", "/v1/query", content=b'{"sql": "a"}', headers={"Content-Type": "text/plain"})
    assert_problem(response, 422, "08P01")


def test_many_faults_make_a_short_message() -> None:
    response = send("POST", "/v1/query", json={"sql": "a", **{f"{'x' * 500}{i}": 1 for i in range(50)}})
    assert len(assert_problem(response, 422, "08P01")["message"]) < 1000


def test_parameters_keep_their_types() -> None:
    pipeline = FakePipeline()
    send("POST", "/v1/query", pipeline=pipeline, json={"sql": "a", "parameters": ["1", 1, 1.5, True, None]})
    values = pipeline.asked[0].parameters
    assert values == ("1", 1, 1.5, True, None)
    assert [type(value) for value in values] == [str, int, float, bool, type(None)]


def test_a_sampling_rate_reaches_the_question() -> None:
    pipeline = FakePipeline()
    send("POST", "/v1/query", pipeline=pipeline, json={"sql": "a", "sampling_rate": 0.01})
    assert pipeline.asked[0].sampling_rate == 0.01
    assert_problem(send("POST", "/v1/query", json={"sql": "a", "sampling_rate": 0}), 422, "08P01")
    assert_problem(send("POST", "/v1/query", json={"sql": "a", "sampling_rate": 1.5}), 422, "08P01")


def test_an_old_name_of_a_setting_is_read_as_the_new_one() -> None:
    assert QueryBody.model_validate({"sql": "a", "nobody_adds_more_than": 30.0}).at_most == 30.0
