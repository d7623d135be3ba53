"""Random and mutated projects: whatever a file holds, loading ends in a graph or in the product's own error."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folkmoot.errors import DeclarationError
from folkmoot.loader.load import load
from folkmoot.loader.walk import template
from tests.loader.making import KNOWN

FIRST = """#!/usr/bin/env folkmoot
---
description: Sends each request to the right desk.
models: [openai/gpt-5-mini, fast]
router: {destinations: [b.ai]}
advisors: b.ai, c.ai
team:
  members: [c.ai]
  supervisor: ./a.ai
agents: [c.ai]
tools: [psp.refund]
output: {format: json, schema: {type: object, properties: {n: {type: integer}}, $ref: '#/properties/n'}}
input:
  format: json
  schema: |
    {"type": "object"}
budget: {usd: 0.50, tokens: 60000, wall: 10m}
llmTimeout: off
maxTurns: 8
handoff: b.ai
---
You are the front desk.
"""
SECOND = """---
description: Knows.
input: {format: json, schemaRef: script.yaml}
output: {format: json}
handoff: c.ai
---
You know.
"""
PLAIN = "---\ndescription: Plain.\ninput: {format: json}\noutput: {format: json}\n---\nYou are plain.\n"
SETTINGS = """
providers:
  local: {kind: openai, baseUrl: "http://127.0.0.1:1/v1", apiKeyEnv: KEY, price: free, contextWindow: 8000}
  tape: {kind: scripted, script: script.yaml}
models: {default: local/qwen3, fast: {ref: tape/x, contextWindow: 32000, price: {input: 1, output: 2}}}
budget: {usd: 2.00, tokens: 400000, requests: 200, descendants: 50, wall: 30m}
limits: {callDepth: 3, a2aHops: 5}
tools:
  psp: {kind: python, module: psp.py}
orchestration: {enable_agent_tool: true}
agents: {defaults: {taskContinuation: {enabled: true, idleThreshold: 3m}, maxTurns: 3}}
approvals: {unattended: park}
"""
SIGNS = "- --- ... : { } [ ] , # & * ! !! | > ' \" % @ ` ? ~ << = \t \n \r\n".split(" ")
WORDS = [*FIRST.split(), *SETTINGS.split(), *SIGNS, "\n", " ", "  ", "\n  "]
STRANGE = [
    "\0", "\ufeff", "\u2028", "\x85", "\x1b[31m", "\ud800", "\U0001f600", "\\ud800", "../", "/", "*a", "&a", "!!python/name:os",
    "1e999", "null", "true", "0x", ".inf", "9" * 50, "[" * 60, "$ref", "%YAML 1.1\n---\n", "2024-01-01", "-1", "''",
]  # fmt: skip
pieces = st.sampled_from(WORDS) | st.sampled_from(WORDS + STRANGE) | st.text("aé: -\n0", max_size=6)


@st.composite
def mutated(draw: st.DrawFn, original: str) -> str:
    """A sound file with some words or some pieces replaced, cut out or doubled."""
    parts = re.split(r"(\W)", original) if draw(st.booleans()) else list(original)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(parts) - 1))
        end = start + draw(st.integers(0, 1) | st.integers(0, 30))
        parts[start:end] = [draw(st.sampled_from(["", "".join(parts[start:end]) * 2]) | pieces)]
    return "".join(parts)


random = st.lists(pieces, max_size=60).map(" ".join)
framed = random.map(lambda text: f"---\n{text}\n---\nx")


@settings(max_examples=1_000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    mutated(FIRST) | framed,
    mutated(SECOND) | mutated(template()) | random,
    st.just(SETTINGS) | mutated(SETTINGS) | random,
)
def test_whatever_is_in_the_files_only_load_errors_come_out(first: str, second: str, project: str) -> None:
    """A-10, A-107, O-9: a thousand projects of two strange agent files and strange settings."""
    with TemporaryDirectory() as name:
        folder = project_in(Path(name), first, second, project)
        try:
            found = load(folder, known=KNOWN).warnings
        except DeclarationError as error:
            found = error.problems

    assert all(min(problem.line, problem.column) >= 1 and str(problem).isprintable() for problem in found)


def test_what_is_mutated_is_sound_before(tmp_path: Path) -> None:
    loaded = load(project_in(tmp_path, FIRST, SECOND, SETTINGS), known=KNOWN)

    assert list(loaded.graph.agents) == ["a.ai", "b.ai", "c.ai"]


def project_in(folder: Path, first: str, second: str, project: str) -> Path:
    """Lone surrogates are written as the bytes that they would be."""
    files = {
        "a.ai": first,
        "b.ai": second,
        "c.ai": PLAIN,
        "folkmoot.yaml": project,
        "script.yaml": "{}",
        "psp.py": "",
    }
    for file, text in files.items():
        (folder / file).write_bytes(text.encode("utf-8", "surrogatepass"))
    return folder
