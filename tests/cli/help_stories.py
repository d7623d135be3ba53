"""The stories in which `test_help_examples` types every example: `$ ` stands before what only leads up to one."""

import re
from collections.abc import Callable
from typing import NamedTuple

import yaml

from tests.examples import copied

ELSEWHERE = (
    'folkmoot run front-desk.ai "I was charged twice." --queue',
    "folkmoot worker",
    "folkmoot worker --concurrency 50 --label gpu-host --grace 60s",
    "folkmoot test live.test.yaml --model ollama/qwen3",
    'folkmoot test front-desk.test.yaml -k "charged twice" --record',
    "folkmoot runs fork last --at 12 --model billing.ai=openai/gpt-5-mini",
)
"""These need PostgreSQL, or a real model."""
LASTING = (
    "folkmoot serve", "folkmoot watch", "folkmoot team --live", "folkmoot tasks list --live", "folkmoot work list --live",
    "folkmoot work timeline last --live", "folkmoot conversations list --live", "folkmoot conversations show last --live",
    "folkmoot sinks run", "folkmoot mcp", "folkmoot decisions show last --live", "folkmoot plans show last --live",
)  # fmt: skip
"""These go on until Ctrl-C."""
SETTINGS = """\
sinks: {log: {kind: ndjson, path: log.ndjson}, chat: {kind: ndjson, path: chat.ndjson}}
tools: {till: {kind: python, module: till.py}}
rules: [{tool: till.refund, decision: ask, reason: it is money}]
"""
TILL = '''
from folkmoot import tool


@tool(effect="once", access="write")
async def refund() -> str:
    """Pay a customer back."""
    return "paid"
'''
AGENTS = {
    "coder": "tools: [tasks, plans, decisions]",
    "writer": "description: Writes.",
    "clerk": "tools: [till, files.write]",
    "caller": "agents: [kept.ai]\ntools: [ask_user]",
    "kept": "chat: true",
    "lead": "role: lead\ntools: [plans, decisions]",
    "planner": "role: planner\ntools: [plans]",
    "reviewer": "role: reviewer",
    "tester": "description: Tests.",
    "boss": "tools: [messages]",
    "ann": "role: lead",
    "bob": "capabilities: [python]",
    "review": "description: Reviews a diff.",
    "asker": "tools: [ask_user]",
    "legal/counsel": "description: Knows the law.",
}
ASK = {"tool": "ask_user", "arguments": {"question": "Which one?"}}
TURNS = {
    "clerk": [{"calls": [{"tool": "till.refund"}]}, {"report": "Paid."}],
    "boss": [
        {"calls": [{"tool": "a2a_send", "arguments": {"to": "coder", "message": "Is it done?"}}]},
        {"report": "Done."},
    ],
    "asker": [{"calls": [ASK]}, {"report": "Done."}],
    "caller": [
        {"calls": [{"tool": "agent__kept", "arguments": {"prompt": "Look.", "reason": "To see."}}]},
        {"calls": [ASK]},
        {"report": "Done."},
    ],
}


class Story(NamedTuple):
    prepare: Callable[..., None]
    text: str

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in re.sub(r"\s*\\\n\s*", " ", self.text).splitlines() if line.strip()]


def desk(folkmoot) -> None:
    """What `folkmoot init` makes, and all else that the examples speak of."""
    folkmoot("init", ".")
    here = folkmoot.folder
    (here / "folkmoot.yaml").write_text((here / "folkmoot.yaml").read_text() + SETTINGS)
    script = yaml.safe_load((here / "script.yaml").read_text())
    for name, said in AGENTS.items():
        file = here / f"{name}.ai"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"---\n{said}\n---\nYou are {name}.\n")
        script["agents"][file.stem] = {"default": {"report": "Done."}}
    script["agents"] |= TURNS
    (here / "script.yaml").write_text(yaml.safe_dump(script))
    (here / "till.py").write_text(TILL)
    folkmoot("trust", "--yes")


def nothing(folkmoot) -> None:
    """An empty folder."""


def two_desks(folkmoot) -> None:
    """One that others lie in and beside."""
    desk(folkmoot)
    for place in ("desks/support", "../desks/support"):
        folkmoot("init", str(folkmoot.folder / place))
    tests = folkmoot.folder / "desks" / "support" / "front-desk.test.yaml"
    tests.rename(tests.with_name("refund.test.yaml"))


def asked(folkmoot) -> None:
    desk(folkmoot)
    folkmoot("run", "front-desk.ai", "I was charged twice.")
    (folkmoot.folder / "shorter.md").write_text("Be short.\n")
    (folkmoot.folder / "bill.pdf").write_bytes(b"%PDF-1.4\n")
    (folkmoot.folder / "parcel.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01")


def team(folkmoot) -> None:
    """The example of five, and two more."""
    copied("collaboration", folkmoot.folder)
    for name in ("writer", "editor"):
        (folkmoot.folder / f"{name}.ai").write_text(f"---\ndescription: A {name}.\n---\nYou are {name}.\n")


def without_ann(folkmoot) -> None:
    """Where she is a person."""
    desk(folkmoot)
    (folkmoot.folder / "ann.ai").unlink()


def planned(folkmoot) -> None:
    desk(folkmoot)
    steps = [
        {"description": step, "owner": "coder", "acceptance": "It works."} for step in ("Write it", "Test it")
    ]
    (folkmoot.folder / "plan.yaml").write_text(yaml.safe_dump({"title": "Add export", "steps": steps}))


STORIES = {
    "an empty folder": Story(
        nothing,
        """
        folkmoot init
        folkmoot init desk && cd desk
        $ rm -r desk
        folkmoot init desk && cd desk && folkmoot run front-desk.ai "I was charged twice."
        folkmoot init --template support-desk help && cd help && folkmoot test
        $ mkdir -p .claude/agents && printf -- '---\\nname: helper\\ndescription: Helps.\\n---\\nYou help.\\n' > .claude/agents/a.md
        folkmoot init --from-claude .claude/agents moved
        """,
    ),
    "a project, looked at": Story(
        two_desks,
        """
        folkmoot check
        folkmoot check desks/support
        folkmoot check front-desk.ai --json
        folkmoot agents list
        folkmoot agents list --json
        folkmoot agents show front-desk
        folkmoot agents show legal/counsel.ai --json
        folkmoot agents template > new.ai
        $ rm new.ai
        folkmoot config show
        FOLKMOOT_MAX_TURNS=3 folkmoot config show --json
        folkmoot graph
        folkmoot graph --format mermaid
        folkmoot graph --format svg -o agents.svg
        folkmoot explain front-desk
        folkmoot explain clerk till.refund
        folkmoot explain clerk files.write --args '{"path": ".env", "content": "x"}'  #6
        folkmoot trust
        folkmoot trust ~/desks/support --yes
        folkmoot trust --mine
        folkmoot trust --export grants.json
        folkmoot doctor
        folkmoot doctor --look-at 127.0.0.1:9000
        folkmoot --project desks/support doctor --json
        folkmoot docs
        folkmoot docs trust
        folkmoot docs trust#verify
        folkmoot docs "budget exceeded"
        folkmoot test
        folkmoot test desks -k refund
        folkmoot test --list
        folkmoot test --junit report.xml
        folkmoot team
        folkmoot team --json
        folkmoot mcp
        folkmoot mcp --agent front-desk.ai --agent billing
        folkmoot --project ~/desk mcp
        """,
    ),
    "runs": Story(
        asked,
        """
        folkmoot run front-desk.ai "I was charged twice."
        folkmoot run front-desk.ai "Where is my order?" --json --set maxTurns=3
        $ git init -q . && git add -N till.py
        git diff | folkmoot run review.ai > review.md
        folkmoot run clerk.ai "Is this bill right?" --attach bill.pdf --attach parcel.jpg  #6
        folkmoot runs list
        folkmoot runs list --json
        folkmoot runs show last
        folkmoot runs show 20260101-101500 --json
        $ folkmoot log export last --bundle run.zip
        folkmoot runs show last --bundle run.zip
        folkmoot runs audit last
        folkmoot runs replay last
        folkmoot runs replay 20260101-101500 --json
        folkmoot runs diff 20260101-101500 last  #1
        folkmoot runs diff 20260101-101500 last --json  #1
        $ folkmoot run front-desk.ai "I was charged twice."
        folkmoot runs fork last --at 12 --prompt billing.ai=shorter.md
        folkmoot runs fork last --at 10 --answer "I cannot decide this."
        folkmoot runs fork last --at 1 --request "Where is my order?"
        folkmoot runs resume last
        folkmoot runs resume last --with-current-files
        folkmoot verify
        folkmoot verify last
        folkmoot verify run.zip --json
        folkmoot log export last | jq -r .type
        folkmoot log export -o journal.ndjson
        folkmoot log export last --bundle run.zip
        folkmoot journal backup ../desk.backup
        folkmoot journal import ../desk.backup
        folkmoot journal import run.zip
        folkmoot journal adopt
        folkmoot journal adopt last
        folkmoot journal rebuild
        folkmoot journal rebuild --check
        folkmoot projections
        folkmoot projections --check
        folkmoot events --agent coder --since 2h
        folkmoot events --role conversation.main
        folkmoot events --type 'task.*' --type zombie.abandoned --json
        folkmoot runs prune --older-than 30d --dry-run
        folkmoot runs prune --older-than 30d
        folkmoot sinks list
        folkmoot sinks list --json
        folkmoot sinks run --once
        folkmoot sinks run
        folkmoot sinks move log --to start
        folkmoot sinks move chat --to end
        """,
    ),
    "what waits for a person": Story(
        desk,
        """
        $ folkmoot run clerk.ai "Pay it back."  #6
        folkmoot inbox list
        folkmoot inbox list --all --json
        folkmoot inbox show ap_1f0a2b3c4d5e
        folkmoot approvals list
        folkmoot sessions list
        folkmoot sessions list 20260101-101500 --json
        folkmoot sessions gate 20260101-101500-1a2b3c4d files.write shell
        folkmoot sessions gates last
        folkmoot sessions ungate 20260101-101500-1a2b3c4d files.write
        folkmoot approvals deny ap_1f0a2b3c4d5e --reason "too much money"
        $ folkmoot runs resume last
        $ folkmoot run clerk.ai "Pay it back."  #6
        folkmoot approvals approve ap_1f0a2b3c4d5e --resume
        $ folkmoot run clerk.ai "Pay it back."  #6
        folkmoot approvals approve ap_1f0a2b3c4d5e --for-run
        $ folkmoot runs cancel last
        $ folkmoot run clerk.ai "Pay it back."  #6
        $ folkmoot approvals approve ap_1f0a2b3c4d5e
        folkmoot approvals revoke ap_1f0a2b3c4d5e --reason "wrong customer"
        folkmoot runs cancel last
        $ folkmoot run asker.ai "Which one?"  #6
        folkmoot inbox answer q_1f0a2b3c4d5e "The blue one."
        $ folkmoot runs resume last
        $ folkmoot run asker.ai "Which one?"  #6
        folkmoot inbox answer q_1f0a2b3c4d5e "The blue one." --resume
        $ folkmoot run caller.ai "Which one?"  #6
        folkmoot sessions list --live last
        folkmoot sessions destroy 20260101-101500-1a2b3c4d:sub_clerk_5e6f7a8b
        """,
    ),
    "what may have been done": Story(
        desk,
        """
        $ sed -i 's/return "paid"/__import__("os")._exit(9)/; s/, access="write"//; /^rules/d' till.py folkmoot.yaml
        $ folkmoot trust --yes
        $ bash -c 'true' && folkmoot run clerk.ai "Pay it back."  #9
        $ folkmoot runs resume last  #6
        folkmoot inbox settle doubt_1f0a2b3c4d5e done --text "refund 4711"
        $ folkmoot runs resume last
        $ bash -c 'true' && folkmoot run clerk.ai "Pay it back."  #9
        $ folkmoot runs resume last  #6
        $ sed -i 's/__import__("os")._exit(9)/return "paid"/' till.py && folkmoot trust --yes
        folkmoot inbox settle doubt_1f0a2b3c4d5e fail --resume
        """,
    ),
    "a team": Story(
        team,
        """
        folkmoot collaborate "Add a health check to the shop"
        folkmoot collaborate --resume last
        folkmoot collaborate "Write the release notes" --member lead --member writer --member editor=reviewer  #1
        """,
    ),
    "a server": Story(
        desk,
        """
        folkmoot serve
        folkmoot serve --port 0
        folkmoot serve --max-body 25
        folkmoot serve --new-token > token && chmod 600 token
        folkmoot serve --host 0.0.0.0 --name folkmoot.example.com --token-file token
        """,
    ),
    "a run to be cancelled": Story(
        desk,
        """
        $ folkmoot run asker.ai "Which one?"  #6
        folkmoot runs cancel 20260101-101500 --reason "wrong customer"
        """,
    ),
    "tasks": Story(
        desk,
        """
        folkmoot tasks start "Mend the login" --agent coder --step "find it" --step "mend it"
        folkmoot tasks list
        folkmoot tasks list --agent coder --status backlog --json
        folkmoot tasks list --live
        folkmoot tasks show task_1f0a2b
        folkmoot tasks show task_1f0a2b --json
        folkmoot tasks update --agent coder --progress "found it"
        folkmoot tasks update task_1f0a2b --complete-step s1
        folkmoot tasks block --agent coder --reason "no key" --by boss --action "send the key"
        folkmoot tasks resume --agent coder
        $ folkmoot tasks update --agent coder --complete-step s2
        folkmoot tasks complete --agent coder --summary "mended in 3 places"
        folkmoot tasks add "Write the release notes" --agent writer --due 2026-02-01 --effort small
        folkmoot tasks pick task_1f0a2b
        folkmoot tasks cancel task_1f0a2b --reason "the customer left"
        $ folkmoot tasks add "Write it" --agent coder
        folkmoot tasks pick --agent coder
        folkmoot tasks fail task_1f0a2b --error "the server is gone"
        $ folkmoot tasks start "Sort it" --agent coder --step a --step b --step c
        folkmoot tasks update task_1f0a2b --order s3,s1,s2
        $ folkmoot tasks cancel task_1f0a2b --reason over
        $ folkmoot tasks start "Pay" --agent coder --requires-approval
        folkmoot tasks approve task_1f0a2b
        folkmoot team --live
        folkmoot watch --once
        folkmoot watch
        folkmoot watch --json --set agents.defaults.taskContinuation.idleThreshold=10m
        $ folkmoot run boss.ai "Ask the coder."
        folkmoot conversations list
        folkmoot conversations list --all --json
        folkmoot conversations list --live
        folkmoot conversations show
        folkmoot conversations show conv_1a2b3c --json
        folkmoot conversations show last --live
        """,
    ),
    "a work session": Story(
        desk,
        """
        folkmoot work open "Ship the parser" --constraint "by Friday"
        folkmoot run coder.ai "Write it." --work-session "$(folkmoot work open 'Ship the parser')"
        folkmoot run coder.ai "Write it." --work-session last --label "The new parser"
        folkmoot events --work-session ws_1f0a2b3c-… --step s2
        folkmoot work list
        folkmoot work list --status ACTIVE --category infra_ops
        folkmoot work list --live
        folkmoot work show last
        folkmoot work show ws_1f0a2b3c --json
        folkmoot work team last lead planner worker:python reviewer
        folkmoot work team last lead=ann worker=bob --may worker=execute,vote --tools worker=files.*
        folkmoot work state last Planning
        $ folkmoot work state last Executing
        $ folkmoot work state last Reviewing
        folkmoot work state last Executing --reason "step 2 is reopened"
        folkmoot work pause last --reason "the budget is checked"
        folkmoot work resume last
        folkmoot work category last legal_compliance
        folkmoot work label last "The new parser"
        $ git init -q . && git add -N till.py
        git diff | folkmoot work add last code_diff - --title "The parser"
        $ rm till.py
        folkmoot work artifact last "The parser" | git apply
        folkmoot work timeline last
        folkmoot work timeline last --live
        $ folkmoot work state last Reviewing
        folkmoot work complete last --summary "The parser ships."
        $ folkmoot work open "Another one"
        folkmoot work cancel last --reason "no longer wanted"
        """,
    ),
    "a decision": Story(
        without_ann,
        """
        folkmoot decisions propose "Which database?" --option sqlite="SQLite, embedded" --option postgres \\
            --voter coder --voter ann=2 --rule quorum:50% --window 1h
        folkmoot decisions list
        folkmoot decisions list --status escalated --json
        folkmoot decisions comment last "We have no server." --reference docs/hosting.md
        folkmoot decisions vote last sqlite --as ann
        folkmoot decisions commit last --rationale "The simplest that works."
        folkmoot decisions show last
        folkmoot decisions show last --adr > adr.md
        folkmoot decisions show last --live
        $ folkmoot decisions propose "Which one?" --option sqlite --option b --voter user
        folkmoot decisions vote last abstain --reason "I wrote one of them."
        folkmoot decisions commit last --option sqlite --rationale "Somebody must." --as ann
        """,
    ),
    "a plan": Story(
        planned,
        """
        folkmoot plans draft --file plan.yaml
        folkmoot plans draft "Add export" --step "Write it" --step "Test it"
        folkmoot plans revise last --file plan.yaml
        $ folkmoot plans draft --file plan.yaml --as eve
        folkmoot plans list
        folkmoot plans list --status submitted --json
        folkmoot plans show last
        folkmoot plans submit last
        folkmoot plans review last change --text "Say which format."
        folkmoot plans reject last --reason "Say which format."
        $ folkmoot plans draft --file plan.yaml
        $ folkmoot plans submit last
        folkmoot plans approve last
        folkmoot plans commit last
        folkmoot plans start last s1
        folkmoot plans block last s1 --reason "Which format?"
        folkmoot plans resume last s1 --reason "CSV."
        folkmoot plans run last s1
        folkmoot plans review last accept --step s1
        folkmoot plans reopen last s1 --reason "There are no tests."
        folkmoot plans reassign last s1 tester --reason "Knows the format."
        folkmoot plans accept last s1
        $ folkmoot plans start last s1
        folkmoot plans complete last s1 --note "See export.py."
        folkmoot plans complete last s2 --skip --note "Nobody needs it."
        $ folkmoot plans draft --file plan.yaml
        $ folkmoot plans submit last
        folkmoot plans approve last --commit
        folkmoot plans run last s1 "Write it, and mind the umlauts."
        folkmoot plans show last --live
        """,
    ),
}
