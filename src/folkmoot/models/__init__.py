"""Who answers the agents: one file per wire format, and a scripted model for demos and tests.

`choose` picks the adapter of a provider and imports it only then. `openai` and `anthropic` turn a request into bytes
(`transcript` keeps them from turn to turn) and are one `wire.WireModel` otherwise; their `…_reply` turns bytes into an
answer (`incoming` makes it sound), `http` carries both over one connection pool, and `failure` says what went wrong. An
adapter makes one attempt and knows no retry. `pydantic_ai` speaks for providers of any other format (`…_talk` turns
a conversation into its messages), `a2a` for remote agents. `strict` holds models to a schema where that can be had.
`script` reads the answers of `scripted`; `known` knows prices.
"""
