"""`folkmoot doctor` finds model servers on this machine, and says how to use them."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from checks.files import ROOT
from folkmoot.cli import local_models
from tests.docs.pages import blocks
from tests.docs.shown import compare


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A server of this test that answers late, because the machine is busy, is there all the same."""
    monkeypatch.setattr(local_models, "PATIENCE", 60.0)


@dataclass
class Server:
    """One that speaks as local model servers do."""

    models: object
    status: int = 200
    port: int = 0
    heard: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """The models that were asked."""

    def answer(self, path: str, body: bytes) -> tuple[int, object]:
        if path == "/v1/models":
            return self.status, self.models
        self.asked.append(json.loads(body)["model"])
        message = {"role": "assistant", "content": "Hello from here."}
        usage = {"prompt_tokens": 5, "completion_tokens": 3}
        return 200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


@contextmanager
def serving(models: object, status: int = 200) -> Iterator[Server]:
    found = Server(models, status)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            found.heard.append((self.path, dict(self.headers)))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, said = found.answer(self.path, body)
            text = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()


def listed(*names: str, **more: object) -> dict[str, object]:
    return {"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]}


def test_what_the_doctor_prints_is_all_that_a_project_needs_to_use_the_models_it_found(folkmoot):
    """Issue 8: local servers found by `folkmoot doctor`; its lines are pasted, and an agent answers."""
    (folkmoot.folder / "a.ai").write_text("---\ndescription: answers\n---\nBe kind.\n")
    with serving(listed("bge-embed", "Qwen/Qwen3-8B", owned_by="vllm", max_model_len=40960)) as server:
        at = f"127.0.0.1:{server.port}"
        doctor = folkmoot("doctor", "--look-at", at)
        lines = doctor.out.partition("write into folkmoot.yaml:\n\n")[2]
        (folkmoot.folder / "folkmoot.yaml").write_text(lines)
        ran = folkmoot("run", "a.ai", "hello", "-q")
        again = folkmoot("doctor", "--look-at", at)

    assert f"models at {at}  ok      vllm: bge-embed, Qwen/Qwen3-8B\n" in doctor.out
    assert yaml.safe_load(lines) == {
        "providers": {
            "vllm": {"kind": "openai", "baseUrl": f"http://{at}/v1", "price": "free", "contextWindow": 40960}
        },
        "models": {"default": "vllm/Qwen/Qwen3-8B"},
    }
    assert (ran.code, ran.out, server.asked) == (0, "Hello from here.\n", ["Qwen/Qwen3-8B"])
    assert "bge-embed, Qwen/Qwen3-8B; the project uses it\n" in again.out
    assert "folkmoot.yaml:" not in again.out


def test_the_page_about_models_shows_what_the_doctor_prints(folkmoot):
    """With other ports than the usual ones, which may be taken on this machine."""
    ollama = listed("qwen3:8b", "nomic-embed-text:latest", owned_by="ollama")
    with (
        serving(ollama) as one,
        serving(listed("Qwen/Qwen3-8B", owned_by="vllm", max_model_len=40960)) as two,
    ):
        page = (ROOT / "docs/models.md").read_text().replace(":11434", f":{one.port}")
        (shown,) = (block for block in blocks(page) if block.text.startswith("$ folkmoot doctor\n"))
        done = folkmoot("doctor", *(f"--look-at={port}" for port in (one.port, two.port)))

    text = shown.text.partition("\n")[2].replace(":8000", f":{two.port}")
    compare(shown, "the doctor", text, done.out)


def test_no_key_and_nothing_else_of_the_environment_goes_to_a_server_that_nobody_named(folkmoot, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "very secret")
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(listed("m")) as server:
        done = folkmoot("doctor", "--look-at", str(server.port), "--json")

    ((path, headers),) = server.heard
    assert path == "/v1/models"
    assert {name.lower() for name in headers} == {"host", "accept", "accept-encoding", "user-agent"}
    found = {finding["id"]: finding for finding in done.json}[f"models at 127.0.0.1:{server.port}"]
    assert (found["status"], found["text"], found["model"]) == ("ok", "local: m", '"local/m"')
    assert found["provider"].endswith("contextWindow: 8192}  # a guess: it does not say")


def test_two_servers_of_one_make_get_two_names_and_the_first_model_is_the_default(folkmoot):
    many = listed(*(f"m{number}" for number in range(12)))
    lama = listed("a", owned_by="llamacpp", meta={"n_ctx": 4096})
    with serving(lama) as one, serving(listed("b")) as two, serving(many) as three:
        ports = (one.port, two.port, three.port)
        done = folkmoot("doctor", *(word for port in ports for word in ("--look-at", str(port))))

    settings = yaml.safe_load(done.out.partition("write into folkmoot.yaml:\n\n")[2])
    assert list(settings["providers"]) == ["llamacpp", "local", f"local-{three.port}"]
    assert settings["providers"]["llamacpp"]["contextWindow"] == 4096
    assert settings["models"] == {"default": "llamacpp/a"}
    assert "m9 and 2 more" in done.out


@pytest.mark.parametrize(
    ("models", "status", "words"),
    [
        (listed(), 200, "local has no model: load one into it"),
        (
            {"error": "no"},
            401,
            "something wants a key; if it is a model server, see `apiKeyEnv` of a provider",
        ),
        ({"error": "no"}, 403, "no model server answers at"),
        (b"<html>my printer</html>", 200, "no model server answers at"),
        ({"data": "none"}, 200, "no model server answers at"),
        (b" " * 2_000_000, 200, "no model server answers at"),
        ({"detail": "moved"}, 307, "no model server answers at"),
    ],
)
def test_what_is_no_model_server_or_has_none_to_give_is_no_failure(folkmoot, models, status, words):
    with serving(models, status) as server:
        done = folkmoot("doctor", "--look-at", str(server.port))

    assert words in done.out
    assert "write into" not in done.out


def test_a_server_that_says_nothing_holds_nobody_up(folkmoot, monkeypatch):
    monkeypatch.setattr(local_models, "PATIENCE", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = folkmoot("doctor", "--look-at", f"127.0.0.1:{silent.getsockname()[1]}")

    assert "no model server answers at" in done.out


def test_what_a_server_calls_its_models_does_nothing_to_the_terminal_or_the_file(folkmoot):
    with serving(listed('x"}\n\x1b[31mred: [bold]')) as server:
        done = folkmoot("doctor", "--look-at", str(server.port))

    assert "\x1b" not in done.out
    settings = yaml.safe_load(done.out.partition("write into folkmoot.yaml:\n\n")[2])
    assert settings["models"] == {"default": 'local/x"}\n\x1b[31mred: [bold]'}


@pytest.mark.parametrize("place", ["http://127.0.0.1:80/v1", "127.0.0.1", "70000"])
def test_where_to_look_must_be_a_place(folkmoot, place):
    refused = folkmoot("doctor", "--look-at", place)

    assert refused.code == 2
    assert f"--look-at takes HOST:PORT or PORT, not '{place}'" in refused.err
