import json

from folkmoot.journal.codec import from_line

FIELDS = [
    "seq", "id", "role", "prev", "runSeq", "type", "version", "ts", "runId", "sessionId", "span", "agentId",
    "workSessionId", "conversationId", "data",
]  # fmt: skip


def test_the_journal_is_exported_event_by_event(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})
    for _ in range(2):
        folkmoot("run", "a.ai", "x", "-q")

    lines = folkmoot("log", "export").out.splitlines()
    last = folkmoot("log", "export", "last").out.splitlines()

    assert len(lines) == 2 * len(last)
    assert [json.loads(line)["runSeq"] for line in last] == list(range(1, len(last) + 1))
    assert list(json.loads(last[0])) == FIELDS
    assert from_line(last[-1].encode()).event.type == "run.completed"


def test_it_may_go_to_a_file(folkmoot):
    folkmoot.write({"a": "description: a"}, {"a": [{"report": "fine"}]})
    folkmoot("run", "a.ai", "x", "-q")

    assert folkmoot("log", "export", "-o", "all.ndjson").out == ""
    assert (folkmoot.folder / "all.ndjson").read_text() == folkmoot("log", "export").out
    assert folkmoot("log", "export", "-o", "no/such/folder/x").code == 2
