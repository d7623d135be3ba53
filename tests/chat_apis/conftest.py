"""A project behind the real server, for all tests of chat clients."""

import openai
import pytest

from tests.chat_apis.serving import FOREVER, served, write

AGENTS = {
    "desk": "description: Answers what customers ask.",
    "clerk": "tools: [ask_user]",
    "payer": "tools: [bank.pay]",
    "slow": "description: Takes its time.",
    "walker": "description: Goes for walks.",
    "guide": "description: Says what to wear.",
    "broken": "description: Has no luck.",
    "pair": "description: Waits for another of its kind.",
    "asker": "tools: [ask_user]",
}
BOTH = [{"tool": "get_weather", "arguments": {"city": city}} for city in ("Bonn", "Rome")]
SCRIPT = {
    "desk": {
        "rules": [{"when": "third", "report": "Three."}, {"when": "second", "report": "Two."}],
        "default": {
            "report": "Hello.",
            "usage": {"tokensIn": 120, "tokensOut": 7, "tokensCacheRead": 20, "tokensCacheWrite": 30},
        },
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
    "guide": {
        "rules": [
            {"when": "And a hat", "report": "No hat."},
            {"when": "no such city", "report": "I cannot say."},
            {"when": "12 degrees", "report": "Take a coat."},
            {"when": "rain in Bonn", "report": "Take an umbrella."},
            {"when": "both", "calls": BOTH},
        ],
        "default": {"calls": BOTH[:1]},
    },
    "pair": {"default": {"report": "Met.", "barrier": "another run/2"}},
    "asker": [
        {"calls": [{"tool": "ask_user", "arguments": {"question": "Which colour?"}}]},
        {"calls": [{"tool": "ask_user", "arguments": {"question": "Which size?"}}]},
        {"report": "Ordered."},
    ],
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
