"""Messages of A2A clients are untrusted unless the project trusts those who can reach it."""

import pytest

from folkmoot.engine.clock import SystemClock
from tests.a2a_server.conftest import behind_the_door, client_of, message, sent, state
from tests.desk import SETTINGS
from tests.fakes import fake

save = fake("save", "saved", effect="once", access="write")


@pytest.mark.parametrize("trusted", [False, True])
async def test_after_the_message_of_a_client_a_call_waits_for_a_person_unless_clients_are_trusted(
    desk, trusted
):
    """K-6: `gate: {untrustedClients: false}`."""
    settings = SETTINGS + ("gate: {untrustedClients: false}" if trusted else "")
    script = {"desk": [{"calls": [{"tool": "save"}]}, "ok"]}
    at = desk({"desk": "tools: [save]"}, script, tools=[save], settings=settings)
    at.clock = SystemClock()
    async with (
        at.open() as moot,
        behind_the_door(moot) as address,
        client_of(f"{address}/a2a/desk") as client,
    ):
        task = await sent(client, message("Save it."))

    assert state(task) == ("completed" if trusted else "auth_required")
