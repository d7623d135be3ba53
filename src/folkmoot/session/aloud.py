"""Whether a model's words are the report of the run, from the first one on. Pure.

Otherwise nobody knows before an answer has come to its end: behind its words, a model may still call a tool.
"""

from __future__ import annotations

from folkmoot.domain.message import ToolSpec
from folkmoot.domain.report import FINAL_REPORT
from folkmoot.session.state import State


def is_report(state: State, extra: tuple[ToolSpec, ...] = ()) -> bool:
    """If so, nothing is offered to the model: it has nothing to call but the report, and its words are that.

    Who has called something is offered tools from then on: providers refuse a conversation with calls of none. A
    remote agent may take back what it said.
    """
    brief, agent = state.brief, state.brief.agent
    return (
        brief.aloud
        and not (brief.tools or extra or agent.remote)
        and [spec.name for spec in brief.exits] == [FINAL_REPORT]
        and agent.output.format != "json"
        and not agent.output.claims
        and not any(message.calls for message in state.messages)
    )
