import io
import re

import pytest
from rich.console import Console

from folkmoot import FakeClock
from folkmoot.cli.live import LiveDisplay
from folkmoot.domain.entry import Draft
from folkmoot.domain.events import (
    LlmRequest,
    LlmResponse,
    RunCompleted,
    RunStarted,
    SessionFailed,
    SessionStarted,
)
from folkmoot.domain.message import Message, Usage
from folkmoot.domain.report import Outcome


class Screen:
    """A display on a console of a given size, and what stands on it."""

    def __init__(self, width, height):
        self.clock = FakeClock()
        self._file = io.StringIO()
        console = Console(file=self._file, width=width, height=height, force_terminal=True, color_system=None)
        self.display = LiveDisplay(console, self.clock)

    def happen(self, event, span="0", agent="desk"):
        self.display.take(Draft(self.clock.now(), event, span, span, agent))

    def drawn(self):
        """The last thing that was drawn, without the movements of the cursor."""
        self._file.truncate(0)
        self._file.seek(0)
        self.display.beat()
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._file.getvalue()).split("\r")[-1]
        return [line.rstrip() for line in text.splitlines()]


def begun(screen, *names):
    screen.happen(RunStarted(agent="desk.ai", request="x", graph="g", seed="s"))
    for name in names:
        screen.happen(SessionStarted(agent=f"{name}.ai", request="x"), f"0/advisor:{name}", name)
        screen.happen(
            LlmRequest(turn=1, attempt=1, model="s/m", max_output=1, reserved_tokens=1),
            f"0/advisor:{name}",
            name,
        )


@pytest.fixture
def screen():
    made = Screen(100, 10)
    yield made
    made.display.close()


async def test_each_agent_has_a_line_with_what_it_does_and_how_long_already(screen):
    begun(screen, "risk")
    await screen.clock.advance(1.5)

    desk, risk = screen.drawn()

    assert desk.endswith("1.5 s")
    assert "waits for risk" in desk
    assert "risk" in risk
    assert risk.split()[2:] == ["risk", "advisor", "turn", "1", "s/m", "1.5", "s"]


def test_the_words_of_an_answer_are_shown_as_they_come_and_never_raw(screen):
    begun(screen, "risk")
    screen.display.hear("0/advisor:risk", "Dear \x1b[31m")
    screen.display.hear("0/advisor:risk", "customer")

    assert "…Dear \\u001b[31mcustomer" in screen.drawn()[1]


def test_an_agent_that_was_called_as_a_tool_is_an_agent_as_in_the_files(screen):
    screen.happen(RunStarted(agent="desk.ai", request="x", graph="g", seed="s"))
    screen.happen(SessionStarted(agent="clerk.ai", request="x", cause="sub"), "0/turn:1/call:1", "clerk")

    assert screen.drawn()[1].split()[2:4] == ["clerk", "agent"]


def test_the_bill_gives_way_on_a_narrow_terminal(screen):
    spent = LlmResponse(
        turn=1, attempt=1, model="s/m", message=Message("assistant"), usage=Usage(1200, 34), cost_usd=0.5
    )
    narrow = Screen(60, 10)
    for one in (screen, narrow):
        begun(one, "risk")
        one.happen(spent, "0/advisor:risk", "risk")

    assert "1,234 tokens   $0.5000" in screen.drawn()[1]
    assert "tokens" not in narrow.drawn()[1]
    assert all(len(line) <= 60 for line in narrow.drawn())
    narrow.display.close()


def test_a_tree_that_does_not_fit_shows_those_who_work_and_counts_the_rest(screen):
    begun(screen, *(f"a{number:02}" for number in range(20)))
    failed = SessionFailed(outcome=Outcome(agent="a00", span="0/advisor:a00", error="gone"))
    screen.happen(failed, "0/advisor:a00", "a00")
    screen.display.note("cancelling")

    *lines, rest, note = screen.drawn()

    assert len(lines) == 6
    assert "a01" in lines[1]
    assert (rest, note) == ("… and 15 more", "cancelling")


def test_the_last_state_stays_whole_with_the_reason_of_each_failure():
    screen = Screen(70, 5)
    begun(screen, *(f"a{number:02}" for number in range(9)))
    error = "a reason that is much longer than its column, and would be cut while the tree is alive"
    screen.happen(
        SessionFailed(outcome=Outcome(agent="a00", span="0/advisor:a00", error=error)), "0/advisor:a00", "a00"
    )
    screen.happen(RunCompleted(outcome=Outcome(agent="desk", span="0")))
    screen.drawn()

    screen.display.close()

    shown = screen._file.getvalue()
    assert all(f" a{number:02} " in shown for number in range(9))
    assert all(word in shown for word in error.split())
