"""What the gate costs for one tool call that needs no word: with its schema, rules, escalation and taint."""

import time

from folkmoot.domain.gate import Allow, Policy, Standing
from folkmoot.domain.message import ToolCall, ToolSpec
from folkmoot.domain.rules import Caller, Match, Rule
from folkmoot.domain.sources import Escalation, Source
from folkmoot.session.gate import judge

CALLS = 5_000
WRITE = ToolSpec(
    "files__write",
    "Write a file.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "content": {"type": "string"},
            "mode": {"enum": ["create", "replace"]},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    access="write",
)
RULES = (
    Rule("deny", tool="shell"),
    Rule("ask", tool="web.*", arguments={"url": Match(host="*.example.com")}),
    Rule("deny", tool="files.*", arguments={"path": Match(under="vendor")}),
    Rule("ask", agent="intern", tool="files.write"),
    Rule("allow", tool="files.write", arguments={"path": Match(under="docs")}),
)
POLICY = Policy(
    caller=Caller(("clerk", "desk/clerk.ai")),
    rules=RULES,
    escalate=Escalation(),
    untrusted=frozenset({"web__fetch"}),
)
STANDING = Standing(taint=(Source("what web__fetch gave clerk in turn 1"),))


def milliseconds() -> float:
    """CPU per call; every call is another one, so that nothing but schemas and patterns is remembered."""
    calls = [
        ToolCall(
            "c",
            "files__write",
            {"path": f"docs/page-{n}.md", "content": f"line {n}\n" * 20, "mode": "create"},
        )
        for n in range(CALLS)
    ]
    judge(POLICY, STANDING, calls[0], WRITE)
    began = time.process_time()
    allowed = sum(isinstance(judge(POLICY, STANDING, call, WRITE), Allow) for call in calls)
    spent = time.process_time() - began
    assert allowed == CALLS
    return spent * 1000 / CALLS
