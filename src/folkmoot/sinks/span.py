"""One span: something that an agent, a model or a tool did, from its beginning to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from folkmoot.domain.trace import parent_id, span_id, trace_id
from folkmoot.domain.value import Value

Operation = Literal["invoke_agent", "chat", "execute_tool"]
INTERRUPTED = "interrupted"
"""The `error.type` of what was under way when all around it ended."""


class Span(Value):
    name: str
    """Of which its id is made."""
    run: str
    operation: Operation
    subject: str
    """The agent, the model or the tool."""
    started: str
    ended: str = ""
    parent: str = ""
    """The name of the span around it; empty for the run itself."""
    attributes: Mapping[str, Any] = {}
    error: str = ""
    """Its `error.type`; empty if all went well."""
    seconds: float | None = None
    """How long it took by a clock that nobody sets, where that is known."""
    source: str = ""
    """The run that this one was forked from."""
    asked: int = 0
    """The `runSeq` of a request to a model: where its prompt can be made again."""
    within: str = ""
    """The `traceparent` of whoever asked for the run."""
    source_within: str = ""
    """The `traceparent` of whoever asked for the source."""

    @property
    def trace_id(self) -> str:
        return trace_id(self.run, self.within)

    @property
    def id(self) -> str:
        return span_id(self.name)

    @property
    def parent_id(self) -> str:
        return span_id(self.parent) if self.parent else parent_id(self.within)
