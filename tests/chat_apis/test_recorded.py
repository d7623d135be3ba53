"""What real programs sent in whole round trips (`./dev clients`), sent again: nothing of it is refused any more.

Of what they sent, long texts, paths and ids are left out. `CALL_n` and `RESPONSE_n` stand for the ids of the n-th call
and the n-th answer.
"""

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.chat_apis.serving import Server, served, write
from tests.clients.run import CLIENTS, answer_of, script_of

RECORDED = Path(__file__).parent / "recorded"
WORD = "The lamp is green."


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    scripts = {name: script_of(client.calls, WORD, Path("/project")) for name, client in CLIENTS.items()}
    write(folder, dict.fromkeys(CLIENTS, "description: Helps."), scripts)
    with served(folder) as running:
        yield running


@pytest.mark.parametrize("name", CLIENTS)
def test_whatever_a_real_program_sent_is_answered(server: Server, name: str):
    """K-20, K-21, K-23, K-24."""
    recorded = json.loads((RECORDED / f"{name}.json").read_text())
    field = "messages" if "messages" in recorded else "input"
    ids: dict[str, str] = {}
    answer = httpx.Response(500)
    for number, said in enumerate(recorded[field], 1):
        body = json.dumps({**recorded["body"], "model": name, field: said})
        for placeholder, id in ids.items():
            body = body.replace(placeholder, id)
        url = f"{server.address.rstrip('/')}{recorded['path']}"
        answer = httpx.post(url, content=body, headers=recorded["headers"], timeout=60)
        assert answer.status_code == 200, answer.text
        for call in re.findall(r"\bcall_[0-9a-f]+", answer.text):
            if call not in ids.values():
                ids[f"CALL_{1 + sum(key.startswith('CALL') for key in ids)}"] = call
        if response := re.search(r"\bresp_[0-9a-f.-]+", answer.text):
            ids[f"RESPONSE_{number}"] = response[0]
    assert answer_of(WORD) in answer.text
    assert sum(key.startswith("CALL") for key in ids) == len(CLIENTS[name].calls)
