"""Who answers the agents: one file per wire format, and a scripted model for demos and tests.

`choose` picks the adapter of a provider and imports it only then; it also knows prices. `openai` and `anthropic` turn a
request into bytes (`outgoing` keeps them from turn to turn, and holds models to a schema where that can be had) and
bytes into an answer (`incoming` makes it sound); they are one `wire.WireModel` otherwise. `http` carries both over one
connection pool, and `failure` says what went wrong. An adapter makes one attempt and knows no retry. `pydantic_ai`
speaks for providers of any other format, `a2a` for remote agents. `script` is what `scripted` answers from.
"""
