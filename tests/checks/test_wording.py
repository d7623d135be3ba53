"""The check that nothing decides by the wording of a message."""

import pytest

from checks import wording

REMOVED = {
    "404 or 409": "def status_of(error):\n    return 404 if str(error).startswith(_UNKNOWN) else 409\n",
    "page of help": "def topic_for(error):\n    words = str(error)\n    return [row for row in TABLE if row.words in words]\n",
    "after plan_submit": "def submitted(before, event):\n    return _PLAN.match(event.text)\n",
    "task of a session": "def working_on(event):\n    return msgspec.json.decode(event.text, type=Said)\n",
    "overspent": 'def _result(event):\n    return event.text.removeprefix("(tool failed: ").removesuffix(")")\n',
    "replay, destroyed": (
        "def happened(event):\n    match event:\n"
        "        case Destroyed(reason=reason) if not reason.endswith(OWN):\n            return 1\n"
    ),
    "replay, cancelled": (
        "def cue(event):\n    match event:\n"
        '        case TeamCancelled(reason="the run was cancelled"):\n            return 1\n'
    ),
    "C7": "def judge(event):\n    return event.decision.startswith(GRANTED)\n",
    "back-off": "def reason_of(failed):\n    return [words.search(failed.error) for words in WORDS]\n",
    "traces": 'def failure(failed):\n    return "timeout" if "in time" in failed.error else ""\n',
    "exit code": "def collaborate(stopped):\n    return 130 if INTERRUPTED in stopped.why else 6\n",
    "hint": (
        "def links():\n    try:\n        f()\n    except Misplaced as wrong:\n"
        '        return near() if "exist" in str(wrong) else ""\n'
    ),
    "shown reason": 'def reason(step, how):\n    return step.reason != f"decided by {how}"\n',
}


@pytest.mark.parametrize("place", REMOVED)
def test_what_once_decided_by_wording_is_found_when_it_comes_back(place, repository, write, capsys):
    write("src/folkmoot/again.py", REMOVED[place])

    assert wording.main(repository) == 1
    assert "src/folkmoot/again.py:" in capsys.readouterr().out


def test_codes_fields_and_other_texts_are_let_through(repository, write, capsys):
    write(
        "src/folkmoot/fine.py",
        'def fine(error, event, path, span):\n    return error.code == "run_not_found" or event.kind == "timeout"'
        ' or path.startswith("/") or "/" in span or str(path).endswith(".ai") or event.reason == "rate_limit"\n',
    )

    assert wording.main(repository) == 0
    assert capsys.readouterr().out == "no behaviour by wording\n"


def test_what_is_allowed_must_still_be_there(monkeypatch, capsys):
    monkeypatch.setitem(wording.ALLOWED, "src/folkmoot/app.py:run", "no more")

    assert wording.main() == 1
    assert capsys.readouterr().out == (
        "checks/wording.py: src/folkmoot/app.py:run is allowed, and does nothing of the kind\n"
    )
