"""What happened in the project of the record: something of every kind, left in every state that it can be left in."""

import json
from collections.abc import Callable
from typing import Any

from tests.golden.record.program import Done, made

Call = Callable[..., Done]
Names = dict[str, str]


def play(call: Call, killed: Callable[..., None]) -> Names:  # noqa: PLR0915  # because a story is told in a row
    """The ids by name. `call` runs a command, `killed` one whose process dies in the call of a tool."""
    names: Names = {}

    def run(name: str, agent: str, code: int = 0, *more: str) -> dict[str, Any]:
        done: dict[str, Any] = made(call("run", agent, f"Please, {name}.", "--json", *more), code)
        names[f"run.{name}"] = done["runId"]
        return done

    run("pruned", "desk")
    assert call("runs", "prune", "--older-than", "1ms").code == 0
    _watched(call, names)
    run("completed", "front")
    run("second", "front")
    run("failed", "broken", 1)
    run("budget", "thrifty", 1)
    run("team", "squad")
    run("messages", "ann")
    run("cancelled", "payer", 6)
    made(call("runs", "cancel", names["run.cancelled"], "--reason", "enough", "--json"))
    _paid(call, names, run)
    run("waiting", "payer", 6)
    run("denied", "payer", 6)
    run("asking", "asker", 6)
    _forked(call, names)
    killed("send", "run", "sender", "Please, send it.", "-q")
    names["run.doubt"] = _last_run(call)
    assert call("runs", "resume", "last", "-q").code == 6
    killed("look", "run", "walker", "Please, look.", "-q")
    names["run.interrupted"] = _last_run(call)
    for item in made(call("inbox", "list", "--all", "--json")):
        name = next(key for key, id in names.items() if id == item["runId"])
        names[name.replace("run.", "item.")] = item["id"]
    _tasks(call, names)
    _plans(call, names, run)
    _decisions(call, names)
    _work(call, names, run)
    _collaborations(call, names)
    assert call("sinks", "run", "--once").code == 0
    run("late", "desk")  # which the sink has not taken
    _found(call, names)
    return names


def _last_run(call: Call) -> str:
    return str(made(call("runs", "list", "--json"))[0]["runId"])


def _watched(call: Call, names: Names) -> None:
    """A task that fell asleep, and whose agent was told to go on."""
    names["task.watched"] = made(call("tasks", "start", "Sort", "--agent", "coder", "--simple", "--json"))[
        "id"
    ]
    looks = (call("watch", "--once", "--json").out for _ in range(1000))
    assert any("continuation.sent" in said for said in looks), "idle for a second, it is told to go on"
    made(call("tasks", "complete", names["task.watched"], "--force", "--json"))


def _paid(call: Call, names: Names, run: Callable[..., dict[str, Any]]) -> None:
    """A run that waited, was answered, and went on to its end."""
    run("paid", "payer", 6)
    (item,) = made(call("approvals", "list", "--json"))
    assert call("approvals", "approve", item["id"], "--resume").code == 0
    run("refused", "payer", 6)
    (item,) = made(call("approvals", "list", "--json"))
    made(call("sessions", "gate", names["run.refused"], "t.pay", "--reason", "stop", "--json"))
    made(call("sessions", "ungate", names["run.refused"], "t.pay", "--json"))
    assert call("approvals", "deny", item["id"], "--reason", "too much", "--resume").code == 0
    run("answered", "asker", 6)
    (item,) = made(call("inbox", "list", "--json"))
    assert call("inbox", "answer", item["id"], "The blue one.", "--resume").code == 0


def _forked(call: Call, names: Names) -> None:
    """From the first answer of a model, with another one."""
    exported = call("log", "export", names["run.completed"]).out.splitlines()
    answered = [json.loads(line) for line in exported]
    at = next(
        line["runSeq"] for line in answered if line["type"] == "llm.response" and line["agentId"] == "editor"
    )
    forked = made(
        call(
            "runs",
            "fork",
            names["run.completed"],
            "--at",
            str(at),
            "--answer",
            "Nothing was charged.",
            "--json",
        )
    )
    names["run.forked"] = forked["runId"]


def _tasks(call: Call, names: Names) -> None:
    def task(name: str, *how: str) -> str:
        names[f"task.{name}"] = made(call("tasks", *how, "--json"))["id"]
        return names[f"task.{name}"]

    steps = ("--step", "look", "--step", "mend")
    task("backlog", "add", "Later", "--agent", "smith", "--priority", "low")
    task(
        "depends",
        "add",
        "Then",
        "--agent",
        "smith",
        "--depends-on",
        names["task.backlog"],
        "--effort",
        "small",
    )
    for name, way in (
        ("completed", ("complete", "--summary", "mended")),
        ("cancelled", ("cancel", "--reason", "not wanted")),
        ("failed", ("fail", "--error", "no disk")),
        ("blocked", ("block", "--reason", "no key", "--by", "lead")),
    ):
        id = task(name, "start", f"Mend {name}", "--agent", "smith")
        made(call("tasks", way[0], id, *way[1:], "--json"))
    resumed = task("resumed", "start", "Mend resumed", "--agent", "bob", "--requires-approval")
    for way in (("approve",), ("block", "--reason", "no key", "--by", "lead"), ("resume",)):
        made(call("tasks", way[0], resumed, *way[1:], "--json"))
    task("approval", "start", "Deploy", "--agent", "tester", "--requires-approval")
    task("working", "start", "Mend it", "--agent", "coder", *steps)
    made(
        call(
            "tasks", "update", names["task.working"], "--complete-step", "s1", "--progress", "seen", "--json"
        )
    )


def _plans(call: Call, names: Names, run: Callable[..., dict[str, Any]]) -> None:
    def plan(name: str, *ways: tuple[str, ...]) -> str:
        id = str(made(call("plans", "draft", "--file", "plan.yaml", "--json"))["id"])
        names[f"plan.{name}"] = id
        for way in ways:
            made(call("plans", way[0], id, *way[1:], "--json"))
        return id

    commit = (("submit",), ("approve", "--commit"))
    plan("draft", ("review", "change", "--text", "Which format?", "--as", "carl"))
    plan("submitted", ("submit",))
    plan("approved", ("submit",), ("approve",))
    plan("rejected", ("submit",), ("reject", "--reason", "Too little."))
    started = plan(
        "started", *commit, ("start", "s1"), ("start", "s2"), ("block", "s2", "--reason", "No key.")
    )
    made(call("plans", "reassign", started, "s3", "bob", "--reason", "Knows it.", "--json"))
    passed = ("reassign", "s2", "bob", "--reason", "Knows it."), ("accept", "s2"), ("start", "s2")
    blocked = ("block", "s2", "--reason", "No key."), ("resume", "s2", "--reason", "Here it is.")
    again = (
        ("start", "s1"),
        ("complete", "s1", "--note", "See it."),
        ("reopen", "s1", "--reason", "No tests."),
    )
    plan("reopened", *commit, *again, *passed, *blocked)
    revised = ("submit",), ("reject", "--reason", "Too little."), ("revise", "--file", "plan.yaml")
    plan("revised", *revised)
    done = [("start", step) for step in ("s1", "s2")], [("complete", step) for step in ("s1", "s2")]
    carried = plan("run", *commit, *(way for pair in zip(*done, strict=True) for way in pair))
    names["run.step"] = made(call("plans", "run", carried, "s3", "--json"))["runId"]


def _decisions(call: Call, names: Names) -> None:
    def decision(name: str, *ways: tuple[str, ...]) -> None:
        more = (
            "--option",
            "sqlite=SQLite, embedded",
            "--option",
            "postgres",
            "--voter",
            "carl",
            "--voter",
            "dora",
        )
        id = made(call("decisions", "propose", f"Which, {name}?", *more, "--json"))["id"]
        names[f"decision.{name}"] = id
        for way in ways:
            made(call("decisions", way[0], id, *way[1:], "--json"))

    votes = ("vote", "sqlite", "--as", "carl", "--reason", "simple"), ("vote", "sqlite", "--as", "dora")
    decision("proposed", ("comment", "We have no server.", "--as", "dora", "--reference", "docs/a.md"))
    decision("voting", votes[0])
    decision("escalated", votes[0], ("vote", "postgres", "--as", "dora"))
    tie = ("commit", "--option", "postgres", "--rationale", "Somebody must.", "--as", "eve")
    decision("broken", votes[0], ("vote", "postgres", "--as", "dora"), tie)
    decision("decided", *votes)
    decision("committed", *votes, ("commit", "--rationale", "The simplest that works."))


def _work(call: Call, names: Names, run: Callable[..., dict[str, Any]]) -> None:
    def work(name: str, *ways: tuple[str, ...]) -> str:
        id = str(made(call("work", "open", f"Ship {name}", "--constraint", "by Friday", "--json"))["id"])
        names[f"work.{name}"] = id
        for way in ways:
            made(call("work", way[0], id, *way[1:], "--json"))
        return id

    team = ("team", "lead", "worker:python", "--name", "parsers")
    work("open")
    work("cancelled", ("cancel", "--reason", "no longer wanted"))
    walk = (("state", "Planning"), ("state", "Executing"))
    work("paused", team, *walk, ("pause", "--reason", "the budget is checked"))
    work("resumed", team, *walk, ("pause", "--reason", "wait"), ("resume",))
    end = (("state", "Reviewing"), ("complete", "--summary", "It ships."))
    work("completed", team, *walk, ("category", "legal_compliance"), ("label", "The parser"), *end)
    under = work("executing", team, *walk, ("add", "doc", "plan.yaml", "--title", "The plan"))
    run("worked", "desk", 0, "--work-session", under)


def _collaborations(call: Call, names: Names) -> None:
    who = ("--member", "lead", "--member", "planner", "--member", "coder", "--member", "reviewer")
    done = call("collaborate", "Note how well we are", *who, "--json")
    assert done.code == 0, done.err
    names["work.collaboration"] = made(call("work", "list", "--json"))[0]["id"]


def _found(call: Call, names: Names) -> None:
    """What has an id only because something else happened."""
    for name, run in (("kept", "asking"), ("team", "team")):
        sessions = made(call("sessions", "list", names[f"run.{run}"], "--json"))
        names[f"session.{name}"] = sessions[-1]["id"] if "id" in sessions[-1] else sessions[-1]["sessionId"]
    names["conversation"] = made(call("conversations", "list", "--json"))[0]["conversationId"]
