"""Why a run failed is recorded as a word and a number, so that nobody has to read the message."""

import pytest

from folkmoot.models.failure import of_error, of_status

ONCE = "maxRetries: 1"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"message": "slow down", "status": 429, "retryAfter": "30s"}, (429, "rate_limit", 30.0)),
        ({"message": "reset after 37s", "status": 429}, (429, "rate_limit", 37.0)),
        ({"message": "insufficient_quota", "status": 429}, (429, "billing", 0.0)),
        ({"message": "the dog ate it"}, (0, "unknown", 0.0)),
    ],
)
async def test_a_failed_run_says_why_its_last_model_gave_no_answer(desk, error, expected):
    """E-43."""
    played = await desk({"desk": ONCE}, {"desk": [{"error": error}]}).run("desk.ai")

    (failed,) = played.events("llm.failed")
    (ended,) = played.events("run.failed")
    assert (failed.status, failed.kind, failed.reset_after) == expected
    assert (ended.kind, ended.reset_after) == expected[1:]


async def test_a_run_that_failed_although_its_model_answered_blames_no_model(desk):
    """E-43."""
    played = await desk({"desk": "maxTurns: 1"}, {"desk": [{"text": ""}]}).run("desk.ai")

    assert [event.kind for event in played.events("run.failed")] == ["unknown"]


@pytest.mark.parametrize(
    ("status", "body", "kind", "reset_after"),
    [
        (429, b'{"error": {"message": "Please try again in 20s"}}', "rate_limit", 20.0),
        (429, b'{"error": {"code": "insufficient_quota", "message": "x"}}', "billing", 0.0),
        (400, b'{"error": {"code": "context_length_exceeded", "message": "x"}}', "context_overflow", 0.0),
        (504, b"", "timeout", 0.0),
        (500, b"oh no", "unknown", 0.0),
    ],
)
def test_what_a_provider_says_is_understood_where_it_comes_in(status, body, kind, reset_after):
    """E-43."""
    failed = of_status("openai", status, {}, body, "")

    assert (failed.status, failed.kind, failed.reset_after) == (status, kind, reset_after)


def test_an_error_within_a_stream_is_understood_too():
    failed = of_error("openai", {"type": "overloaded_error", "message": "Overloaded"}, "")

    assert (failed.retryable, failed.kind) == (True, "rate_limit")
