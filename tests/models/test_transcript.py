"""Conversations are encoded once, kept within bounds, and never mixed up."""

import json

import pytest

from folkmoot.domain.message import Message, ToolSpec
from folkmoot.models import anthropic as anthropic_module
from folkmoot.models import openai as openai_module
from folkmoot.models import outgoing as transcript_module
from folkmoot.models.outgoing import ToolLists, Transcripts
from tests.models.provider import LOOK, TALK, adapter, asking, call, fake_models

TURNS = 40


def turns(count):
    """Each turn is an assistant's call and its result."""
    for n in range(count):
        yield Message("assistant", f"look {n}", (call(f"c{n}", "look", what=f"thing {n}"),))
        yield Message("tool", f"found {n}", answers=f"c{n}")


class Counter:
    """Counts how often something is encoded."""

    def __init__(self, encode):
        self.encode = encode
        self.seen = []

    def __call__(self, value):
        self.seen.append(value)
        return self.encode(value)


@pytest.mark.parametrize(("kind", "module"), [("openai", openai_module), ("anthropic", anthropic_module)])
def test_each_message_is_encoded_once_however_long_the_conversation(kind, module, monkeypatch):
    counter = Counter(transcript_module.encode)
    monkeypatch.setattr(module, "encode", counter)
    model, messages = adapter(fake_models(1, kind)), TALK

    for message in turns(TURNS):
        messages = (*messages, message)
        model.body(asking(messages=messages), stream=False)

    texts = [json.dumps(value, default=repr) for value in counter.seen]
    for n in range(TURNS):
        assert sum(f'"look {n}"' in text for text in texts) == 1
        assert sum(f'"found {n}"' in text for text in texts) == 1
    assert sum("You are kind." in text for text in texts) == 1


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_conversation_that_grew_is_sent_like_one_that_is_new(kind):
    grown, fresh, messages = adapter(fake_models(1, kind)), adapter(fake_models(1, kind)), TALK

    for message in (*turns(3), Message("user", "And?"), Message("user", "Well?"), *turns(1)):
        messages = (*messages, message)
        sent = grown.body(asking(messages=messages, tools=(LOOK,)), stream=False)

        assert sent == fresh.body(
            asking(messages=messages, tools=(LOOK,), session=str(len(messages))), stream=False
        )


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_session_whose_conversation_is_another_one_is_sent_anew(kind):
    model, other = adapter(fake_models(1, kind)), (Message("user", "Something else?"),)

    model.body(asking(messages=(*TALK, *turns(2))), stream=False)
    sent = model.body(asking(messages=other), stream=False)

    assert sent == adapter(fake_models(1, kind)).body(asking(messages=other), stream=False)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_two_sessions_do_not_mix(kind):
    model, fresh = adapter(fake_models(1, kind)), adapter(fake_models(1, kind))
    left, right = (*TALK, *turns(2)), (Message("user", "Something else?"), *turns(3))

    for length in range(1, 6):
        model.body(asking(messages=left[:length], session="left"), stream=False)
        model.body(asking(messages=right[:length], session="right"), stream=False)

    for session, messages in (("left", left), ("right", right)):
        sent = model.body(asking(messages=messages, session=session), stream=False)
        assert sent == fresh.body(asking(messages=messages, session=session), stream=False)


def written(transcript, message):
    transcript.write(message.text.encode())


def test_the_conversations_that_were_not_asked_for_longest_make_room():
    kept = Transcripts(written, most=2)

    for session in ("a", "b", "a", "c"):
        kept.of(session, (Message("user", session),))

    assert list(kept._kept) == ["a", "c"]


def test_the_bytes_of_all_conversations_are_bounded():
    kept = Transcripts(written, most_bytes=100)

    for session in "abcdef":
        assert kept.of(session, (Message("user", "x" * 30),)).wire == b"x" * 30
    assert (list(kept._kept), kept._bytes) == (["d", "e", "f"], 90)

    assert kept.of("g", (Message("user", "x" * 500),)).wire == b"x" * 500
    assert (list(kept._kept), kept._bytes) == ([], 0)


def test_a_list_of_tools_is_encoded_once_even_if_the_tuple_is_a_new_one():
    forms = []
    lists = ToolLists(lambda tool, strict: forms.append(tool.name) or tool.name)
    now = ToolSpec("now", "Tells the time.", {})

    for _ in range(3):
        assert bytes(lists.of((LOOK, now))) == b'["look","now"]'
        assert bytes(lists.of((now,))) == b'["now"]'

    assert forms == ["look", "now", "now"]


def test_lists_of_tools_are_bounded_and_never_mistaken_for_one_another():
    """An id may be given to another object once its owner is gone; the lists keep their tools alive."""
    lists = ToolLists(lambda tool, strict: tool.name)

    for n in range(2 * transcript_module.MOST_TOOL_LISTS):
        assert bytes(lists.of((ToolSpec(f"t{n}", "", {}),))) == f'["t{n}"]'.encode()

    assert len(lists._kept) == transcript_module.MOST_TOOL_LISTS
