"""Twenty sub-agents at once, each with a token of its own to say back: how often one heard another's."""

from pathlib import Path

from folkmoot import Folkmoot, ScriptedModel

CHILDREN = 20
SETTINGS = """
providers: {scripted: {kind: scripted, script: script.yaml}}
models: {default: scripted/any}
"""


async def leaks(folder: Path) -> int:
    """Tokens that a child read and that were not its own, and answers that came back in another's place."""
    _write_project(folder)
    tokens = [f"token-{number:02d}-{number * 7919:06d}" for number in range(CHILDREN)]
    model = ScriptedModel(script(tokens))
    async with Folkmoot.open(folder, models={"scripted": model}) as house:
        await house.run("caller.ai", "Go.")
    foreign = 0
    for request in model.heard_from("child"):
        seen = " ".join(message.text for message in request.messages)
        foreign += sum(token in seen for token in tokens) - 1
    answers = [message.text for message in model.heard_from("caller")[-1].messages if message.role == "tool"]
    return foreign + sum(token not in text for token, text in zip(tokens, answers, strict=True))


def script(tokens: list[str]) -> dict[str, object]:
    calls = [{"tool": "agent.child", "arguments": {"prompt": token, "reason": "echo"}} for token in tokens]
    rules = [{"when": token, "text": f"I say {token}"} for token in tokens]
    return {"caller": [{"calls": calls}, "done"], "child": {"rules": rules}}


def _write_project(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "folkmoot.yaml").write_text(SETTINGS)
    (folder / "script.yaml").write_text("{}")
    (folder / "caller.ai").write_text(
        f"---\nagents: [child.ai]\nmaxToolCallsPerTurn: {CHILDREN}\n---\nCall.\n"
    )
    (folder / "child.ai").write_text("---\ndescription: Says its token.\n---\nSay it.\n")
