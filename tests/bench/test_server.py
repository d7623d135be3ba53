"""What the fake server reads from a request without parsing it."""

import json

import pytest

from bench import server


def called(model, *messages):
    body = json.dumps({"model": model, "messages": list(messages)}).encode()
    message = json.loads(server.completion(model, body))["choices"][0]["message"]
    return message["tool_calls"][0]["function"]["name"]


@pytest.mark.parametrize("body", [b'{"model":"tool-1@50","x":1}', b'{"x": {}, "model" : "tool-1@50"}'])
def test_the_model_is_found_however_the_body_is_spaced(body):
    assert server.model_of(body) == "tool-1@50"


def test_a_tool_is_asked_for_until_enough_results_are_there():
    result = {"role": "tool", "content": "x"}

    assert called("tool-2", result) == "look"
    assert called("tool-2", result, result) == "agent__final_report"


def test_a_router_routes_and_any_other_model_reports():
    assert called("route") == "router__handoff-to"
    assert called("final") == "agent__final_report"


def test_agents_are_called_all_in_one_turn():
    body = json.dumps({"model": "call-3:helper"}).encode()
    message = json.loads(server.completion("call-3:helper", body))["choices"][0]["message"]

    assert [call["id"] for call in message["tool_calls"]] == ["call_1", "call_2", "call_3"]
    assert {call["function"]["name"] for call in message["tool_calls"]} == {"call_agent"}
    assert called("call-3:helper", {"role": "tool", "content": "x"}) == "agent__final_report"


class Written:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += data


def test_requests_that_arrive_in_pieces_or_together_are_answered_in_order():
    protocol = server.ChatServer()
    protocol.transport, protocol.buffer = Written(), bytearray()
    body = b'{"model":"final"}'
    request = b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)

    protocol.data_received(request[:30])
    assert protocol.transport.data == b""
    protocol.data_received(request[30:] + request)

    assert protocol.transport.data.count(b"HTTP/1.1 200 OK") == 2


def test_a_willing_model_takes_the_way_out_that_it_is_offered():
    def offered(**tools):
        functions = [
            {"function": {"name": name, "parameters": {"properties": form}}} for name, form in tools.items()
        ]
        body = json.dumps({"model": "willing", "tools": functions}).encode()
        (call,) = json.loads(server.completion("willing", body))["choices"][0]["message"]["tool_calls"]
        return json.loads(call["function"]["arguments"])

    report = {"agent__final_report": {"report_format": {"const": "json"}}}
    assert offered(**report) == {"report_format": "json", "content_json": {}}
    assert offered(**report, **{"router__handoff-to": {"agent": {"enum": ["b", "c"]}}}) == {"agent": "b"}


def test_a_willing_model_that_is_offered_nothing_answers_in_words():
    (choice,) = json.loads(server.completion("willing", b'{"model": "willing"}'))["choices"]

    assert choice["message"] == {"role": "assistant", "content": server.REPORT_TEXT}
    assert choice["finish_reason"] == "stop"
