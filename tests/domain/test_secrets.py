"""Values that must appear nowhere, and their names in their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.domain.events import ToolFinished, ToolStarted
from folkmoot.domain.secrets import Secrets, secrets_of
from folkmoot.domain.settings import Provider, Settings
from folkmoot.domain.sinks import SinkSettings

TOKEN = 'tok"en\\with\nlines'
SECRETS = Secrets(
    {"TOKEN": TOKEN, "PIN": "1234", "LONG": f"{TOKEN} and more", "DIGITS": "12345678"}, ["TOKEN"]
)


def test_a_value_is_replaced_by_its_name_and_the_longest_wins():
    """Issue 5: secrets."""
    assert SECRETS.text(f"a {TOKEN} b") == "a {{secret:TOKEN}} b"
    assert SECRETS.text(f"{TOKEN} and more") == "{{secret:LONG}}"
    assert SECRETS.text("pin 1234") == "pin 1234", "less than 8 characters are no secret"


@given(st.lists(st.sampled_from(["tok", 'tok"en\\with\nlines', "12345", "678", " and more", "\n", "1", "a"])))
def test_a_text_that_comes_in_pieces_is_the_same_and_no_beginning_of_a_value_is_shown(pieces):
    """Issue 5: what is held back in the end is only what may be the beginning of one."""
    concealed = SECRETS.in_pieces()
    shown = "".join(map(concealed, pieces))
    whole = SECRETS.text("".join(pieces))

    assert whole.startswith(shown) or SECRETS.text("".join(pieces) + "\0").startswith(shown)
    assert shown + concealed("\0") == f"{whole}\0"


def test_in_an_event_every_text_is_looked_at_and_no_number():
    started = ToolStarted(1, 1, "t", {"a": [{"b": TOKEN}]}, "once", "exec", "key", "allowed")
    finished = ToolFinished(1, 1, "t", "sum 12345678", "ev_1", latency_ms=12345678)

    assert SECRETS.event(started).arguments == {"a": [{"b": "{{secret:TOKEN}}"}]}
    redacted = SECRETS.event(finished)
    assert (redacted.text, redacted.latency_ms) == ("sum {{secret:DIGITS}}", 12345678)
    clean = ToolFinished(1, 1, "t", "nothing", "ev_1")
    assert SECRETS.event(clean) is clean


def test_json_inside_of_text_is_looked_at_too():
    assert "lines" not in SECRETS.text('{"token": "tok\\"en\\\\with\\nlines"}')
    assert SECRETS.content(b"\xff" + TOKEN.encode()) == b"\xff{{secret:TOKEN}}"


def test_an_argument_gets_the_value_of_a_secret_that_the_project_lists_and_of_no_other():
    """Issue 5: a recorded call stays executable."""
    assert SECRETS.resolved({"h": ["Bearer {{secret:TOKEN}}"]}) == {"h": [f"Bearer {TOKEN}"]}
    with pytest.raises(KeyError, match="LONG"):
        SECRETS.resolved({"h": "{{secret:LONG}}"})


def test_keys_of_providers_and_listed_variables_are_secret():
    settings = Settings(providers={"p": Provider("openai", api_key_env="P_KEY")}, secrets=("TOKEN",))
    env = {"P_KEY": "key-key-key", "TOKEN": "token-token", "OPENAI_API_KEY": "sk-123456", "HOME": "/home/ann"}
    secrets = secrets_of(settings, env)

    assert secrets.text("key-key-key token-token sk-123456 /home/ann") == (
        "{{secret:P_KEY}} {{secret:TOKEN}} {{secret:OPENAI_API_KEY}} /home/ann"
    )
    with pytest.raises(KeyError, match="P_KEY"):
        secrets.resolved({"a": "{{secret:P_KEY}}"})


def test_the_address_of_a_channel_and_the_key_of_a_webhook_are_secrets():
    """E-59: they stand in the environment, and nowhere else."""
    sinks = {"a": SinkSettings("discord", url_env="CHAT"), "b": SinkSettings("webhook", secret_env="KEY")}
    env = {"CHAT": "https://chat.example/token", "KEY": "a long key", "OTHER": "something else"}

    secrets = secrets_of(Settings(sinks=sinks), env)

    assert secrets.text(" ".join(env.values())) == "{{secret:CHAT}} {{secret:KEY}} something else"
