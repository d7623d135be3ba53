"""A project behind the real server, for all tests of chat clients."""

import openai
import pytest

from tests.doors.serving import FOREVER, served, write

AGENTS = {
    "desk": "description: Answers what customers ask.",
    "clerk": "tools: [ask_user]",
    "payer": "tools: [bank.pay]",
    "slow": "description: Takes its time.",
    "walker": "description: Goes for walks.",
    "broken": "description: Has no luck.",
}
SCRIPT = {
    "desk": {
        "rules": [{"when": "third", "report": "Three."}, {"when": "second", "report": "Two."}],
        "default": {"report": "Hello.", "usage": {"tokensIn": 120, "tokensOut": 7, "tokensCacheRead": 20}},
    },
    "clerk": [
        {"calls": [{"tool": "ask_user", "arguments": {"question": "Which order?"}}]},
        {"report": "I looked at it."},
    ],
    "payer": [{"calls": [{"tool": "bank.pay", "arguments": {"to": "ann"}}]}, {"report": "Paid."}],
    "slow": {"default": FOREVER},
    "walker": {
        "rules": [
            {"when": "coat", "report": "Yes."},
            {"when": "rains", "report": "Take one."},
            {
                "when": "umbrella",
                "calls": [
                    {"tool": "weather", "arguments": {"place": "Bonn"}},
                    {"tool": "weather", "arguments": {"place": "Cologne"}},
                ],
            },
        ],
    },
    "broken": {"default": {"error": {"message": "the model is out", "retryable": False}}},
}


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doors")
    write(folder, AGENTS, SCRIPT)
    with served(folder) as running:
        yield running


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.base, api_key="none is needed here") as made:
        yield made
