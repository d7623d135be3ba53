from typing import get_args

from folkmoot.domain.catalogue import EVENTS
from folkmoot.domain.entry import Cause
from folkmoot.domain.events import LlmResponse, ToolFinished
from folkmoot.domain.message import Message, ToolCall, Usage
from folkmoot.domain.plan import PlanProgress, StepBlocked
from folkmoot.domain.sentences import SENTENCES, STARTS, describe_event
from folkmoot.views.timeline import DETAILS, SHOWN


def test_every_sentence_names_only_what_its_event_has():
    for type, sentence in SENTENCES.items():
        fields = {
            part.split(".")[1].partition("[")[0]
            for part in sentence.replace("}", "{").split("{")[1::2]
            if part.startswith("event.")
        }
        assert fields <= set(EVENTS[type].__struct_fields__)


def test_whatever_a_timeline_shows_has_a_sentence_of_its_own():
    assert {*SHOWN, *DETAILS} - {"session.started"} <= {*SENTENCES}
    assert {*STARTS} == {*get_args(Cause)}


def test_content_is_told_only_to_those_who_ask():
    said = LlmResponse(1, 1, "s/m", Message("assistant", "a secret"), Usage(7, 2))
    calls = (
        ToolCall("1", "pay", {"to": "ann"}),
        ToolCall("2", "agent__final_report", {"report_content": "ok"}),
    )
    asked = LlmResponse(1, 1, "s/m", Message("assistant", calls=calls), Usage(7, 2))
    read = ToolFinished(1, 1, "pay", "paid\nann", "e")

    assert describe_event(said, "desk") == "desk has an answer: 7 tokens in, 2 out"
    assert describe_event(said, "desk", content=True) == 'desk says "a secret"'
    assert describe_event(asked, "", content=True) == 'asks for pay(to=ann), reports "ok"'
    assert describe_event(read, "desk", content=True, width=22) == "desk reads from pay: …"


def test_a_step_is_told_with_its_owner_and_the_reason_if_there_is_one():
    assert describe_event(StepBlocked("p", "s1", "bob", "no key"), "ann") == (
        "bob is blocked on step s1: no key"
    )
    assert describe_event(StepBlocked("p", "s1", "", ""), "ann") == "ann is blocked on step s1"


def test_an_event_without_a_sentence_is_told_by_its_name():
    assert PlanProgress.type not in SENTENCES
    assert describe_event(PlanProgress("p", 50), "ann") == "ann: plan progress"
